//! The other recipes: locks, semaphores, barriers, queues, counters, jobs that run once, two-phase commits, groups.
#![forbid(unsafe_code)]

mod barriers;
mod caches;
mod commit_refused_deletion;
mod commits;
mod double_barrier_refused;
mod lock_traffic;
mod locks;
mod locks_let_go;
mod member_refused_deletion;
mod members;
mod once;
mod persistent_nodes;
mod queue_refused_claim;
mod queues;
mod recipe_of_another_crate;
mod semaphores;
mod several_locks;
mod slots;

//! The other recipes: locks, semaphores, barriers, queues, counters, two-phase commits, groups.
#![forbid(unsafe_code)]

mod barriers;
mod commit_refused_deletion;
mod commits;
mod double_barrier_refused;
mod lock_traffic;
mod locks;
mod locks_let_go;
mod member_refused_deletion;
mod members;
mod queue_refused_claim;
mod queues;
mod recipe_of_another_crate;
mod semaphores;
mod slots;

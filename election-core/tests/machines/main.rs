//! The machines: each explored in small worlds, with the hazards one by one, and in long random runs.

#![allow(unreachable_pub, reason = "modules of a test binary")]
#![allow(
    clippy::indexing_slicing,
    clippy::match_same_arms,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::struct_excessive_bools,
    reason = "models for tests: they fail by panicking, and their rules are listed one by one"
)]
#![allow(
    clippy::duplicate_mod,
    reason = "one search, compiled for the `World` and `Step` of each model"
)]

mod barriers;
mod checks;
mod commits;
mod contest;
mod explore;
mod hazards;
mod lab;
mod lock_delays;
mod members;
mod observers;
mod once;
mod preferences;
mod properties;
mod queues;
mod semaphores;
mod values;
mod wakings;

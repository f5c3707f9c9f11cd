//! Every order of events in a two-phase commit, in small worlds.

#![allow(unreachable_pub, reason = "modules of a test binary")]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a model for tests: it fails by panicking"
)]

mod client;
mod events;
mod laws;
mod offer;
#[path = "../barriers/search.rs"]
mod search;
mod server;
mod step;
mod transactions;
mod world;

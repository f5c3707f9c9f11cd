//! Every order of events at a barrier and at a double barrier, in small worlds.

#![allow(unreachable_pub, reason = "modules of a test binary")]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a model for tests: it fails by panicking"
)]

mod client;
mod double;
mod events;
mod hazards;
mod laws;
mod search;
mod server;
mod single;
mod step;
mod world;

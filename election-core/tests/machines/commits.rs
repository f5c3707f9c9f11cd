//! Every order of events in a two-phase commit, in small worlds.

mod client;
mod events;
mod laws;
mod offer;
#[path = "barriers/search.rs"]
mod search;
mod server;
mod step;
mod transactions;
mod world;

//! Every order of events at a barrier and at a double barrier, in small worlds.

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

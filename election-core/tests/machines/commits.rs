//! Every order of events in a two-phase commit, in small worlds.

mod events;
mod laws;
mod party;
mod transactions;

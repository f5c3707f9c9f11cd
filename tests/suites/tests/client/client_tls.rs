//! TLS between the client and Apache ZooKeeper: the peers that each trusts and refuses, the names of failures, and
//! certificates that are exchanged while clients run.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod configuration;
mod election;
mod failures;
mod faults;
mod identity;
mod reload;
mod stage;

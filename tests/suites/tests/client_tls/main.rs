//! TLS between the client and Apache ZooKeeper: who is trusted and who is refused, what a failure is
//! called, and certificates that are exchanged while clients run.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod configuration;
mod election;
mod failures;
mod faults;
mod identity;
mod reload;
mod stage;

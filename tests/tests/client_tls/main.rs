//! TLS between the client and Apache ZooKeeper.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod failures;
mod stage;

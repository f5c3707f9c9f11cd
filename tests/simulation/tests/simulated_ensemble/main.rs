//! The simulated ensemble keeps the promises of a real one, and breaks what a real one breaks.

#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod agreement;
mod client;
mod faults;
mod faulty;
mod healthy;
mod leased;
mod leases;
mod network;
mod partitions;
mod sessions;
mod traces;
mod tracking;
mod wires;

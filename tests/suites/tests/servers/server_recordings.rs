//! The conduct of Apache ZooKeeper in the cases that the simulation rests on, and of the embedded
//! server, which is the same. The cases that need an ensemble are recorded here of Apache's, and
//! asserted of the simulated one in `simulated_ensemble`, by the same script.
#![expect(clippy::panic, reason = "a test fails by panicking")]

mod access;
mod ensemble;
mod nulls;
mod quotas;
mod requests;
mod sessions;
mod throttling;

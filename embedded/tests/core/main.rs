//! The server without sockets: what it answers, byte by byte and in which order.

#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod access;
mod conversation;
mod deviations;
mod expiry;
mod handshake;
mod laws;
mod limits;
mod multi;
mod replication;
mod requests;
mod sequences;
mod stat;
mod tracking;
mod validation;
mod watching;
mod words;
mod world;

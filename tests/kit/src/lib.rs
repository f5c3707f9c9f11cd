//! The kit: the common code of this workspace's tests.
//!
//! - [`zookeeper`] runs real Apache ZooKeeper servers, one or an ensemble of three, and kills,
//!   pauses and restarts them.
//! - [`server`] lets one and the same test run on those and on the embedded server.
//! - [`proxy`] stands between a client and a server, counts the frames that pass and breaks the
//!   connection in chosen ways at chosen frames.
//! - [`raw`] is a small blocking client, written apart from this workspace's codec, so that a
//!   mistake in the codec cannot hide itself.
//! - [`connection`] tells that a session is over, and holds an address that no process serves.
//! - [`delayed`] is a byte stream whose reads and writes come late at random: `scripts/stress` puts it into
//!   the client.
//! - [`certificates`] makes certificates for servers and clients that speak TLS.
//! - [`election`] gives each test of elections a place of its own and waits for roles, [`history`]
//!   checks that no two nominees led at once.
//! - [`restricted`] makes a node at which the clients under test lose rights, and get them back.
//! - [`sasl`] runs servers that know users by SASL, [`identities`] finds out which identities a server
//!   gives a client.
//! - [`wait`] waits for a condition, within a bound, instead of sleeping.
//! - [`failure`] lets a test use `?` on any error and still print it in full.
//!
//! Not published. Unix only. `README.md` beside the manifest shows how to use it.
#![forbid(unsafe_code)]

extern crate alloc;

pub mod certificates;
pub mod connection;
pub mod delayed;
pub mod election;
pub mod failure;
pub mod history;
pub mod identities;
pub mod opcode;
mod ports;
pub mod proxy;
pub mod raw;
pub mod restricted;
pub mod sasl;
pub mod server;
pub mod wait;
pub mod zookeeper;

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

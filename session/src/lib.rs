//! A ZooKeeper session without IO: bytes and time go in, bytes and events come out.
//!
//! One [`Session`] is one ZooKeeper session over many connections. It owns no socket, clock,
//! task or source of randomness: time is an argument, randomness a seed, so the same inputs give
//! the same outputs. No input makes it panic.
//!
//! # The run loop
//!
//! A driver keeps at most one transport (a TCP connection, say) and calls
//!
//! - [`Session::handle_timeout`] when the instant of [`Session::poll_timeout`] has come,
//! - [`Session::handle_opened`], [`Session::handle_frame`] and [`Session::handle_closed`] as its
//!   transport opens, delivers a frame, and fails or ends;
//!
//! and after each of these, and after each call that submits something,
//!
//! - [`Session::poll_transport`]: open or drop a transport,
//! - [`Session::poll_transmit`]: bytes to send,
//! - [`Session::poll_event`] until it returns `None`.
//!
//! Polling too often is harmless. `examples/blocking.rs` is a whole driver over a blocking socket.
//!
//! # Three ends of a connection or session, with three names
//!
//! - *Given up*: nothing was received for two thirds of the timeout; another server is tried.
//! - *Lease lapsed*: the instant before which no server can have expired the session has passed
//!   ([`Session::lease_deadline`]); for safety, early.
//! - *Expired*: a server said so, or none was in reach for four thirds of the timeout; for
//!   liveness, late.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod backoff;
mod config;
mod connect_string;
mod event;
mod lease;
mod outbox;
mod requests;
mod secret;
mod servers;
mod session;
mod time;
mod watches;

pub use backoff::Backoff;
pub use config::{Config, Limits, WhileDisconnected};
pub use connect_string::{ConnectString, ConnectStringError, DEFAULT_PORT, ServerAddress};
pub use event::{
    Completion, ConnectionEnd, End, Event, Expiry, Failure, ProtocolError, SubmitError, Transport,
};
pub use lease::{Grade, Margin};
pub use servers::ServerIndex;
pub use session::{Session, Watching};
pub use time::Instant;
pub use watches::WatchId;

//! Settings of a session.

use core::num::NonZeroUsize;
use core::time::Duration;

use zk_jute::DEFAULT_MAX_FRAME;

use crate::backoff::Backoff;
use crate::lease::{HeartbeatPace, LeaseGrade, LeaseMargin};
use crate::sasl::Sasl;

/// How a [`Session`](crate::Session) behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// How many servers there are. The driver knows their addresses.
    pub servers: NonZeroUsize,
    /// The session timeout to ask for. The server brings it into its bounds.
    pub session_timeout: Duration,
    /// How long to wait between attempts to connect.
    pub backoff: Backoff,
    /// The treatment of requests that are submitted without a connection.
    pub while_disconnected: WhileDisconnected,
    /// The policy for a server that is cut off from its ensemble.
    pub read_only_servers: ReadOnlyServers,
    /// The policy for a server that is silent while something is in flight.
    pub silent_servers: SilentServers,
    /// Bounds on memory and frames.
    pub limits: Limits,
    /// The beginning of each connection: with a SASL exchange, or without.
    pub sasl: Sasl,
    /// The evidence that the lease deadline rests on.
    pub grade: LeaseGrade,
    /// How much earlier than the server's clock the lease ends.
    pub margin: LeaseMargin,
    /// How often heartbeats come.
    pub pace: HeartbeatPace,
}

impl Config {
    /// Returns the defaults for this many servers: a timeout of 10 s, and requests refused while
    /// disconnected.
    pub fn new(servers: NonZeroUsize) -> Self {
        Self {
            servers,
            session_timeout: Duration::from_secs(10),
            backoff: Backoff::default(),
            while_disconnected: WhileDisconnected::default(),
            read_only_servers: ReadOnlyServers::default(),
            silent_servers: SilentServers::default(),
            limits: Limits::default(),
            sasl: Sasl::default(),
            grade: LeaseGrade::default(),
            margin: LeaseMargin::default(),
            pace: HeartbeatPace::default(),
        }
    }
}

/// The treatment of a request that is submitted without a connection.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhileDisconnected {
    /// The session refuses it with [`SubmitError::NotConnected`](crate::SubmitError::NotConnected),
    /// so the caller knows that it was not executed.
    #[default]
    Refuse,
    /// The session sends it once there is a connection. It fails if the session ends before.
    Queue,
}

/// The policy for servers that are cut off from their ensemble (`readonlymode.enabled`;
/// see docs/protocol.md#read-only-servers). Such a server answers reads from its last state.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadOnlyServers {
    /// No: the session waits for a server that takes writes.
    #[default]
    Refuse,
    /// Yes, while it finds no other server; it goes on [looking](crate::Session::poll_probe) for
    /// one. No other server knows a session that such a server has made, so the next connection
    /// brings another session. Watches are kept.
    Accept,
}

/// The policy for a server from which nothing comes while something is in flight, if the session knows another one.
///
/// A server that is frozen and one that pauses, to collect garbage or for its disk, look the same until the
/// second goes on.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SilentServers {
    /// The session leaves it after a 15th of the session timeout, 250 ms at least, or if that is more, after twice the
    /// longest wait of the last minute or the longest pause of the last ten. A pause is a wait that was as long as that
    /// least. Requests in flight fail with [`Failure::ConnectionLoss`](crate::Failure::ConnectionLoss). A departure
    /// counts as a pause, so each doubles the bound for ten minutes; where no other server serves, the outage counts as one
    /// wait. A request or a reply that is long on its way, byte by byte, is no silence.
    #[default]
    Leave,
    /// The session leaves it after two thirds of the session timeout, as it leaves the only server that it knows. By
    /// then a lease may have lapsed.
    Endure,
}

/// Bounds on memory, independent of the peer and the callers.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest payload to send, in bytes: the server's `jute.maxbuffer`. The server drops the
    /// connection on a larger one, without a word (docs/protocol.md#frames). If the server's is
    /// smaller, a session refuses for a while what has cost it three connections in a row.
    pub max_frame: usize,
    /// The most requests that wait for their replies.
    pub max_in_flight: usize,
    /// The most bytes that wait to be sent; one request may go beyond.
    pub max_queued_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_frame: DEFAULT_MAX_FRAME,
            max_in_flight: 4096,
            max_queued_bytes: 4 * 1024 * 1024,
        }
    }
}

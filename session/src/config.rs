//! What a session is made with.

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
    /// Number of servers to choose from; the driver knows their addresses.
    pub servers: NonZeroUsize,
    /// The session timeout to ask for; the server decides, within its bounds.
    pub session_timeout: Duration,
    /// How long to wait between attempts to connect.
    pub backoff: Backoff,
    /// What becomes of requests submitted while there is no connection.
    pub while_disconnected: WhileDisconnected,
    /// Whether a server will do that is cut off from its ensemble.
    pub read_only_servers: ReadOnlyServers,
    /// Bounds on memory and frames.
    pub limits: Limits,
    /// Whether connections begin with a SASL exchange.
    pub sasl: Sasl,
    /// What evidence the lease deadline rests on.
    pub grade: LeaseGrade,
    /// How much earlier than the server's clock the lease ends.
    pub margin: LeaseMargin,
    /// How often heartbeats come.
    pub pace: HeartbeatPace,
}

impl Config {
    /// The defaults for this many servers: a timeout of 10 s, requests refused while
    /// disconnected.
    pub fn new(servers: NonZeroUsize) -> Self {
        Self {
            servers,
            session_timeout: Duration::from_secs(10),
            backoff: Backoff::default(),
            while_disconnected: WhileDisconnected::default(),
            read_only_servers: ReadOnlyServers::default(),
            limits: Limits::default(),
            sasl: Sasl::default(),
            grade: LeaseGrade::default(),
            margin: LeaseMargin::default(),
            pace: HeartbeatPace::default(),
        }
    }
}

/// What becomes of a request submitted while there is no connection.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhileDisconnected {
    /// It is refused with [`SubmitError::NotConnected`](crate::SubmitError::NotConnected), so the
    /// caller knows that it was not executed.
    #[default]
    Refuse,
    /// It is sent once there is a connection; it fails if the session ends before.
    Queue,
}

/// What a session does about servers that are cut off from their ensemble, and serve reads of what
/// they knew until then (`readonlymode.enabled`).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadOnlyServers {
    /// They are passed over: the session waits for a server that takes writes.
    #[default]
    Refuse,
    /// They will do as long as no other is found, and the session goes on
    /// [looking](crate::Session::poll_probe) for one. A session that such a server has made is
    /// known to no other one: the next connection brings another session. Watches go along.
    Accept,
}

/// Bounds that hold whatever the peer and the callers do.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest payload to send, in bytes: the server's `jute.maxbuffer`, above which it drops
    /// the connection without a word.
    pub max_frame: usize,
    /// Requests that may be waiting for their replies.
    pub max_in_flight: usize,
    /// Bytes that may be waiting to be sent; one request may go beyond.
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

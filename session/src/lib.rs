#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

// Types that a driver has to handle completely are exhaustive (`Event`, `TransportCommand`,
// `SaslChallenge`, `Failure`, `SubmitError`), and so are plain values that a caller writes out
// (`Limits`, `Backoff`, `ServerAddress`, `WatchMode`). All other types may grow:
// `#[non_exhaustive]`.

mod backoff;
mod config;
mod connect_string;
mod event;
mod family;
pub mod lease;
mod outbox;
mod path;
mod requests;
pub mod sasl;
mod search;
mod secret;
#[cfg(feature = "serde")]
mod serde_forms;
mod server_limit;
mod servers;
mod session;
mod silence;
mod ticket;
mod time;
mod unanswered;
mod watches;

pub use bytes;
pub use zk_jute;

pub use backoff::Backoff;
pub use config::{Config, Limits, ReadOnlyServers, SilentServers, WhileDisconnected};
pub use connect_string::{ConnectString, ConnectStringError, DEFAULT_PORT, ServerAddress};
pub use event::{
    Completion, ConnectionEnd, Event, Expiry, Failure, ProtocolError, Rollback, SessionEnd,
    SubmitError, TransportCommand,
};
pub use family::ServerFamily;
pub use path::{PathError, ZnodePath, check_path};
pub use search::ProbeAnswer;
pub use secret::Secret;
pub use servers::ServerIndex;
pub use session::{Session, Watching};
pub use ticket::{ParseTicketError, SessionTicket};
pub use time::Instant;
pub use watches::{WatchId, WatchMode};

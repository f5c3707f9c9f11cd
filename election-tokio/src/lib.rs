//! Leader election on Apache ZooKeeper, and the client below it, for tokio.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod client;
mod clock;
mod codec;
mod driver;
mod election;
mod error;
mod hub;
mod path;
mod telemetry;
mod transport;
mod updates;

pub use client::{
    Access, AccessList, AclError, Children, Client, ClientBuilder, CloseError, ConnectError,
    ConnectFailure, ConnectionIdentity, ConnectionState, CreateMode, Created, MultiRead,
    OneshotWatch, OperationResult, PersistentWatch, ReadResult, Release, Transaction,
    TransactionError, Ttl, TtlError, WatchEvent, WatchLost, WatchUpdate,
};
pub use codec::FrameCodec;
pub use election::{
    AcknowledgeError, Candidate, Election, ElectionError, EndReason, GuardedTransaction,
    LeaderLoss, Leadership, LostReason, Nomination, Role, Status, WithdrawError,
};
pub use error::{Error, ErrorKind};
pub use path::PathError;
#[cfg(feature = "metrics")]
pub use telemetry::metrics::describe_metrics;
pub use transport::{Connecting, Connector, TcpConnector, Transport};
pub use updates::Updates;

pub use bytes::Bytes;
pub use election_core::{
    CandidateName, Departure, ElectionNode, NominationError, NomineeId, OnLoss, Token,
};
pub use zk_jute::records::{Acl, EventType, Permissions, Stat, WatcherType};
pub use zk_jute::{ErrorCode, OpCode, SessionId, Version, Zxid};
pub use zk_session::{
    Backoff, ConnectString, ConnectStringError, ConnectionEnd, End, Expiry, Grade, Limits, Margin,
    ServerAddress, WatchMode, WhileDisconnected,
};

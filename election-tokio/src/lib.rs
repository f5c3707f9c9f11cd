//! Leader election on Apache ZooKeeper, and the client below it, for tokio.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod acl;
mod broadcast;
mod client;
mod clock;
mod codec;
mod driver;
mod election;
mod error;
mod hub;
mod path;
mod sasl;
mod source;
mod state;
mod telemetry;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod updates;

pub use client::{
    Children, Client, ClientBuilder, CloseError, ConnectError, ConnectionIdentity, CreateMode,
    Created, EnsembleConfig, EnsembleMember, EnsembleMemberRole, IfGone, MultiRead, NoServers,
    NoSession, OnExpiry, OneshotWatch, OperationOutcome, ParseEnsembleMemberError, PersistentWatch,
    ReadOutcome, Reconfiguration, ServerVersion, Transaction, TransactionError, Ttl, TtlError,
    WatchEvent, WatchLost, WatchUpdate,
};
pub use election::{
    AcknowledgeError, Candidate, Election, ElectionError, EndReason, GuardedTransaction,
    Leadership, LostReason, Nomination, Role, Status, WithdrawError,
};
pub use error::{Error, ErrorKind, SharedError};
#[cfg(feature = "sasl-gssapi")]
pub use sasl::Gssapi;
pub use sasl::{SaslContinuation, SaslError, SaslMechanism, SaslStep, SaslStepping};
#[cfg(feature = "dns-srv")]
pub use source::SrvRecords;
pub use source::{Locating, ServerFile, ServerSource, SourceFn, source_fn};
pub use state::{ConnectFailure, ConnectionState};
#[cfg(feature = "metrics")]
pub use telemetry::metrics::describe_metrics;
#[cfg(feature = "tls")]
pub use tls::{PemOrigin, PemProblem, TlsError, TlsInput, TlsOptions, TlsVersion};
pub use transport::{Connecting, Connector, TcpConnector, Transport};
pub use updates::{NoMoreUpdates, Updates};

pub use acl::{Access, Acl, AclError, Acls, Permissions};
pub use bytes::Bytes;
pub use election_core::{
    CandidateName, Departure, ElectionNode, NameError, NodeKind, NominationError, NomineeId,
    OnLoss, ParseNomineeIdError, Sequence, Token,
};
pub use zk_jute::records::{EventType, Stat, WatcherType};
pub use zk_jute::{
    DecodeError, DecodeErrorKind, ErrorCode, FrameError, OpCode, SessionId, Version, Xid, Zxid,
};
#[cfg(feature = "sasl-digest-md5")]
pub use zk_session::DigestMd5;
pub use zk_session::{
    Backoff, ConnectString, ConnectStringError, ConnectionEnd, Expiry, LeaseGrade, LeaseMargin,
    LeaseOutlook, Limits, ParseTicketError, PathError, ProtocolError, ReadOnlyServers, SaslFailure,
    Secret, ServerAddress, SessionEnd, SessionTicket, WatchMode, WhileDisconnected, ZnodePath,
};

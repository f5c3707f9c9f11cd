//! Leader election on Apache ZooKeeper, and the client below it, for tokio.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// Enums and structs of this crate may grow: they are `#[non_exhaustive]`, except errors of a single
// case.

pub mod acl;
mod barrier;
mod broadcast;
mod client;
mod clock;
mod codec;
mod config;
mod counter;
mod double_barrier;
mod driver;
mod election;
pub mod error;
mod group;
mod health;
mod held;
mod hub;
mod lock;
mod names;
mod ordered_children;
mod path;
mod queues;
pub mod recipe;
pub mod sasl;
mod semaphore;
mod site;
pub mod source;
mod state;
mod telemetry;
#[cfg(feature = "tls")]
pub mod tls;
pub mod transport;
mod two_phase_commit;
mod updates;

pub use acl::Acls;
pub use barrier::{Barrier, BarrierError, BarrierLost};
pub use client::{
    Children, Client, ClientBuilder, CloseError, ConnectError, ConnectionIdentity, CreateMode,
    Created, IfGone, MultiRead, NoServers, NoSession, OnExpiry, OperationOutcome, ReadOutcome,
    ServerVersion, Transaction, TransactionError, Ttl, TtlError,
};
pub use config::{
    Config, ConfigError, ConfigSet, ConfigValue, ConfigWatch, Configured, CreateIfMissing,
};
pub use counter::{CompareAndSet, Counter, CounterError};
pub use double_barrier::{DoubleBarrier, EnterError, Entered, LeaveError};
pub use election::{
    Acknowledgement, Blocker, CancelReason, Cancellation, Cancelled, Candidate, Candidates,
    Election, ElectionError, EndError, EndReason, Epoch, Follow, ForeignZnode, HandOver,
    HandOverError, Leadership, LostReason, Nomination, NominationProbe, Observation,
    ObservedLeader, Observer, OnStepDownRequest, Position, Reopening, Resignation, Role, RunEnd,
    RunError, RunOptions, RunReport, Status, StepDownRequest, StepDownRequestError,
    StepDownRequested, StepDownRequests, Term, TermEnd, Terms, Verdict, VerifyError,
    WhileSuspended, WithdrawError, WorkEnd,
};
pub use error::{Error, ErrorKind};
pub use group::{Group, GroupWatch, Membership, MembershipError, MembershipState};
pub use health::{ClientHealth, NominationHealth, NomineeHealth};
pub use held::GuardedTransaction;
pub use lock::{
    Contender, DowngradeError, Lock, LockError, LockGuard, LockLost, NotDowngraded, ReleaseError,
    Removal, RevokeError, RevokeRequest, Revoked, Turn,
};
pub use names::{Names, PersistentName, RegisterError};
pub use queues::{ClaimLost, Claimed, PriorityQueue, PutError, Queue, QueueItem, TakeError};
pub use semaphore::{Permit, Semaphore};
pub use state::{ConnectFailure, ConnectionState};
pub use two_phase_commit::{
    CommitCoordinator, CommitError, CommitParticipant, CommitStatus, SiteStatus, TwoPhaseCommit,
};
pub use updates::{NoMoreUpdates, Updates};

pub use bytes::Bytes;
pub use election_core::barrier::{BarrierFailure, WhenUnderWay};
pub use election_core::commit::{
    CommitFailure, CommitState, Decision, InvalidSites, SiteName, SiteNameError, SiteState,
};
pub use election_core::counter::{CounterFailure, CounterFormat};
pub use election_core::election::{
    Cause, Departure, ElectionNode, NodeKind, NominationError, ObserverFailure, Obstacle, OnLoss,
    WhenAsked,
};
pub use election_core::format::{Access, Format};
pub use election_core::group::{MemberFailure, NameOwner, WhenEvicted, WhenTaken};
pub use election_core::lock::{DowngradeRefused, LockFailure, LockFormatError};
pub use election_core::name::{CandidateName, Sequence};
pub use election_core::queue::{ItemName, PriorityError, QueueFormat, SiblingQueue, TakerFailure};
pub use election_core::{NomineeId, Token};
pub use election_session::{
    Continuity, GroupFormat, GroupMember, GroupView, KeepReady, MemberData,
};
pub use zk_jute::records::Stat;
pub use zk_jute::{ErrorCode, OpCode, SessionId, Version, Zxid};
pub use zk_session::lease::{HeartbeatPace, LeaseGrade, LeaseMargin, LeaseOutlook};
pub use zk_session::{
    Backoff, Expiry, Limits, ReadOnlyServers, ServerFamily, SessionEnd, SessionTicket,
    WhileDisconnected, ZnodePath,
};

/// The members of the ensemble, and changing them.
pub mod ensemble {
    pub use crate::client::{
        EnsembleConfig, EnsembleMember, EnsembleMemberRole, ParseEnsembleMemberError,
        Reconfiguration,
    };
}

/// The parts of formats, to make one of your own, and the results of applying a format to the
/// children of a node.
pub mod format {
    pub use election_core::format::{
        Child, Downgrade, IdInName, Label, Layout, LayoutError, Recovery, Revocation,
    };
}

/// Watches: those that fire once, and those that stay.
pub mod watch {
    pub use zk_jute::records::{EventType, WatcherType};
    pub use zk_session::WatchMode;

    pub use crate::client::{OneshotWatch, PersistentWatch, WatchEvent, WatchLost, WatchUpdate};
}

/// Metrics, by the facade of the crate [`metrics`](https://docs.rs/metrics).
#[cfg(feature = "metrics")]
pub mod metrics {
    pub use crate::telemetry::metrics::describe_metrics;
}

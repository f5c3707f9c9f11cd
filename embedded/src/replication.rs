//! The parts of [`Standalone`](crate::Standalone), for tests with an ensemble of them.
//!
//! **Unstable:** this module may change in any release, without notice.
//!
//! A [`Leader`] turns requests into transactions ([`prepare`]) and ends sessions. A [`Replica`]
//! applies transactions, and answers reads, watches and pings by itself. An ensemble is one leader
//! and several replicas; the test delays, loses and reorders the messages between them.

pub use crate::access::{Identities, InvalidAcl};
pub use crate::forward::{Answer, Forward, ReplicaId, Ticket};
pub use crate::leader::{Decision, Leader};
pub use crate::mode::ServerMode;
pub use crate::prepare::prepare;
pub use crate::replica::Replica;
pub use crate::txn::{Diverged, Extent, Moment, Rejection, Txn, TxnBody, TxnOperation};
pub use crate::write::{
    Create, LifetimeError, Naming, Operation, RequestedLifetime, Write, WriteRequest,
};

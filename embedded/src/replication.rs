//! The parts of which [`Standalone`](crate::Standalone) is made, for tests with an ensemble of them.
//!
//! **Unstable:** this module may change in any release, without notice.
//!
//! A [`Leader`] turns requests into transactions ([`prepare`]) and ends sessions. A [`Replica`]
//! applies transactions, and answers reads, watches and pings by itself. An ensemble is one leader
//! and several replicas, with something in between that delays, loses and reorders.

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

#![cfg_attr(feature = "listener", doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "listener"), doc = "A ZooKeeper server in memory, without IO.")]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(feature = "listener")]
extern crate std;

mod access;
mod config;
mod database;
mod digest;
mod leader;
#[cfg(feature = "listener")]
mod listener;
mod path;
mod prepare;
mod replica;
mod standalone;
mod time;
mod tree;
mod txn;
mod watches;
mod write;

pub use access::{AccessList, Identities, InvalidAcl};
pub use config::{Config, CounterEnd, ExpiryPace, ExtendedTypes, FirstZnodes, InvalidPath, Limits};
pub use database::Database;
pub use leader::{Decision, Leader};
#[cfg(feature = "listener")]
pub use listener::{Refusal, Refusals, Server};
pub use prepare::prepare;
pub use replica::{
    Answer, ConnectionId, Forward, Mode, Replica, ReplicaId, Throttling, Ticket,
    TooManyConnections, Transmit,
};
pub use standalone::{Standalone, UnknownSession};
pub use time::{Instant, Timestamp};
pub use tree::{Lifetime, Znode};
pub use txn::{Change, Diverged, Extent, Moment, Rejection, Txn, TxnOperation};
pub use write::{Create, LifetimeError, Naming, Operation, RequestedLifetime, Write, WriteRequest};

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
mod deviations;
mod digest;
mod forward;
mod leader;
mod lifetime;
#[cfg(feature = "listener")]
mod listener;
mod mode;
mod path;
mod prepare;
mod replica;
pub mod replication;
mod standalone;
mod time;
mod transport;
mod tree;
mod txn;
mod watches;
mod write;

pub use access::AccessList;
pub use config::{
    Config, CounterEnd, ExpiryPace, ExtendedTypes, FirstZnodes, InvalidPath, Limits, Throttling,
};
pub use database::Database;
pub use deviations::{Deviations, Passwords, Profile, Resumption, Shutdown, UnknownOperations};
pub use lifetime::Lifetime;
#[cfg(feature = "listener")]
pub use listener::{Refusal, Refusals, Server};
pub use standalone::{Standalone, UnknownSession};
pub use time::{Instant, Timestamp};
pub use transport::{ConnectionId, TooManyConnections, Transmit};
pub use tree::Znode;

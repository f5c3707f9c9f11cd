#![doc = include_str!("../README.md")]
//!
//! # States
//!
//! ```text
//!            Connected                Created               lowest
//! Connecting ---------> creating ---------------> Standing -----------------> Leading <-.
//!     ^                 |      ^                  |   ^                       |    |    | verified:
//!     |      reply lost |      | sync, list:      |   | predecessor gone,     |    |    | Resumed
//!     |                 v      | not there        |   | others ahead   link   |    v    |
//!     |                 in doubt                  v   |                down   |  Suspended
//!     |                 | sync, list: there,   Following ---------------------+----------.
//!     |                 | owner is this        |  predecessor gone, the last  |          |
//!     |                 v session              |  in the way: Elected         |          |
//!     |                 Standing               |                              |          |
//!     |                                        |                              |          |
//!     '--- session expired, evicted, lease lapsed (policy: stand again) ------+----------'
//!                                              |                              |
//!                                              |  withdraw                    |  withdraw
//!                                              v                              v
//!                                            Leaving --------- deleted ---> Ended
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod id;
mod io;
mod name;
mod nominee;
mod outcome;
pub mod place;
mod policy;
mod ticket;

pub use id::{NomineeId, ParseNomineeIdError, SessionId, Token, Version};
pub use io::{Change, Command, DeleteVersion, Event, Failure, Op, Output, Reply, Stat, Watch};
pub use name::{CandidateName, CandidatePrefix, NameError, Sequence};
pub use nominee::Nominee;
pub use outcome::{Cause, Departure, End, NominationError, Notice, Role};
pub use policy::{ElectionNode, OnLoss, Policy};
pub use ticket::{Incarnation, Ticket};

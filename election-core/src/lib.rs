#![doc = include_str!("../README.md")]
//!
//! # States
//!
//! The diagram shows the roles of a nominee ([`Role`]), and the causes of their changes:
//!
//! ```text
//!  Connecting --------> Standing ----------------> Following
//!            link up       |      others are lower     |
//!                          |                           | the last one that
//!              none lower  |                           | is lower goes
//!                          v                           |
//!                       Leading <----------------------'
//!                        |   ^
//!              link down |   | link up in the same session,
//!                        v   | candidate verified
//!                      Suspended
//! ```
//!
//! - The link goes down: a leader is suspended. Any other nominee is connecting, and determines its
//!   place anew afterwards.
//! - The candidate is lost, because the session expired, the lease lapsed or an operator deleted it:
//!   the nominee stands again with a new one, or ends, by its [`Policy`].
//! - It withdraws or resigns: it is leaving until its candidate is gone, then it has ended.
//! - Something fails that standing again does not repair: it has ended.
//!
//! A nominee stands when its own znode is created and found to belong to this session: by the reply to
//! the create, if that tells the metadata, or by a read. After a lost reply to the create, the nominee
//! first makes a barrier, lists the candidates, looks for its own id, and checks which session owns the
//! znode that it found. As soon as it leads, and before that where it waits for one predecessor only,
//! it reads and watches its own znode.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod access;
mod barrier;
pub mod children;
mod code;
mod command;
mod counter;
mod double_barrier;
mod event;
mod format;
mod id;
mod line;
mod lock;
mod member;
mod name;
mod nominee;
mod observer;
mod outcome;
pub mod place;
mod policy;
mod queue;
mod recipe;
mod seen;
mod semaphore;
#[cfg(feature = "serde")]
mod serde_forms;
mod site_name;
mod ticket;
mod two_phase_commit;

pub use access::Access;
pub use barrier::{Barrier, BarrierEnd, BarrierFailure, BarrierGaveUp, BarrierState, BarrierTask};
pub use children::Children;
pub use command::{
    Check, Command, Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Op, Output, Part,
    Payload, Watch, Write, Znode,
};
pub use counter::{
    CounterChange, CounterEnd, CounterFailure, CounterFormat, CounterOp, CounterOverflow,
    NotANumber,
};
pub use double_barrier::{
    DoubleBarrier, DoubleBarrierEnd, DoubleBarrierNotice, DoubleBarrierOptions, DoubleBarrierState,
    WhenUnderWay,
};
pub use event::{Applied, Arrivals, Change, Event, Failure, Reply, Stat};
pub use format::{
    CandidatePrefix, Child, Downgrade, Format, HandOverMark, IdInName, Label, Layout, LayoutError,
    Recovery, Revocation,
};
pub use id::{NomineeId, ParseNomineeIdError, ParseTokenError, SessionId, Token, Version};
pub use lock::{
    DowngradeRefused, GaveUp, Lock, LockEnd, LockFailure, LockFormatError, LockNotice, LockOptions,
    LockState, REVOKE_REQUEST, WhenBusy, is_revoke_request,
};
pub use member::{
    Member, MemberEnd, MemberFailure, MemberNotice, MemberOptions, MemberState, NameOrigin,
    NameOwner, WhenEvicted, WhenTaken,
};
pub use name::{CandidateName, ChildName, Name, NameError, NameText, Sequence};
pub use nominee::{Nominee, Rank};
pub use observer::{Observed, Observer, ObserverEnd, ObserverFailure, Present, Subject};
pub use outcome::{Cause, Departure, End, NominationError, Notice, Obstacle, Role};
pub use policy::{ElectionNode, NodeKind, OnLoss, Policy, WhenAsked};
pub use queue::{
    Item, ItemName, ItemPrefix, ItemWindow, PriorityError, Purpose, QueueFormat, SiblingQueue,
    Taker, TakerEnd, TakerFailure, TakerNotice, TakerOptions, WhenEmpty,
};
pub use recipe::{Hold, Phase, Recipe};
pub use semaphore::{Semaphore, SemaphoreOptions, SemaphoreState};
pub use site_name::{SiteName, SiteNameError};
pub use ticket::{Incarnation, Ticket};
pub use two_phase_commit::{
    BeginEnd, CommitChild, CommitEnd, CommitFailure, CommitSiteNotice, CommitState, CommitTask,
    Decision, InvalidSites, SitePresence, SiteState, TwoPhaseBegin, TwoPhaseCommit,
};

#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod access;
pub mod barrier;
pub mod checks;
pub mod children;
mod code;
mod command;
pub mod counter;
mod double_barrier;
mod event;
pub mod format;
mod id;
mod line;
pub mod lock;
mod member;
pub mod name;
mod nominee;
mod observer;
pub mod once;
mod outcome;
mod owed;
pub mod place;
mod policy;
pub mod preference;
pub mod queue;
mod recipe;
mod seen;
pub mod semaphore;
#[cfg(feature = "serde")]
mod serde_forms;
mod site_name;
pub mod slots;
mod ticket;
mod two_phase_commit;

// At the root: the interface between a recipe and what drives it. A recipe's own names are in its
// module.
pub use command::{
    Check, Command, Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Op, Output, Part,
    Payload, Watch, Write, Znode,
};
pub use event::{Applied, Arrivals, Change, Event, Failure, Reply, Stat};
pub use id::{NomineeId, ParseNomineeIdError, ParseTokenError, SessionId, Token, Version};
pub use recipe::{Hold, Phase, Recipe};
pub use ticket::{Incarnation, Ticket};

/// Two-phase commit: sites vote, and all of them learn one decision.
pub mod commit {
    pub use crate::site_name::{SiteName, SiteNameError};
    pub use crate::two_phase_commit::{
        BeginEnd, CommitChild, CommitEnd, CommitFailure, CommitSiteNotice, CommitState, CommitTask,
        Decision, InvalidSites, SitePresence, SiteState, TwoPhaseBegin, TwoPhaseCommit,
    };
}

/// Elections: the nominee, which stands and leads, and the observer, which sees the leader.
///
/// # States
///
/// The diagram shows the roles of a nominee ([`Role`](election::Role)), and the causes of their changes:
///
/// ```text
///  Connecting --------> Standing ----------------> Following
///            link up       |      others are lower     |
///                          |                           | the last one that
///              none lower  |                           | is lower goes
///                          v                           |
///                       Leading <----------------------'
///                        |   ^
///              link down |   | link up in the same session,
///                        v   | candidate verified
///                      Suspended
/// ```
///
/// - The link goes down: a leader is suspended. Any other nominee is connecting, and determines its
///   place anew afterwards.
/// - The candidate is lost, because the session expired, the lease lapsed or an operator deleted it:
///   the nominee stands again with a new one, or ends, by its [`Policy`](election::Policy).
/// - It withdraws or resigns: it is leaving until its candidate is gone, then it has ended.
/// - Something fails that standing again does not repair: it has ended.
///
/// A nominee stands when its own znode is created and found to belong to this session: by the reply to
/// the create, if that tells the metadata, or by a read. After a lost reply to the create, the nominee
/// first makes a barrier, lists the candidates, looks for its own id, and checks which session owns the
/// znode that it found. As soon as it leads, and before that where it waits for one predecessor only,
/// it reads and watches its own znode.
///
/// # Quiet by construction
///
/// At most one request of a nomination awaits its reply. The command follows from the state, so a
/// retry is entering the state again, and without a stimulus nothing is sent. To join takes three
/// requests: create (whose reply tells the metadata, since 3.5), list, and a read that leaves a
/// watch on the predecessor. A nominee whose way is free leads by the list, and reads and watches
/// its own znode while it leads. A deletion wakes one follower. If the predecessor was the lowest,
/// that event is all the successor needs to lead; it sends nothing. For that the heir reads its own
/// znode, and watches it, as soon as it follows; a follower that has become the heir learns so, and
/// does so, when a new leader wakes it, or at its next look. Beyond that a nominee only asks at a `Look`.
///
/// When an operator deletes a candidate, its nominee hears of it at once as leader, as heir, and as
/// a follower that has looked once: from then on it watches its own znode. A newer follower hears
/// of it at that first look, or when its predecessor goes.
///
/// By default names are those of Curator's leader latch, `_c_<uuid>-latch-<sequence>`. Each create
/// of a nomination has a uuid of its own: the nominee's id, with the number of the create added to
/// its last four bytes. A server gives each number up to 2147483646 once, in order, as long as the
/// election node is not deleted; it can give later numbers more than once. A nominee that gets such
/// a number removes its candidate and fails with `SequenceExhausted`; `Sequence::remaining` says
/// how far away that is.
pub mod election {
    pub use crate::nominee::{Nominee, Rank};
    pub use crate::observer::{Observed, Observer, ObserverEnd, ObserverFailure, Present, Subject};
    pub use crate::outcome::{Cause, Departure, End, NominationError, Notice, Obstacle, Role};
    pub use crate::policy::{ElectionNode, NodeKind, OnLoss, Policy, WhenAsked, WhenPromoted};
}

/// Groups: a member, which joins, stays over expired sessions, and leaves.
pub mod group {
    pub use crate::member::{
        Member, MemberEnd, MemberFailure, MemberNotice, MemberOptions, MemberState, NameOrigin,
        NameOwner, WhenEvicted, WhenTaken,
    };
}

//! The contract between a recipe and the driver that runs it: events in, commands out.
//!
//! Everything is said in names of znodes under one node; the driver knows the path. The enums are
//! exhaustive on purpose: a driver must handle each command.

use core::fmt;

use crate::id::{SessionId, Token, Version};
use crate::name::CandidatePrefix;
use crate::outcome::Notice;
use crate::ticket::Ticket;

/// What happened, for [`Nominee::handle_event`](crate::Nominee::handle_event).
#[derive(Debug)]
pub enum Event<'a> {
    /// The link to a server is up, for the first time or again.
    ///
    /// Another session than before, without [`SessionExpired`](Self::SessionExpired) in between,
    /// counts as the expiry of the old one.
    Connected {
        /// The session that the server confirmed.
        session: SessionId,
    },
    /// The link is down. Each command in flight may or may not have happened, and each watch of
    /// this recipe is void: the driver forgets them, the recipe reads again.
    Disconnected,
    /// The server declared the session dead, and its ephemeral znodes with it.
    SessionExpired,
    /// The driver's clock passed the lease deadline: from here on another client may lead.
    LeaseLapsed,
    /// It is time to look whether an event was lost: servers drop the event of a znode that the
    /// watcher may not read, and take the watch with it (ZOOKEEPER-4799).
    ///
    /// A follower lists the candidates, a leader reads its own. To be fed seldom, once a minute, say,
    /// and at random moments, so that clients do not all look at once; to the nominee whose
    /// candidate a heartbeat was refused for; and soon to one that
    /// [`waits_for_look`](crate::Nominee::waits_for_look).
    Look,
    /// A command was answered.
    Reply {
        /// The ticket of the command.
        ticket: Ticket,
        /// The answer.
        result: Result<Reply<'a>, Failure>,
    },
    /// The watch fired that the [`Op::Read`] with this ticket left. It fires at most once.
    ///
    /// Changes and replies of one connection must be fed in the order in which they came in.
    Changed {
        /// The ticket of the read.
        ticket: Ticket,
        /// What happened to the znode.
        change: Change,
    },
}

/// The answer to a command that succeeded; each [`Op`] names its own.
pub enum Reply<'a> {
    /// To [`Op::Create`].
    Created {
        /// The name with the sequence that the server appended, without the path before it.
        name: &'a str,
    },
    /// To [`Op::CreateElectionNode`].
    ElectionNodeCreated,
    /// To [`Op::Barrier`].
    BarrierPassed,
    /// To [`Op::List`]: the names of all children, in any order. They are read once.
    Children(&'a mut dyn Iterator<Item = &'a str>),
    /// To [`Op::Read`] and [`Op::Inspect`].
    Read(Stat),
    /// To [`Op::Delete`].
    Deleted,
}

impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created { name } => f.debug_struct("Created").field("name", name).finish(),
            Self::ElectionNodeCreated => f.write_str("ElectionNodeCreated"),
            Self::BarrierPassed => f.write_str("BarrierPassed"),
            Self::Children(_) => f.write_str("Children(..)"),
            Self::Read(stat) => f.debug_tuple("Read").field(stat).finish(),
            Self::Deleted => f.write_str("Deleted"),
        }
    }
}

/// The part of a znode's `Stat` that a recipe looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stat {
    /// `ephemeralOwner`: the session that the znode dies with, or `None` if it is not ephemeral.
    pub owner: Option<SessionId>,
    /// `czxid`.
    pub token: Token,
    /// `version`.
    pub version: Version,
}

impl Stat {
    /// The stat with these fields, as they are on the wire.
    pub const fn new(ephemeral_owner: i64, czxid: i64, version: i32) -> Self {
        let owner = match ephemeral_owner {
            0 => None,
            session => Some(SessionId::new(session)),
        };
        Self { owner, token: Token::new(czxid), version: Version::new(version) }
    }
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The znode, or the node it was to be created in, does not exist (-101).
    NoNode,
    /// The znode exists already (-110).
    NodeExists,
    /// The znode has another version than the command named (-103).
    BadVersion,
    /// The access list of the znode, or of its parent, does not permit it (-102).
    NoAuth,
    /// The server has too much to do and did not look at the request (-127).
    Throttled,
    /// The link went down first: the command may or may not have happened (-4).
    ///
    /// Means the same as [`Event::Disconnected`]; either of the two, or both in any order, may be
    /// fed. [`Event::Connected`] must follow before anything more is asked for.
    ConnectionLoss,
    /// The server refused, with this error code.
    Rejected(i32),
    /// There is a reply, but it does not decode, or is larger than what the driver keeps.
    Unreadable,
}

impl Failure {
    /// The failure that an error code of the server stands for.
    ///
    /// An expired (-112) or moved (-118) session counts as a lost connection: the server drops the
    /// connection next, and what then becomes of the session decides.
    pub const fn from_code(code: i32) -> Self {
        match code {
            -101 => Self::NoNode,
            -110 => Self::NodeExists,
            -103 => Self::BadVersion,
            -102 => Self::NoAuth,
            -127 => Self::Throttled,
            -4 | -112 | -118 => Self::ConnectionLoss,
            code => Self::Rejected(code),
        }
    }
}

/// What a watch reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The znode was deleted.
    Deleted,
    /// The znode's data was written.
    Data,
}

/// What the driver is to do, once; a command is never to be repeated by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// To be handed back with the answer.
    pub ticket: Ticket,
    /// What to do.
    pub op: Op<'a>,
}

/// A request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op<'a> {
    /// Create an ephemeral sequential child that is called `prefix` and what the server appends.
    /// Answered by [`Reply::Created`].
    Create {
        /// The beginning of the name.
        prefix: CandidatePrefix,
    },
    /// Create the election node, and its parents where they are missing; nodes that exist are
    /// right as they are. Answered by [`Reply::ElectionNodeCreated`].
    CreateElectionNode,
    /// Have a quorum commit a transaction that changes nothing, so that the next list on this
    /// connection shows everything that the ensemble had committed before: a `multi` with a `check`
    /// of the election node, say. Answered by [`Reply::BarrierPassed`], whatever became of the
    /// check: one that is refused is committed too.
    ///
    /// A `sync` is no barrier: a leader that was deposed unawares answers it without a quorum.
    Barrier,
    /// List the children, without a watch. Answered by [`Reply::Children`].
    List,
    /// Read a child with `getData` and leave a watch on it. Never `exists`, which leaves a watch
    /// on a missing znode too, which stays there for good (CURATOR-107). Answered by
    /// [`Reply::Read`].
    Read {
        /// The child.
        name: &'a str,
        /// What the watch is for.
        watch: Watch,
    },
    /// Read a child without leaving a watch. Answered by [`Reply::Read`].
    Inspect {
        /// The child.
        name: &'a str,
    },
    /// Delete a child. Answered by [`Reply::Deleted`].
    Delete {
        /// The child.
        name: &'a str,
        /// Which version of it.
        version: DeleteVersion,
    },
}

/// Which znode a watch is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watch {
    /// The own znode.
    Own,
    /// The predecessor, whose end makes way.
    Predecessor,
}

/// The version that a znode must have to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeleteVersion {
    /// Whatever it has (-1 on the wire).
    Any,
    /// This one.
    Exactly(Version),
}

impl DeleteVersion {
    /// The version on the wire.
    pub const fn number(self) -> i32 {
        match self {
            Self::Any => -1,
            Self::Exactly(version) => version.get(),
        }
    }
}

/// What one event led to.
///
/// It borrows the recipe, so that the next event cannot be fed before this was read. The notice is
/// to be passed on before the command is carried out.
#[must_use = "a command that is not carried out leaves the recipe waiting"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// What to do, if anything.
    pub command: Option<Command<'a>>,
    /// What changed for the user, if anything.
    pub notice: Option<Notice>,
}

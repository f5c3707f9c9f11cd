//! What a driver tells a recipe.

use core::fmt;

use crate::children::Children;
use crate::id::{SessionId, Token, Version};
use crate::ticket::Ticket;

/// What happened, for [`Recipe::handle_event`](crate::Recipe::handle_event).
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
    /// and at random moments, so that clients do not all look at once; to the recipe whose znode a
    /// heartbeat was refused for; and soon to one that
    /// [`waits_for_look`](crate::Recipe::waits_for_look).
    Look,
    /// The time has passed that the user gave the recipe. A recipe that was given none ignores it. A
    /// [`Nominee`](crate::Nominee) that leads steps down: it stands again, behind the others.
    Deadline,
    /// A command was answered.
    Reply {
        /// The ticket of the command.
        ticket: Ticket,
        /// The answer.
        result: Result<Reply<'a>, Failure>,
    },
    /// The watch fired, or was lost, that the command with this ticket left. Either comes at most
    /// once.
    ///
    /// Changes and replies of one connection must be fed in the order in which they came in.
    Changed {
        /// The ticket of the command.
        ticket: Ticket,
        /// What happened to the znode.
        change: Change,
    },
}

/// The reply to a command that succeeded; each [`Op`](crate::Op) names its own.
pub enum Reply<'a> {
    /// To [`Op::Create`](crate::Op::Create).
    Created {
        /// The name, with the number that the server appended if the mode is a sequential one, and
        /// without the path before it.
        name: &'a str,
        /// The znode's metadata, where the server tells it: the reply to `create2` does, which servers
        /// before 3.5 do not know, and that to `create` does not.
        stat: Option<Stat>,
    },
    /// To [`Op::CreateNode`](crate::Op::CreateNode).
    NodeCreated,
    /// To [`Op::Barrier`](crate::Op::Barrier).
    BarrierPassed,
    /// To [`Op::List`](crate::Op::List): the names of all children.
    Children(Children<'a>),
    /// To [`Op::Read`](crate::Op::Read).
    Read {
        /// The znode's metadata.
        stat: Stat,
        /// Its data.
        data: &'a [u8],
    },
    /// To [`Op::Exists`](crate::Op::Exists), if the znode does; else the reply is
    /// [`Failure::NoNode`].
    Exists(Stat),
    /// To [`Op::Write`](crate::Op::Write).
    Written(Stat),
    /// To [`Op::Delete`](crate::Op::Delete).
    Deleted,
    /// To [`Op::Multi`](crate::Op::Multi): what became of each part, in order. They are read once.
    Committed(&'a mut dyn Iterator<Item = Applied<'a>>),
}

/// What became of a part of a multi that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied<'a> {
    /// The version was the expected one.
    Checked,
    /// A znode was created.
    Created {
        /// As in [`Reply::Created`].
        name: &'a str,
    },
    /// Data was replaced.
    Written(Stat),
    /// A znode was deleted.
    Deleted,
}

impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created { name, stat } => {
                f.debug_struct("Created").field("name", name).field("stat", stat).finish()
            }
            Self::NodeCreated => f.write_str("NodeCreated"),
            Self::BarrierPassed => f.write_str("BarrierPassed"),
            Self::Children(_) => f.write_str("Children(..)"),
            Self::Read { stat, data } => {
                f.debug_struct("Read").field("stat", stat).field("bytes", &data.len()).finish()
            }
            Self::Exists(stat) => f.debug_tuple("Exists").field(stat).finish(),
            Self::Written(stat) => f.debug_tuple("Written").field(stat).finish(),
            Self::Deleted => f.write_str("Deleted"),
            Self::Committed(_) => f.write_str("Committed(..)"),
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
    /// Of `cversion` and `numChildren`.
    pub arrivals: Arrivals,
}

/// Tells whether a child was created below a znode from one look to the next: that is so unless the two are
/// equal. Children that were deleted do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arrivals(i32);

impl Arrivals {
    /// Of the fields of a `Stat`, as they are on the wire. `cversion` counts what was created and what was
    /// deleted, so the sum is twice what was created.
    pub const fn of(cversion: i32, num_children: i32) -> Self {
        Self(cversion.wrapping_add(num_children))
    }
}

impl Stat {
    /// The stat with these fields, as they are on the wire, of a znode below which none was created.
    pub const fn new(ephemeral_owner: i64, czxid: i64, version: i32) -> Self {
        let owner = match ephemeral_owner {
            0 => None,
            session => Some(SessionId::new(session)),
        };
        Self {
            owner,
            token: Token::new(czxid),
            version: Version::new(version),
            arrivals: Arrivals(0),
        }
    }

    /// The same, of a znode with these fields.
    #[must_use]
    pub const fn with_arrivals(self, arrivals: Arrivals) -> Self {
        Self { arrivals, ..self }
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
    /// The server applied nothing of a multi, because of one part.
    Aborted {
        /// Which part, counted from 0.
        part: usize,
        /// The error code: as for the part alone.
        code: i32,
    },
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

    /// The error code of the server that it stands for; that of a reply that cannot be read is that of
    /// a marshalling error (-5).
    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::NoNode => -101,
            Self::NodeExists => -110,
            Self::BadVersion => -103,
            Self::NoAuth => -102,
            Self::Throttled => -127,
            Self::ConnectionLoss => -4,
            Self::Rejected(code) | Self::Aborted { code, .. } => code,
            Self::Unreadable => -5,
        }
    }
}

/// What a watch reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The znode was created.
    Created,
    /// The znode was deleted.
    Deleted,
    /// The znode's data was written.
    Data,
    /// A child of the znode was created or deleted.
    Children,
    /// The watch is gone without having fired, although the connection stands: whatever it would
    /// have reported may have happened.
    Lost,
}

//! Events for recipes.

use core::fmt;

use crate::children::Children;
use crate::code::{
    BAD_ARGUMENTS, BAD_VERSION, CONNECTION_LOSS, MARSHALLING_ERROR, NO_AUTH, NO_NODE, NODE_EXISTS,
    SESSION_EXPIRED, SESSION_MOVED, THROTTLED,
};
use crate::id::{SessionId, Token, Version};
use crate::ticket::Ticket;

/// An event, for [`Recipe::handle_event`](crate::Recipe::handle_event).
#[derive(Debug)]
pub enum Event<'a> {
    /// The link to a server is up, for the first time or again.
    ///
    /// If the session differs from the last one, without [`SessionExpired`](Self::SessionExpired)
    /// in between, this counts as the expiry of the last one.
    Connected {
        /// The session that the server confirmed.
        session: SessionId,
    },
    /// The link is down. Each command in flight may or may not have been executed, and all watches
    /// of this recipe are void: the driver forgets them, and the recipe reads again.
    Disconnected,
    /// The server declared the session dead, and its ephemeral znodes with it.
    SessionExpired,
    /// The driver's clock has passed the lease deadline. From here on another client may lead.
    LeaseLapsed,
    /// The recipe should look whether an event was lost: servers drop the event of a znode that the
    /// watcher may not read, and remove the watch (ZOOKEEPER-4799).
    ///
    /// A follower lists the candidates, a leader reads its own. Feed this seldom, for example once
    /// a minute, and at random moments, so that not all clients look at once. Feed it also to the
    /// recipe of a znode for which a heartbeat was refused, and soon to a recipe that
    /// [`waits_for_look`](crate::Recipe::waits_for_look).
    Look,
    /// The deadline of the user has passed. A recipe without a deadline ignores it. A
    /// [`Nominee`](crate::election::Nominee) that leads steps down: it stands again, behind the others.
    Deadline,
    /// A command was answered.
    Reply {
        /// The ticket of the command.
        ticket: Ticket,
        /// The answer.
        result: Result<Reply<'a>, Failure>,
    },
    /// The watch of the command with this ticket fired, or was lost. Either comes at most once.
    ///
    /// Feed changes and replies of one connection in the order in which they came in.
    Changed {
        /// The ticket of the command.
        ticket: Ticket,
        /// The change to the znode.
        change: Change,
    },
}

/// The reply to a successful command; each [`Op`](crate::Op) names its own.
pub enum Reply<'a> {
    /// To [`Op::Create`](crate::Op::Create).
    Created {
        /// The name, with the server's number if the mode is sequential, and without the path
        /// before it.
        name: &'a str,
        /// The znode's metadata, if the reply has it. The reply to `create2`, which servers before
        /// 3.5 do not know, has it; the reply to `create` does not.
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
    /// To [`Op::Exists`](crate::Op::Exists), if the znode exists; otherwise the reply is
    /// [`Failure::NoNode`].
    Exists(Stat),
    /// To [`Op::Write`](crate::Op::Write).
    Written(Stat),
    /// To [`Op::Delete`](crate::Op::Delete).
    Deleted,
    /// To [`Op::Multi`](crate::Op::Multi): the result of each part, in order. It can be read once.
    Committed(&'a mut dyn Iterator<Item = Applied<'a>>),
}

/// The result of a part of a multi that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied<'a> {
    /// The version was the expected one.
    Checked,
    /// A znode was created.
    Created {
        /// The name, as in [`Reply::Created`].
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

/// The part of a znode's `Stat` that recipes use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stat {
    /// `ephemeralOwner`: the session that owns the znode; `None` if the znode is not ephemeral.
    pub owner: Option<SessionId>,
    /// `czxid`.
    pub token: Token,
    /// `version`.
    pub version: Version,
    /// From `cversion` and `numChildren`.
    pub arrivals: Arrivals,
}

/// Shows whether a child was created below a znode between two looks: it was unless the two values
/// are equal. Deleted children do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arrivals(i32);

impl Arrivals {
    /// Makes it of the fields of a `Stat`, as they are on the wire. `cversion` counts created and
    /// deleted children, so the sum is twice the number of created ones.
    pub const fn of(cversion: i32, num_children: i32) -> Self {
        Self(cversion.wrapping_add(num_children))
    }
}

impl Stat {
    /// Makes the stat with these fields, as they are on the wire, for a znode below which no child
    /// was created.
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

    /// Returns the stat of a znode with these fields.
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
    /// The server has too much to do and did not handle the request (-127).
    Throttled,
    /// The link went down first: the command may or may not have been executed (-4).
    ///
    /// It means the same as [`Event::Disconnected`]. Feed either of the two, or both in any order.
    /// [`Event::Connected`] must follow before the recipe asks for anything more.
    ConnectionLoss,
    /// The server refused, with this error code.
    Rejected(i32),
    /// The server applied nothing of a multi, because of one part.
    Aborted {
        /// The index of the part, counted from 0.
        part: usize,
        /// The error code, as for the part alone.
        code: i32,
    },
    /// A reply has come, but it does not decode, or is larger than the driver keeps.
    Unreadable,
    /// The chroot of the client does not exist (-101), so nothing below it can be created: to
    /// [`Op::CreateNode`](crate::Op::CreateNode) alone, which creates all other ancestors.
    NoChroot,
    /// The driver did not send the command: the request is longer than servers take.
    TooLarge,
    /// The driver did not send the command: connections were lost over requests as long, and whether by chance
    /// is not known yet. A nominee, a contender for a lock, or a member of a group asks again at the next
    /// [`Event::Look`]; other recipes take it as [`TooLarge`](Self::TooLarge).
    HeldBack,
}

impl Failure {
    /// Returns the failure of a server's error code.
    ///
    /// An expired (-112) or moved (-118) session counts as a lost connection: the server drops the
    /// connection next, and the next handshake decides about the session.
    pub const fn from_code(code: i32) -> Self {
        match code {
            NO_NODE => Self::NoNode,
            NODE_EXISTS => Self::NodeExists,
            BAD_VERSION => Self::BadVersion,
            NO_AUTH => Self::NoAuth,
            THROTTLED => Self::Throttled,
            CONNECTION_LOSS | SESSION_EXPIRED | SESSION_MOVED => Self::ConnectionLoss,
            code => Self::Rejected(code),
        }
    }

    /// Returns the server's error code; for an unreadable reply, that of a marshalling error (-5), and
    /// for a request that was not sent, that of bad arguments (-8).
    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::NoNode | Self::NoChroot => NO_NODE,
            Self::NodeExists => NODE_EXISTS,
            Self::BadVersion => BAD_VERSION,
            Self::NoAuth => NO_AUTH,
            Self::Throttled => THROTTLED,
            Self::ConnectionLoss => CONNECTION_LOSS,
            Self::Rejected(code) | Self::Aborted { code, .. } => code,
            Self::Unreadable => MARSHALLING_ERROR,
            Self::TooLarge | Self::HeldBack => BAD_ARGUMENTS,
        }
    }
}

/// The report of a watch.
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
    /// The watch is gone without having fired, although the connection stands. The change that it
    /// would have reported may have happened.
    Lost,
}

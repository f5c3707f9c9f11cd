//! Reports of a member.

use thiserror::Error;

use crate::code::NO_AUTH;
use crate::event::{Failure, Stat};
use crate::id::{SessionId, Token};
use crate::outcome::{Cause, Departure};

/// The progress of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberState {
    /// It has no znode yet, as far as is known.
    Joining,
    /// It waits for another znode of its name to go.
    Waiting(NameOwner),
    /// Its znode exists, as far as is known.
    Joined(Token),
    /// It removes its znode.
    Leaving,
    /// It has ended.
    Ended(MemberEnd),
}

/// The end of a znode that has the name of a member and is not its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameOwner {
    /// It is ephemeral, and goes with this session.
    Session(SessionId),
    /// It is not ephemeral, and stays until it is deleted.
    Persistent,
}

impl NameOwner {
    pub(super) const fn of(stat: Stat) -> Self {
        match stat.owner {
            Some(session) => Self::Session(session),
            None => Self::Persistent,
        }
    }
}

/// A change for a member. An event gives at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberNotice {
    /// Its znode exists; the token is the `czxid`.
    Joined(Token),
    /// Another znode has its name. The member waits for its end.
    Taken(NameOwner),
    /// The driver holds back the creation of its znode ([`Failure::HeldBack`]): it is asked for again at
    /// the next look, and this is repeated while it is held back.
    HeldBack,
    /// Its znode has the data that were set last.
    DataWritten,
    /// The server refused those data; the znode keeps its earlier data.
    DataRefused(MemberFailure),
    /// Its znode is gone. It joins again.
    Lost(Cause),
    /// It has ended. Reported exactly once, and last.
    Ended(MemberEnd),
}

/// How it ended for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberEnd {
    /// It was withdrawn.
    Left(Departure),
    /// Another client deleted its znode, and the member was not to join again:
    /// [`WhenEvicted::End`](super::WhenEvicted::End).
    Evicted,
    /// Another znode has its name, and the member was not to wait:
    /// [`WhenTaken::GiveUp`](super::WhenTaken::GiveUp).
    Taken(NameOwner),
    /// It failed in a way that joining again does not repair.
    Failed(MemberFailure),
}

/// Why a member failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum MemberFailure {
    /// The group's node does not exist, and was not created.
    #[error("the node of the group does not exist, and was not created")]
    NoNode,
    /// The chroot of the client does not exist.
    #[error(
        "the client's chroot does not exist: create it, or correct it in the client's list of servers"
    )]
    NoChroot,
    /// The server refused, with this error code: no permission, a quota, failed authentication.
    #[error("the server refused a request of the member, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than the driver keeps.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// Connections were lost over requests as long as this one, whether by chance is not known, so it was
    /// not sent.
    #[error(
        "connections were lost over a write as long, which the servers may not take: set the data again \
         after some minutes; shorten them, or raise `jute.maxbuffer` of the servers, if that goes on"
    )]
    HeldBack,
    /// A request was not sent, because it is longer than the client's limit.
    #[error(
        "the member's data, path and access list are longer together than servers take: shorten the \
         data, or raise the client's limit and `jute.maxbuffer` of the servers"
    )]
    TooLarge,
    /// The driver answered a command with the reply to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
}

impl MemberFailure {
    pub(super) const fn of<R>(result: &Result<R, Failure>) -> Self {
        match result {
            Err(Failure::NoNode) => Self::NoNode,
            Err(Failure::NoChroot) => Self::NoChroot,
            Err(Failure::NoAuth) => Self::Rejected(NO_AUTH),
            Err(Failure::Rejected(code) | Failure::Aborted { code, .. }) => Self::Rejected(*code),
            Err(Failure::Unreadable) => Self::UnreadableReply,
            Err(Failure::TooLarge) => Self::TooLarge,
            Err(Failure::HeldBack) => Self::HeldBack,
            Ok(_)
            | Err(
                Failure::NodeExists
                | Failure::BadVersion
                | Failure::Throttled
                | Failure::ConnectionLoss,
            ) => Self::UnexpectedReply,
        }
    }
}

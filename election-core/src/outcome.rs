//! Reports to the user of a nomination: its role, changes, and its end.

use thiserror::Error;

use crate::id::Token;
use crate::name::{CandidateName, Sequence};

/// The present role of a nominee.
///
/// It is what is known here. Whether a leader may act also depends on the time: a driver compares
/// the lease deadline with its clock before it relies on [`Leading`](Self::Leading).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// It is not connected, and neither leads nor leaves.
    Connecting,
    /// It is connected, and on the way to a place in the queue.
    Standing,
    /// It waits for its predecessor to go, and watches that one's znode.
    Following {
        /// The next lower candidate.
        predecessor: &'a CandidateName,
        /// The lowest candidate in the last list. It may have changed since: a follower does not
        /// watch it, unless it is the predecessor.
        leader: &'a CandidateName,
    },
    /// Its candidate is the lowest, and does not lead yet: the nominee reads whether the leader
    /// before it has confirmed that it ended, or waits for the [lock
    /// delay](crate::election::Policy::lock_delay).
    Promoted,
    /// Its candidate is the lowest, and leads.
    Leading {
        /// The token that fences this leadership.
        token: Token,
    },
    /// It is elected, but the link is down, or the candidate is not verified yet after a reconnect.
    /// The lease deadline says how long this leadership can still be relied on.
    Suspended {
        /// The token that fences this leadership.
        token: Token,
    },
    /// It removes its candidate, to end.
    Leaving,
    /// It has ended.
    Ended(End),
}

/// A change. An event gives at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// The nominee waits behind a predecessor, which [`Role::Following`] names. Reported again when
    /// the predecessor changes, and after each reconnect.
    Following,
    /// The nominee waits behind a znode that it may not read, so no watch reports the end of that
    /// znode: only the next [`Event::Look`](crate::Event::Look) shows that it is gone.
    FollowingUnwatched,
    /// The nominee waits behind a znode that is not ephemeral. It goes with no session, so no
    /// nominee behind it leads before it is deleted. A participant left it there by mistake, or to
    /// block the election; [`Role::Following`] names it.
    FollowingPersistent,
    /// The nominee waits, because of a znode that it can neither follow nor delete, or because its request
    /// is held back. It looks again at each [`Event::Look`](crate::Event::Look), and repeats this if the
    /// obstacle is still there.
    Obstructed(Obstacle),
    /// A sequential znode of another format is in the election, the first such znode by number:
    /// [`Nominee::foreign_child`](crate::election::Nominee::foreign_child) names it. Participants of two
    /// formats do not see each other, and one of each could lead. Reported by the nominee that is
    /// about to lead, or waits for only one predecessor, and again when another one is the first.
    ForeignChild,
    /// The nominee leads, with this token.
    Elected(Token),
    /// The link went down while leading.
    Suspended,
    /// The link is back and the candidate still stands: the same leadership goes on.
    Resumed(Token),
    /// The leadership is over. The nomination goes on: by its policy it stands again or ends.
    Lost(Cause),
    /// A candidate that had not led is gone. A new one will stand, unless the election was ended.
    CandidateLost(Cause),
    /// The nomination has ended, and with it any leadership. Reported exactly once, and last.
    Ended(End),
}

/// A znode in the election that a nominee can neither pass over, nor follow, nor delete; no nominee
/// of this election makes such a znode: a participant of another kind did, or forged it. Or the nominee's
/// own request, while it is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Obstacle {
    /// A candidate ahead with a name longer than 64 bytes.
    #[error("the candidate whose name ends in {0} has a name longer than 64 bytes: delete it")]
    LongName(Sequence),
    /// A znode with the nominee's own id and with children, which no candidate has.
    #[error("a znode whose name has this nominee's own id has children: delete it with them")]
    OwnName,
    /// An ephemeral sequential znode of another format and another session. Its participant may
    /// lead without seeing candidates of this format. Its deletion is noticed.
    #[error(
        "a participant of another format stands in the node, and would not see this one: let all use one \
         format"
    )]
    Foreign,
    /// A sequential znode of another format with a name longer than 64 bytes. Its owner cannot be
    /// asked for.
    #[error("a sequential znode of another format has a name longer than 64 bytes: delete it")]
    ForeignName,
    /// No znode: connections were lost over the nominee's request, so that the servers may take none so
    /// long ([`Failure::HeldBack`](crate::Failure::HeldBack)). The nominee sends it again at looks, once the
    /// driver allows it.
    #[error(
        "connections were lost over its request, which the servers may not take; it is sent again later: if \
         the candidate's data are long, shorten them, or raise `jute.maxbuffer` of the servers"
    )]
    HeldBack,
}

/// Why a candidate was lost.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Cause {
    /// The server declared the session dead, or handed out another one.
    #[error("the session expired")]
    SessionExpired,
    /// The lease deadline passed without proof that the session lives.
    #[error("the lease deadline passed")]
    LeaseLapsed,
    /// Another client deleted the candidate znode, or the election node with it.
    #[error("another client deleted the candidate znode")]
    Evicted,
    /// The leader stepped down, to stand again behind the others, as its user asked by
    /// [`Event::Deadline`](crate::Event::Deadline).
    ///
    /// A follower gives up its place for the same reason, if the leadership is handed over to a
    /// candidate behind it ([`HandOverMark`](crate::format::HandOverMark)).
    #[error("the leader stepped down")]
    SteppedDown,
}

/// How a nomination ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// A leader resigned.
    Resigned(Departure),
    /// A nominee that did not lead withdrew.
    Withdrawn(Departure),
    /// The candidate was lost, and the policy is [`OnLoss::End`](crate::election::OnLoss::End).
    Lost(Cause),
    /// The election was ended for all: its node has a znode that marks the end ([`Format::end_mark`], or
    /// `DONE` in go-leaderelection's format). A candidate that still stands is deleted, as after a
    /// failure.
    ///
    /// [`Format::end_mark`]: crate::format::Format::end_mark
    ElectionEnded,
    /// It failed in a way that standing again does not repair.
    Failed(NominationError),
}

/// How the candidate znode of a withdrawn nomination went.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Departure {
    /// It was deleted.
    Deleted,
    /// The session ended first, and the znode with it.
    ///
    /// A server reports that the session ended. A deposed leader of the ensemble that does not know it yet
    /// can report that of a session that lives on: the znode then stays for up to a session timeout more.
    WithSession,
    /// This session has created none: the nominee asked for none, the server refused it, or a list
    /// after a barrier shows none.
    NeverCreated,
}

/// Why a nomination failed.
///
/// If a candidate znode may remain and its name is known, the nominee goes on asking for its
/// deletion until that is answered, over reconnects:
/// [`Phase::CleaningUp`](crate::Phase::CleaningUp). At the latest the znode goes with the session.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum NominationError {
    /// The election node does not exist, and either the policy is
    /// [`ElectionNode::MustExist`](crate::election::ElectionNode::MustExist), or it was gone again after
    /// each of several attempts to create it.
    #[error(
        "the election node does not exist, and was not created: let the nomination create it, or \
         create it yourself"
    )]
    NoElectionNode,
    /// The chroot of the client does not exist.
    #[error(
        "the client's chroot does not exist: create it, or correct it in the client's list of servers"
    )]
    NoChroot,
    /// The server has no number left below this election node that it gives to only one candidate:
    /// the last is 2147483646 ([`Sequence`](crate::name::Sequence)). No nominee may lead by a number that
    /// another candidate can have.
    #[error(
        "the election node has given out its last sequence number (2147483646): hold the election \
         at a fresh election node, or delete this one and create it again once it is empty"
    )]
    SequenceExhausted,
    /// The server named the created znode otherwise than asked.
    #[error("the server gave the candidate znode a name that was not asked for")]
    UnexpectedName,
    /// The server refused, with this error code: no permission, a quota, failed authentication.
    #[error("the server refused a request of the nomination, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than the driver keeps: for example, the list of an
    /// election with very many candidates.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// A request was not sent, because it is longer than the client's limit.
    #[error(
        "the candidate's data, path and access list are longer together than servers take: shorten the \
         data, or raise the client's limit and `jute.maxbuffer` of the servers"
    )]
    TooLarge,
    /// The driver answered a command with the reply to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
    /// A contender of another format stands in the node: only a contender for a lock ends so
    /// ([`LockFailure::OtherFormat`](crate::lock::LockFailure::OtherFormat)).
    #[error("a contender of another format stands in the node: let all use one format")]
    OtherFormat,
}

//! What the user of a nomination is told: its role, what changed, and how it ended.

use thiserror::Error;

use crate::id::Token;
use crate::name::{CandidateName, Sequence};

/// What a nominee is at the moment.
///
/// A role says what is known here. Whether a leader may act is a question of time as well: a
/// driver compares the lease deadline with its clock before it believes [`Leading`](Self::Leading).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// Not connected, and neither leading nor leaving.
    Connecting,
    /// Connected, and on the way to a place in the queue.
    Standing,
    /// Waiting for the predecessor to go, whose znode is watched.
    Following {
        /// The next lower candidate.
        predecessor: &'a CandidateName,
        /// The lowest candidate at the last listing. It may have changed since: a follower does
        /// not watch it, unless it is the predecessor.
        leader: &'a CandidateName,
    },
    /// The own candidate is the lowest, and does not lead yet: whether the leader before it has said that
    /// it ended is being read, or the [lock delay](crate::Policy::lock_delay) is to pass.
    Promoted,
    /// The own candidate is the lowest.
    Leading {
        /// Fences this leadership.
        token: Token,
    },
    /// Elected, but the link is down, or the candidate not yet verified after a reconnect. The
    /// lease deadline says how long this leadership can still be relied on.
    Suspended {
        /// Fences this leadership.
        token: Token,
    },
    /// Removing the own candidate, to end.
    Leaving,
    /// Over.
    Ended(End),
}

/// What changed. Feeding an event gives at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// The nominee waits behind a predecessor, which [`Role::Following`] names. Reported again
    /// when the predecessor is another one, and after each reconnect.
    Following,
    /// The nominee waits behind a predecessor whose znode it may not read, so that no watch tells of
    /// its end: only the next [`Event::Look`](crate::Event::Look) shows that it is gone.
    FollowingUnwatched,
    /// The nominee waits behind a predecessor whose znode is not ephemeral: it goes with no session, so
    /// that no nominee behind it leads before it is deleted. A participant left it there by mistake, or to
    /// block the election; [`Role::Following`] names it.
    FollowingPersistent,
    /// The nominee waits: a znode is in its way that it can neither follow nor delete. It looks again at
    /// each [`Event::Look`](crate::Event::Look), and says so again where it is still there.
    Obstructed(Obstacle),
    /// A sequential znode of another format stands in the election, the first by name of those that do:
    /// [`Nominee::foreign_child`](crate::Nominee::foreign_child) names it. Participants of two formats do
    /// not see each other, and one of each could lead. Reported by the nominee that is about to lead, or
    /// waits for one predecessor only, and again when another one is the first.
    ForeignChild,
    /// The nominee leads, with this token.
    Elected(Token),
    /// The link went down while leading.
    Suspended,
    /// The link is back and the candidate still stands: the same leadership goes on.
    Resumed(Token),
    /// Leadership is over. The nomination is not: by its policy it stands again or ends.
    Lost(Cause),
    /// The candidate is gone that had not led; a new one will stand, unless the election was ended.
    CandidateLost(Cause),
    /// The nomination is over, and with it any leadership. Reported exactly once, and last.
    Ended(End),
}

/// A znode in the election that a nominee can neither pass over, nor follow, nor delete. No nominee of
/// this election makes such a znode: a participant of another kind did, or forged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Obstacle {
    /// A candidate ahead whose name is longer than 64 bytes.
    #[error("the candidate whose name ends in {0} has a name longer than 64 bytes: delete it")]
    LongName(Sequence),
    /// A znode with the nominee's own id that has children: no candidate has.
    #[error("a znode whose name has this nominee's own id has children: delete it with them")]
    OwnName,
    /// An ephemeral sequential znode of another format, which another session owns: its participant may
    /// lead without seeing those of this format. Its deletion is noticed.
    #[error(
        "a participant of another format stands in the node, and would not see this one: let all use one \
         format"
    )]
    Foreign,
    /// A sequential znode of another format whose name is longer than 64 bytes: whose it is cannot be
    /// asked.
    #[error("a sequential znode of another format has a name longer than 64 bytes: delete it")]
    ForeignName,
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
    /// The leader gave the leadership up, to stand again behind the others: its user wanted it to, by
    /// [`Event::Deadline`](crate::Event::Deadline).
    ///
    /// A follower gives its place up for the same, where the leadership is handed over to a candidate behind it
    /// ([`HandOverMark`](crate::HandOverMark)).
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
    /// The candidate was lost, and the policy is [`OnLoss::End`](crate::OnLoss::End).
    Lost(Cause),
    /// The election was ended for all: its node holds a znode that says so ([`Format::end_mark`], or `DONE` in
    /// go-leaderelection's format). A candidate that still stands is deleted, as after a failure.
    ///
    /// [`Format::end_mark`]: crate::Format::end_mark
    ElectionEnded,
    /// Something that standing again does not repair.
    Failed(NominationError),
}

/// How the candidate znode of a nomination went that was withdrawn.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Departure {
    /// It was deleted.
    Deleted,
    /// The session ended first, and the znode with it.
    ///
    /// The end of a session is what a server says. A leader of the ensemble that was deposed unawares
    /// can say it of a session that lives on: the znode then stands for up to a session timeout more.
    WithSession,
    /// There was none in this session: none was asked for, the server refused it, or a list after
    /// a barrier shows none.
    NeverCreated,
}

/// Why a nomination failed.
///
/// Where a candidate znode may remain and its name is known, the nominee goes on asking for its
/// deletion until that is answered, over reconnects:
/// [`Phase::CleaningUp`](crate::Phase::CleaningUp). At the latest it goes with the session.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum NominationError {
    /// The election node does not exist, and either the policy is
    /// [`ElectionNode::MustExist`](crate::ElectionNode::MustExist), or it was gone again after
    /// each of several attempts to create it.
    #[error(
        "the election node does not exist, and was not created: let the nomination create it, or \
         create it yourself; if the client has a chroot that does not exist, create that first"
    )]
    NoElectionNode,
    /// The server has no number left below this election node that it gives to one candidate only:
    /// the last is 2147483646 ([`Sequence`](crate::Sequence)). No nominee may lead by a number that
    /// another candidate can have.
    #[error(
        "the election node has given out its last sequence number (2147483646): hold the election \
         at a fresh election node, or delete this one and create it again once it is empty"
    )]
    SequenceExhausted,
    /// The server named the created znode otherwise than it was asked to.
    #[error("the server gave the candidate znode a name that was not asked for")]
    UnexpectedName,
    /// The server refused, with this error code: no permission, a quota, failed authentication.
    #[error("the server refused a request of the nomination, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than what the driver keeps: the list of an election with
    /// very many candidates, for instance.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with what belongs to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
}

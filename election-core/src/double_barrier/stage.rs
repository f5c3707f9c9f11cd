//! The stages of a participant, its knowledge in each stage, and the causes of their changes.

use super::member::MemberName;
use super::options::DoubleBarrierOptions;
use super::told::{DoubleBarrierEnd, DoubleBarrierNotice};
use crate::barrier::BarrierFailure;
use crate::event::{Failure, Reply};
use crate::id::{SessionId, Token, Version};
use crate::owed::{Owed, Removal};
use crate::ticket::Ticket;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum DoubleBarrierStage {
    /// The participant has no entry, as far as it knows.
    Entering(Entering),
    /// The participant has an entry, and waits for the others.
    Gathering(Gathering),
    /// Enough participants have entered.
    Inside(OwnWatch),
    Leaving(Leaving),
    /// The participant has told its end, and a server refused to delete its entry, for which the
    /// others wait.
    Owing {
        owed: Owed<EntryDeletion>,
        end: DoubleBarrierEnd,
    },
    Ended(DoubleBarrierEnd),
}

/// The deletion of the entry, in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EntryDeletion;

impl Removal for EntryDeletion {
    fn anew(&self) -> Self {
        *self
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entering {
    pub(super) step: Step,
    /// Counts how often, on this connection, a server confirmed that the node is there.
    pub(super) rounds: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    ReadNode,
    CreateNode,
    LookAtReady {
        generation: Version,
    },
    CreateEntry {
        generation: Version,
        ready: ReadyWatch,
    },
    /// The participant makes a barrier, because its entry may or may not have been created; the next
    /// read shows it.
    Barrier,
    LookForEntry,
    /// The participant deletes an entry of an earlier session, or one that came too late for the round.
    DeleteEntry,
    /// The participant waits, because `ready` stands.
    Blocked(Blocked),
}

/// A round that is under way, or that has lost all its participants and was ended by none of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Blocked {
    /// The version of the node, read before `ready` was seen.
    pub(super) generation: Version,
    pub(super) ready: Ticket,
    pub(super) others: Others,
}

/// The knowledge of the other participants: this one waits until they have left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Others {
    /// A list has to show them.
    Unknown,
    /// This participant has to be watched.
    Unwatched(MemberName),
    Watched(Ticket),
    /// The server refuses to show the participant; the next look tells.
    Unreadable,
    /// All others have left.
    Gone,
}

/// A participant with an entry. Its requests follow the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gathering {
    /// The version of the node that an opening has to find.
    pub(super) generation: Option<Version>,
    pub(super) own: OwnWatch,
    pub(super) ready: ReadyWatch,
    pub(super) list: List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum List {
    Due,
    /// Not enough participants have entered: the last one that enters opens the round.
    Short,
    Enough,
}

/// A participant that leaves, or gives up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    pub(super) entry: Entry,
    pub(super) patience: Patience,
    pub(super) ready: Ready,
    pub(super) sight: Sight,
    /// The token of the round's `ready`, if it was seen while the entry stood.
    pub(super) round: Option<Token>,
    pub(super) others: Others,
    /// The version of the node, read while `ready` stood.
    pub(super) generation: Option<Version>,
    /// The end that the participant reports.
    pub(super) end: DoubleBarrierEnd,
}

/// The possibility that the entry still stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Entry {
    Stands,
    /// The participant deletes it next.
    Goes,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Patience {
    /// The participant waits for the others to leave.
    Waits,
    /// The participant does not wait for the others. It ends the round if it is the last one.
    Goes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ready {
    Is(ReadyWatch),
    /// `ready` is gone, although the entry stands: a participant of another library has deleted it.
    Absent,
}

/// The state of the client's server: whether it shows all that events have reported to the participant. An event may
/// report a change that the next server of the client has not applied yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sight {
    MayLag,
    /// `ready` was not there. A commit by a quorum brings the server up to date before that counts.
    Doubted,
    Current,
}

/// The watch on the participant's own entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum OwnWatch {
    Due,
    Armed { ticket: Ticket, token: Token },
}

/// The watch on `ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReadyWatch {
    Due,
    Armed(Ticket),
}

/// The result of an event.
#[derive(Debug)]
pub(super) enum Next {
    /// The participant stays in its stage.
    Stay(Option<DoubleBarrierNotice>),
    /// The participant changes its stage, and drops the reply of the request in flight.
    Become(DoubleBarrierStage, Option<DoubleBarrierNotice>),
}

pub(super) type ReplyResult<'r, 'a> = &'r mut Result<Reply<'a>, Failure>;

pub(super) type Participant<'p> = (&'p MemberName, DoubleBarrierOptions, Option<SessionId>);

impl Entering {
    pub(super) const NEW: Self = Self { step: Step::ReadNode, rounds: 0 };
    /// The participant had a session before, in which its entry may still stand.
    pub(super) const AGAIN: Self = Self { step: Step::LookForEntry, rounds: 0 };
    /// The entry came too late.
    pub(super) const LATE: Self = Self { step: Step::DeleteEntry, rounds: 0 };
}

impl Gathering {
    /// The participant knows nothing but its entry.
    pub(super) const NEW: Self =
        Self { generation: None, own: OwnWatch::Due, ready: ReadyWatch::Due, list: List::Due };

    /// Returns the stage of a participant that has just created its entry, while the node had this
    /// version.
    pub(super) const fn created(generation: Version, ready: ReadyWatch) -> Self {
        Self { generation: Some(generation), ready, ..Self::NEW }
    }
}

impl Leaving {
    /// The stage of a participant that was inside and leaves.
    pub(super) const NEW: Self = Self {
        entry: Entry::Stands,
        patience: Patience::Waits,
        ready: Ready::Is(ReadyWatch::Due),
        sight: Sight::MayLag,
        round: None,
        others: Others::Unknown,
        generation: None,
        end: DoubleBarrierEnd::Left,
    };

    /// Returns the stage of a participant that gives up, and may have an entry.
    pub(super) const fn giving_up(end: DoubleBarrierEnd) -> Self {
        Self { entry: Entry::Goes, patience: Patience::Goes, end, ..Self::NEW }
    }
}

impl OwnWatch {
    pub(super) fn is(self, ticket: Ticket) -> bool {
        matches!(self, Self::Armed { ticket: armed, .. } if armed == ticket)
    }
}

impl ReadyWatch {
    pub(super) fn is(self, ticket: Ticket) -> bool {
        self == Self::Armed(ticket)
    }
}

/// Returns what the answer to the watch on another participant says; `None` if it is no such answer.
pub(super) fn others_watched(ticket: Ticket, result: ReplyResult<'_, '_>) -> Option<Others> {
    match result {
        Ok(Reply::Exists(_)) => Some(Others::Watched(ticket)),
        Err(Failure::NoNode) => Some(Others::Unknown),
        Err(Failure::NoAuth) => Some(Others::Unreadable),
        _ => None,
    }
}

/// Returns the failure of a request that has no other answer: the request failed, or the driver mixed
/// up its replies.
pub(super) fn failure<R>(result: &Result<R, Failure>) -> BarrierFailure {
    match result {
        Err(failure) => BarrierFailure::of(*failure),
        Ok(_) => BarrierFailure::UnexpectedReply,
    }
}

/// Makes the participant fail. It first deletes its entry, if there may be one.
pub(super) fn fail<R>(result: &Result<R, Failure>) -> Next {
    let end = DoubleBarrierEnd::Failed(failure(result));
    Next::Become(DoubleBarrierStage::Leaving(Leaving::giving_up(end)), None)
}

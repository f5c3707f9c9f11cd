//! The stages of a participant, what it knows in each, and what leads from one to the next.

use super::member::MemberName;
use super::options::DoubleBarrierOptions;
use super::told::{DoubleBarrierEnd, DoubleBarrierNotice};
use crate::barrier::BarrierFailure;
use crate::event::{Failure, Reply};
use crate::id::{SessionId, Token, Version};
use crate::ticket::Ticket;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// There is no entry, as far as is known.
    Entering(Entering),
    /// There is one, and the others are waited for.
    Gathering(Gathering),
    /// Enough have entered.
    Inside(OwnWatch),
    Leaving(Leaving),
    Ended(DoubleBarrierEnd),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entering {
    pub(super) step: Step,
    /// How often the node was created.
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
    /// Whether the entry was created is not known: the next read is to show it.
    Barrier,
    LookForEntry,
    /// Of an earlier session, or one that came too late for the round.
    DeleteEntry,
    /// `ready` stands.
    Blocked(Blocked),
}

/// A round is under way, or all that were in it are gone and none has ended it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Blocked {
    /// Of the node, from before `ready` was seen.
    pub(super) generation: Version,
    pub(super) ready: Ticket,
    pub(super) others: Others,
}

/// What is known of the other participants: this one waits until they have left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Others {
    /// A list has to tell.
    Unknown,
    /// This one is to be watched.
    Unwatched(MemberName),
    Watched(Ticket),
    /// It may not be read: the next look tells.
    Unreadable,
    /// There are none.
    Gone,
}

/// A participant with an entry. What is due is asked for in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gathering {
    /// The version of the node, which an opening is to find.
    pub(super) generation: Option<Version>,
    pub(super) own: OwnWatch,
    pub(super) ready: ReadyWatch,
    pub(super) list: List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum List {
    Due,
    /// There are not enough: the last one of them opens the round.
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
    /// That of the round, by its `ready`, once that was seen while the entry stood.
    pub(super) round: Option<Token>,
    pub(super) others: Others,
    /// Of the node, read while `ready` stood.
    pub(super) generation: Option<Version>,
    /// What there is to tell.
    pub(super) end: DoubleBarrierEnd,
}

/// Whether the entry may still stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Entry {
    Stands,
    /// It is to be deleted next.
    Goes,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Patience {
    /// It waits for the others to leave.
    Waits,
    /// It does not: it ends the round if it is the last one.
    Goes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ready {
    Is(ReadyWatch),
    /// It is gone, although the entry stands: another library's participant has deleted it.
    Absent,
}

/// Whether the client's server shows all that the participant was told. An event may have come of what
/// the next server that the client connects to has not applied yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sight {
    MayLag,
    /// `ready` was not there: a quorum's commit brings the server up to date before that counts.
    Doubted,
    Current,
}

/// The watch on the own entry.
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

/// What an event led to.
#[derive(Debug)]
pub(super) enum Next {
    /// It goes on in the same stage.
    Stay(Option<DoubleBarrierNotice>),
    /// What is in flight is not awaited any more.
    Become(Stage, Option<DoubleBarrierNotice>),
}

pub(super) type Answer<'r, 'a> = &'r mut Result<Reply<'a>, Failure>;

pub(super) type Participant<'p> = (&'p MemberName, DoubleBarrierOptions, Option<SessionId>);

impl Entering {
    pub(super) const NEW: Self = Self { step: Step::ReadNode, rounds: 0 };
    /// There was a session before: its entry may still stand.
    pub(super) const AGAIN: Self = Self { step: Step::LookForEntry, rounds: 0 };
    /// The entry that there is came too late.
    pub(super) const LATE: Self = Self { step: Step::DeleteEntry, rounds: 0 };
}

impl Gathering {
    /// Nothing but the entry is known.
    pub(super) const NEW: Self =
        Self { generation: None, own: OwnWatch::Due, ready: ReadyWatch::Due, list: List::Due };

    /// It was just created, while the node had this version.
    pub(super) const fn created(generation: Version, ready: ReadyWatch) -> Self {
        Self { generation: Some(generation), ready, ..Self::NEW }
    }
}

impl Leaving {
    /// Of one that is inside.
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

    /// Of one that may have an entry.
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

/// What the answer to the watch on one of them says; `None` if it is none.
pub(super) fn others_watched(ticket: Ticket, result: Answer<'_, '_>) -> Option<Others> {
    match result {
        Ok(Reply::Exists(_)) => Some(Others::Watched(ticket)),
        Err(Failure::NoNode) => Some(Others::Unknown),
        Err(Failure::NoAuth) => Some(Others::Unreadable),
        _ => None,
    }
}

/// What a request came to that has no other answer: it failed, or the driver mixed up its replies.
pub(super) fn failure<R>(result: &Result<R, Failure>) -> BarrierFailure {
    match result {
        Err(failure) => BarrierFailure::of(*failure),
        Ok(_) => BarrierFailure::UnexpectedReply,
    }
}

/// The participant fails. Its entry, if there may be one, goes first.
pub(super) fn fail<R>(result: &Result<R, Failure>) -> Next {
    let end = DoubleBarrierEnd::Failed(failure(result));
    Next::Become(Stage::Leaving(Leaving::giving_up(end)), None)
}

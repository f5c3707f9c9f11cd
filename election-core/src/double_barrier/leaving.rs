//! Leaving, as ZooKeeper's recipes page describes it. The lowest participant waits for the highest
//! and goes last; the others go and wait for the lowest. The last one ends the round.

use super::member::{MemberName, Members, Range};
use super::request::Request;
use super::stage::{
    DoubleBarrierStage, Entry, EntryDeletion, Leaving, Next, Others, Patience, Ready, ReadyWatch,
    ReplyResult, Sight, failure, others_watched,
};
use super::told::DoubleBarrierEnd;
use crate::code::{BAD_VERSION, NO_NODE};
use crate::event::{Change, Failure, Reply};
use crate::id::{Token, Version};
use crate::outcome::Cause;
use crate::owed::{Owed, Rest};
use crate::ticket::Ticket;

impl Leaving {
    pub(super) fn stop_waiting(&mut self) -> Next {
        if self.patience == Patience::Waits {
            self.patience = Patience::Goes;
            self.end = DoubleBarrierEnd::LeftAlone;
            if self.entry == Entry::Stands {
                self.entry = Entry::Goes;
            }
            self.look_again();
            return Next::Become(DoubleBarrierStage::Leaving(self.clone()), None);
        }
        Next::Stay(None)
    }

    pub(super) fn request(&self) -> Option<Request> {
        match self {
            Self { entry: Entry::Goes, .. } => Some(Request::DeleteEntry),
            Self { sight: Sight::Doubted, .. } => Some(Request::Barrier),
            Self { ready: Ready::Is(ReadyWatch::Due), .. } => Some(Request::LookAtReady),
            Self { others: Others::Unknown, .. } => Some(Request::List),
            Self { others: Others::Unwatched(_), .. } => Some(Request::WatchMember),
            Self { others: Others::Watched(_) | Others::Unreadable, .. }
            | Self { others: Others::Gone, ready: Ready::Absent, .. } => None,
            Self { others: Others::Gone, generation: None, .. } => Some(Request::ReadNode),
            Self { others: Others::Gone, .. } => Some(Request::Close),
        }
    }

    pub(super) fn subject(&self) -> (Option<&MemberName>, Option<Version>) {
        match &self.others {
            Others::Unwatched(name) => (Some(name), self.generation),
            _ => (None, self.generation),
        }
    }

    pub(super) fn awaits_change(&self, ticket: Ticket) -> bool {
        self.ready == Ready::Is(ReadyWatch::Armed(ticket)) || self.others == Others::Watched(ticket)
    }

    /// Doubts what was seen: it may have changed.
    pub(super) fn look_again(&mut self) {
        self.ready = Ready::Is(ReadyWatch::Due);
        self.sight = Sight::MayLag;
        self.others = Others::Unknown;
        self.generation = None;
    }

    /// Handles a lost session. It may live on at the servers, with the entry, which would count in
    /// the next round.
    pub(super) fn session_lost(&mut self) -> Next {
        self.entry = Entry::Goes;
        self.look_again();
        match (self.patience, self.round) {
            (Patience::Waits, None) => lost(Cause::SessionExpired),
            (Patience::Waits, Some(_)) | (Patience::Goes, _) => Next::Stay(None),
        }
    }

    pub(super) fn changed(&mut self, ticket: Ticket, change: Change) -> Next {
        if self.ready == Ready::Is(ReadyWatch::Armed(ticket)) {
            if change == Change::Deleted {
                return self.round_is_over();
            }
            self.look_again();
        } else if self.others == Others::Watched(ticket) {
            self.others = Others::Unknown;
        }
        Next::Stay(None)
    }

    /// Notes that `ready` is gone.
    fn round_is_over(&mut self) -> Next {
        match self.entry {
            Entry::Gone => self.over(),
            Entry::Stands | Entry::Goes => {
                self.look_again();
                (self.ready, self.entry) = (Ready::Absent, Entry::Goes);
                Next::Stay(None)
            }
        }
    }

    pub(super) fn answered(
        &mut self,
        (ticket, request): (Ticket, Request),
        result: ReplyResult<'_, '_>,
        own: &MemberName,
    ) -> Next {
        match (request, &*result) {
            // The entry was gone before, and so the round could be ended without it.
            (Request::DeleteEntry, Err(Failure::NoNode)) if self.ready == Ready::Absent => {
                return match self.round {
                    Some(_) => self.over(),
                    None => lost(Cause::Evicted),
                };
            }
            (Request::DeleteEntry, Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                self.entry = Entry::Gone;
            }
            (Request::LookAtReady, Err(Failure::NoNode))
                if self.entry == Entry::Stands && self.sight == Sight::MayLag =>
            {
                self.sight = Sight::Doubted;
            }
            (Request::Barrier, Ok(Reply::BarrierPassed)) => self.sight = Sight::Current,
            (Request::LookAtReady, Err(Failure::NoNode)) => return self.round_is_over(),
            (Request::LookAtReady, Ok(Reply::Exists(stat))) => {
                return self.ready_stands(ticket, stat.token);
            }
            (Request::List, _) => {
                let Some(members) = Members::listed(result, own) else {
                    return self.fail(request, result);
                };
                return self.listed(members.others, own);
            }
            (Request::WatchMember, _) => match others_watched(ticket, result) {
                Some(watched) => self.others = watched,
                None => return self.fail(request, result),
            },
            (Request::ReadNode, Ok(Reply::Exists(stat))) => self.generation = Some(stat.version),
            (Request::ReadNode, Err(Failure::NoNode))
            | (Request::Close, Ok(Reply::Committed(_))) => return self.over(),
            // The entry is gone, or the round was ended.
            (Request::Close, Err(Failure::Aborted { part: 2, code: NO_NODE })) => {
                self.entry = Entry::Gone;
                self.look_again();
            }
            (Request::Close, Err(Failure::Aborted { code: BAD_VERSION | NO_NODE, .. })) => {
                self.look_again();
            }
            _ => return self.fail(request, result),
        }
        Next::Stay(None)
    }

    fn ready_stands(&mut self, ticket: Ticket, token: Token) -> Next {
        match (self.round, self.patience, self.entry) {
            (Some(round), Patience::Waits, Entry::Gone) if round != token => self.over(),
            (None, Patience::Waits, Entry::Gone) => lost(Cause::Evicted),
            _ => {
                self.round = self.round.or(Some(token));
                self.ready = Ready::Is(ReadyWatch::Armed(ticket));
                Next::Stay(None)
            }
        }
    }

    fn listed(&mut self, others: Option<Range>, own: &MemberName) -> Next {
        self.others = match (others, self.entry, self.patience) {
            (None, _, _) if self.ready == Ready::Absent => return self.over(),
            (None, _, _) => Others::Gone,
            (Some(range), Entry::Stands, Patience::Waits) if *own < range.lowest => {
                Others::Unwatched(range.highest)
            }
            // It goes first, and then watches.
            (Some(range), Entry::Stands | Entry::Goes, _) => {
                self.entry = Entry::Goes;
                Others::Unwatched(range.lowest)
            }
            (Some(_), Entry::Gone, Patience::Goes) => return self.over(),
            (Some(range), Entry::Gone, Patience::Waits) => Others::Unwatched(range.lowest),
        };
        Next::Stay(None)
    }

    const fn over(&self) -> Next {
        Next::Become(DoubleBarrierStage::Ended(self.end), None)
    }

    /// Makes the participant fail. It first deletes its entry, for which the others would wait as long
    /// as this client lives. If that is refused, it owes the deletion.
    fn fail<R>(&self, request: Request, result: &Result<R, Failure>) -> Next {
        let end = DoubleBarrierEnd::Failed(failure(result));
        Next::Become(
            match (request, self.entry) {
                (Request::DeleteEntry, _) => {
                    DoubleBarrierStage::Owing { owed: Owed::Refused(EntryDeletion), end }
                }
                (_, Entry::Gone) => DoubleBarrierStage::Ended(end),
                (_, Entry::Stands | Entry::Goes) => {
                    DoubleBarrierStage::Leaving(Self::giving_up(end))
                }
            },
            None,
        )
    }
}

impl EntryDeletion {
    /// Handles the answer to the deletion. The name of the entry is this participant's alone.
    pub(super) const fn answered(result: ReplyResult<'_, '_>) -> Rest<Self> {
        match result {
            Ok(Reply::Deleted) | Err(Failure::NoNode) => Rest::Gone,
            _ => Rest::Refused(Self),
        }
    }
}

const fn lost(cause: Cause) -> Next {
    Next::Become(DoubleBarrierStage::Ended(DoubleBarrierEnd::Lost(cause)), None)
}

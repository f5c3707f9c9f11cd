//! Waiting for enough others, and being inside: both rest on the participant's entry.

use super::member::Members;
use super::request::Request;
use super::stage::{
    DoubleBarrierStage, Entering, Gathering, List, Next, OwnWatch, Participant, ReadyWatch,
    ReplyResult, fail,
};
use super::told::{DoubleBarrierEnd, DoubleBarrierNotice};
use crate::code::{BAD_VERSION, NO_NODE, NODE_EXISTS};
use crate::event::{Change, Failure, Reply};
use crate::id::SessionId;
use crate::outcome::Cause;
use crate::ticket::Ticket;

impl Gathering {
    pub(super) fn request(&self) -> Option<Request> {
        match self {
            Self { generation: None, .. } => Some(Request::ReadNode),
            Self { own: OwnWatch::Due, .. } => Some(Request::WatchEntry),
            Self { ready: ReadyWatch::Due, .. } => Some(Request::LookAtReady),
            Self { list: List::Due, .. } => Some(Request::List),
            Self { list: List::Enough, .. } => Some(Request::Open),
            Self { list: List::Short, .. } => None,
        }
    }

    pub(super) fn awaits_change(&self, ticket: Ticket) -> bool {
        self.own.is(ticket) || self.ready.is(ticket)
    }

    pub(super) fn look(&mut self) {
        *self = Self { generation: self.generation, ..Self::NEW };
    }

    pub(super) fn changed(&mut self, ticket: Ticket, change: Change) -> Next {
        if self.own.is(ticket) {
            if change == Change::Deleted {
                return evicted();
            }
            self.own = OwnWatch::Due;
            return Next::Stay(None);
        }
        if self.ready.is(ticket) {
            match (change, self.own) {
                // No look is needed: the entry is known to have stood on this connection, and its watch
                // would have fired first.
                (Change::Created, OwnWatch::Armed { .. }) => return inside(self.own),
                _ => self.ready = ReadyWatch::Due,
            }
        }
        Next::Stay(None)
    }

    pub(super) fn answered(
        &mut self,
        (ticket, request): (Ticket, Request),
        result: ReplyResult<'_, '_>,
        (name, options, session): Participant<'_>,
    ) -> Next {
        match (request, &*result) {
            (Request::ReadNode, Ok(Reply::Exists(stat))) => self.generation = Some(stat.version),
            (Request::WatchEntry, Ok(Reply::Exists(stat))) if stat.owner == session => {
                self.own = OwnWatch::Armed { ticket, token: stat.token };
            }
            // Of an earlier session, which lives on.
            (Request::WatchEntry, Ok(Reply::Exists(_))) => return entry_lost(Entering::LATE),
            (Request::ReadNode | Request::WatchEntry, Err(Failure::NoNode)) => return evicted(),
            (Request::LookAtReady, Err(Failure::NoNode)) => self.ready = ReadyWatch::Armed(ticket),
            (Request::LookAtReady, Ok(Reply::Exists(stat))) => {
                return match self.own {
                    OwnWatch::Armed { token, .. } if token < stat.token => inside(self.own),
                    // The round was opened without this entry, by a library that does not mind it.
                    OwnWatch::Armed { .. } => {
                        Next::Become(DoubleBarrierStage::Entering(Entering::LATE), None)
                    }
                    OwnWatch::Due => Next::Stay(None),
                };
            }
            (Request::List, _) => {
                let Some(members) = Members::listed(result, name) else { return fail(result) };
                if members.count >= options.participants.get() {
                    self.list = List::Enough;
                } else {
                    self.list = List::Short;
                    return Next::Stay(Some(DoubleBarrierNotice::Gathering(members.count)));
                }
            }
            (Request::Open, Ok(Reply::Committed(_))) => return inside(self.own),
            // It was opened before, or the entry is gone, or a round was ended: all is read anew.
            (
                Request::Open,
                Err(Failure::Aborted { code: BAD_VERSION | NODE_EXISTS | NO_NODE, .. }),
            ) => *self = Self::NEW,
            _ => return fail(result),
        }
        Next::Stay(None)
    }
}

fn inside(own: OwnWatch) -> Next {
    Next::Become(DoubleBarrierStage::Inside(own), Some(DoubleBarrierNotice::Inside))
}

/// Handles the loss of the entry of a participant that waits for others.
fn evicted() -> Next {
    entry_lost(Entering::NEW)
}

fn entry_lost(entering: Entering) -> Next {
    let notice = DoubleBarrierNotice::EntryLost(Cause::Evicted);
    Next::Become(DoubleBarrierStage::Entering(entering), Some(notice))
}

/// Handles the answer to the watch on the entry of a participant that is inside.
pub(super) fn own_answered(
    ticket: Ticket,
    result: ReplyResult<'_, '_>,
    session: Option<SessionId>,
    own: &mut OwnWatch,
) -> Next {
    match result {
        Ok(Reply::Exists(stat)) if stat.owner == session => {
            *own = OwnWatch::Armed { ticket, token: stat.token };
            Next::Stay(None)
        }
        Ok(Reply::Exists(_)) | Err(Failure::NoNode) => gone(),
        _ => fail(result),
    }
}

/// Handles a change of the entry of a participant that is inside.
pub(super) fn own_changed(ticket: Ticket, change: Change, own: &mut OwnWatch) -> Next {
    if !own.is(ticket) {
        return Next::Stay(None);
    }
    if change == Change::Deleted {
        return gone();
    }
    *own = OwnWatch::Due;
    Next::Stay(None)
}

fn gone() -> Next {
    Next::Become(DoubleBarrierStage::Ended(DoubleBarrierEnd::Lost(Cause::Evicted)), None)
}

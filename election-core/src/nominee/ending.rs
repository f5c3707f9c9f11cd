//! The end of a candidate, and of a nomination.

use super::request::{Awaits, InFlight, NomineeLink, Request};
use super::stage::{
    Afterwards, Cleanup, Ended, Entering, Entry, Find, Intent, Leaving, NomineeStage, Standing,
};
use super::unnamed::Found;
use super::{Nominee, is_owned};
use crate::event::{Failure, Reply};
use crate::id::SessionId;
use crate::outcome::{Cause, Departure, End, NominationError, Notice};
use crate::policy::OnLoss;

impl Nominee {
    pub(super) fn leave(&mut self) -> Option<Notice> {
        let creating = matches!(
            self.link,
            NomineeLink::Up {
                awaits: Awaits::Answer(InFlight { request: Request::Create, .. }),
                ..
            }
        );
        match &mut self.stage {
            NomineeStage::Entering(Entering { step, intent, .. }) => match step {
                Entry::Create if creating => {
                    *intent = Intent::Leave;
                    None
                }
                Entry::Create | Entry::CreateElectionNode | Entry::CreateHome(_) => {
                    Some(self.end(End::Withdrawn(Departure::NeverCreated)))
                }
                Entry::Barrier
                | Entry::Search
                | Entry::SearchBelow(_)
                | Entry::Unnamed(_)
                | Entry::Suspect(_) => {
                    *intent = Intent::Leave;
                    None
                }
                Entry::Obstructed => {
                    *step = Entry::Barrier;
                    *intent = Intent::Leave;
                    None
                }
            },
            NomineeStage::Standing(Standing { own, .. }) => {
                let own = own.clone();
                self.stage = self.leaving(own, Afterwards::Withdrawn);
                None
            }
            NomineeStage::Leading(leading) => {
                let (own, mark) = (leading.own.clone(), leading.mark_to_be_deleted(self.link));
                let afterwards = if leading.mark.is_settled() {
                    Afterwards::Resigned
                } else {
                    Afterwards::Withdrawn
                };
                self.stage = self.leaving_with(own, afterwards, mark);
                self.link.abandon_own_znode();
                None
            }
            NomineeStage::Leaving(Leaving {
                afterwards: afterwards @ Afterwards::StandAgain,
                ..
            }) => {
                *afterwards = Afterwards::Withdrawn;
                None
            }
            // The user may have heard of the loss, which is the end by this policy; a withdrawal does
            // not change that end.
            NomineeStage::Evicted(evicted) if self.on_loss.ends_after(evicted.was) => {
                Some(self.end(End::Lost(Cause::Evicted)))
            }
            NomineeStage::Evicted(_) => Some(self.end(End::Withdrawn(Departure::Deleted))),
            NomineeStage::Leaving(_) | NomineeStage::Ended(_) => None,
        }
    }

    /// Ends the leadership, and stands again: the candidate is deleted, and a new one is created,
    /// at the end of the queue. It stands again whatever the policy says, because it has lost
    /// nothing. A nominee that does not lead goes on as it is.
    pub(super) fn step_down(&mut self) -> Option<Notice> {
        let NomineeStage::Leading(leading) = &self.stage else {
            return None;
        };
        let (own, mark) = (leading.own.clone(), leading.mark_to_be_deleted(self.link));
        let afterwards = Afterwards::StandAgain;
        self.stage = self.leaving_with(own, afterwards, mark);
        self.link.ask_again();
        Some(Notice::Lost(Cause::SteppedDown))
    }

    /// Gives up the place, and stands at the end of the queue.
    pub(super) fn stand_behind(&mut self) -> Option<Notice> {
        let NomineeStage::Standing(Standing { own, .. }) = &self.stage else {
            return None;
        };
        let own = own.clone();
        self.stage = self.leaving(own, Afterwards::StandAgain);
        Some(Notice::CandidateLost(Cause::SteppedDown))
    }

    /// Handles the end of a leaving candidate's znode.
    pub(super) fn departed(
        &mut self,
        afterwards: Afterwards,
        departure: Departure,
    ) -> Option<Notice> {
        match afterwards {
            Afterwards::StandAgain => {
                self.stand_again();
                None
            }
            Afterwards::Resigned => Some(self.end(End::Resigned(departure))),
            Afterwards::Withdrawn => Some(self.end(End::Withdrawn(departure))),
            Afterwards::Lost(cause) => Some(self.end(End::Lost(cause))),
        }
    }

    /// Handles the loss of the candidate against the nominee's will.
    pub(super) fn lose(&mut self, cause: Cause) -> Option<Notice> {
        match (self.on_loss, &self.stage) {
            (OnLoss::End, _) => Some(self.end(End::Lost(cause))),
            (OnLoss::StandUntilElected, NomineeStage::Leading(leading))
                if leading.mark.is_settled() =>
            {
                Some(self.end(End::Lost(cause)))
            }
            (OnLoss::StandAgain | OnLoss::StandUntilElected, _) => {
                let notice = match &self.stage {
                    NomineeStage::Leading(leading) if leading.mark.is_settled() => {
                        Some(Notice::Lost(cause))
                    }
                    NomineeStage::Leading(_) | NomineeStage::Standing(_) => {
                        Some(Notice::CandidateLost(cause))
                    }
                    NomineeStage::Entering(_)
                    | NomineeStage::Leaving(_)
                    | NomineeStage::Evicted(_)
                    | NomineeStage::Ended(_) => None,
                };
                self.stand_again();
                notice
            }
        }
    }

    /// Ends the nomination with an error. It still owes the deletion of its znode.
    pub(super) fn fail(&mut self, error: NominationError) -> Notice {
        let cleanup = self.stage.leftover();
        self.fail_owing(error, cleanup)
    }

    pub(super) fn fail_owing(&mut self, error: NominationError, cleanup: Cleanup) -> Notice {
        self.end_owing(End::Failed(error), cleanup)
    }

    pub(super) fn end(&mut self, end: End) -> Notice {
        self.end_owing(end, Cleanup::Nothing)
    }

    pub(super) fn end_owing(&mut self, end: End, cleanup: Cleanup) -> Notice {
        let cleanup = self.with_a_look(cleanup);
        self.stage = NomineeStage::Ended(Ended { end, cleanup });
        Notice::Ended(end)
    }

    /// Handles an answer to a cleanup. The deletion of the nominee's candidate settles it. If there
    /// may be others, a search goes on until a list shows none. After a refusal, which may be over
    /// some day, the search begins anew at the next look, or on the next connection: until then the
    /// znode may be in the way of all others.
    pub(super) fn cleanup_answered(
        &mut self,
        session: SessionId,
        result: Result<Reply<'_>, Failure>,
    ) {
        let search = self.search(session);
        let NomineeStage::Ended(Ended { cleanup, .. }) = &mut self.stage else {
            return;
        };
        *cleanup = match (core::mem::take(cleanup), result) {
            (Cleanup::Nothing, _)
            | (Cleanup::Delete(_), Ok(Reply::Deleted) | Err(Failure::NoNode))
            | (Cleanup::Find(Find::List) | Cleanup::FindBelow(_), Err(Failure::NoNode)) => {
                Cleanup::Nothing
            }
            (Cleanup::Find(Find::Barrier), Ok(Reply::BarrierPassed)) => Cleanup::Find(Find::List),
            (Cleanup::Find(Find::List), Ok(Reply::Children(children))) => {
                search.first(children).map_or(Cleanup::Nothing, |found| match found {
                    Found::Own(name) => Cleanup::DeleteFound(name),
                    Found::Unnamed(name) => Cleanup::Inspect(name),
                })
            }
            (Cleanup::FindBelow(name), Ok(Reply::Children(children))) => {
                search.below(&name, children).map_or(Cleanup::Nothing, Cleanup::Inspect)
            }
            (Cleanup::Inspect(name), Ok(Reply::Exists(stat))) if is_owned(&stat, session) => {
                Cleanup::DeleteFound(name)
            }
            // What may not be looked at is another session's.
            (
                Cleanup::Inspect(name),
                Ok(Reply::Exists(_)) | Err(Failure::NoNode | Failure::NoAuth),
            ) => Cleanup::FindBelow(name),
            (Cleanup::DeleteFound(_), Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                Cleanup::Find(Find::Barrier)
            }
            (
                Cleanup::Delete(_)
                | Cleanup::DeleteFound(_)
                | Cleanup::Find(_)
                | Cleanup::FindBelow(_)
                | Cleanup::Inspect(_),
                _,
            ) => Cleanup::Find(Find::Refused),
        };
    }

    /// Stands again with a new znode.
    pub(crate) fn stand_again(&mut self) {
        self.incarnation = self.incarnation.next();
        self.steps = 0;
        self.stage = NomineeStage::Entering(Entering::FIRST);
    }
}

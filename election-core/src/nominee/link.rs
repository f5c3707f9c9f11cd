//! Changes of the link, the session and the lease.

use super::Nominee;
use super::request::{Awaits, InFlight, NomineeLink, Request};
use super::stage::{
    Afterwards, Cleanup, Entering, Entry, Intent, LeaderWatch, Leaving, Look, NomineeStage,
    OwnWatch, Position, Tenure,
};
use crate::id::SessionId;
use crate::outcome::{Cause, Departure, End, Notice};
use crate::policy::OnLoss;

impl Nominee {
    pub(super) fn connected(&mut self, session: SessionId) -> Option<Notice> {
        let notice = match self.link {
            NomineeLink::Up { session: known, .. } | NomineeLink::Down { session: known }
                if known != session =>
            {
                self.session_expired()
            }
            NomineeLink::Unconnected | NomineeLink::Up { .. } | NomineeLink::Down { .. } => {
                self.disconnected()
            }
        };
        self.link = NomineeLink::Up { session, awaits: Awaits::Nothing };
        notice
    }

    /// Handles a lost link: requests in flight may or may not have been executed, and no watch is
    /// set.
    pub(super) fn disconnected(&mut self) -> Option<Notice> {
        let NomineeLink::Up { session, awaits } = self.link else {
            return None;
        };
        self.link = NomineeLink::Down { session };
        match &mut self.stage {
            NomineeStage::Entering(entering) => {
                entering.step = after_loss(&entering.step, awaits);
                entering.rounds = 0;
                None
            }
            NomineeStage::Standing(standing) => {
                if let OwnWatch::Armed { token, .. } | OwnWatch::Unset { token } =
                    standing.own_watch
                {
                    standing.own_watch = OwnWatch::Due { token };
                }
                standing.position = Position::Unknown;
                standing.look = Look::NotDue;
                None
            }
            NomineeStage::Leading(leading) => {
                leading.watch = LeaderWatch::Due;
                leading.tombstone.renew();
                leading.mark.connection_lost();
                match core::mem::replace(&mut leading.tenure, Tenure::Suspended) {
                    Tenure::Active if leading.mark.is_settled() => Some(Notice::Suspended),
                    Tenure::Active | Tenure::Suspended => None,
                }
            }
            NomineeStage::Leaving(_) => {
                self.look_again_before_deletion();
                None
            }
            NomineeStage::Evicted(evicted) => {
                evicted.begin_anew();
                None
            }
            NomineeStage::Ended(ended) => {
                ended.cleanup.look_again();
                self.look_again_before_deletion();
                None
            }
        }
    }

    pub(super) fn session_expired(&mut self) -> Option<Notice> {
        if self.link == NomineeLink::Unconnected {
            return None;
        }
        self.link = NomineeLink::Unconnected;
        match &mut self.stage {
            NomineeStage::Entering(Entering { intent: Intent::Leave, .. }) => {
                Some(self.end(End::Withdrawn(Departure::WithSession)))
            }
            NomineeStage::Entering(_) | NomineeStage::Standing(_) | NomineeStage::Leading(_) => {
                self.lose(Cause::SessionExpired)
            }
            NomineeStage::Leaving(Leaving { afterwards, .. }) => {
                let afterwards = *afterwards;
                self.departed(afterwards, Departure::WithSession)
            }
            NomineeStage::Evicted(evicted) => {
                evicted.begin_anew();
                None
            }
            NomineeStage::Ended(ended) => {
                ended.cleanup = Cleanup::Nothing;
                None
            }
        }
    }

    /// Handles a lapsed lease. The old znode goes before a new one is created, so the queue is
    /// never longer than its nominees, and the next token is greater.
    pub(super) fn lease_lapsed(&mut self) -> Option<Notice> {
        let NomineeStage::Leading(leading) = &self.stage else {
            return None;
        };
        // The user was told nothing yet.
        if !leading.mark.is_settled() {
            return None;
        }
        let own = leading.own.clone();
        let afterwards = match self.on_loss {
            OnLoss::StandAgain => Afterwards::StandAgain,
            OnLoss::End | OnLoss::StandUntilElected => Afterwards::Lost(Cause::LeaseLapsed),
        };
        self.stage = self.leaving(own, afterwards);
        Some(Notice::Lost(Cause::LeaseLapsed))
    }
}

/// Returns the step after a lost link: a create that was sent is in doubt, and so is all knowledge
/// of an earlier one.
fn after_loss(step: &Entry, awaits: Awaits) -> Entry {
    match step {
        Entry::Create => match awaits {
            Awaits::Answer(InFlight { request: Request::Create, .. }) => Entry::Barrier,
            Awaits::Answer(_) | Awaits::Nothing | Awaits::Look | Awaits::UsualLook => Entry::Create,
        },
        Entry::CreateElectionNode | Entry::CreateHome(_) => Entry::Create,
        Entry::Barrier
        | Entry::Search
        | Entry::SearchBelow(_)
        | Entry::Unnamed(_)
        | Entry::Suspect(_)
        | Entry::Obstructed => Entry::Barrier,
    }
}

//! Changes of the link, the session and the lease.

use super::Nominee;
use super::request::{Awaits, InFlight, Link, Request};
use super::stage::{
    Afterwards, Cleanup, Entering, Entry, Intent, LeaderWatch, Leaving, Look, OwnWatch, Position,
    Stage, Tenure,
};
use crate::id::SessionId;
use crate::outcome::{Cause, Departure, End, Notice};
use crate::policy::OnLoss;

impl Nominee {
    pub(super) fn connected(&mut self, session: SessionId) -> Option<Notice> {
        let notice = match self.link {
            Link::Up { session: known, .. } | Link::Down { session: known } if known != session => {
                self.session_expired()
            }
            Link::Unconnected | Link::Up { .. } | Link::Down { .. } => self.disconnected(),
        };
        self.link = Link::Up { session, awaits: Awaits::Nothing };
        notice
    }

    /// Handles a lost link: requests in flight may or may not have been executed, and no watch is
    /// set.
    pub(super) fn disconnected(&mut self) -> Option<Notice> {
        let Link::Up { session, awaits } = self.link else {
            return None;
        };
        self.link = Link::Down { session };
        match &mut self.stage {
            Stage::Entering(entering) => {
                entering.step = after_loss(&entering.step, awaits);
                entering.rounds = 0;
                None
            }
            Stage::Standing(standing) => {
                if let OwnWatch::Armed { token, .. } | OwnWatch::Unset { token } =
                    standing.own_watch
                {
                    standing.own_watch = OwnWatch::Due { token };
                }
                standing.position = Position::Unknown;
                standing.look = Look::NotDue;
                None
            }
            Stage::Leading(leading) => {
                leading.watch = LeaderWatch::Due;
                leading.tombstone.renew();
                leading.mark.connection_lost();
                match core::mem::replace(&mut leading.tenure, Tenure::Suspended) {
                    Tenure::Active if leading.mark.is_settled() => Some(Notice::Suspended),
                    Tenure::Active | Tenure::Suspended => None,
                }
            }
            Stage::Leaving(_) => {
                self.look_again_before_deletion();
                None
            }
            Stage::Evicted(evicted) => {
                evicted.begin_anew();
                None
            }
            Stage::Ended(ended) => {
                ended.cleanup.look_again();
                self.look_again_before_deletion();
                None
            }
        }
    }

    pub(super) fn session_expired(&mut self) -> Option<Notice> {
        if self.link == Link::Unconnected {
            return None;
        }
        self.link = Link::Unconnected;
        match &mut self.stage {
            Stage::Entering(Entering { intent: Intent::Leave, .. }) => {
                Some(self.end(End::Withdrawn(Departure::WithSession)))
            }
            Stage::Entering(_) | Stage::Standing(_) | Stage::Leading(_) => {
                self.lose(Cause::SessionExpired)
            }
            Stage::Leaving(Leaving { afterwards, .. }) => {
                let afterwards = *afterwards;
                self.departed(afterwards, Departure::WithSession)
            }
            Stage::Evicted(evicted) => {
                evicted.begin_anew();
                None
            }
            Stage::Ended(ended) => {
                ended.cleanup = Cleanup::Nothing;
                None
            }
        }
    }

    /// Handles a lapsed lease. The old znode goes before a new one is created, so the queue is
    /// never longer than its nominees, and the next token is greater.
    pub(super) fn lease_lapsed(&mut self) -> Option<Notice> {
        let Stage::Leading(leading) = &self.stage else {
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

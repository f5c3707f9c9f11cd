//! How the two contests of a semaphore follow each other.

use super::Semaphore;
use super::course::{Course, Reports};
use crate::lock::{LockEnd, LockFailure, LockNotice};
use crate::outcome::{End, NominationError, Notice, Role};
use crate::recipe::{Hold, Phase, Recipe as _};

impl Semaphore {
    /// Proceeds from the states of the parts.
    pub(super) fn proceed(&mut self, told: Reports) -> Option<LockNotice> {
        match self.course {
            Course::Queueing => self.queueing(told),
            Course::Entering => self.entering(told),
            Course::Retreating => self.retreating(told),
            Course::Holding => self.holding(told),
            Course::Leaving => self.conclude(),
            Course::Ended(_) => None,
        }
    }

    fn queueing(&mut self, told: Reports) -> Option<LockNotice> {
        match (self.mutex.phase(), self.mutex.hold()) {
            (Phase::Standing, Hold::None) => of_mutex(told.mutex?),
            (Phase::Standing, Hold::Active(_) | Hold::Suspended(_)) => {
                self.permit.stand_again();
                self.course = Course::Entering;
                None
            }
            (Phase::Leaving | Phase::CleaningUp | Phase::Over, _) => self.leave(told),
        }
    }

    fn entering(&mut self, told: Reports) -> Option<LockNotice> {
        match (self.permit.phase(), self.permit.hold(), self.mutex.hold()) {
            (Phase::Standing, Hold::Active(token) | Hold::Suspended(token), _) => {
                self.mutex.give_up();
                self.course = Course::Holding;
                Some(LockNotice::Acquired(token))
            }
            (Phase::Standing, Hold::None, Hold::Active(_) | Hold::Suspended(_)) => {
                of_permit(told.permit?)
            }
            // It will get the mutex again.
            (Phase::Standing, Hold::None, Hold::None) if self.mutex.phase() == Phase::Standing => {
                self.permit.give_up();
                self.course = Course::Retreating;
                self.retreating(told)
            }
            _ => self.leave(told),
        }
    }

    fn retreating(&mut self, told: Reports) -> Option<LockNotice> {
        match (self.permit.phase(), self.permit.role(), self.mutex.phase()) {
            (Phase::Leaving, _, Phase::Standing) => of_mutex(told.mutex?),
            (Phase::Over, Role::Ended(End::Withdrawn(_)), Phase::Standing) => {
                self.course = Course::Queueing;
                self.queueing(told)
            }
            _ => self.leave(told),
        }
    }

    fn holding(&mut self, told: Reports) -> Option<LockNotice> {
        let has_failed = matches!(self.mutex.role(), Role::Ended(End::Failed(_)));
        match (self.permit.phase(), told.permit) {
            (Phase::Standing, told) if !has_failed => of_permit(told?),
            _ => self.leave(told),
        }
    }

    /// Ends both parts.
    pub(super) fn leave(&mut self, told: Reports) -> Option<LockNotice> {
        if let Course::Ended(_) = self.course {
            return None;
        }
        self.course = Course::Leaving;
        self.permit.give_up();
        self.mutex.give_up();
        let lost = match told.permit {
            Some(Notice::Lost(cause) | Notice::Ended(End::Lost(cause))) => {
                Some(LockNotice::Lost(cause))
            }
            _ => None,
        };
        self.conclude().or(lost)
    }

    /// Reports the end once nothing is left but what a failure has left behind.
    fn conclude(&mut self) -> Option<LockNotice> {
        let end = match (self.permit.role(), self.mutex.role()) {
            (Role::Ended(End::Failed(error)), _) | (_, Role::Ended(End::Failed(error))) => {
                self.permit.give_up();
                self.mutex.give_up();
                LockEnd::Failed(LockFailure::of(error))
            }
            (Role::Ended(End::Lost(cause)), Role::Ended(_)) => LockEnd::Lost(cause),
            (Role::Ended(End::Resigned(departure)), Role::Ended(_)) => LockEnd::Released(departure),
            (
                Role::Ended(End::Withdrawn(_)),
                Role::Ended(End::Withdrawn(departure) | End::Resigned(departure)),
            ) => LockEnd::NotAcquired(self.gives_up, departure),
            // The mutex is never lost for good.
            (Role::Ended(End::Withdrawn(_)), Role::Ended(End::Lost(_))) => {
                LockEnd::Failed(LockFailure::of(NominationError::UnexpectedReply))
            }
            _ => return None,
        };
        self.course = Course::Ended(end);
        Some(LockNotice::Ended(end))
    }
}

/// Returns the notice for the user of a notice about the mutex.
const fn of_mutex(notice: Notice) -> Option<LockNotice> {
    Some(match notice {
        Notice::Following => LockNotice::Waiting,
        Notice::FollowingUnwatched => LockNotice::WaitingUnwatched,
        Notice::FollowingPersistent => LockNotice::WaitingForPersistent,
        Notice::Obstructed(obstacle) => LockNotice::Obstructed(obstacle),
        Notice::ForeignChild => LockNotice::ForeignChild,
        Notice::Lost(cause) | Notice::CandidateLost(cause) => LockNotice::PlaceLost(cause),
        Notice::Elected(_) | Notice::Suspended | Notice::Resumed(_) | Notice::Ended(_) => {
            return None;
        }
    })
}

/// Returns the notice for the user of a notice about the permit; holding it is reported separately.
const fn of_permit(notice: Notice) -> Option<LockNotice> {
    Some(match notice {
        Notice::Following => LockNotice::Waiting,
        Notice::Obstructed(obstacle) => LockNotice::Obstructed(obstacle),
        Notice::Lost(cause) | Notice::CandidateLost(cause) => LockNotice::PlaceLost(cause),
        Notice::Suspended => LockNotice::Suspended,
        Notice::Resumed(token) => LockNotice::Resumed(token),
        Notice::Elected(_)
        | Notice::FollowingUnwatched
        | Notice::FollowingPersistent
        | Notice::ForeignChild
        | Notice::Ended(_) => return None,
    })
}

//! The inquiry after another client has deleted the nominee's znode, which may have been the end of the
//! election.

use super::evicted::{Evicted, Inquiry, Was};
use super::stage::NomineeStage;
use super::{Nominee, mismatch};
use crate::event::{Failure, Reply};
use crate::outcome::{Cause, End, Notice};
use crate::policy::OnLoss;

impl Nominee {
    /// Handles the deletion of the nominee's znode by another client. A leadership ends at once;
    /// the nominee stands again unless the election was ended.
    pub(super) fn evict(&mut self) -> Option<Notice> {
        let cause = Cause::Evicted;
        let Some(mark) = self.contest.end_mark() else {
            return self.lose(cause);
        };
        let (was, notice) = match (&self.stage, self.on_loss) {
            (NomineeStage::Leading(leading), _) if leading.mark.is_settled() => {
                (Was::Leading, Some(Notice::Lost(cause)))
            }
            (_, OnLoss::StandAgain | OnLoss::StandUntilElected) => {
                (Was::Standing, Some(Notice::CandidateLost(cause)))
            }
            (_, OnLoss::End) => (Was::Standing, None),
        };
        self.stage = NomineeStage::Evicted(Evicted { was, step: Inquiry::Look, mark });
        notice
    }

    pub(super) fn barrier_before_end_answered(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match (&mut self.stage, result) {
            (NomineeStage::Evicted(evicted), Ok(Reply::BarrierPassed)) => {
                evicted.step = Inquiry::Look;
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    pub(super) fn end_answered(&mut self, result: &Result<Reply<'_>, Failure>) -> Option<Notice> {
        match (&self.stage, result) {
            // A mark that may not be looked at is there.
            (NomineeStage::Evicted(_), Ok(Reply::Exists(_)) | Err(Failure::NoAuth)) => {
                Some(self.end(End::ElectionEnded))
            }
            (NomineeStage::Evicted(Evicted { was, .. }), Err(Failure::NoNode)) => {
                if self.on_loss.ends_after(*was) {
                    return Some(self.end(End::Lost(Cause::Evicted)));
                }
                self.stand_again();
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }
}

impl OnLoss {
    /// Returns whether the loss of the znode ends the nomination, whatever the state of the
    /// election.
    pub(super) const fn ends_after(self, was: Was) -> bool {
        match (self, was) {
            (Self::End, _) | (Self::StandUntilElected, Was::Leading) => true,
            (Self::StandAgain, _) | (Self::StandUntilElected, Was::Standing) => false,
        }
    }
}

//! The claim that a server refuses to delete. Its taker has ended, and owes the deletion.

use super::Taker;
use super::give_back::GiveBack;
use super::machine::failure_of;
use super::stage::{Parting, TakerStage};
use super::told::{TakerEnd, TakerNotice};
use crate::event::{Failure, Reply};
use crate::owed::{Owed, Rest};

impl<D: for<'a> From<&'a [u8]>, const N: usize> Taker<D, N> {
    pub(super) fn gave_back(
        &mut self,
        parting: Parting,
        step: GiveBack,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<TakerNotice<D>> {
        let (rest, end) = match step.answered(result) {
            Rest::GoesOn(step) => {
                self.stage = TakerStage::GivingBack(parting, step);
                return None;
            }
            Rest::Gone => (TakerStage::Over, parting.end_of_claim()),
            Rest::Refused(step) => {
                (TakerStage::Owing(Owed::Refused(step)), TakerEnd::Failed(failure_of(result)))
            }
        };
        let told = self.end(end);
        self.stage = rest;
        told
    }

    pub(super) fn paid(&mut self, owed: Owed<GiveBack>, result: &Result<Reply<'_>, Failure>) {
        let owed = match owed {
            Owed::Refused(_) => Some(owed),
            Owed::Due(step) => Owed::after(step.answered(result)),
        };
        self.stage = owed.map_or(TakerStage::Over, TakerStage::Owing);
    }

    /// Notes a look, or a connection.
    pub(super) fn debt_is_due(&mut self) {
        if let TakerStage::Owing(owed) = &mut self.stage {
            owed.look();
        }
    }
}

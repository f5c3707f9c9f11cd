//! The claim that a server refuses to delete. Its taker has ended, and owes the deletion.

use super::Taker;
use super::give_back::{Answer, GiveBack};
use super::machine::{Told, failure_of};
use super::stage::{Debt, Parting, Stage};
use super::told::TakerEnd;
use crate::event::{Failure, Reply};

impl<D: for<'a> From<&'a [u8]>, const N: usize> Taker<D, N> {
    pub(super) fn gave_back(
        &mut self,
        parting: Parting,
        step: GiveBack,
        result: &Result<Reply<'_>, Failure>,
    ) -> Told<D> {
        let (rest, end) = match step.answered(result) {
            Answer::GoesOn(step) => {
                self.stage = Stage::GivingBack(parting, step);
                return None;
            }
            Answer::Gone => (Stage::Over, parting.end_of_claim()),
            Answer::Refused => (Stage::Owing(Debt::Refused), TakerEnd::Failed(failure_of(result))),
        };
        let told = self.end(end);
        self.stage = rest;
        told
    }

    pub(super) fn paid(&mut self, debt: Debt, result: &Result<Reply<'_>, Failure>) {
        self.stage = match debt {
            Debt::Refused => Stage::Owing(debt),
            Debt::Due(step) => match step.answered(result) {
                Answer::GoesOn(step) => Stage::Owing(Debt::Due(step)),
                Answer::Gone => Stage::Over,
                Answer::Refused => Stage::Owing(Debt::Refused),
            },
        };
    }

    /// Notes a look, or a connection: an access list may have been restored, and an identity be
    /// presented.
    pub(super) const fn debt_is_due(&mut self) {
        if let Stage::Owing(debt @ Debt::Refused) = &mut self.stage {
            *debt = Debt::Due(GiveBack::LookAtPin);
        }
    }
}

//! The claim that a server refuses to delete. Its taker has ended, and owes the deletion.

use super::Taker;
use super::machine::{Told, failure_of};
use super::stage::{Debt, Parting, Stage};
use super::told::TakerEnd;
use crate::event::{Failure, Reply};

impl<D: for<'a> From<&'a [u8]>, const N: usize> Taker<D, N> {
    pub(super) fn given_back(
        &mut self,
        parting: Parting,
        result: &Result<Reply<'_>, Failure>,
    ) -> Told<D> {
        let (rest, end) = match Stage::after_deletion(result) {
            Stage::Over => (Stage::Over, parting.end()),
            owing => (owing, TakerEnd::Failed(failure_of(result))),
        };
        let told = self.end(end);
        self.stage = rest;
        told
    }

    /// Notes a look, or a connection: an access list may have been restored, and an identity be
    /// presented.
    pub(super) const fn debt_is_due(&mut self) {
        if let Stage::Owing(debt) = &mut self.stage {
            *debt = Debt::Due;
        }
    }
}

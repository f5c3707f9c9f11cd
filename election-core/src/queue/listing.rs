//! Lists and reads of a taker: the items of the queue, and whether the queue has the taker's
//! format.

use super::sibling::{SiblingQueue, Siblings};
use super::stage::TakerStage;
use super::window::Origin;
use super::{Competition, Known, Lists, Taker, TakerEnd, TakerFailure, TakerNotice, WhenEmpty};
use crate::children::Children;
use crate::command::Watch;
use crate::event::{Failure, Reply, Stat};
use crate::ticket::Ticket;

impl<D: for<'a> From<&'a [u8]>, const N: usize> Taker<D, N> {
    pub(super) fn listed(
        &mut self,
        watch: Watch,
        ticket: Ticket,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<TakerNotice<D>> {
        match result {
            Ok(Reply::Children(names)) => {
                self.watch = (watch != Watch::None).then_some(ticket);
                self.fill(names)
            }
            Err(Failure::NoNode) if self.options.when_empty == WhenEmpty::Wait => {
                self.stage = TakerStage::CreatingNode;
                None
            }
            Err(Failure::NoNode) => self.end(TakerEnd::Empty),
            result => self.refused(&result),
        }
    }

    /// Decides whether the items of an earlier taker are as good as a list.
    pub(super) fn compared(
        &mut self,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<TakerNotice<D>> {
        let origin = match result {
            Ok(Reply::Exists(Stat { token, arrivals, .. })) => Some(Origin { token, arrivals }),
            Err(Failure::NoNode) => None,
            result => return self.refused(&result),
        };
        if origin.is_none() || origin != self.window.origin() {
            self.window.clear();
        }
        self.origin = origin.map_or(Known::Nothing, Known::Since);
        None
    }

    fn fill(&mut self, names: Children<'_>) -> Option<TakerNotice<D>> {
        let origin = match self.origin {
            Known::Since(origin) => Some(origin),
            Known::NotYet | Known::Nothing => None,
        };
        let format = self.options.format;
        let mut siblings = Siblings::default();
        let names = names.inspect(|name| siblings.take_in(format, name));
        self.window.fill(format, names, origin);
        self.origin = Known::Nothing;
        (self.lists, self.competition) = (Lists::Some, Competition::Unnoticed);
        siblings.found().and_then(|sibling| self.belongs_to(sibling))
    }

    pub(super) fn belongs_to(&mut self, sibling: SiblingQueue) -> Option<TakerNotice<D>> {
        self.end(TakerEnd::Failed(TakerFailure::Sibling(sibling)))
    }

    pub(super) fn sibling_of(&self, result: &Result<Reply<'_>, Failure>) -> Option<SiblingQueue> {
        match result {
            Ok(Reply::Read { data, .. }) => SiblingQueue::of_data(self.options.format, data),
            _ => None,
        }
    }
}

//! The state of an operation on a barrier, as its caller sees it.

use election_core::barrier::{Barrier, BarrierEnd};
use election_session::{RecipeEnd, Step, View};
use zk_session::SessionEnd;

use crate::broadcast::{Receiver, Sender};
use crate::hub::{Face, Unlocked};

#[derive(Debug)]
pub(super) struct BarrierFace {
    shown: Sender<ShownBarrier>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ShownBarrier {
    Running,
    Ended(BarrierEnd),
    ClientEnded(SessionEnd),
}

impl BarrierFace {
    pub(super) fn new() -> (Self, Receiver<ShownBarrier>) {
        let shown = Sender::new(ShownBarrier::Running);
        let receiver = shown.subscribe();
        (Self { shown }, receiver)
    }

    fn end(&self, shown: ShownBarrier, unlocked: &mut Unlocked) {
        self.shown.set(shown, &mut unlocked.wakers);
        self.shown.end(&mut unlocked.wakers);
    }
}

impl Face for BarrierFace {
    type Recipe = Barrier;

    fn stepped(
        &mut self,
        _: &Barrier,
        step: Step<BarrierEnd>,
        _: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        if let Some(end) = step.notice {
            self.end(ShownBarrier::Ended(end), unlocked);
        }
    }

    fn over(&mut self, _: &Barrier, end: RecipeEnd, unlocked: &mut Unlocked) {
        if let RecipeEnd::HostEnded(end) = end {
            self.end(ShownBarrier::ClientEnded(end), unlocked);
        }
    }
}

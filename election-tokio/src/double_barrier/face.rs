//! The state of a participant, as its user sees it.

use election_core::barrier::{DoubleBarrier, DoubleBarrierEnd, DoubleBarrierNotice};
use election_session::{Step, View};
use zk_session::SessionEnd;

use crate::broadcast::{Receiver, Sender};
use crate::hub::{Face, Unlocked};

#[derive(Debug)]
pub(super) struct DoubleBarrierFace {
    shown: Sender<ShownEntry>,
}

/// How far a participant has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum ShownEntry {
    Entering,
    Inside,
    Ended(DoubleBarrierEnd),
    ClientEnded(SessionEnd),
}

impl DoubleBarrierFace {
    pub(super) fn new() -> (Self, Receiver<ShownEntry>) {
        let shown = Sender::new(ShownEntry::Entering);
        let receiver = shown.subscribe();
        (Self { shown }, receiver)
    }

    fn end(&self, shown: ShownEntry, unlocked: &mut Unlocked) {
        self.shown.set(shown, &mut unlocked.wakers);
        self.shown.end(&mut unlocked.wakers);
    }
}

impl Face for DoubleBarrierFace {
    type Recipe = DoubleBarrier;

    fn stepped(
        &mut self,
        _: &DoubleBarrier,
        step: Step<DoubleBarrierNotice>,
        _: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        match step.notice {
            Some(DoubleBarrierNotice::Inside) => {
                self.shown.set(ShownEntry::Inside, &mut unlocked.wakers);
            }
            Some(DoubleBarrierNotice::Ended(end)) => self.end(ShownEntry::Ended(end), unlocked),
            Some(
                DoubleBarrierNotice::RoundUnderWay
                | DoubleBarrierNotice::Gathering(_)
                | DoubleBarrierNotice::EntryLost(_),
            )
            | None => {}
        }
    }

    fn client_ended(&mut self, _: &DoubleBarrier, end: SessionEnd, unlocked: &mut Unlocked) {
        self.end(ShownEntry::ClientEnded(end), unlocked);
    }
}

//! The state of a take, as its caller sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use election_core::queue::{Taker, TakerNotice};
use election_core::{Event, Hold, Output, Phase, Recipe, Ticket, Znode};
use election_session::{Step, View};
use zk_session::SessionEnd;

use super::item::{Data, QueueItem};
use super::kept::{Kept, WINDOW};
use super::slot::{Said, Slot};
use crate::hub::{Face, Unlocked};

/// The fate of a claim when its taker is withdrawn.
#[derive(Debug, Default)]
pub(super) struct Verdict(AtomicBool);

impl Verdict {
    pub(super) fn finish(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_finished(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A taker that finishes its claim in the same way as it gives it back.
#[derive(Debug)]
pub(super) struct Claimant {
    pub(super) taker: Taker<Data, WINDOW>,
    pub(super) verdict: Arc<Verdict>,
}

impl Recipe for Claimant {
    type Notice = TakerNotice<Data>;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Self::Notice> {
        self.taker.handle_event(event)
    }

    fn withdraw(&mut self) -> Output<'_, Self::Notice> {
        if self.verdict.is_finished() { self.taker.finish() } else { self.taker.withdraw() }
    }

    fn phase(&self) -> Phase {
        self.taker.phase()
    }

    fn hold(&self) -> Hold {
        self.taker.hold()
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        self.taker.heartbeat()
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        self.taker.awaits_change(ticket)
    }

    fn waits_for_look(&self) -> bool {
        self.taker.waits_for_look()
    }
}

#[derive(Debug)]
pub(super) struct TakerFace {
    pub(super) slot: Arc<Slot>,
    pub(super) kept: Arc<Kept>,
}

impl Face for TakerFace {
    type Recipe = Claimant;

    fn stepped(
        &mut self,
        claimant: &Claimant,
        step: Step<TakerNotice<Data>>,
        _: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        let said = match step.notice {
            None | Some(TakerNotice::Waiting) => return,
            Some(TakerNotice::Claimed(item)) => Said::Claimed(QueueItem::of(item)),
            Some(TakerNotice::Ended(end)) => {
                self.kept.put_back(claimant.taker.window().clone());
                Said::Ended(end)
            }
        };
        self.slot.say(said, &self.kept, &mut unlocked.wakers);
    }

    fn client_ended(&mut self, claimant: &Claimant, end: SessionEnd, unlocked: &mut Unlocked) {
        let taker = &claimant.taker;
        let in_doubt = taker.in_doubt().cloned().zip(taker.target());
        let in_doubt = in_doubt.map(|(Data(data), name)| QueueItem { name, data });
        let said = Said::ClientEnded { end, in_doubt };
        self.slot.say(said, &self.kept, &mut unlocked.wakers);
    }
}

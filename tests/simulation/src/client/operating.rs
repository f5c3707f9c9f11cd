//! What users and operators do to elections in several steps.

use core::time::Duration;

use zk_session::{Completion, Failure, Instant};

use super::confirming::Questions;
use super::ending::{Ending, Endings};
use super::epochs::Epochs;
use super::handing_over::HandingOver;
use super::{CallId, Client};
use crate::queue::Queue;

/// When a step is tried once more.
pub(super) const AGAIN: Duration = Duration::from_millis(250);

/// What goes on.
#[derive(Debug, Default)]
pub(super) struct Procedures {
    pub(super) endings: Endings,
    pub(super) epochs: Epochs,
    pub(super) questions: Questions,
    pub(super) handing_over: Option<HandingOver>,
}

impl Procedures {
    pub(super) fn due(&self) -> Option<Instant> {
        let endings = self.endings.values().filter_map(Ending::due);
        endings.chain(self.handing_over.as_ref().and_then(HandingOver::due)).min()
    }
}

impl Client {
    pub(super) fn go_on_if_due(&mut self, now: Instant) {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        let endings = self.procedures.endings.iter();
        let due = endings.filter(|(_, ending)| is_due(ending.due())).map(|(queue, _)| *queue);
        let due: Vec<Queue> = due.collect();
        for queue in due {
            self.begin_again(now, queue);
        }
        if is_due(self.procedures.handing_over.as_ref().and_then(HandingOver::due)) {
            self.go_on_handing_over(now);
        }
    }

    pub(super) fn procedure_answered(
        &mut self,
        now: Instant,
        call: CallId,
        outcome: &Result<Completion, Failure>,
    ) {
        let endings = self.procedures.endings.iter();
        let queue = endings.filter(|(_, it)| it.awaits(call)).map(|(queue, _)| *queue).next();
        if let Some(queue) = queue {
            self.ending_answered(now, (queue, call), outcome);
        }
        self.confirmation_answered(call, outcome);
        let epochs = self.procedures.epochs.iter();
        let leader = epochs.filter(|(_, it)| it.awaits(call)).map(|(leader, _)| *leader).next();
        if let Some(leader) = leader {
            self.epoch_answered(now, leader, outcome);
        }
        if self.procedures.handing_over.as_ref().is_some_and(|it| it.awaits(call)) {
            self.handing_over_answered(now, outcome);
        }
    }
}

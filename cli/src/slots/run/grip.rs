//! A slot, while COMMAND runs for it.

use core::future::pending;

use election_tokio::slots::SlotGuard;
use election_tokio::{Client, ConnectionState, Updates};
use tokio::sync::watch;

use super::event::{By, SlotRunEvent};
use crate::event::{Recorder, ms_until};
use crate::future::now;
use crate::supervision::{Held, Hold};

/// A slot, while COMMAND runs for it. It records each change.
pub(super) struct Grip<'r> {
    pub(super) guard: SlotGuard,
    /// Whether all slots are to be given up, because something has failed.
    is_over: watch::Receiver<bool>,
    connection: Updates<ConnectionState>,
    /// What the last look has seen: it is no change any more.
    seen: Option<Hold>,
    recorder: &'r Recorder,
}

impl<'r> Grip<'r> {
    pub(super) fn new(
        guard: SlotGuard,
        is_over: watch::Receiver<bool>,
        client: &Client,
        recorder: &'r Recorder,
    ) -> Self {
        let valid_for_ms = guard.valid_until().map_or(0, ms_until);
        recorder.record(&SlotRunEvent::Acquired { by: By::of(&guard), valid_for_ms });
        Self { guard, is_over, connection: client.connection_updates(), seen: None, recorder }
    }

    /// Records that the slot is released, unless it is lost, and releases it.
    pub(super) fn release(mut self, reason: &'static str) {
        if self.look() != Hold::Nothing {
            self.recorder.record(&SlotRunEvent::Released { by: By::of(&self.guard), reason });
        }
    }

    fn is_to_be_given_up(&self) -> bool {
        *self.is_over.borrow() || self.guard.give_up_by().is_some()
    }

    /// Records a state that is another than at the last look.
    fn record(&self, hold: Hold, lost: Option<String>) {
        let by = By::of(&self.guard);
        let valid_for_ms = self.guard.valid_until().map_or(0, ms_until);
        let event = match (self.seen, hold) {
            (Some(Hold::Nothing), _)
            | (Some(Hold::Requested { .. }), Hold::Requested { .. })
            | (Some(Hold::InDoubt { .. }), Hold::InDoubt { .. })
            | (None | Some(Hold::Valid { .. }), Hold::Valid { .. }) => return,
            (_, Hold::Nothing) => SlotRunEvent::Lost { by, reason: lost.unwrap_or_default() },
            (_, Hold::Requested { .. }) => {
                let remaining_ms = self.guard.give_up_by().map(ms_until);
                SlotRunEvent::GiveUpRequested { by, remaining_ms }
            }
            (_, Hold::InDoubt { .. }) => SlotRunEvent::Suspended { by, valid_for_ms },
            (Some(_), Hold::Valid { .. }) => SlotRunEvent::Resumed { by, valid_for_ms },
        };
        self.recorder.record(&event);
    }
}

impl Held for Grip<'_> {
    fn look(&mut self) -> Hold {
        let state = self.connection.latest_and_update();
        let is_connected = matches!(state, ConnectionState::Connected { .. });
        let lost = now(self.guard.lost());
        let hold = match (self.is_to_be_given_up(), self.guard.valid_until()) {
            _ if lost.is_some() => Hold::Nothing,
            (true, until) => Hold::Requested { until },
            (false, Some(until)) if is_connected => Hold::Valid { until },
            (false, until) => Hold::InDoubt { until },
        };
        self.record(hold, lost.map(|lost| lost.to_string()));
        self.seen = Some(hold);
        hold
    }

    /// Does nothing: COMMAND has no descriptor to write such a line to.
    fn heed_line(&mut self, _: String) {}

    async fn changed(&mut self) {
        let is_lost = self.seen == Some(Hold::Nothing);
        let is_requested = is_lost || matches!(self.seen, Some(Hold::Requested { .. }));
        let mut is_over = self.is_over.clone();
        let over = async {
            if is_over.wait_for(|is_over| *is_over).await.is_err() {
                // `serve` owns the sender for as long as it owns this.
                pending::<()>().await;
            }
        };
        let connection_changed = async {
            if self.connection.next().await.is_none() {
                // The last state stands, and the next look finds it.
                pending::<()>().await;
            }
        };
        tokio::select! {
            _ = self.guard.lost(), if !is_lost => {}
            _ = self.guard.give_up_requested(), if !is_requested => {}
            () = over, if !is_requested => {}
            () = connection_changed => {}
        }
    }
}

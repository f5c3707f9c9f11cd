//! What the heartbeats of one connection have shown.

use core::time::Duration;

use crate::time::Instant;

/// What the heartbeats of the present connection have shown. A connection has one leader behind
/// it: a server that changes its leader drops its clients.
///
/// A heartbeat touches the session at the server that it is sent to. That server hands its touches
/// to the leader in its answers to the leader's pings, which come every half tick. So:
///
/// 1. A heartbeat *e* is answered, and a confirmation that was sent behind that answer. Both touch
///    the session at the server. Of a pair, one touch may get lost: the server enters it into a
///    table that another of its threads just takes away (`LearnerSessionTracker`). The pair counts
///    from the sending of *e*, which is before both touches.
/// 2. Another heartbeat *k* is sent a third of the timeout after the answer to *e*, and at least a
///    quarter after the confirmation's answer: half a tick, with a timeout of two ticks. The
///    leader answers *k* in order behind its pings, so before *k* is answered the server has
///    answered a ping with what is left of the pair. (While round trips stay below a twelfth of the
///    timeout, and a lease that goes on needs them shorter, the third is the later of the two.)
/// 3. The confirmation of *k*, sent after its answer, is answered by the leader, too. What the
///    server forwards arrives in order: the touch of the pair has arrived.
///
/// A leader may count from a touch later than the pair's: that only prolongs the session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// When a handshake was sent that went on with a session: the leader was asked about it, and
    /// counts from then. Whether it still was the leader, a heartbeat shows.
    pub(super) handshake: Option<Instant>,
    pub(super) pair: Option<Pair>,
    pub(super) unconfirmed: Option<Unconfirmed>,
}

/// A heartbeat and its confirmation, both answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) sent_at: Instant,
    /// From when on the sending of another heartbeat shows that the server has handed this over.
    pub(super) ripe_at: Instant,
}

/// A heartbeat that was answered, and counts once its confirmation is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unconfirmed {
    pub(super) sent_at: Instant,
    pub(super) answered_at: Instant,
    /// When the pair was sent that the server has handed over.
    pub(super) handed_over: Option<Instant>,
}

/// What follows an answered heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followup {
    Confirm,
    Nothing,
}

impl Evidence {
    pub(super) const NONE: Self = Self { handshake: None, pair: None, unconfirmed: None };

    /// A heartbeat was answered with success: it counts if it is the first, or was sent late enough
    /// to show that the pair before it was handed over.
    pub(super) fn heartbeat_answered(&mut self, now: Instant, sent_at: Instant) -> Followup {
        if self.pair.is_some_and(|pair| sent_at < pair.ripe_at) {
            return Followup::Nothing;
        }
        let handed_over = self.pair.map(|pair| pair.sent_at);
        self.unconfirmed = Some(Unconfirmed { sent_at, answered_at: now, handed_over });
        Followup::Confirm
    }

    /// The confirmation was answered with success: what has arrived at the leader was sent then.
    pub(super) fn confirmed(&mut self, now: Instant, timeout: Duration) -> Option<Instant> {
        let heartbeat = self.unconfirmed.take()?;
        let ripe_at = heartbeat.ripe_at(now, timeout);
        self.pair = Some(Pair { sent_at: heartbeat.sent_at, ripe_at });
        heartbeat.handed_over
    }

    /// The confirmation was refused, or not even sent: the heartbeat does not count.
    pub(super) fn not_confirmed(&mut self) {
        self.unconfirmed = None;
    }
}

impl Unconfirmed {
    /// From when on the next heartbeat shows that the pair was handed over, if the confirmation is
    /// answered at `confirmed_at`.
    pub(super) fn ripe_at(self, confirmed_at: Instant, timeout: Duration) -> Instant {
        (self.answered_at + timeout / 3).max(confirmed_at + timeout / 4)
    }
}

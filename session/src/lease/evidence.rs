//! What the heartbeats of one connection have shown.

use core::time::Duration;

use super::pace::HeartbeatPace;
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
    pairs: Pairs,
    unconfirmed: Option<Unconfirmed>,
}

/// The pairs that a later heartbeat is still to prove, as many as the pace lets there be.
#[derive(Clone, Copy, Debug)]
enum Pairs {
    None,
    One(Pair),
    Two { older: Pair, newer: Pair },
}

/// A heartbeat and its confirmation, both answered.
#[derive(Clone, Copy, Debug)]
struct Pair {
    sent_at: Instant,
    /// From when on the sending of another heartbeat shows that the server has handed this over.
    ripe_at: Instant,
}

/// A heartbeat that was answered, and counts once its confirmation is.
#[derive(Clone, Copy, Debug)]
struct Unconfirmed {
    sent_at: Instant,
    answered_at: Instant,
    kind: HeartbeatKind,
    /// When the pair was sent that the server has handed over.
    handed_over: Option<Instant>,
}

/// What answers a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeartbeatKind {
    /// A `sync`, which the leader answers, for a session that it is closing, too.
    Sync,
    /// A check in a transaction, which a quorum commits, and only for a session that is not closing.
    Check,
}

/// What follows an answered heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followup {
    Confirm,
    Nothing,
}

/// What a confirmed heartbeat shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Confirmed {
    pub(super) kind: HeartbeatKind,
    /// When something was sent whose touch has arrived at the leader.
    pub(super) handed_over: Option<Instant>,
}

impl Evidence {
    pub(super) const NONE: Self = Self { handshake: None, pairs: Pairs::None, unconfirmed: None };

    /// When the next heartbeat is due that counts; `None`: at once.
    pub(super) fn due_at(&self, pace: HeartbeatPace) -> Option<Instant> {
        match (self.pairs, pace) {
            (Pairs::None, _) => None,
            (Pairs::One(pair), HeartbeatPace::Thirds) => Some(pair.ripe_at),
            (Pairs::One(pair), HeartbeatPace::Sixths) => Some(pair.half_ripe_at()),
            // Where the two followed each other irregularly, the next ones do not.
            (Pairs::Two { older, newer }, _) => Some(older.ripe_at.max(newer.half_ripe_at())),
        }
    }

    /// A heartbeat was answered with success: it counts if it is the first, or was sent when one was
    /// due.
    pub(super) fn heartbeat_answered(
        &mut self,
        now: Instant,
        sent_at: Instant,
        kind: HeartbeatKind,
        pace: HeartbeatPace,
    ) -> Followup {
        if self.due_at(pace).is_some_and(|due| sent_at < due) {
            return Followup::Nothing;
        }
        let handed_over = self.pairs.handed_over(sent_at);
        self.unconfirmed = Some(Unconfirmed { sent_at, answered_at: now, kind, handed_over });
        Followup::Confirm
    }

    /// The confirmation was answered with success: what has arrived at the leader was sent then.
    pub(super) fn confirmed(&mut self, now: Instant, timeout: Duration) -> Option<Confirmed> {
        let Unconfirmed { sent_at, answered_at, kind, handed_over } = self.unconfirmed.take()?;
        let ripe_at = (answered_at + timeout / 3).max(now + timeout / 4);
        self.pairs = self.pairs.after(handed_over).followed_by(Pair { sent_at, ripe_at });
        Some(Confirmed { kind, handed_over })
    }

    /// The confirmation was refused, or not even sent: the heartbeat does not count.
    pub(super) fn not_confirmed(&mut self) {
        self.unconfirmed = None;
    }

    pub(super) const fn awaits_confirmation(&self) -> bool {
        self.unconfirmed.is_some()
    }
}

impl Pair {
    fn half_ripe_at(self) -> Instant {
        self.sent_at + self.ripe_at.saturating_since(self.sent_at) / 2
    }
}

impl Pairs {
    /// When the last pair was sent that a heartbeat sent at `sent_at` shows to be handed over.
    fn handed_over(self, sent_at: Instant) -> Option<Instant> {
        match self {
            Self::One(pair) | Self::Two { newer: pair, .. } if pair.ripe_at <= sent_at => {
                Some(pair.sent_at)
            }
            Self::Two { older, .. } if older.ripe_at <= sent_at => Some(older.sent_at),
            Self::None | Self::One(_) | Self::Two { .. } => None,
        }
    }

    /// Those that are still to be proved, if what was sent at `handed_over` is.
    fn after(self, handed_over: Option<Instant>) -> Self {
        let is_proved = |pair: Pair| handed_over.is_some_and(|proved| pair.sent_at <= proved);
        match self {
            Self::One(pair) | Self::Two { newer: pair, .. } if is_proved(pair) => Self::None,
            Self::Two { older, newer } if is_proved(older) => Self::One(newer),
            Self::None | Self::One(_) | Self::Two { .. } => self,
        }
    }

    fn followed_by(self, newest: Pair) -> Self {
        match self {
            Self::None => Self::One(newest),
            Self::One(older) | Self::Two { newer: older, .. } => Self::Two { older, newer: newest },
        }
    }
}

//! The evidence from the heartbeats of one connection.

use core::time::Duration;

use super::pace::HeartbeatPace;
use crate::time::Instant;

/// The part of the timeout that passes between the answer to a confirmation and the heartbeat that
/// shows that the pair was handed over. It assumes that a leader that serves has sent a ping within
/// that time.
const RIPENING_PART: u32 = 3;

/// The evidence from the heartbeats of the present connection. A connection has one leader behind
/// it: a server that changes its leader drops its clients.
///
/// A heartbeat touches the session at the server that receives it. That server hands its touches to
/// the leader in its answers to the leader's pings, which come every half tick. So:
///
/// 1. A heartbeat *e* is answered, and so is a confirmation that was sent after that answer. Both
///    touch the session at the server. One touch of the pair may get lost: the server enters it
///    into a table that another of its threads takes away at that moment (`LearnerSessionTracker`).
///    The pair counts from the sending of *e*, which is before both touches.
/// 2. Another heartbeat *k* is sent a third of the timeout after the confirmation's answer. While
///    the leader serves it sends its pings closer together than that, by the client's clock: half a
///    tick is a quarter of a timeout of two ticks, and the rest is for clocks that differ by the
///    margin and for pings that come late. It answers *k* in order behind its pings. So before *k*
///    is answered, the server has answered a ping with what is left of the pair.
/// 3. The leader also answers the confirmation of *k*, which is sent after *k*'s answer. Messages
///    from the server arrive in order, so the touch of the pair has arrived.
///
/// A leader may count from a touch later than the pair's. That only prolongs the session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// When a handshake was sent that continued a session. The server asked the leader about it,
    /// and the leader counts from then. A heartbeat shows whether it still was the leader.
    pub(super) handshake: Option<Instant>,
    pairs: Pairs,
    unconfirmed: Option<Unconfirmed>,
}

/// The pairs that a later heartbeat has still to prove; the pace bounds their number.
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
    /// From when on the sending of another heartbeat shows that the server has handed this pair
    /// over.
    ripe_at: Instant,
}

/// A heartbeat that was answered, and that counts once its confirmation is answered.
#[derive(Clone, Copy, Debug)]
struct Unconfirmed {
    sent_at: Instant,
    kind: HeartbeatKind,
    /// When the pair was sent that the server has handed over.
    handed_over: Option<Instant>,
}

/// The request of a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeartbeatKind {
    /// A `sync`. The leader answers it even for a session that it is closing.
    Sync,
    /// A check in a transaction. A quorum commits it, and only for a session that is not closing.
    Check,
}

/// The consequence of an answered heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followup {
    Confirm,
    Nothing,
}

/// The evidence from a confirmed heartbeat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Confirmed {
    pub(super) kind: HeartbeatKind,
    /// When the last request was sent that has certainly touched the session at the leader.
    pub(super) handed_over: Option<Instant>,
}

impl Evidence {
    pub(super) const NONE: Self = Self { handshake: None, pairs: Pairs::None, unconfirmed: None };

    /// Returns when the next heartbeat that counts is due; `None`: at once.
    pub(super) fn due_at(&self, pace: HeartbeatPace) -> Option<Instant> {
        match (self.pairs, pace) {
            (Pairs::None, _) => None,
            (Pairs::One(pair), HeartbeatPace::Thirds) => Some(pair.ripe_at),
            (Pairs::One(pair), HeartbeatPace::Sixths) => Some(pair.half_ripe_at()),
            // If the two followed each other irregularly, the next ones will not.
            (Pairs::Two { older, newer }, _) => Some(older.ripe_at.max(newer.half_ripe_at())),
        }
    }

    /// Notes that a heartbeat was answered with success. It counts if it is the first, or was sent
    /// when one was due.
    pub(super) fn heartbeat_answered(
        &mut self,
        sent_at: Instant,
        kind: HeartbeatKind,
        pace: HeartbeatPace,
    ) -> Followup {
        if self.due_at(pace).is_some_and(|due| sent_at < due) {
            return Followup::Nothing;
        }
        let handed_over = self.pairs.handed_over(sent_at);
        self.unconfirmed = Some(Unconfirmed { sent_at, kind, handed_over });
        Followup::Confirm
    }

    /// Notes that the confirmation was answered with success, and returns when the touches were
    /// sent that have arrived at the leader.
    pub(super) fn confirmed(&mut self, now: Instant, timeout: Duration) -> Option<Confirmed> {
        let Unconfirmed { sent_at, kind, handed_over } = self.unconfirmed.take()?;
        let pair = Pair { sent_at, ripe_at: now + timeout / RIPENING_PART };
        self.pairs = self.pairs.after(handed_over).followed_by(pair);
        Some(Confirmed { kind, handed_over })
    }

    /// Notes that the confirmation was refused, or not even sent: the heartbeat does not count.
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
    /// Returns when the last pair was sent that a heartbeat sent at `sent_at` shows to be handed
    /// over.
    fn handed_over(self, sent_at: Instant) -> Option<Instant> {
        match self {
            Self::One(pair) | Self::Two { newer: pair, .. } if pair.ripe_at <= sent_at => {
                Some(pair.sent_at)
            }
            Self::Two { older, .. } if older.ripe_at <= sent_at => Some(older.sent_at),
            Self::None | Self::One(_) | Self::Two { .. } => None,
        }
    }

    /// Returns the pairs that have still to be proved, once everything sent until `handed_over` is
    /// proved.
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

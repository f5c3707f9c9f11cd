//! Whether a lease can be relied on to go on.

use core::time::Duration;

use super::grade::{LeaseGrade, LeaseMargin};
use super::pace::HeartbeatPace;
use crate::time::Instant;

/// Whether the lease of a session can be relied on to go on, and if not, why: what a nominee that
/// was promoted waits for before it is told that it leads.
///
/// See [`Session::lease_outlook`](crate::Session::lease_outlook).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseOutlook {
    /// The lease holds, and the next proof comes before its deadline; so do all further ones,
    /// as long as nothing fails and answers take no longer than they did.
    Secure {
        /// The present deadline.
        #[cfg_attr(feature = "serde", serde(skip))]
        until: Instant,
    },
    /// Nothing is known to be wrong, but the proof is still to come. A session whose lease is kept
    /// [ready](crate::LeaseUpkeep::Ready) needs a round trip for it; after a reconnect, a twelfth of
    /// the timeout more if the lease had lapsed; any other one needs two heartbeats with a third of
    /// the timeout between them. Without a connection to a server that takes writes there is none.
    AwaitsProof,
    /// Answers take too long: a lease would lapse before it could be proved anew, so it is not
    /// called secure until they come faster. A longer session timeout helps, or heartbeats of pace
    /// [`Sixths`](crate::HeartbeatPace::Sixths), a smaller [`LeaseMargin`], a server that is nearer.
    RoundTripTooLong {
        /// How long the last answers took: the longer of the last heartbeat and its confirmation,
        /// and under [`LeaseGrade::Contact`] the last ping, or a request since if that was shorter.
        round_trip: Duration,
        /// What the lease counts with: the least timeout that was ever granted to the session.
        timeout: Duration,
        /// Round trips have to be shorter than this, given the grade, the margin, the pace of
        /// heartbeats and the timeout: with a margin of a tenth, between a 22nd and a 21st part of
        /// the timeout, of pace [`Sixths`](crate::HeartbeatPace::Sixths) between a 12th and an 11th;
        /// under [`LeaseGrade::Contact`], a bit less than a fifth.
        longest: Duration,
    },
}

/// How long answers take on the present connection: of each kind the last one, and the longer of
/// both counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    handshake: Duration,
    heartbeat: Option<Duration>,
    confirmation: Option<Duration>,
}

impl RoundTrips {
    pub(super) const UNKNOWN: Self =
        Self { handshake: Duration::ZERO, heartbeat: None, confirmation: None };

    pub(super) const fn begin(handshake: Duration) -> Self {
        Self { handshake, heartbeat: None, confirmation: None }
    }

    pub(super) fn note_heartbeat(&mut self, round_trip: Duration) {
        self.heartbeat = Some(round_trip);
    }

    /// A request of the caller's was answered. What takes a server long says nothing; what comes sooner
    /// than the last heartbeat's answer shows that answers can. A busy caller leaves no time for pings.
    pub(super) fn note_answer(&mut self, round_trip: Duration) {
        if let Some(heartbeat) = &mut self.heartbeat {
            *heartbeat = round_trip.min(*heartbeat);
        }
    }

    pub(super) fn note_confirmation(&mut self, round_trip: Duration) {
        self.confirmation = Some(round_trip);
    }

    /// What is to be expected. Until there are better figures, the handshake's, which takes a quorum
    /// or the leader, too.
    pub(super) fn expected(self) -> Duration {
        let confirmation = self.confirmation.or(self.heartbeat).unwrap_or(self.handshake);
        self.heartbeat.unwrap_or(self.handshake).max(confirmation)
    }

    /// What heartbeats, confirmations or pings took. A handshake may be slow for many reasons.
    pub(super) fn measured(self) -> Option<Duration> {
        self.heartbeat.max(self.confirmation)
    }
}

/// What has to be left between the sending of the heartbeat (or ping) that completes a proof and
/// the deadline: two round trips for it and its confirmation, a third one for the unforeseen, and
/// no less than a tenth of the timeout.
pub(super) fn reserve(timeout: Duration, round_trip: Duration) -> Duration {
    (timeout / 10).max(round_trip.saturating_mul(3))
}

/// Below which round trips a proof always comes [`reserve`] before the deadline that the one before
/// it has set; `None` if the margin leaves no time for that, however short they are.
///
/// Heartbeats are sent at intervals *i*. Of pace [`Thirds`](HeartbeatPace::Thirds), each proves the
/// one before it, a round trip *r* and a third of the timeout after it was sent, and the next proof
/// comes with the next one: with the rest *m* that the margin leaves, 2 *i* + reserve < *m T*, where
/// *i* = *T*/3 + *r*. Of pace [`Sixths`](HeartbeatPace::Sixths), each proves the last but one:
/// 3 *i* + reserve < *m T*, where *i* is half of that, or of *T*/4 + 2 *r* where that is more: the
/// confirmation's answer counts, too. With pings, of which one is enough,
/// *T*/3 + reserve < *m T*.
pub(super) fn longest(
    grade: LeaseGrade,
    margin: LeaseMargin,
    pace: HeartbeatPace,
    timeout: Duration,
) -> Option<Duration> {
    let rest = margin.rest();
    match (grade, pace) {
        (LeaseGrade::Contact, _) => {
            let spare = (3 * rest).checked_sub(100)?;
            (spare > 30).then(|| timeout * spare / 900)
        }
        (LeaseGrade::Sync | LeaseGrade::Quorum, HeartbeatPace::Thirds) => {
            let spare = (3 * rest).checked_sub(200)?;
            let with_a_tenth = timeout * spare.checked_sub(30)? / 600;
            Some(with_a_tenth.min(timeout * spare / 1500))
        }
        (LeaseGrade::Sync | LeaseGrade::Quorum, HeartbeatPace::Sixths) => {
            let spare = (2 * rest).checked_sub(100)?;
            let with_a_tenth = timeout * spare.checked_sub(20)? / 300;
            let with_late_confirmations = timeout * (8 * rest).checked_sub(300)? / 4800;
            Some(with_a_tenth.min(timeout * spare / 900).min(with_late_confirmations))
        }
    }
}

//! Whether a lease can be relied on to go on.

use core::time::Duration;

use super::grade::{LeaseGrade, LeaseMargin};
use crate::time::Instant;

/// Whether the lease of a session can be relied on to go on, and if not, why: what a nominee that
/// was promoted waits for before it is told that it leads.
///
/// See [`Session::lease_outlook`](crate::Session::lease_outlook).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseOutlook {
    /// The lease holds, and the next proof comes before its deadline; so do all further ones,
    /// as long as nothing fails and answers take no longer than they did.
    Secure {
        /// The present deadline.
        until: Instant,
    },
    /// Nothing is known to be wrong, but the proof is still to come: it takes two heartbeats with a
    /// third of the timeout between them, or after a reconnect about one round trip, and a twelfth
    /// of the timeout more if the lease had lapsed. Without a connection to a server that takes
    /// writes there is none.
    AwaitsProof,
    /// Answers take too long: a lease would lapse before it could be proved anew, so it is not
    /// called secure until they come faster. A longer session timeout helps, or a smaller
    /// [`LeaseMargin`], or a server that is nearer.
    RoundTripTooLong {
        /// How long the last answers took: the longer of the last heartbeat and its confirmation,
        /// and under [`LeaseGrade::Contact`] the last ping.
        round_trip: Duration,
        /// What the lease counts with: the least timeout that was ever granted to the session.
        timeout: Duration,
        /// Round trips have to be shorter than this, given the grade, the margin and the timeout:
        /// with a margin of a tenth, between a 22nd and a 21st part of the timeout; under
        /// [`LeaseGrade::Contact`], a bit less than a fifth.
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
/// With heartbeats: one is sent at 0, the next a round trip and a third of the timeout later, and
/// then proves the first. The one after that comes as much later, and proves the second. So with
/// the rest *m* that the margin leaves, 2/3 *T* + 2 *r* + reserve < *m T*. With pings, of which one
/// is enough, *T*/3 + reserve < *m T*.
pub(super) fn longest(
    grade: LeaseGrade,
    margin: LeaseMargin,
    timeout: Duration,
) -> Option<Duration> {
    let rest = margin.rest();
    match grade {
        LeaseGrade::Contact => {
            let spare = (3 * rest).checked_sub(100)?;
            (spare > 30).then(|| timeout * spare / 900)
        }
        LeaseGrade::Sync | LeaseGrade::Quorum => {
            let spare = (3 * rest).checked_sub(200)?;
            let with_a_tenth = timeout * spare.checked_sub(30)? / 600;
            Some(with_a_tenth.min(timeout * spare / 1500))
        }
    }
}

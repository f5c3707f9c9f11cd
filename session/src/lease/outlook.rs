//! Whether a lease can be relied on to go on.

use core::time::Duration;

use super::grade::{LeaseGrade, LeaseMargin};
use super::pace::HeartbeatPace;
use crate::family::ServerFamily;
use crate::time::Instant;

/// Whether the lease of a session can be relied on to go on, and if not, why. A promoted nominee
/// waits for a secure outlook before it is told that it leads.
///
/// See [`Session::lease_outlook`](crate::Session::lease_outlook).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseOutlook {
    /// The lease holds, and the next proof comes before its deadline. So do all further proofs, as
    /// long as nothing fails and answers take no longer than they did.
    Secure {
        /// The present deadline.
        #[cfg_attr(feature = "serde", serde(skip))]
        until: Instant,
    },
    /// Nothing is known to be wrong, but the proof is still to come. If the lease is kept
    /// [ready](crate::lease::LeaseUpkeep::Ready), it needs a round trip; after a reconnect, a twelfth of
    /// the timeout more if the lease had lapsed. Any other lease needs two heartbeats with a third
    /// of the timeout between them. No proof comes without a connection to a server that takes
    /// writes.
    AwaitsProof,
    /// Answers take too long. A lease would lapse before it could be proved anew, so it is not
    /// called secure until they come faster. A longer session timeout helps, and so do heartbeats
    /// of pace [`Sixths`](crate::lease::HeartbeatPace::Sixths), a smaller [`LeaseMargin`], or a nearer
    /// server.
    RoundTripTooLong {
        /// How long the last answers took: the longer of the last heartbeat and its confirmation;
        /// under [`LeaseGrade::Contact`] the last ping, or a later request if that was shorter.
        round_trip: Duration,
        /// The timeout that the lease counts with: the least that was ever granted to the session.
        timeout: Duration,
        /// Round trips have to be shorter than this. It follows from the grade, the margin, the
        /// pace of heartbeats and the timeout. With a margin of a tenth it is a 30th part of the
        /// timeout; of pace [`Sixths`](crate::lease::HeartbeatPace::Sixths), a 15th; under
        /// [`LeaseGrade::Contact`], a bit less than a fifth.
        longest: Duration,
    },
    /// No lease holds on the servers of this family, whatever they answer, so none is granted. Choose the
    /// grade [`LeaseGrade::Advisory`], and guard each write by the token or in a transaction; or connect to
    /// Apache ZooKeeper.
    NoLease {
        /// The family of the server.
        family: ServerFamily,
    },
}

/// How long answers take on the present connection. The last one of each kind is kept, and the
/// longer of both counts.
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

    /// Notes that a request of the caller was answered. A slow answer says nothing, since some
    /// requests take a server long; one that is faster than the last heartbeat's answer, or than the
    /// handshake's before the first, shows that answers can be fast. A busy caller leaves no time for
    /// pings.
    pub(super) fn note_answer(&mut self, round_trip: Duration) {
        if round_trip < self.heartbeat.unwrap_or(self.handshake) {
            self.heartbeat = Some(round_trip);
        }
    }

    pub(super) fn note_confirmation(&mut self, round_trip: Duration) {
        self.confirmation = Some(round_trip);
    }

    /// Returns the expected round trip. Until there are better figures it is the handshake's, which
    /// also takes a quorum or the leader.
    pub(super) fn expected(self) -> Duration {
        let confirmation = self.confirmation.or(self.heartbeat).unwrap_or(self.handshake);
        self.heartbeat.unwrap_or(self.handshake).max(confirmation)
    }

    /// Returns how long heartbeats, confirmations or pings took. A handshake may be slow for many
    /// reasons.
    pub(super) fn measured(self) -> Option<Duration> {
        self.heartbeat.max(self.confirmation)
    }
}

/// Returns the time that must be left between the sending of the heartbeat (or ping) that completes
/// a proof and the deadline: two round trips for it and its confirmation, a third one for the
/// unforeseen, and no less than a tenth of the timeout.
pub(super) fn reserve(timeout: Duration, round_trip: Duration) -> Duration {
    (timeout / 10).max(round_trip.saturating_mul(3))
}

/// Returns the bound on round trips below which a proof always comes [`reserve`] before the
/// deadline that the last proof has set; `None` if the margin leaves no time for that, however
/// short they are.
///
/// Heartbeats are sent at intervals *i*. Of pace [`Thirds`](HeartbeatPace::Thirds), each proves the
/// one before it, two round trips *r* and a third of the timeout after it was sent, and the next
/// proof comes with the next one: with the rest *m* that the margin leaves, 2 *i* + reserve < *m T*,
/// where *i* = *T*/3 + 2 *r*. Of pace [`Sixths`](HeartbeatPace::Sixths), each proves the last but
/// one: 3 *i* + reserve < *m T*, where *i* is half of that. With pings, of which one is enough,
/// *T*/3 + reserve < *m T*.
pub(super) fn longest(
    grade: LeaseGrade,
    margin: LeaseMargin,
    pace: HeartbeatPace,
    timeout: Duration,
) -> Option<Duration> {
    let rest = margin.rest();
    match (grade, pace) {
        (LeaseGrade::Contact | LeaseGrade::Advisory, _) => {
            let spare = (3 * rest).checked_sub(100)?;
            (spare > 30).then(|| timeout * spare / 900)
        }
        (LeaseGrade::Sync | LeaseGrade::Quorum, HeartbeatPace::Thirds) => {
            let spare = (3 * rest).checked_sub(200)?;
            let with_a_tenth = timeout * spare.checked_sub(30)? / 1200;
            Some(with_a_tenth.min(timeout * spare / 2100))
        }
        (LeaseGrade::Sync | LeaseGrade::Quorum, HeartbeatPace::Sixths) => {
            let spare = (2 * rest).checked_sub(100)?;
            let with_a_tenth = timeout * spare.checked_sub(20)? / 600;
            Some(with_a_tenth.min(timeout * spare / 1200))
        }
    }
}

//! Whether the next proofs of a lease will come in time.

use core::time::Duration;

use super::evidence::HeartbeatKind;
use super::outlook::{self, LeaseOutlook};
use super::{Lease, LeaseState};
use crate::time::Instant;

/// How many heartbeats to simulate to find out whether a lease goes on. The first may prove
/// nothing, two more prove what came before them, and from the fourth on all are alike.
const HEARTBEATS_AHEAD: u32 = 4;

impl Lease {
    /// Returns whether the lease goes on if heartbeats (or pings) do, from `beats_from` on at the
    /// soonest, and at the measured round trips.
    pub(crate) fn outlook(&self, now: Instant, beats_from: Instant) -> LeaseOutlook {
        let timeout = self.timeout;
        let until = self.deadline().filter(|&until| now < until);
        let longest = match outlook::longest(self.grade, self.margin, self.pace, timeout) {
            Some(longest) => longest,
            // Pings come too rarely; the caller's requests may keep it.
            None if self.grade.counts_any_answer() => {
                return until
                    .map_or(LeaseOutlook::AwaitsProof, |until| LeaseOutlook::Secure { until });
            }
            None => Duration::ZERO,
        };
        let expected = self.round_trips.expected();
        match (self.round_trips.measured(), until) {
            (Some(round_trip), _) if round_trip >= longest => {
                LeaseOutlook::RoundTripTooLong { round_trip, timeout, longest }
            }
            (_, Some(until))
                if expected < longest
                    && self.is_proved_before(until, beats_from.max(now), expected) =>
            {
                LeaseOutlook::Secure { until }
            }
            _ => LeaseOutlook::AwaitsProof,
        }
    }

    /// Returns whether proofs come before `deadline`, and before the deadlines that they set, if
    /// heartbeats go out when they are due and every answer takes this long.
    fn is_proved_before(&self, deadline: Instant, now: Instant, round_trip: Duration) -> bool {
        let reserve = outlook::reserve(self.timeout, round_trip);
        let in_time = |sent_at: Instant, deadline| sent_at + reserve < deadline;
        if self.grade.counts_any_answer() {
            let lease = self.margin.shorten(self.timeout);
            let sent_at = Instant::since_origin(deadline.elapsed().saturating_sub(lease));
            return in_time(now.max(sent_at + self.interval()), deadline);
        }
        let (mut ahead, mut now) = (*self, now);
        ahead.state = LeaseState::proved(deadline);
        if ahead.evidence.awaits_confirmation() {
            now = now + round_trip;
            ahead.lapses(now); // An answer that comes later prolongs nothing.
            ahead.confirmed(now, now);
        }
        for _ in 0..HEARTBEATS_AHEAD {
            let sent_at = ahead.next_heartbeat(now);
            if !ahead.deadline().is_some_and(|deadline| in_time(sent_at, deadline)) {
                return false;
            }
            now = sent_at + round_trip;
            ahead.heartbeat_answered(now, sent_at, HeartbeatKind::Check);
            now = now + round_trip;
            ahead.confirmed(now, sent_at);
        }
        true
    }
}

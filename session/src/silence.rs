//! How long a server may be silent while something is in flight.
//!
//! The bound follows from what was measured: twice the longest wait of the last minute, and never less than twice
//! the round trip that a lease bears ([`LEAST_PART`]). A connection that is left for its silence counts as a wait
//! of that length, so each departure doubles the bound for a minute: where all servers are slow, few are left.

use core::time::Duration;

use crate::time::Instant;

/// The part of the timeout that every server may be silent for. A lease bears round trips of half of it
/// ([`HeartbeatPace::Thirds`](crate::lease::HeartbeatPace::Thirds)).
const LEAST_PART: u32 = 15;

/// The least bound, however short the timeout is: collectors of garbage and disks pause for a part of it.
const LEAST: Duration = Duration::from_millis(250);

/// How long a wait counts. It may count for almost three times as long, where little is noted.
const MEMORY: Duration = Duration::from_secs(60);

/// The part of the bound by which the caller may come late. A process that stood still for longer cannot tell its own
/// pause from the server's.
const LATENESS_PART: u32 = 4;

/// The longest waits for servers of late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    /// When the present interval began, [`MEMORY`] long.
    since: Instant,
    longest: Duration,
    /// The longest wait of the interval before.
    longest_before: Duration,
}

impl Waits {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { since: now, longest: Duration::ZERO, longest_before: Duration::ZERO }
    }

    /// Notes that something was in flight for this long when the server was heard.
    #[inline]
    pub(crate) fn note(&mut self, now: Instant, waited: Duration) {
        if now.saturating_since(self.since) >= MEMORY {
            self.turn(now);
        }
        if waited > self.longest {
            self.longest = waited;
        }
    }

    /// Begins another interval.
    #[cold]
    fn turn(&mut self, now: Instant) {
        let is_recent = now.saturating_since(self.since) < MEMORY * 2;
        self.longest_before = if is_recent { self.longest } else { Duration::ZERO };
        self.longest = Duration::ZERO;
        self.since = now;
    }

    /// Returns how long a server may be silent while something is in flight, in a session with this timeout.
    pub(crate) fn bound(&self, timeout: Duration) -> Duration {
        let least = (timeout / LEAST_PART).max(LEAST);
        let longest = self.longest.max(self.longest_before);
        least.max(longest.saturating_mul(2))
    }
}

/// Returns whether the caller came so late that the silence may be its own.
pub(crate) fn is_late(now: Instant, due: Instant, bound: Duration) -> bool {
    now.saturating_since(due) > bound / LATENESS_PART
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The bound is at least twice the longest wait of the last minute, and no wait counts for ever.
        #[test]
        fn the_bound_is_twice_the_longest_wait_of_the_last_minute(
            waits in vec((0..90_000_u64, 0..5_000_u64), 1..40),
            timeout in 0..60_000_u64,
        ) {
            let timeout = Duration::from_millis(timeout);
            let (mut now, mut noted) = (Instant::ORIGIN, Vec::new());
            let mut bound = Waits::new(now);
            for (later, waited) in waits {
                now = now + Duration::from_millis(later);
                let waited = Duration::from_millis(waited);
                bound.note(now, waited);
                noted.push((now, waited));
                let longest_of = |age| {
                    let recent = noted.iter().filter(|(at, _)| now.saturating_since(*at) <= age);
                    recent.map(|(_, waited)| *waited).max().unwrap_or_default()
                };
                let least = (timeout / LEAST_PART).max(LEAST);
                prop_assert!(bound.bound(timeout) >= least.max(longest_of(MEMORY) * 2));
                prop_assert!(bound.bound(timeout) <= least.max(longest_of(MEMORY * 3) * 2));
            }
        }
    }
}

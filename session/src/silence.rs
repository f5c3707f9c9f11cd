//! How long a server may be silent while something is in flight.
//!
//! The bound follows from what was measured: twice the longest wait of the last minute, or the longest pause of the
//! last ten, and never less than twice the round trip that a lease bears ([`LEAST_PART`]). A wait that would have cost
//! a connection is a pause, and so is one that has: each departure doubles the bound for ten minutes, so servers that
//! pause again and again cost a connection or two, and those that hiccup for less are forgotten in a minute.
//!
//! Where the next server does not serve either, the outage counts as one wait, until a server serves the session.
//! No server can be asked first: `docs/client.md#which-servers` has the argument.

use core::time::Duration;

use crate::time::Instant;

/// The part of the timeout that every server may be silent for. A lease bears round trips of half of it
/// ([`HeartbeatPace::Thirds`](crate::lease::HeartbeatPace::Thirds)).
const LEAST_PART: u32 = 15;

/// The least bound, however short the timeout is: collectors of garbage and disks pause for a part of it.
const LEAST: Duration = Duration::from_millis(250);

/// How long a wait counts. It may count for almost three times as long, where little is noted.
const MEMORY: Duration = Duration::from_secs(60);

/// How long a pause counts, in the same way.
const MEMORY_OF_PAUSES: Duration = Duration::from_secs(600);

/// The part of the bound by which the caller may come late. A process that stood still for longer cannot tell its own
/// pause from the server's.
const LATENESS_PART: u32 = 4;

/// The longest waits for servers of late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    all: Longest,
    /// Those that were as long as any server may be silent for.
    pauses: Longest,
    /// Since when the server that was left last was silent, until the next one serves.
    unserved_since: Option<Instant>,
}

impl Waits {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { all: Longest::new(now), pauses: Longest::new(now), unserved_since: None }
    }

    /// Notes that something was in flight for this long when the server was heard, in a session with this timeout.
    #[inline]
    pub(crate) fn note(&mut self, now: Instant, waited: Duration, timeout: Duration) {
        self.note_wait(now, waited);
        // What is common is compared with a constant alone.
        if waited >= LEAST && waited >= least(timeout) {
            self.pauses.present = self.pauses.present.max(nanos(waited));
        }
    }

    /// Notes that a server is left that has been silent for this long.
    pub(crate) fn leave(&mut self, now: Instant, waited: Duration, timeout: Duration) {
        self.note(now, waited, timeout);
        self.unserved_since = Some(Instant::since_origin(now.elapsed().saturating_sub(waited)));
    }

    /// Notes that a server serves the session. None may have done so since a departure.
    pub(crate) fn serve(&mut self, now: Instant) {
        if let Some(since) = self.unserved_since.take() {
            self.note_wait(now, now.saturating_since(since));
        }
    }

    #[inline]
    fn note_wait(&mut self, now: Instant, waited: Duration) {
        if self.all.is_over(now, MEMORY) {
            self.turn(now);
        }
        self.all.present = self.all.present.max(nanos(waited));
    }

    /// Begins another interval.
    #[cold]
    fn turn(&mut self, now: Instant) {
        self.all.turn(now, MEMORY);
        if self.pauses.is_over(now, MEMORY_OF_PAUSES) {
            self.pauses.turn(now, MEMORY_OF_PAUSES);
        }
    }

    /// Returns how long a server may be silent while something is in flight, in a session with this timeout.
    pub(crate) fn bound(&self, timeout: Duration) -> Duration {
        let longest = self.all.longest().max(self.pauses.longest());
        least(timeout).max(longest.saturating_mul(2))
    }
}

/// Returns how long every server may be silent for, in a session with this timeout.
fn least(timeout: Duration) -> Duration {
    (timeout / LEAST_PART).max(LEAST)
}

fn nanos(waited: Duration) -> u64 {
    u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX)
}

/// The longest of some waits, in nanoseconds: a client at rest is to be small.
#[derive(Clone, Copy, Debug)]
struct Longest {
    /// When the present interval began.
    since: Instant,
    /// The longest of this interval.
    present: u64,
    /// The longest of the interval before.
    before: u64,
}

impl Longest {
    const fn new(now: Instant) -> Self {
        Self { since: now, present: 0, before: 0 }
    }

    fn is_over(&self, now: Instant, interval: Duration) -> bool {
        now.saturating_since(self.since) >= interval
    }

    fn turn(&mut self, now: Instant, interval: Duration) {
        let is_recent = !self.is_over(now, interval * 2);
        self.before = if is_recent { self.present } else { 0 };
        self.present = 0;
        self.since = now;
    }

    fn longest(&self) -> Duration {
        Duration::from_nanos(self.present.max(self.before))
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

    /// Returns the longest of the waits that are no older.
    fn longest_of(noted: &[(Instant, Duration)], now: Instant, age: Duration) -> Duration {
        let recent = noted.iter().filter(|(at, _)| now.saturating_since(*at) <= age);
        recent.map(|(_, waited)| *waited).max().unwrap_or_default()
    }

    /// An outage counts for a minute, and a pause for ten.
    #[test]
    fn a_pause_soon_after_an_outage_is_remembered() {
        let timeout = Duration::from_secs(6);
        let at = |secs| Instant::since_origin(Duration::from_secs(secs));
        let mut waits = Waits::new(at(0));
        waits.leave(at(1), Duration::from_millis(400), timeout);
        waits.serve(at(10));
        waits.note(at(20), Duration::from_secs(2), timeout);
        for minute in 1..=4 {
            waits.note(at(60 * minute), Duration::from_millis(1), timeout);
        }
        assert_eq!(waits.bound(timeout), Duration::from_secs(4));
    }

    proptest! {
        /// The bound is at least twice the longest wait of the last minute, and the longest pause of nine; no wait counts
        /// for ever.
        #[test]
        fn the_bound_is_twice_the_longest_wait_of_the_last_minute(
            waits in vec((0..90_000_u64, 0..5_000_u64), 1..100),
            timeout in 0..60_000_u64,
        ) {
            let timeout = Duration::from_millis(timeout);
            let (mut now, mut noted) = (Instant::ORIGIN, Vec::new());
            let mut bound = Waits::new(now);
            for (later, waited) in waits {
                now = now + Duration::from_millis(later);
                let waited = Duration::from_millis(waited);
                bound.note(now, waited, timeout);
                noted.push((now, waited));
                let pauses: Vec<_> = noted.iter().copied().filter(|(_, waited)| *waited >= least(timeout)).collect();
                let is = bound.bound(timeout);
                prop_assert!(is >= least(timeout).max(longest_of(&noted, now, MEMORY) * 2));
                prop_assert!(is >= longest_of(&pauses, now, MEMORY * 9) * 2);
                let lately = longest_of(&noted, now, MEMORY * 3);
                let longest = lately.max(longest_of(&pauses, now, MEMORY_OF_PAUSES * 3));
                prop_assert!(is <= least(timeout).max(longest * 2));
            }
        }
    }
}

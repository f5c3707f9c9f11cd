//! When recipes look whether an event was lost.
//!
//! A server that drops an event says nothing of it. So now and then each recipe looks: a follower at
//! the list, a leader at its own candidate. All recipes of a host look at the same moment, so that
//! one list serves all of one election; hosts do not, as each draws its moments at random.

use core::time::Duration;

use zk_session::Instant;

/// Looks are no more frequent than this by default.
const LEAST_BY_DEFAULT: Duration = Duration::from_secs(60);
/// Nor than this many session timeouts.
const TIMEOUTS: u32 = 10;
/// What is asked for cannot be less: looks that follow each other at once would be all that a host
/// does.
const LEAST: Duration = Duration::from_millis(100);

/// How soon a recipe looks that a server had too much to do for.
const RETRY: Duration = Duration::from_secs(1);

/// The moments of a host's looks.
#[derive(Debug)]
pub(crate) struct Looks {
    /// What the caller asked for.
    interval: Option<Duration>,
    random: fastrand::Rng,
    next: Option<Instant>,
    /// When those look that a server had too much to do for.
    retry: Option<Instant>,
}

impl Looks {
    pub(crate) fn new(interval: Option<Duration>, seed: u64) -> Self {
        Self { interval, random: fastrand::Rng::with_seed(seed), next: None, retry: None }
    }

    /// From now on there are recipes with a connection, in a session of this timeout.
    pub(crate) fn start(&mut self, now: Instant, timeout: Duration) {
        if self.next.is_none() {
            let interval = self.interval.unwrap_or(LEAST_BY_DEFAULT.max(timeout * TIMEOUTS));
            self.next = Some(now + self.jittered(interval.max(LEAST)));
        }
    }

    /// There is no connection, or nobody to look.
    pub(crate) const fn stop(&mut self) {
        (self.next, self.retry) = (None, None);
    }

    /// A server did not look at what a recipe asked for.
    pub(crate) fn retry_soon(&mut self, now: Instant) {
        if self.retry.is_none() {
            self.retry = Some(now + self.jittered(RETRY));
        }
    }

    /// When the next look of any kind is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next.into_iter().chain(self.retry).min()
    }

    /// Whether those are to look that a server had too much to do for, which counts as begun.
    pub(crate) fn is_retry_due(&mut self, now: Instant) -> bool {
        let is_due = self.retry.is_some_and(|retry| retry <= now);
        if is_due {
            self.retry = None;
        }
        is_due
    }

    /// Whether a look is due, which counts as begun.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.next.is_some_and(|next| next <= now);
        if is_due {
            self.next = None;
        }
        is_due
    }

    /// From three to five quarters of it, so that it comes as often as asked for, at a time of its own.
    fn jittered(&mut self, interval: Duration) -> Duration {
        let spread = u64::try_from((interval / 2).as_micros()).unwrap_or(u64::MAX);
        let drawn = Duration::from_micros(self.random.u64(0..=spread));
        interval.saturating_sub(interval / 4).saturating_add(drawn)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn first(interval: Option<Duration>, seed: u64, timeout: Duration) -> Duration {
        let mut looks = Looks::new(interval, seed);
        looks.start(Instant::ORIGIN, timeout);
        looks.next().expect("it was started").elapsed()
    }

    #[test]
    fn looks_are_rare_and_at_moments_of_their_own() {
        let seconds = Duration::from_secs;
        for (interval, timeout, expected) in [
            (None, seconds(4), seconds(60)),
            (None, seconds(6), seconds(60)),
            (None, seconds(10), seconds(100)),
            (Some(seconds(8)), seconds(10), seconds(8)),
            (Some(Duration::ZERO), seconds(10), LEAST),
        ] {
            let drawn: Vec<_> = (0..100).map(|seed| first(interval, seed, timeout)).collect();
            let range = expected * 3 / 4..=expected * 5 / 4;
            assert!(drawn.iter().all(|moment| range.contains(moment)), "{interval:?}: {drawn:?}");
            let (least, most) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
            assert!(most.saturating_sub(*least) > expected * 4 / 10, "{least:?} to {most:?}");
        }
        assert!(first(Some(Duration::MAX), 7, seconds(4)) > Duration::MAX / 2, "never, as good as");
    }

    #[test]
    fn a_look_is_due_once() {
        let mut looks = Looks::new(None, 1);
        assert!(!looks.is_due(Instant::since_origin(Duration::MAX)), "it was not started");
        looks.start(Instant::ORIGIN, Duration::from_secs(4));
        let next = looks.next().unwrap();
        looks.start(next, Duration::from_secs(4));
        assert_eq!(looks.next(), Some(next), "it is under way");
        assert!(!looks.is_due(Instant::since_origin(next.elapsed() / 2)));
        assert!(looks.is_due(next));
        assert!(!looks.is_due(next), "it has begun");
        looks.start(next, Duration::from_secs(4));
        looks.stop();
        assert_eq!(looks.next(), None);
    }
}

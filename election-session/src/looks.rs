//! The moments at which recipes look whether an event was lost.
//!
//! A server that drops an event says nothing of it. So each recipe looks now and then: a follower
//! at the list, a leader at its own candidate. All recipes of a host look at the same moment, so
//! that one list serves all nominees of one election. Hosts draw their moments at random.

use core::time::Duration;

use zk_session::Instant;

/// The shortest default interval of looks.
const LEAST_BY_DEFAULT: Duration = Duration::from_secs(60);
/// The shortest default interval in session timeouts.
const TIMEOUTS: u32 = 10;
/// The shortest interval that the caller can set. Otherwise the host would do nothing but look.
const LEAST: Duration = Duration::from_millis(100);

/// When a recipe looks again that a server had too much to do for.
const RETRY: Duration = Duration::from_secs(1);

/// The moments of a host's looks.
#[derive(Debug)]
pub(crate) struct Looks {
    /// The interval that the caller set.
    interval: Option<Duration>,
    random: fastrand::Rng,
    next: Option<Instant>,
    /// When recipes look again that a server had too much to do for.
    retry: Option<Instant>,
}

impl Looks {
    pub(crate) fn new(interval: Option<Duration>, seed: u64) -> Self {
        Self { interval, random: fastrand::Rng::with_seed(seed), next: None, retry: None }
    }

    /// Starts: from now on there are recipes with a connection, in a session of this timeout.
    pub(crate) fn start(&mut self, now: Instant, timeout: Duration) {
        if self.next.is_none() {
            let interval = self.interval.unwrap_or(LEAST_BY_DEFAULT.max(timeout * TIMEOUTS));
            self.next = Some(now + self.jittered(interval.max(LEAST)));
        }
    }

    /// Stops: there is no connection, or no recipe.
    pub(crate) const fn stop(&mut self) {
        (self.next, self.retry) = (None, None);
    }

    /// Notes that a server did not handle a recipe's request, so the recipe looks again soon.
    pub(crate) fn retry_soon(&mut self, now: Instant) {
        if self.retry.is_none() {
            self.retry = Some(now + self.jittered(RETRY));
        }
    }

    /// Returns when the next look of any kind is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next.into_iter().chain(self.retry).min()
    }

    /// Returns whether the recipes have to look again that a server had too much to do for, and
    /// notes that they do.
    pub(crate) fn is_retry_due(&mut self, now: Instant) -> bool {
        let is_due = self.retry.is_some_and(|retry| retry <= now);
        if is_due {
            self.retry = None;
        }
        is_due
    }

    /// Returns whether a look is due, and notes that it begins.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.next.is_some_and(|next| next <= now);
        if is_due {
            self.next = None;
        }
        is_due
    }

    /// Draws from three to five quarters of the interval: as often as asked for, at a time of its
    /// own.
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

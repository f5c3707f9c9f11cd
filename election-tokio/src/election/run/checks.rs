//! Checks whether a nominee is well.

use core::convert::Infallible;
use core::fmt::Display;
use core::num::NonZeroU32;
use core::time::Duration;

use election_core::checks::{Hysteresis, Outcome, Thresholds};
use tokio::time::{MissedTickBehavior, interval, timeout};

pub use election_core::checks::Condition;

/// A check whether a nominee is well, made again and again, and how many in a row count.
///
/// Checks never overlap: one that takes longer than the interval delays the next.
#[derive(Clone, Debug)]
#[must_use = "nothing is checked until it is run"]
pub struct Checks<C> {
    check: C,
    every: Duration,
    timeout: Duration,
    thresholds: Thresholds,
}

/// A check that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Why it failed, if it did.
    pub failure: Option<CheckFailure>,
    /// The verdict since.
    pub condition: Condition,
    /// Whether it has changed the verdict.
    pub change: ConditionChange,
}

/// The effect of a check on the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionChange {
    /// The verdict is another one.
    Changed,
    /// The verdict stays.
    Unchanged,
}

/// Why a check failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckFailure {
    /// The check returned this reason.
    #[error("{0}")]
    Said(String),
    /// It did not end in time, and was dropped.
    #[error("the check did not end within {0:?}")]
    TimedOut(Duration),
}

impl<C> Checks<C> {
    /// Makes checks: one every five seconds, with five seconds to end; a nominee is unwell after
    /// three in a row that failed, and well again after two that passed. The first one decides
    /// alone.
    pub const fn new(check: C) -> Self {
        let thresholds = Thresholds { rise: TWO, fall: THREE };
        let every = Duration::from_secs(5);
        Self { check, every, timeout: every, thresholds }
    }

    /// Sets the time from the beginning of a check to that of the next; a millisecond at least.
    pub const fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// Sets how long a check may take. One that takes longer is dropped, and has failed.
    pub const fn timeout(mut self, longest: Duration) -> Self {
        self.timeout = longest;
        self
    }

    /// Sets how many checks in a row have to pass until an unwell nominee is well again.
    pub const fn rise(mut self, checks: NonZeroU32) -> Self {
        self.thresholds.rise = checks;
        self
    }

    /// Sets how many checks in a row have to fail until a well nominee is unwell.
    pub const fn fall(mut self, checks: NonZeroU32) -> Self {
        self.thresholds.fall = checks;
        self
    }

    /// Returns the longest time from the moment from which each check would fail to the verdict
    /// that the nominee is unwell.
    pub const fn bound(&self) -> Duration {
        let pace =
            if self.every.as_nanos() > self.timeout.as_nanos() { self.every } else { self.timeout };
        pace.saturating_mul(self.thresholds.fall.get()).saturating_add(self.timeout)
    }

    /// Checks again and again, and calls `heard` with the outcome of each check. It never returns.
    /// [`Election::run_while_well`](crate::election::Election::run_while_well) does this by itself.
    ///
    /// Cancel safe: a check that is under way is dropped.
    pub async fn monitor<E: Display>(mut self, mut heard: impl FnMut(Checked)) -> Infallible
    where
        C: AsyncFnMut() -> Result<(), E>,
    {
        let mut hysteresis = Hysteresis::new(self.thresholds);
        let mut due = interval(self.every.clamp(SHORTEST, LONGEST));
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            let failure = match timeout(self.timeout, (self.check)()).await {
                Ok(Ok(())) => None,
                Ok(Err(reason)) => Some(CheckFailure::Said(reason.to_string())),
                Err(_) => Some(CheckFailure::TimedOut(self.timeout)),
            };
            let outcome = if failure.is_none() { Outcome::Passed } else { Outcome::Failed };
            let before = hysteresis.condition();
            let condition = hysteresis.heed(outcome);
            let change = if condition == before {
                ConditionChange::Unchanged
            } else {
                ConditionChange::Changed
            };
            heard(Checked { failure, condition, change });
        }
    }
}

const SHORTEST: Duration = Duration::from_millis(1);
/// A time that every clock can reach.
const LONGEST: Duration = Duration::from_secs(60 * 60 * 24 * 365);

const TWO: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);
const THREE: NonZeroU32 = NonZeroU32::MIN.saturating_add(2);

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use core::future::pending;

    use tokio::time::Instant;

    use super::*;

    /// Returns when each check has begun, as seconds, and what was heard.
    async fn monitored(
        checks: Checks<()>,
        takes: Duration,
        seconds: u64,
    ) -> (Vec<u64>, Vec<Checked>) {
        let (begun, heard) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let start = Instant::now();
        let check = async || {
            begun.borrow_mut().push(start.elapsed().as_secs());
            tokio::time::sleep(takes).await;
            Err::<(), _>("no")
        };
        let Checks { every, timeout: longest, thresholds, .. } = checks;
        let checks = Checks { check, every, timeout: longest, thresholds };
        let monitor = checks.monitor(|checked| heard.borrow_mut().push(checked));
        let _over = timeout(Duration::from_secs(seconds), monitor).await;
        (begun.into_inner(), heard.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn checks_do_not_overlap_and_one_that_hangs_has_failed() {
        let checks = Checks::new(());
        let (begun, heard) = monitored(checks.clone(), Duration::from_secs(2), 16).await;
        assert_eq!(begun, [0, 5, 10, 15]);
        assert_eq!(heard[0].failure, Some(CheckFailure::Said("no".to_owned())));
        let checks = checks.timeout(Duration::from_secs(7));
        let (begun, heard) = monitored(checks, Duration::from_secs(3600), 22).await;
        assert_eq!(begun, [0, 7, 14, 21]);
        let hung = CheckFailure::TimedOut(Duration::from_secs(7));
        assert_eq!(hung.to_string(), "the check did not end within 7s");
        assert!(heard.iter().all(|checked| checked.failure.as_ref() == Some(&hung)), "{heard:?}");
        assert_eq!(heard.len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_out_of_bounds_is_no_panic() {
        for every in [Duration::ZERO, Duration::MAX] {
            let checks = Checks::new(async || pending::<Result<(), &str>>().await).every(every);
            let checks = checks.timeout(Duration::MAX);
            assert!(checks.bound() >= every);
            let monitor = checks.monitor(|_| {});
            assert!(timeout(Duration::from_secs(9), monitor).await.is_err());
        }
    }
}

//! A clock that two processes of a machine share.

use core::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

/// A moment, counted from the start of the machine. The count goes on while the machine sleeps, so
/// a lease does not survive the sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct BootTime(Duration);

impl BootTime {
    pub(crate) fn now() -> Self {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(tv_sec).unwrap_or(0);
        let nanoseconds = u32::try_from(tv_nsec).unwrap_or(0);
        Self(Duration::new(seconds, nanoseconds))
    }

    /// Converts `at`. The result is earlier if this process is paused between the looks at the two
    /// clocks, by the length of the pause.
    pub(crate) fn not_after(at: tokio::time::Instant) -> Self {
        let now = Self::now();
        now.plus(at.saturating_duration_since(tokio::time::Instant::now()))
    }

    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }

    pub(crate) fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration))
    }

    pub(crate) fn is_past(self) -> bool {
        self <= Self::now()
    }

    /// Returns the time until then; zero if it has passed.
    pub(super) fn left(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translated_moment_is_never_later() {
        let at = tokio::time::Instant::now() + Duration::from_secs(5);
        let translated = BootTime::not_after(at);
        let left_after = at.saturating_duration_since(tokio::time::Instant::now());
        assert!(translated <= BootTime::now().plus(left_after).plus(Duration::from_millis(1)));
    }

    #[test]
    fn what_has_passed_is_past() {
        assert!(BootTime::now().is_past());
        assert!(!BootTime::now().plus(Duration::from_secs(3600)).is_past());
    }
}

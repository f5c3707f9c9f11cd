//! Time on the driver's clock, and time as znodes carry it.

use core::ops::Add;
use core::time::Duration;

/// A moment on the driver's monotonic clock: the time since an origin that the driver picks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    /// The origin.
    pub const ORIGIN: Self = Self(Duration::ZERO);

    /// Returns the moment `elapsed` after the origin.
    pub const fn since_origin(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// Returns the time since the origin.
    pub const fn elapsed(self) -> Duration {
        self.0
    }

    /// Returns the first multiple of `step` since the origin that is later than this.
    pub(crate) fn next_multiple_of(self, step: Duration) -> Self {
        let step = millis(step).max(1);
        let multiple = (millis(self.0) / step).saturating_add(1);
        Self(Duration::from_millis(multiple.saturating_mul(step)))
    }
}

/// Saturates at the end of time.
impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

/// Milliseconds since 1970, as in [`Stat::ctime`](zk_jute::records::Stat::ctime).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Makes a timestamp from milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    pub(crate) fn saturating_since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

/// Saturates at the end of time.
impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(span))
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_multiple_is_always_later() {
        let step = Duration::from_millis(500);
        for (at, next) in [(0, 500), (499, 500), (500, 1000), (1230, 1500)] {
            let at = Instant::since_origin(Duration::from_millis(at));
            let next = Instant::since_origin(Duration::from_millis(next));
            assert_eq!(at.next_multiple_of(step), next);
        }
        let end = Instant::since_origin(Duration::MAX);
        assert!(end.next_multiple_of(Duration::ZERO) > Instant::ORIGIN);
    }

    #[test]
    fn timestamps_saturate() {
        let late = Timestamp::from_millis(i64::MAX) + Duration::from_secs(1);
        assert_eq!(late.millis(), i64::MAX);
        assert_eq!(Timestamp::default().saturating_since(late), Duration::ZERO);
    }
}

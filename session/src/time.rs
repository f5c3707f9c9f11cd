//! Time on the driver's clock.

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

    /// Returns the time since `earlier`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Saturates at the end of time.
impl Add<Duration> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

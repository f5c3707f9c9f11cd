//! Time as the driver counts it.

use core::ops::Add;
use core::time::Duration;

/// A moment on the driver's monotonic clock: the time since an origin that the driver picks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    /// The origin.
    pub const ORIGIN: Self = Self(Duration::ZERO);

    /// The moment `elapsed` after the origin.
    pub const fn since_origin(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// How long after the origin this is.
    pub const fn elapsed(self) -> Duration {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not.
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

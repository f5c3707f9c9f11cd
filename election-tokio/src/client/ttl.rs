//! How long a znode may go unwritten.

use core::time::Duration;

/// The time to live of a znode: within the bounds of ZooKeeper, whose servers refuse others, and
/// some of which have terminated when they met one (protocol section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl {
    millis: i64,
}

/// A time to live outside of the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("a time to live of {0:?} is outside of 1 ms to 1099511627775 ms")]
pub struct TtlError(Duration);

impl Ttl {
    /// The shortest: one millisecond.
    pub const MIN: Self = Self { millis: 1 };
    /// The longest: 2⁴⁰ − 1 milliseconds, almost 35 years.
    pub const MAX: Self = Self { millis: 0xff_ffff_ffff };

    /// A time to live, in whole milliseconds: a fraction counts as one.
    ///
    /// # Errors
    ///
    /// [`TtlError`] if it is zero or above [`Ttl::MAX`].
    pub fn new(duration: Duration) -> Result<Self, TtlError> {
        let millis = duration.as_nanos().div_ceil(1_000_000);
        match i64::try_from(millis) {
            Ok(millis @ 1..) if millis <= Self::MAX.millis => Ok(Self { millis }),
            Ok(_) | Err(_) => Err(TtlError(duration)),
        }
    }

    /// As a duration.
    pub const fn get(self) -> Duration {
        Duration::from_millis(self.millis.unsigned_abs())
    }

    /// As it is on the wire.
    pub(crate) const fn millis(self) -> i64 {
        self.millis
    }
}

impl TryFrom<Duration> for Ttl {
    type Error = TtlError;

    fn try_from(duration: Duration) -> Result<Self, TtlError> {
        Self::new(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_is_within_the_bounds_of_the_protocol() {
        let max = Ttl::MAX.get();
        let cases = [
            (Duration::ZERO, None),
            (Duration::from_nanos(1), Some(1)),
            (Duration::from_millis(1), Some(1)),
            (Duration::from_micros(1_001), Some(2)),
            (max, Some(1_099_511_627_775)),
            (max + Duration::from_nanos(1), None),
            (Duration::MAX, None),
        ];
        for (duration, expected) in cases {
            assert_eq!(Ttl::new(duration).map(Ttl::millis).ok(), expected, "{duration:?}");
        }
        assert_eq!(Ttl::new(Ttl::MIN.get()), Ok(Ttl::MIN));
        assert_eq!(Ttl::new(Ttl::MAX.get()), Ok(Ttl::MAX));
    }
}

//! The time to live of a znode.

use core::time::Duration;

/// The time for which a znode may go unwritten, within ZooKeeper's bounds. Servers refuse other
/// times, and some have terminated on them (docs/protocol.md#operations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl {
    millis: i64,
}

/// The time to live is out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("a time to live of {0:?} is outside of 1 ms to 1099511627775 ms")]
pub struct TtlError(Duration);

impl Ttl {
    /// The shortest time: one millisecond.
    pub const MIN: Self = Self { millis: 1 };
    /// The longest time: 2⁴⁰ − 1 milliseconds, almost 35 years.
    pub const MAX: Self = Self { millis: 0xff_ffff_ffff };

    /// Makes a time to live, in whole milliseconds. It rounds up.
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

    /// Returns it as a duration.
    pub const fn get(self) -> Duration {
        Duration::from_millis(self.millis.unsigned_abs())
    }

    /// Returns it as on the wire.
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

//! True time, which no process in the world can read, and the clocks that the processes read instead.

use core::fmt;
use core::ops::Add;
use core::time::Duration;

/// A moment of true time: the time since the world began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The beginning.
    pub const ORIGIN: Self = Self(0);

    /// Returns the moment so many milliseconds after the beginning.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Returns the whole milliseconds since the beginning.
    pub const fn millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns the moment so long before; none if that is before the beginning.
    pub(super) fn before(self, span: Duration) -> Option<Self> {
        self.0.checked_sub(nanos(span)).map(Self)
    }

    /// Returns the time since `earlier`; zero if that is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

/// In milliseconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} ms", self.0 / 1_000_000, self.0 / 1_000 % 1_000)
    }
}

/// A clock that began with some reading and runs at its own rate.
///
/// What the lease margin covers: a leader counts on its session until `s + 0.9 T` by its own clock,
/// `s` being a moment before which no server's count of the timeout `T` began. With rates `c` of
/// the client's clock and `z` of the server's, it stops after `0.9 T / c` of true time, and the
/// server expires the session after `T / z` or later. The margin holds as long as
/// `z / c <= 1 / 0.9`. With all rates within `1 - d` and `1 + d`, that is `d <= 1 / 19`, or 5.26 %.
/// [`Clock::MAX_DRIFT`] is 5 %: `1.05 / 0.95 = 1.1053 < 1.1111`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    at_origin: u64,
    /// Millionths of a nanosecond that the clock advances in a nanosecond.
    rate: u32,
    /// How long it has stood still, in true time.
    stood_still: u64,
    /// It stands still since then.
    stands_since: Option<Time>,
}

const TRUE_RATE: u32 = 1_000_000;

impl Clock {
    /// By how many millionths the rate of a clock may differ from the true one.
    pub(super) const MAX_DRIFT: u32 = 50_000;

    /// Makes a clock that shows anything and runs at the true rate, give or take `drift`
    /// millionths.
    pub(super) fn draw(rng: &mut fastrand::Rng, drift: u32) -> Self {
        let drift = drift.min(Self::MAX_DRIFT);
        Self {
            at_origin: rng.u64(0..1_000_000_000_000),
            rate: TRUE_RATE - drift + rng.u32(0..=2 * drift),
            stood_still: 0,
            stands_since: None,
        }
    }

    /// Stops the clock, until it goes on.
    pub(super) fn stop(&mut self, now: Time) {
        self.stands_since = self.stands_since.or(Some(now));
    }

    /// Lets the clock go on, from what it shows. Returns how long it stood still, if it did.
    pub(super) fn go_on(&mut self, now: Time) -> Option<Duration> {
        let stood = now.since(self.stands_since.take()?);
        self.stood_still = self.stood_still.saturating_add(nanos(stood));
        Some(stood)
    }

    /// Returns how far a span of true time is on this clock.
    pub(super) fn span(self, span: Duration) -> Duration {
        Duration::from_nanos(self.run(nanos(span)))
    }

    fn run(self, nanos: u64) -> u64 {
        // For hours 64 bits are enough, and each step of a run reads each clock.
        if let Some(millionths) = nanos.checked_mul(u64::from(self.rate)) {
            return millionths / u64::from(TRUE_RATE);
        }
        saturating(u128::from(nanos) * u128::from(self.rate) / u128::from(TRUE_RATE))
    }

    /// Returns the reading of the clock at `time`.
    pub(super) fn reading(self, time: Time) -> Duration {
        let time = self.stands_since.map_or(time, |since| since.min(time));
        let run = self.run(time.0.saturating_sub(self.stood_still));
        Duration::from_nanos(self.at_origin.saturating_add(run))
    }

    /// Returns the first moment at which the clock shows `reading` or more.
    pub(super) fn when(self, reading: Duration) -> Time {
        let run = nanos(reading).saturating_sub(self.at_origin);
        let time = (u128::from(run) * u128::from(TRUE_RATE)).div_ceil(u128::from(self.rate));
        Time(saturating(time).saturating_add(self.stood_still))
    }
}

/// As parts of a thousand of the true rate.
impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drift = i64::from(self.rate) - i64::from(TRUE_RATE);
        write!(f, "{:+}.{:01} %", drift / 10_000, drift.abs() / 1_000 % 10)
    }
}

fn nanos(span: Duration) -> u64 {
    saturating(span.as_nanos())
}

fn saturating(nanos: u128) -> u64 {
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at_rate(rate: u32) -> Clock {
        Clock { at_origin: 0, rate, stood_still: 0, stands_since: None }
    }

    #[test]
    fn a_clock_goes_on_from_what_it_shows() {
        let mut clock = at_rate(TRUE_RATE);
        clock.stop(Time::from_millis(100));
        assert_eq!(clock.reading(Time::from_millis(700)), Duration::from_millis(100));
        let stood = clock.go_on(Time::from_millis(700));
        assert_eq!(stood, Some(Duration::from_millis(600)));
        assert_eq!(clock.reading(Time::from_millis(900)), Duration::from_millis(300));
        assert_eq!(clock.when(Duration::from_millis(300)), Time::from_millis(900));
    }

    #[test]
    fn a_clock_is_read_back_exactly() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..10_000 {
            let clock = Clock::draw(&mut rng, Clock::MAX_DRIFT);
            let time = Time(rng.u64(0..200_000_000_000));
            let shown = clock.reading(time);
            let first = clock.when(shown);
            assert!(first <= time && clock.reading(first) >= shown);
            let before = Time(first.0.saturating_sub(1));
            assert!(first == Time::ORIGIN || clock.reading(before) < shown);
        }
    }

    #[test]
    fn a_clock_is_the_same_on_both_sides_of_64_bits() {
        let clock = at_rate(TRUE_RATE + 1);
        let last = u64::MAX / u64::from(clock.rate);
        for time in last - 3..last + 3 {
            let exact = u128::from(time) * u128::from(clock.rate) / u128::from(TRUE_RATE);
            assert_eq!(clock.reading(Time(time)).as_nanos(), exact);
        }
    }

    /// The arithmetic of the documentation, at the extremes.
    #[test]
    fn the_margin_of_a_lease_covers_the_drift() {
        let timeout = Duration::from_secs(10);
        let slow = at_rate(TRUE_RATE - Clock::MAX_DRIFT);
        let fast = at_rate(TRUE_RATE + Clock::MAX_DRIFT);
        let lapses = slow.when(timeout * 9 / 10);
        let expires = fast.when(timeout);
        assert!(lapses < expires, "{lapses} {expires}");
    }

    /// The margin is for rates relative to each other.
    #[test]
    fn clocks_that_are_off_by_the_margin_each_are_too_far_apart() {
        let timeout = Duration::from_secs(10);
        for (drift, holds) in [(52_631, true), (52_700, false), (100_000, false)] {
            let slow = at_rate(TRUE_RATE - drift);
            let fast = at_rate(TRUE_RATE + drift);
            assert_eq!(slow.when(timeout * 9 / 10) <= fast.when(timeout), holds, "{drift}");
        }
    }
}

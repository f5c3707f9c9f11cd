//! The wait before the next attempt to connect.

use core::time::Duration;

/// Exponential backoff with full jitter. Before attempt *k* after the last connection that lasted,
/// the session waits for a random time between zero and `base · 2ᵏ`, at most `cap`. After a
/// connection that lasted, it makes the first attempt to another server at once.
///
/// Full jitter spreads the clients of a failed server over time. A connection lasted if its session
/// was established for at least `cap`, and if the connection ended neither by an error of the
/// protocol nor by the server's word that the session has expired. So a server that accepts,
/// answers and then breaks off is dialled at the pace of `cap`. Such a server may be hostile, or it
/// may refuse the first request of the session, for example a request that sets watches again and
/// is too long for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The bound of the first wait.
    pub base: Duration,
    /// The bound of every wait.
    pub cap: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_millis(10), cap: Duration::from_secs(1) }
    }
}

impl Backoff {
    pub(crate) fn delay(self, attempt: u32, rng: &mut fastrand::Rng) -> Duration {
        let factor = 1_u32.checked_shl(attempt.min(20)).unwrap_or(u32::MAX);
        let bound = self.base.saturating_mul(factor).min(self.cap);
        let micros = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(rng.u64(0..=micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_stay_below_a_doubling_bound_and_the_cap() {
        let backoff = Backoff::default();
        let mut rng = fastrand::Rng::with_seed(7);
        for attempt in 0..40 {
            let bound = Duration::from_millis(10 << attempt.min(10)).min(backoff.cap);
            for _ in 0..100 {
                assert!(backoff.delay(attempt, &mut rng) <= bound);
            }
        }
    }

    /// Clients that lost the same server must not come back together (kazoo #664).
    #[test]
    fn delays_of_different_seeds_spread_over_the_whole_range() {
        let backoff = Backoff::default();
        let delays = (0..1000)
            .map(|seed| backoff.delay(10, &mut fastrand::Rng::with_seed(seed)).as_millis());
        let mut tenths = [0; 10];
        for delay in delays {
            tenths[usize::try_from(delay / 100).unwrap().min(9)] += 1;
        }
        assert!(tenths.iter().all(|&count| count > 50), "{tenths:?}");
    }
}

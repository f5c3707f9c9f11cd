//! Medians, and how they are printed.

use core::time::Duration;

/// Returns the median.
pub(crate) fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

pub(crate) fn ratio(ours: Duration, raw: Duration) -> f64 {
    ours.as_secs_f64() / raw.as_secs_f64()
}

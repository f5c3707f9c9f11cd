//! Time on the processor, memory, medians.

use core::time::Duration;
use std::fs;
use std::io;

/// Returns the processor time that this thread has used. Linux.
pub(crate) fn cpu_time() -> io::Result<Duration> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = schedstat.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.unwrap_or_default()))
}

/// Returns the resident memory of this process in KiB. Linux.
pub(crate) fn resident_kib() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.and_then(|kib| kib.parse().ok()).unwrap_or_default())
}

/// Returns the value at this part of the sorted values: 0.5 is the median.
pub(crate) fn quantile(values: &mut [Duration], part: f64) -> Duration {
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "far fewer values than 2^52"
    )]
    let index = (last as f64 * part).round() as usize;
    values.get(index).copied().unwrap_or_default()
}

/// Microseconds with a fraction.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

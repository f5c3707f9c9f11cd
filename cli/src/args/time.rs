//! Times in options.

use core::error::Error;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;
use core::time::Duration;

/// A time with units, such as `1m 30s`; or a bare number of seconds, as `flock`, `timeout` and `sleep`
/// take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(Duration);

/// The text is no time.
#[derive(Debug, thiserror::Error)]
#[error("write a time such as 30s, 500ms or 1m 30s, or a number of seconds: {0}")]
pub(crate) struct TimeError(#[from] humantime::DurationError);

impl FromStr for Time {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let seconds = is_number.then(|| text.parse().ok()).flatten();
        match seconds.map(Duration::try_from_secs_f64) {
            Some(Ok(time)) => Ok(Self(time)),
            _ => Ok(Self(humantime::parse_duration(text)?)),
        }
    }
}

/// Reads a time in which something is to happen.
pub(crate) fn above_zero(text: &str) -> Result<Time, Box<dyn Error + Send + Sync>> {
    match text.parse()? {
        Time(Duration::ZERO) => Err("nothing ends in no time: write a time above 0".into()),
        time => Ok(time),
    }
}

impl Deref for Time {
    type Target = Duration;

    fn deref(&self) -> &Duration {
        &self.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_units_or_is_in_seconds() {
        let time = |text: &str| text.parse::<Time>().map(|time| *time).ok();
        let milliseconds = |count| Some(Duration::from_millis(count));
        assert_eq!(time("5"), milliseconds(5_000));
        assert_eq!(time("0.25"), milliseconds(250));
        assert_eq!(time("0"), milliseconds(0));
        assert_eq!(time("1m 30s"), milliseconds(90_000));
        assert_eq!(time("500ms"), milliseconds(500));
        let huge = "9".repeat(40);
        for none in ["", ".", "5.5.5", "-1", "inf", "NaN", "1e3", "5 bananas", huge.as_str()] {
            assert_eq!(time(none), None, "{none}");
        }
        assert!(above_zero("1ms").is_ok());
        for none in ["0", "0s", "soon"] {
            assert!(above_zero(none).is_err(), "{none}");
        }
    }
}

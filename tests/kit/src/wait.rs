//! Waits for a condition, within a bound.
//!
//! A test never sleeps "long enough": it names the condition that it waits for, and the longest time.
//! The bound only decides how long a failing test takes, so it may be generous.

use core::time::Duration;
use std::thread;
use std::time::Instant;

/// A generous bound for what normally takes milliseconds.
pub const SOON: Duration = Duration::from_secs(30);

const INTERVAL: Duration = Duration::from_millis(5);

/// The condition did not come true within the bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("still not so after {bound:?}: {what}")]
pub struct NotInTime {
    what: String,
    bound: Duration,
}

impl NotInTime {
    /// Says that `what` was not so within `bound`.
    pub fn new(what: impl Into<String>, bound: Duration) -> Self {
        Self { what: what.into(), bound }
    }
}

/// Blocks until `condition` holds. It is asked at least once, and again every few milliseconds.
///
/// # Errors
///
/// [`NotInTime`] with `what` when it does not hold within `bound`.
pub fn eventually(
    bound: Duration,
    what: &str,
    mut condition: impl FnMut() -> bool,
) -> Result<(), NotInTime> {
    let deadline = Instant::now() + bound;
    while !condition() {
        if Instant::now() >= deadline {
            return Err(NotInTime::new(what, bound));
        }
        thread::sleep(INTERVAL);
    }
    Ok(())
}

/// Does as [`eventually`], for a condition that has to be awaited. Needs a tokio runtime with time.
///
/// # Errors
///
/// [`NotInTime`] with `what` when it does not hold within `bound`.
///
/// # Cancel safety
///
/// Safe: it owns nothing but the condition.
pub async fn eventually_async(
    bound: Duration,
    what: &str,
    mut condition: impl AsyncFnMut() -> bool,
) -> Result<(), NotInTime> {
    let deadline = Instant::now() + bound;
    while !condition().await {
        if Instant::now() >= deadline {
            return Err(NotInTime::new(what, bound));
        }
        tokio::time::sleep(INTERVAL).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_as_soon_as_the_condition_holds() {
        let mut asked = 0;
        let waited = eventually(SOON, "asked thrice", || {
            asked += 1;
            asked == 3
        });
        assert_eq!((waited, asked), (Ok(()), 3));
    }

    #[test]
    fn it_says_what_did_not_come_true() {
        let error = eventually(Duration::ZERO, "pigs fly", || false).expect_err("they do not");
        assert_eq!(error.to_string(), "still not so after 0ns: pigs fly");
    }

    #[tokio::test]
    async fn the_async_form_awaits_its_condition() {
        let mut asked = 0;
        let waited = eventually_async(SOON, "asked twice", async || {
            tokio::task::yield_now().await;
            asked += 1;
            asked == 2
        })
        .await;
        assert_eq!((waited, asked), (Ok(()), 2));
    }
}

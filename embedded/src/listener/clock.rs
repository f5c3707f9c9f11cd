//! The server's clock, which stands still while the server is paused.

use core::time::Duration;
use std::time::SystemTime;

use tokio::time;

use crate::time::{Instant, Timestamp};

/// Counts on from where it was stopped.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    Running {
        since: time::Instant,
        /// The time that it showed at that moment.
        from: Instant,
    },
    Stopped {
        at: Instant,
    },
}

impl Clock {
    pub(super) fn start_at(from: Instant) -> Self {
        let since = time::Instant::now();
        Self::Running { since, from }
    }

    pub(super) fn now(self) -> Instant {
        match self {
            Self::Running { since, from } => from + since.elapsed(),
            Self::Stopped { at } => at,
        }
    }

    /// Returns when the clock will show `moment`; `None` if it is stopped, or `moment` is too far
    /// away.
    pub(super) fn when(self, moment: Instant) -> Option<time::Instant> {
        match self {
            Self::Running { since, from } => {
                let until = moment.elapsed().saturating_sub(from.elapsed());
                since.checked_add(until)
            }
            Self::Stopped { .. } => None,
        }
    }
}

/// Returns the wall clock; 0 before 1970.
pub(super) fn wall_clock() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp::default() + since_1970.unwrap_or(Duration::ZERO)
}

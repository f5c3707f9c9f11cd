//! The time that a server sees: it stands still while the server is paused.

use core::time::Duration;
use std::time::SystemTime;

use tokio::time;

use crate::time::{Instant, Timestamp};

/// Counts on from where it was stopped.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    Running {
        since: time::Instant,
        /// What it showed then.
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

    /// When a running clock will show `moment`, or will have been running for years.
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

/// What the wall clock shows; 0 before 1970.
pub(super) fn wall_clock() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp::default() + since_1970.unwrap_or(Duration::ZERO)
}

//! Warns of servers that stay out of reach: soon, and then rarely.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use zk_session::{ConnectionEnd, Instant};

use super::{Entry, Journal};
use crate::state::ConnectFailure;

/// The time after which the same warning is repeated.
const PACE: Duration = Duration::from_secs(600);
/// The number of reasons of one outage that are reported as soon as they occur.
const MOST_REASONS: usize = 8;

/// The reason for which an attempt to connect failed, as far as it can be compared without running code
/// of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    NoneKnown,
    Transport(io::ErrorKind),
    Ended(ConnectionEnd),
}

/// A failed attempt to connect.
#[derive(Debug)]
pub(crate) struct FailedAttempt {
    pub(crate) kind: FailureKind,
    pub(crate) failure: Arc<ConnectFailure>,
    /// The time without a server so far.
    pub(crate) lasted: Duration,
}

/// The present outage, as far as it was reported.
#[derive(Debug)]
pub(crate) struct Outage {
    /// A shorter outage is not reported, because servers elect a leader, and are restarted one after
    /// the other.
    shortest: Duration,
    /// In a box, because most clients have none.
    told: Option<Box<OutageReports>>,
}

/// The reports about an outage.
#[derive(Debug)]
struct OutageReports {
    /// The moment of the last report.
    at: Instant,
    kinds: Vec<FailureKind>,
}

impl Outage {
    /// Makes an outage with nothing reported, for the session timeout that the client asks for.
    pub(crate) const fn new(session_timeout: Duration) -> Self {
        Self { shortest: session_timeout, told: None }
    }

    /// Reports the failed attempt if it is news: the outage has lasted for a session timeout, or the
    /// reason is another one, or the last report is long ago.
    pub(crate) fn attempt_failed(
        &mut self,
        attempt: FailedAttempt,
        now: Instant,
        journal: &mut Journal,
    ) {
        let FailedAttempt { kind, failure, lasted } = attempt;
        if lasted < self.shortest {
            return;
        }
        let told =
            self.told.get_or_insert_with(|| Box::new(OutageReports { at: now, kinds: Vec::new() }));
        let is_due = now.saturating_since(told.at) >= PACE;
        let is_other = !told.kinds.contains(&kind) && told.kinds.len() < MOST_REASONS;
        if is_other {
            told.kinds.push(kind);
        }
        if is_due || is_other {
            told.at = now;
            journal.note(Entry::WithoutServer { lasted, failure });
        }
    }

    /// Notes that a server has granted a session with this timeout.
    pub(crate) fn ended(&mut self, session_timeout: Duration) {
        *self = Self::new(session_timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SharedError;

    #[test]
    fn an_outage_is_told_in_time_and_then_rarely() {
        let mut outage = Outage::new(Duration::from_secs(10));
        let mut journal = Journal::default();
        let mut fails = |outage: &mut Outage, seconds: u64, kind| {
            let now = Instant::since_origin(Duration::from_secs(seconds));
            let failure = Arc::new(ConnectFailure::NoneKnown { reason: SharedError::new("x") });
            let lasted = now.elapsed();
            outage.attempt_failed(FailedAttempt { kind, failure, lasted }, now, &mut journal);
            journal.len()
        };
        let refused = FailureKind::Transport(io::ErrorKind::ConnectionRefused);
        let closed = FailureKind::Ended(ConnectionEnd::Closed);
        assert_eq!([1, 9, 10, 11, 60].map(|at| fails(&mut outage, at, refused)), [0, 0, 1, 1, 1]);
        assert_eq!(fails(&mut outage, 61, closed), 2, "another reason");
        assert_eq!([62, 63].map(|at| fails(&mut outage, at, refused)), [2, 2], "in turns");
        assert_eq!([660, 661, 1200, 1261].map(|at| fails(&mut outage, at, closed)), [2, 3, 3, 4]);
        outage.ended(Duration::from_secs(4));
        assert_eq!(fails(&mut outage, 2000, closed), 5, "another outage");
    }
}

//! Warns of servers that stay out of reach: in time, and then rarely.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use zk_session::{ConnectionEnd, Instant};

use super::{Entry, Journal};
use crate::state::ConnectFailure;

/// How long it takes until the same is told again.
const PACE: Duration = Duration::from_secs(600);
/// So many reasons of one outage are told as soon as they are met.
const MOST_REASONS: usize = 8;

/// Why an attempt to connect failed, as far as that can be compared without running anything of a user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    NoneKnown,
    Transport(io::ErrorKind),
    Ended(ConnectionEnd),
}

/// An attempt to connect that failed.
#[derive(Debug)]
pub(crate) struct FailedAttempt {
    pub(crate) kind: FailureKind,
    pub(crate) failure: Arc<ConnectFailure>,
    /// For how long there has been no server.
    pub(crate) lasted: Duration,
}

/// The present outage, as it was told of.
#[derive(Debug)]
pub(crate) struct Outage {
    /// A shorter one is not told of: servers elect a leader, and are restarted one after the other.
    shortest: Duration,
    /// In a box, because most clients have none.
    told: Option<Box<Told>>,
}

/// What was told of an outage.
#[derive(Debug)]
struct Told {
    /// When something was told last.
    at: Instant,
    kinds: Vec<FailureKind>,
}

impl Outage {
    /// The session timeout that is asked for.
    pub(crate) const fn new(session_timeout: Duration) -> Self {
        Self { shortest: session_timeout, told: None }
    }

    /// Tells of it if it is news: it has lasted for a session timeout, the reason is another one, or it was
    /// told long ago.
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
        let is_first = self.told.is_none();
        let told = self.told.get_or_insert_with(|| Box::new(Told { at: now, kinds: Vec::new() }));
        let is_due = is_first || now.saturating_since(told.at) >= PACE;
        let is_other = !told.kinds.contains(&kind) && told.kinds.len() < MOST_REASONS;
        if is_other {
            told.kinds.push(kind);
        }
        if is_due || is_other {
            told.at = now;
            journal.note(Entry::WithoutServer { lasted, failure });
        }
    }

    /// A server has granted a session with this timeout.
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

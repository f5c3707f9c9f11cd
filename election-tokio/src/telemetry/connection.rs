//! The connection and the session of a client, with their changes.

use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Span, info_span};
use zk_jute::SessionId;
use zk_session::SessionEnd;

use super::journal::{Entry, Journal};
use super::{CONNECTION, metrics};
use crate::state::ConnectionState;

/// Makes the span of a client. It has no parent: it lasts as long as the client, which may be made
/// in a short-lived span.
pub(crate) fn client_span(chroot: &str) -> Span {
    info_span!(
        target: CONNECTION,
        parent: None,
        "zk_client",
        chroot = (!chroot.is_empty()).then_some(chroot),
        session = Empty
    )
}

/// Observes each state of a client's connection.
#[derive(Debug)]
pub(crate) struct ConnectionObserver {
    state: &'static str,
    session: Option<SessionId>,
    failures: u32,
    suspended_at: Option<Instant>,
}

impl ConnectionObserver {
    pub(crate) fn new() -> Self {
        let state = "connecting";
        metrics::client_begun(state);
        Self { state, session: None, failures: 0, suspended_at: None }
    }

    /// Takes in the state after an event; it may be unchanged.
    pub(crate) fn observe(&mut self, state: &ConnectionState, journal: &mut Journal) {
        let (left, entered) = (self.state, name(state));
        let has_entered = left != entered;
        if has_entered {
            journal.note(Entry::StateEntered { left, entered });
            self.state = entered;
            match self.suspended_at.take() {
                Some(at) => {
                    let (outcome, lasted) = (outcome(state, self.session), at.elapsed());
                    journal.note(Entry::SuspensionEnded { outcome, lasted });
                }
                None if matches!(state, ConnectionState::Suspended { .. }) => {
                    self.suspended_at = Some(Instant::now());
                }
                None => {}
            }
        }
        let failures = match state {
            ConnectionState::Connecting { failures, .. }
            | ConnectionState::Suspended { failures, .. } => *failures,
            _ => 0,
        };
        if failures > self.failures {
            journal.note(Entry::AttemptFailed);
        }
        self.failures = failures;
        match state {
            ConnectionState::Connected { session, .. } if has_entered => {
                if self.session == Some(*session) {
                    journal.note(Entry::SessionResumed);
                } else {
                    self.session = Some(*session);
                    journal.note(Entry::SessionGranted(*session));
                }
            }
            ConnectionState::Suspended { .. } if has_entered => {
                journal.note(Entry::ConnectionCountedAsLost);
            }
            ConnectionState::Expired { .. }
            | ConnectionState::Closed { end: SessionEnd::Expired(_) }
                if has_entered =>
            {
                journal.note(Entry::SessionExpired);
            }
            _ => {}
        }
    }
}

/// Runs with the drop of the client, outside of its lock.
impl Drop for ConnectionObserver {
    fn drop(&mut self) {
        metrics::state_ended(self.state);
    }
}

/// Names what happened to a session that was in doubt.
fn outcome(state: &ConnectionState, suspended: Option<SessionId>) -> &'static str {
    match state {
        ConnectionState::Connected { session, .. } if Some(*session) == suspended => "resumed",
        ConnectionState::Closed { end: SessionEnd::Expired(_) } => "expired",
        ConnectionState::Closed { .. } => "closed",
        _ => "expired",
    }
}

const fn name(state: &ConnectionState) -> &'static str {
    match state {
        ConnectionState::Connecting { .. } => "connecting",
        ConnectionState::Connected { read_only: false, .. } => "connected",
        ConnectionState::Connected { read_only: true, .. } => "read_only",
        ConnectionState::Suspended { .. } => "suspended",
        ConnectionState::Expired { .. } => "expired",
        ConnectionState::Closed { .. } => "closed",
    }
}

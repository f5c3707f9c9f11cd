//! The connection and the session of a client, as they change.

use tracing::field::{Empty, display};
use tracing::{Span, info_span};
use zk_jute::SessionId;
use zk_session::SessionEnd;

use super::CONNECTION;
use super::metrics::{self, StateGauge};
use crate::client::ConnectionState;

/// Sees each state of a client's connection.
#[derive(Debug)]
pub(crate) struct ConnectionObserver {
    span: Span,
    session: Option<SessionId>,
    failures: u32,
    gauge: StateGauge,
}

impl ConnectionObserver {
    /// The span has no parent: it lasts as long as the client, which may be made on behalf of
    /// something short.
    pub(crate) fn new(chroot: &str) -> Self {
        let span = info_span!(
            target: CONNECTION,
            parent: None,
            "zk_client",
            chroot = (!chroot.is_empty()).then_some(chroot),
            session = Empty
        );
        Self { span, session: None, failures: 0, gauge: StateGauge::new("connecting") }
    }

    /// The span of the client.
    pub(crate) const fn span(&self) -> &Span {
        &self.span
    }

    /// Takes in the state after an event; it may be the same as before.
    pub(crate) fn observe(&mut self, state: &ConnectionState) {
        let before = self.gauge.state();
        self.gauge.enter(name(state));
        let entered = before != self.gauge.state();
        let failures = match state {
            ConnectionState::Connecting { failures, .. }
            | ConnectionState::Suspended { failures, .. } => *failures,
            _ => 0,
        };
        if failures > self.failures {
            metrics::connect_failed();
        }
        self.failures = failures;
        match state {
            ConnectionState::Connected { session, .. } if entered => self.connected(*session),
            ConnectionState::Suspended { .. } if entered => metrics::connection_lost(),
            ConnectionState::Expired { .. }
            | ConnectionState::Closed { end: SessionEnd::Expired(_) }
                if entered =>
            {
                metrics::session_expired();
            }
            _ => {}
        }
    }

    fn connected(&mut self, session: SessionId) {
        if self.session == Some(session) {
            return metrics::session_resumed();
        }
        metrics::session_granted();
        self.session = Some(session);
        self.span.record("session", display(session));
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

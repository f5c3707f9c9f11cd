//! What tells the health of a client: written by the driver and where the connection changes, read
//! without the hub's lock.
//!
//! A call that reads the health is answered even while the driver stands still, for whatever
//! reason: a blocked thread, a turn that never comes, the hub's lock.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use zk_session::{Instant, SessionEnd};

use crate::state::{ConnectFailure, ConnectionState};

/// Written with relaxed stores: each number has its own meaning.
#[derive(Debug)]
pub(crate) struct Vitals {
    /// When the driver takes its next turn at the latest, in microseconds of tokio's clock since
    /// the client was made. The time that the machine sleeps does not count, because it wakes no
    /// timer.
    due_micros: AtomicU64,
    /// [`ConnectionPhase`] and since when, in one number, so that the two belong together.
    phase: AtomicU64,
    /// The timeout of the session.
    timeout_micros: AtomicU64,
    end: OnceLock<SessionEnd>,
    /// Since there was a connection. The lock is held to copy a pointer, and for nothing else.
    last_failure: Mutex<Option<Arc<ConnectFailure>>>,
}

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPhase {
    Connecting,
    Connected,
    ReadOnly,
    Suspended,
    Expired,
    Closed,
}

/// Bits of the number that hold the [`ConnectionPhase`].
const PHASE_BITS: u32 = 3;

impl Vitals {
    pub(super) const fn new() -> Self {
        Self {
            due_micros: AtomicU64::new(0),
            phase: AtomicU64::new(ConnectionPhase::Connecting.number()),
            timeout_micros: AtomicU64::new(0),
            end: OnceLock::new(),
            last_failure: Mutex::new(None),
        }
    }

    /// Notes that the driver ends a turn, and takes the next one by then.
    pub(crate) fn driver_is_due(&self, at: Duration) {
        self.due_micros.store(micros(at), Ordering::Relaxed);
    }

    /// Returns how late the driver is.
    pub(crate) fn overdue(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_micros(self.due_micros.load(Ordering::Relaxed)))
    }

    /// Records the state of the connection. The time between two connections counts as one state.
    pub(super) fn connection_is(&self, state: &ConnectionState, now: Instant) {
        if let ConnectionState::Connected { timeout, .. } = state {
            self.timeout_micros.store(micros(*timeout), Ordering::Relaxed);
        }
        if let ConnectionState::Closed { end } = state {
            // It ends once.
            let _ = self.end.set(*end);
        }
        let phase = ConnectionPhase::of(state);
        let (before, since) = self.phase();
        let goes_on = phase == before || phase.is_between() && before.is_between();
        let since = if goes_on { since } else { now };
        self.phase.store(micros(since.elapsed()) << PHASE_BITS | phase.number(), Ordering::Relaxed);
    }

    /// Returns the state of the connection, and since when it is connected or not.
    pub(crate) fn phase(&self) -> (ConnectionPhase, Instant) {
        let number = self.phase.load(Ordering::Relaxed);
        let since = Duration::from_micros(number >> PHASE_BITS);
        (
            ConnectionPhase::from_number(number & ((1 << PHASE_BITS) - 1)),
            Instant::since_origin(since),
        )
    }

    /// Returns the last granted timeout of the session; zero before the first one.
    pub(crate) fn session_timeout(&self) -> Duration {
        Duration::from_micros(self.timeout_micros.load(Ordering::Relaxed))
    }

    /// The last attempt to connect that failed, if there is no connection.
    pub(crate) fn last_failure(&self) -> Option<Arc<ConnectFailure>> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes in an attempt that failed, or that one did not. Gives back the one before: an error of a
    /// user's, perhaps.
    pub(super) fn set_last_failure(
        &self,
        failure: Option<Arc<ConnectFailure>>,
    ) -> Option<Arc<ConnectFailure>> {
        let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
        core::mem::replace(&mut *last, failure)
    }

    /// How the client ended, if it has.
    pub(crate) fn end(&self) -> Option<SessionEnd> {
        self.end.get().copied()
    }
}

impl ConnectionPhase {
    const fn of(state: &ConnectionState) -> Self {
        match state {
            ConnectionState::Connecting { .. } => Self::Connecting,
            ConnectionState::Connected { read_only: false, .. } => Self::Connected,
            ConnectionState::Connected { read_only: true, .. } => Self::ReadOnly,
            ConnectionState::Suspended { .. } => Self::Suspended,
            ConnectionState::Expired { .. } => Self::Expired,
            ConnectionState::Closed { .. } => Self::Closed,
        }
    }

    const fn number(self) -> u64 {
        match self {
            Self::Connecting => 0,
            Self::Connected => 1,
            Self::ReadOnly => 2,
            Self::Suspended => 3,
            Self::Expired => 4,
            Self::Closed => 5,
        }
    }

    const fn from_number(number: u64) -> Self {
        match number {
            1 => Self::Connected,
            2 => Self::ReadOnly,
            3 => Self::Suspended,
            4 => Self::Expired,
            5 => Self::Closed,
            _ => Self::Connecting,
        }
    }

    /// Returns whether it is about to connect.
    const fn is_between(self) -> bool {
        matches!(self, Self::Connecting | Self::Suspended | Self::Expired)
    }
}

/// Converts to microseconds, up to half a million years.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use zk_jute::SessionId;

    use super::*;

    #[test]
    fn what_lies_between_two_connections_counts_as_one() {
        let vitals = Vitals::new();
        let at = |seconds| Instant::since_origin(Duration::from_secs(seconds));
        assert_eq!(vitals.phase(), (ConnectionPhase::Connecting, at(0)));
        let (session, timeout) = (SessionId::new(1), Duration::from_secs(10));
        let connected = |read_only| ConnectionState::Connected { session, timeout, read_only };
        vitals.connection_is(&connected(false), at(1));
        vitals.connection_is(&connected(false), at(2));
        assert_eq!(
            (vitals.phase(), vitals.session_timeout()),
            ((ConnectionPhase::Connected, at(1)), timeout)
        );
        vitals
            .connection_is(&ConnectionState::Suspended { failures: 0, last_failure: None }, at(3));
        let expiry = zk_session::Expiry::Unreachable;
        vitals.connection_is(&ConnectionState::Expired { expiry }, at(17));
        assert_eq!(vitals.phase(), (ConnectionPhase::Expired, at(3)));
        vitals.connection_is(&connected(true), at(18));
        assert_eq!(vitals.phase(), (ConnectionPhase::ReadOnly, at(18)));
        assert_eq!(vitals.end(), None);
        vitals.connection_is(&ConnectionState::Closed { end: SessionEnd::Closed }, at(19));
        assert_eq!(
            (vitals.phase(), vitals.end()),
            ((ConnectionPhase::Closed, at(19)), Some(SessionEnd::Closed))
        );
    }

    #[test]
    fn a_driver_that_misses_its_turn_is_overdue() {
        let vitals = Vitals::new();
        vitals.driver_is_due(Duration::from_secs(5));
        assert_eq!(vitals.overdue(Duration::from_secs(4)), Duration::ZERO);
        assert_eq!(vitals.overdue(Duration::from_secs(7)), Duration::from_secs(2));
    }
}

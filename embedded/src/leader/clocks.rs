//! When sessions end (protocol section 8.6).

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use zk_jute::SessionId;

use crate::replica::ReplicaId;
use crate::time::Instant;

/// Counts down for every session, in steps of a tick: a session ends at the first multiple of the
/// tick that is later than its timeout after it was last heard of, so never early.
#[derive(Clone, Debug)]
pub(super) struct SessionClocks {
    tick_time: Duration,
    clocks: BTreeMap<SessionId, Clock>,
    by_expiry: BTreeMap<Instant, BTreeSet<SessionId>>,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    timeout: Duration,
    expires_at: Instant,
    owner: Owner,
}

/// Which replica a session was last opened through: writes through another one are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nobody has opened it since this leader leads.
    Unclaimed,
    Replica(ReplicaId),
}

impl SessionClocks {
    pub(super) const fn new(tick_time: Duration) -> Self {
        Self { tick_time, clocks: BTreeMap::new(), by_expiry: BTreeMap::new() }
    }

    /// Starts a session's clock, or starts it afresh with this timeout and owner.
    pub(super) fn start(
        &mut self,
        now: Instant,
        session: SessionId,
        timeout: Duration,
        owner: Owner,
    ) {
        self.stop(session);
        let expires_at = (now + timeout).next_multiple_of(self.tick_time);
        let clock = Clock { timeout, expires_at, owner };
        self.clocks.insert(session, clock);
        self.by_expiry.entry(expires_at).or_default().insert(session);
    }

    /// The session was heard of.
    pub(super) fn touch(&mut self, now: Instant, session: SessionId) {
        if let Some(clock) = self.clocks.get(&session).copied() {
            let expires_at = (now + clock.timeout).next_multiple_of(self.tick_time);
            // Mostly the step has not been left since.
            if expires_at != clock.expires_at {
                self.start(now, session, clock.timeout, clock.owner);
            }
        }
    }

    pub(super) fn stop(&mut self, session: SessionId) {
        let Some(clock) = self.clocks.remove(&session) else {
            return;
        };
        if let Some(sessions) = self.by_expiry.get_mut(&clock.expires_at) {
            sessions.remove(&session);
            if sessions.is_empty() {
                self.by_expiry.remove(&clock.expires_at);
            }
        }
    }

    /// Who may write for the session; `None` if it is over.
    pub(super) fn owner(&self, session: SessionId) -> Option<Owner> {
        self.clocks.get(&session).map(|clock| clock.owner)
    }

    /// A session whose time is over.
    pub(super) fn first_expired(&self, now: Instant) -> Option<SessionId> {
        let (at, sessions) = self.by_expiry.first_key_value()?;
        sessions.first().filter(|_| *at <= now).copied()
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.by_expiry.keys().next().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.clocks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId::new(7);

    fn at(millis: u64) -> Instant {
        Instant::since_origin(Duration::from_millis(millis))
    }

    fn clocks(timeout: u64) -> SessionClocks {
        let mut clocks = SessionClocks::new(Duration::from_millis(500));
        let timeout = Duration::from_millis(timeout);
        clocks.start(at(100), SESSION, timeout, Owner::Unclaimed);
        clocks
    }

    /// Never before the timeout, and no later than a tick after it.
    #[test]
    fn sessions_end_at_the_tick_after_their_timeout() {
        for (timeout, end) in [(1000, 1500), (1399, 1500), (1400, 2000), (2300, 2500)] {
            let clocks = clocks(timeout);
            assert_eq!(clocks.next_expiry(), Some(at(end)));
            assert_eq!(clocks.first_expired(at(end - 1)), None);
            assert_eq!(clocks.first_expired(at(end)), Some(SESSION));
        }
    }

    #[test]
    fn being_heard_of_starts_the_clock_afresh() {
        let mut clocks = clocks(1000);
        clocks.touch(at(600), SESSION);
        assert_eq!(clocks.next_expiry(), Some(at(2000)));
        assert_eq!(clocks.first_expired(at(1999)), None);
        clocks.stop(SESSION);
        assert_eq!(clocks.next_expiry(), None);
        clocks.touch(at(600), SESSION);
        assert_eq!(clocks.len(), 0);
    }

    #[test]
    fn a_shorter_timeout_counts_from_now() {
        let mut clocks = clocks(9000);
        clocks.start(at(200), SESSION, Duration::from_millis(300), Owner::Unclaimed);
        assert_eq!(clocks.next_expiry(), Some(at(1000)));
        assert_eq!(clocks.first_expired(at(1000)), Some(SESSION));
        assert_eq!(clocks.len(), 1);
    }
}

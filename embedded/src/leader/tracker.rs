//! The expiry of sessions: ZooKeeper's `SessionTrackerImpl` with its `ExpiryQueue`.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::time::Duration;

use zk_jute::SessionId;

use crate::config::ExpiryPace;
use crate::forward::ReplicaId;
use crate::time::Instant;

/// Counts down for every session, in steps of a tick. A session is due at the first multiple of the
/// tick that is later than its timeout after the last touch, so never early.
///
/// Ending a session takes three steps, as on the tracker's thread: it *polls* the whole bucket of a
/// tick, marks each session of that bucket *closing*, and submits a `closeSession` for each. A
/// touch between the first two steps succeeds and changes nothing: the session ends.
#[derive(Clone, Debug)]
pub(super) struct SessionTracker {
    tick_time: Duration,
    pace: ExpiryPace,
    /// Sessions that are not closing.
    sessions: BTreeMap<SessionId, Tracked>,
    buckets: BTreeMap<Instant, BTreeSet<SessionId>>,
    polled: Option<Polled>,
    /// The closing sessions, each with the moment at which the tracker submits its `closeSession`.
    closing: VecDeque<(Instant, SessionId)>,
    /// Closing sessions, and sessions that were closed at once, that the leader's own replica does
    /// not know of yet.
    unreported: VecDeque<SessionId>,
}

#[derive(Clone, Copy, Debug)]
struct Tracked {
    due: Instant,
    owner: Owner,
}

/// A bucket that was taken from the queue.
#[derive(Clone, Debug)]
struct Polled {
    closing_at: Instant,
    sessions: BTreeSet<SessionId>,
}

/// The replica through which a session was last opened. Writes through another one are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The session was not opened since this leader leads.
    Unclaimed,
    Replica(ReplicaId),
}

impl SessionTracker {
    pub(super) const fn new(tick_time: Duration, pace: ExpiryPace) -> Self {
        Self {
            tick_time,
            pace,
            sessions: BTreeMap::new(),
            buckets: BTreeMap::new(),
            polled: None,
            closing: VecDeque::new(),
            unreported: VecDeque::new(),
        }
    }

    pub(super) const fn set_pace(&mut self, pace: ExpiryPace) {
        self.pace = pace;
    }

    /// Starts or restarts a session's clock, with this owner.
    pub(super) fn start(
        &mut self,
        now: Instant,
        session: SessionId,
        timeout: Duration,
        owner: Owner,
    ) {
        let due = (now + timeout).next_multiple_of(self.tick_time);
        if let Some(tracked) = self.sessions.insert(session, Tracked { due, owner }) {
            self.leave_bucket(session, tracked.due);
        }
        self.buckets.entry(due).or_default().insert(session);
    }

    /// Restarts the clock of a session that was heard of on a connection with this timeout. Only
    /// this timeout counts: if it is smaller than the last one, the session ends earlier. Returns
    /// `false` if the session is closing or does not exist.
    pub(super) fn touch(&mut self, now: Instant, session: SessionId, timeout: Duration) -> bool {
        let Some(tracked) = self.sessions.get(&session).copied() else {
            return false;
        };
        // Mostly it is due in the same step as before.
        if (now + timeout).next_multiple_of(self.tick_time) != tracked.due {
            self.start(now, session, timeout, tracked.owner);
        }
        true
    }

    /// Returns the owner, for a check of writes; `None` if the session is closing or does not
    /// exist.
    pub(super) fn owner(&self, session: SessionId) -> Option<Owner> {
        self.sessions.get(&session).map(|tracked| tracked.owner)
    }

    /// Makes this replica the only one that may write for the session.
    pub(super) fn claim(&mut self, session: SessionId, replica: ReplicaId) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.owner = Owner::Replica(replica);
        }
    }

    /// Marks a session closing at once. The caller submits its `closeSession`.
    pub(super) fn close(&mut self, session: SessionId) {
        if let Some(tracked) = self.sessions.remove(&session) {
            self.leave_bucket(session, tracked.due);
            self.unreported.push_back(session);
        }
    }

    /// Returns a session for which the caller has to submit a `closeSession`.
    pub(super) fn poll(&mut self, now: Instant) -> Option<SessionId> {
        loop {
            if let Some(polled) = self.polled.take_if(|polled| polled.closing_at <= now) {
                for session in polled.sessions {
                    if self.sessions.contains_key(&session) {
                        self.close(session);
                        self.closing.push_back((now + self.pace.to_proposal, session));
                    }
                }
            }
            // The thread finishes one bucket before it polls the next.
            if self.polled.is_some() {
                break;
            }
            let Some(bucket) = self.buckets.first_entry().filter(|bucket| *bucket.key() <= now)
            else {
                break;
            };
            let sessions = bucket.remove();
            self.polled = Some(Polled { closing_at: now + self.pace.to_closing, sessions });
        }
        self.closing.front().filter(|(at, _)| *at <= now)?;
        self.closing.pop_front().map(|(_, session)| session)
    }

    /// Returns a session that was marked closing since the last call.
    pub(super) fn poll_closing(&mut self) -> Option<SessionId> {
        self.unreported.pop_front()
    }

    /// Returns when to call [`SessionTracker::poll`] next.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let polled = self.polled.as_ref().map(|polled| polled.closing_at);
        let next = polled.or_else(|| self.buckets.keys().next().copied());
        let closing = self.closing.front().map(|(at, _)| *at);
        next.into_iter().chain(closing).min()
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    fn leave_bucket(&mut self, session: SessionId, due: Instant) {
        if let Some(sessions) = self.buckets.get_mut(&due) {
            sessions.remove(&session);
            if sessions.is_empty() {
                self.buckets.remove(&due);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId::new(7);
    const AT_ONCE: ExpiryPace =
        ExpiryPace { to_closing: Duration::ZERO, to_proposal: Duration::ZERO };

    fn at(millis: u64) -> Instant {
        Instant::since_origin(millis_of(millis))
    }

    const fn millis_of(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn tracker(timeout: u64, pace: ExpiryPace) -> SessionTracker {
        let mut tracker = SessionTracker::new(millis_of(500), pace);
        tracker.start(at(100), SESSION, millis_of(timeout), Owner::Unclaimed);
        tracker
    }

    /// Never before the timeout, and no later than a tick after it.
    #[test]
    fn sessions_end_at_the_tick_after_their_timeout() {
        for (timeout, end) in [(1000, 1500), (1399, 1500), (1400, 2000), (2300, 2500)] {
            let mut tracker = tracker(timeout, AT_ONCE);
            assert_eq!(tracker.poll_timeout(), Some(at(end)));
            assert_eq!(tracker.poll(at(end - 1)), None);
            assert_eq!(tracker.poll(at(end)), Some(SESSION));
            assert_eq!(tracker.poll(at(end)), None);
            assert_eq!(tracker.poll_closing(), Some(SESSION));
            assert_eq!(tracker.poll_timeout(), None);
        }
    }

    #[test]
    fn a_touch_starts_the_clock_afresh() {
        let mut tracker = tracker(1000, AT_ONCE);
        assert!(tracker.touch(at(600), SESSION, millis_of(1000)));
        assert_eq!(tracker.poll_timeout(), Some(at(2000)));
        assert_eq!(tracker.poll(at(1999)), None);
        tracker.close(SESSION);
        assert_eq!(tracker.poll_timeout(), None);
        assert!(!tracker.touch(at(600), SESSION, millis_of(1000)));
        assert_eq!(tracker.len(), 0);
    }

    /// `ExpiryQueue.update` overwrites.
    #[test]
    fn a_touch_with_a_smaller_timeout_makes_the_session_end_earlier() {
        let mut tracker = tracker(9000, AT_ONCE);
        assert!(tracker.touch(at(200), SESSION, millis_of(300)));
        assert_eq!(tracker.poll_timeout(), Some(at(1000)));
        assert_eq!(tracker.poll(at(1000)), Some(SESSION));
        assert_eq!(tracker.len(), 0);
    }

    #[test]
    fn a_touch_between_poll_and_closing_succeeds_and_changes_nothing() {
        let pace = ExpiryPace { to_closing: millis_of(20), to_proposal: millis_of(30) };
        let mut tracker = tracker(1000, pace);
        assert_eq!(tracker.poll(at(1500)), None);
        assert_eq!(tracker.poll_timeout(), Some(at(1520)));
        assert!(tracker.touch(at(1519), SESSION, millis_of(9000)));
        assert_eq!(tracker.owner(SESSION), Some(Owner::Unclaimed));
        assert_eq!(tracker.poll_closing(), None);
        assert_eq!(tracker.poll(at(1520)), None);
        assert_eq!(tracker.poll_closing(), Some(SESSION));
        assert!(!tracker.touch(at(1521), SESSION, millis_of(9000)));
        assert_eq!(tracker.owner(SESSION), None);
        assert_eq!(tracker.poll_timeout(), Some(at(1550)));
        assert_eq!(tracker.poll(at(1549)), None);
        assert_eq!(tracker.poll(at(1550)), Some(SESSION));
        assert_eq!(tracker.poll_timeout(), None);
    }

    /// `setSessionClosing` of a session that has been removed does nothing.
    #[test]
    fn a_session_that_closes_itself_in_the_window_is_not_closed_twice() {
        let pace = ExpiryPace { to_closing: millis_of(20), to_proposal: Duration::ZERO };
        let mut tracker = tracker(1000, pace);
        assert_eq!(tracker.poll(at(1500)), None);
        tracker.close(SESSION);
        assert_eq!(tracker.poll(at(1520)), None);
        assert_eq!(tracker.poll_timeout(), None);
    }
}

//! Leaving a server that is silent while something is in flight.

use core::time::Duration;

use super::Session;
use super::state::{Closing, Live, Ping, State};
use crate::config::SilentServers;
use crate::event::ConnectionEnd;
use crate::silence::is_late;
use crate::time::Instant;

impl<R, W: Clone> Session<R, W> {
    /// Reports that a part of a frame has arrived: the server is slow, and not silent. For drivers that split frames
    /// themselves.
    pub fn handle_progress(&mut self, now: Instant) {
        self.check_lease(now);
        if let State::Live(live) = &mut self.state {
            live.silence_from = now;
        }
    }

    /// Returns the longest time after the submission of a request for which [`poll_timeout`](Self::poll_timeout) may be
    /// left as it was before; `None` if no request brings it forward.
    pub fn bound_on_silence(&self) -> Option<Duration> {
        match &self.state {
            State::Live(live) if self.may_leave(live) => Some(self.waits.bound(live.timeout)),
            _ => None,
        }
    }

    /// Notes that something has come from the server, and how long what is in flight has waited for it.
    #[inline]
    pub(super) fn hear(&mut self, now: Instant) {
        let State::Live(live) = &mut self.state else {
            return;
        };
        // Of all that comes in at once, the first has waited longest.
        if live.last_received == now {
            return;
        }
        live.last_received = now;
        let oldest = self.requests.oldest().map(|(_, sent_at)| sent_at);
        if let Some(asked_at) = asked_at(oldest, live.ping) {
            // What was submitted without a connection has not waited for this server.
            self.waits.note(now, now.saturating_since(asked_at.max(live.since)), live.timeout);
        }
    }

    /// Returns when the connection is left because nothing comes, though something is in flight.
    pub(super) fn overdue_at(&self, live: &Live) -> Option<Instant> {
        if !self.may_leave(live) || self.requests.are_long_on_the_way() {
            return None;
        }
        let oldest = self.requests.oldest().map(|(_, sent_at)| sent_at);
        let asked_at = asked_at(oldest, live.ping)?;
        let silent_from = asked_at.max(live.last_received).max(live.silence_from);
        Some(silent_from + self.waits.bound(live.timeout))
    }

    /// Returns whether there is somewhere to go to, and something to save. Servers other than Apache ZooKeeper may
    /// leave a request without an answer, and serve the next.
    fn may_leave(&self, live: &Live) -> bool {
        self.config.silent_servers == SilentServers::Leave
            && self.servers.count().get() > 1
            && live.family.keeps_leases()
            && matches!(live.closing, Closing::NotAsked)
    }

    /// Leaves the server, unless the silence may be the caller's own.
    pub(super) fn overdue(&mut self, now: Instant, due: Instant) {
        let State::Live(live) = &mut self.state else {
            return;
        };
        let bound = self.waits.bound(live.timeout);
        if is_late(now, due, bound) {
            live.silence_from = now;
            return;
        }
        let waited = bound + now.saturating_since(due);
        self.waits.leave(now, waited, live.timeout);
        self.connection_ended(now, ConnectionEnd::Overdue(waited));
    }
}

/// Returns since when something is in flight.
fn asked_at(oldest: Option<Instant>, ping: Ping) -> Option<Instant> {
    match (oldest, ping) {
        (Some(oldest), Ping::SentAt(ping)) => Some(oldest.min(ping)),
        (Some(at), Ping::Answered) | (None, Ping::SentAt(at)) => Some(at),
        (None, Ping::Answered) => None,
    }
}

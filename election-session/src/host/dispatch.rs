//! The events of the host, from those of the session.

use bytes::Bytes;
use election_core::Failure;
use zk_session::{Event as SessionEvent, Instant};

use super::{Clock, HostLink, Pending, Recipe, RecipeHost};
use crate::event::{Event, Wake};
use crate::key::{RecipeKey, Tag, Watcher};
use crate::lists::Turn;
use crate::replies::{Happening, Stimulus, core_failure};
use crate::request::RequestKind;

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// Returns the next event, oldest first. Call it until there is none, after anything was
    /// reported or submitted: recipes take their steps in here.
    #[inline]
    pub fn poll_event(&mut self, now: Instant) -> Option<Event<R, T, W>> {
        loop {
            if !self.has_events() {
                self.turn = Turn::new();
                return None;
            }
            match self.events.pop_front() {
                Some(Pending::Event(event)) => return Some(event),
                Some(Pending::Over(key)) => {
                    if let Some(event) = self.take_over(now, key) {
                        return Some(event);
                    }
                    continue;
                }
                None => {}
            }
            match self.session.poll_event() {
                Some(SessionEvent::Completed { tag: Tag::Caller(tag), outcome }) => {
                    self.callers.completed();
                    return Some(Event::Completed { tag, outcome });
                }
                Some(SessionEvent::Fired { watcher: Watcher::Caller(watcher), kind, zxid }) => {
                    return Some(Event::Fired { watcher, kind, zxid });
                }
                Some(SessionEvent::Changed {
                    watcher: Watcher::Caller(watcher),
                    path,
                    kind,
                    zxid,
                }) => return Some(Event::Changed { watcher, path, kind, zxid }),
                Some(SessionEvent::ChangesMissed { watcher: Watcher::Caller(watcher) }) => {
                    return Some(Event::ChangesMissed { watcher });
                }
                Some(SessionEvent::WatchLost { watcher: Watcher::Caller(watcher) }) => {
                    return Some(Event::WatchLost { watcher });
                }
                Some(event) => self.take_in(now, event),
                None if self.settle(now) => {}
                None => {
                    self.turn = Turn::new();
                    return None;
                }
            }
        }
    }

    /// Returns whether [`poll_event`](Self::poll_event) has an event, or work to do. It is quick
    /// enough to be called after each submitted request.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
            || self.session.has_events()
            || !self.lists.are_idle()
            || !self.awaiting_lease.is_empty()
            || self.clock == Clock::Read
    }

    /// Returns what a reply says of the recipe's node. Of its ancestors only a missing chroot matters, and the reply to the
    /// creation of the node, which comes last, tells the recipe of it.
    fn of_the_node(
        &mut self,
        key: RecipeKey,
        kind: RequestKind,
        outcome: Result<Bytes, Failure>,
    ) -> Option<Result<Bytes, Failure>> {
        match (kind, outcome) {
            (RequestKind::CreateOutermost, outcome) => {
                let is_missing = outcome == Err(Failure::NoNode);
                self.chroot_missing = is_missing.then_some(key);
                None
            }
            (RequestKind::CreateAncestor, _) => None,
            (RequestKind::CreateNode, Err(Failure::NoNode))
                if self.chroot_missing == Some(key)
                    || self.seats.get(&key).is_some_and(|seat| seat.site.is_outermost()) =>
            {
                Some(Err(Failure::NoChroot))
            }
            (_, outcome) => Some(outcome),
        }
    }

    /// Does work that is cheaper for many events at once. Returns whether there was any.
    fn settle(&mut self, now: Instant) -> bool {
        if core::mem::replace(&mut self.clock, Clock::Settled) == Clock::Read {
            self.look_if_due(now);
            self.tell_deadlines(now);
            self.rest_if_due(now);
            return true;
        }
        let has_delivered = self.deliver_lists(now);
        if !self.awaiting_lease.is_empty() {
            self.announce_grants(now);
        }
        has_delivered || !self.events.is_empty()
    }

    fn take_in(&mut self, now: Instant, event: SessionEvent<Tag<T>, Watcher<W>>) {
        match event {
            SessionEvent::Completed { tag: Tag::Recipe { key, ticket, kind }, outcome } => {
                let result = outcome.as_ref().map(drop).map_err(|failure| *failure);
                self.tell(Event::Requested { kind, outcome: result });
                let outcome = outcome.map(|reply| reply.body).map_err(core_failure);
                if let Some(outcome) = self.of_the_node(key, kind, outcome) {
                    self.stimulate(now, key, Stimulus::Replied { ticket, kind, outcome });
                }
            }
            SessionEvent::Completed { tag: Tag::List { parent, list }, outcome } => {
                let result = outcome.as_ref().map(drop).map_err(|failure| *failure);
                self.tell(Event::Requested { kind: RequestKind::List, outcome: result });
                let answer = outcome.map(|reply| reply.body).map_err(core_failure);
                self.lists.answered(&parent, list, answer);
            }
            SessionEvent::Fired { watcher: Watcher::Recipe { key, ticket }, kind, zxid } => {
                let wake = Wake { kind, zxid };
                self.stimulate(now, key, Stimulus::Happened(Happening::Fired { ticket, wake }));
            }
            SessionEvent::WatchLost { watcher: Watcher::Recipe { key, ticket } } => {
                // While the session lives, a watch is lost only if it relied on another one of the
                // same path that the server refused. Otherwise the recipe hears of the session.
                if self.session.ended().is_none() {
                    self.stimulate(now, key, Stimulus::Happened(Happening::WatchLost(ticket)));
                }
            }
            SessionEvent::Connected { session, timeout, read_only } => {
                self.link = if read_only { HostLink::ReadOnly } else { HostLink::Up { timeout } };
                self.heartbeats.connected();
                self.lease_not_needed(now);
                // From now on an expiry is like any other.
                self.settings.resumption = None;
                self.tell(Event::Connected { session, timeout, read_only });
                // A read-only server is cut off from the ensemble, so nothing is held through it.
                if !read_only {
                    self.start_looks(now);
                    self.stimulate_all(now, Happening::Connected(session));
                }
            }
            SessionEvent::ConnectFailed { server, end, retry_at } => {
                self.tell(Event::ConnectFailed { server, end, retry_at });
            }
            SessionEvent::Disconnected { end, lease_deadline } => {
                self.link = HostLink::Down;
                let session = self.session.id();
                self.tell(Event::Disconnected { session, end, lease_deadline });
                self.void_requests();
                self.stimulate_all(now, Happening::Disconnected);
            }
            SessionEvent::LeaseLapsed => {
                self.tell(Event::LeaseLapsed);
                self.stimulate_all(now, Happening::LeaseLapsed);
            }
            SessionEvent::HeartbeatRefused { error } => self.heartbeat_refused(now, error),
            SessionEvent::RolledBack(rollback) => self.tell(Event::RolledBack(rollback)),
            SessionEvent::Ended(end) => self.session_ended(now, end),
            // These are the caller's, and were handed out; and no recipe keeps a persistent watch.
            SessionEvent::Completed { tag: Tag::Caller(_), .. }
            | SessionEvent::Fired { .. }
            | SessionEvent::Changed { .. }
            | SessionEvent::ChangesMissed { .. }
            | SessionEvent::WatchLost { .. } => {}
        }
    }
}

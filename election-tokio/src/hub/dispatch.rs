//! Handing out what comes out of the session.

use std::sync::Arc;

use election_core::{Nominee, Ticket};
use tracing::{debug, info, warn};
use zk_jute::records::EventType;
use zk_session::{ConnectionEnd, Event, Expiry, Instant, SessionEnd};

use super::lists::{Delivery, Next, Turn};
use super::nomination::Surroundings;
use super::perform::{failure_of, submit_list};
use super::stimulus::{Happening, Stimulus};
use super::watches::{Change, WatchOutcome};
use super::{
    Hub, Nomination, NominationKey, OnExpiry, Resumption, Session, Tag, Target, Watcher,
    new_session,
};
use crate::broadcast::Receiver;
use crate::client::{ConnectionState, IfGone};
use crate::election::Status;
use crate::error::SharedError;
use crate::telemetry::{CONNECTION, Outcome, metrics};

impl Hub {
    /// Adds a nomination; it stands as soon as there is a session.
    pub(crate) fn nominate(
        &mut self,
        now: Instant,
        nominee: Nominee,
        target: Arc<Target>,
    ) -> (NominationKey, Receiver<Status>) {
        self.last_nomination += 1;
        let key = NominationKey(self.last_nomination);
        let (mut nomination, status) = Nomination::new(key, self.clock.clone(), nominee, target);
        if let Some(end) = self.session.ended() {
            nomination.client_ended(end, &mut self.wakers);
            self.retired.push(nomination);
            return (key, status);
        }
        self.nominations.insert(key, nomination);
        if let Some(session) = self.session.id()
            && self.session.is_connected()
            && !self.session.is_read_only()
        {
            self.start_looks(now);
            self.stimulate(now, key, Stimulus::Happened(Happening::Connected(session)));
        }
        (key, status)
    }

    /// Makes a nomination resign or withdraw, whatever it is doing.
    pub(crate) fn withdraw(&mut self, now: Instant, key: NominationKey) {
        self.stimulate(now, key, Stimulus::Withdraw);
    }

    /// Hands out all events that the session has.
    pub(super) fn dispatch(&mut self, now: Instant) {
        let mut completed = false;
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Completed { tag: Tag::Call(key), outcome } => {
                    completed = true;
                    self.calls.complete(key, outcome, &mut self.wakers);
                }
                Event::Completed { tag: Tag::Nomination { key, ticket, step }, outcome } => {
                    completed = true;
                    metrics::election_request(step.name(), Outcome::of(&outcome));
                    self.stimulate(now, key, Stimulus::Completed { ticket, step, outcome });
                }
                Event::Completed { tag: Tag::List { election, key }, outcome } => {
                    completed = true;
                    metrics::election_request("list", Outcome::of(&outcome));
                    let listed = outcome.map(|completion| completion.body);
                    self.lists.answered(&election, key, listed);
                }
                Event::Fired { watcher: Watcher::Watch(key), kind, zxid } => {
                    let outcome = WatchOutcome::Fired { kind, zxid };
                    self.watches.fired(key, outcome, &mut self.wakers);
                }
                Event::Fired { watcher: Watcher::Nomination { key, ticket }, kind, .. } => {
                    self.stimulate(now, key, Stimulus::Happened(Happening::Fired { ticket, kind }));
                }
                Event::WatchLost { watcher: Watcher::Watch(key) } => {
                    self.watches.lost(key, &mut self.wakers);
                }
                Event::WatchLost { watcher: Watcher::Nomination { key, ticket } } => {
                    self.watch_of_nomination_lost(now, key, ticket);
                }
                Event::Changed { watcher: Watcher::Watch(key), path, kind, zxid } => {
                    let change = Change { path, kind, zxid };
                    self.watches.changed(key, change, &mut self.wakers);
                }
                Event::ChangesMissed { watcher: Watcher::Watch(key) } => {
                    self.watches.changes_missed(key, &mut self.wakers);
                }
                event => self.dispatch_connection(now, &event),
            }
        }
        self.deliver_lists(now);
        if completed {
            self.calls.announce_room(&self.session, &mut self.wakers);
        }
        if !self.awaiting_lease.is_empty() {
            self.announce_leaders(now);
        }
    }

    fn dispatch_connection(&mut self, now: Instant, event: &Event<Tag, Watcher>) {
        match *event {
            Event::Connected { session, timeout, read_only } => {
                info!(target: CONNECTION, %session, ?timeout, read_only, "connected");
                self.servers.connected();
                self.connections += 1;
                self.heartbeats.connected();
                // From now on an expiry is one like any other.
                self.settings.resumption = None;
                let state = ConnectionState::Connected { session, timeout, read_only };
                self.connection.set(state, &mut self.wakers);
                // A read-only server is cut off from the ensemble: nobody leads by it (C-73).
                if !read_only {
                    self.start_looks(now);
                    self.stimulate_all(now, Happening::Connected(session));
                }
                self.calls.announce_room(&self.session, &mut self.wakers);
            }
            Event::ConnectFailed { end, .. } => {
                let error = self.transport_error.take();
                let reason = error.map_or_else(|| unanswered(end), SharedError::from);
                let failure = Arc::new(self.servers.failed(reason));
                debug!(target: CONNECTION, %failure, "no connection");
                self.connection.modify(|state| state.attempt_failed(failure), &mut self.wakers);
            }
            Event::Disconnected { end, .. } => {
                let error = self.transport_error.take();
                let reason = error.map_or_else(|| SharedError::new(end), SharedError::from);
                warn!(
                    target: CONNECTION,
                    session = self.session.id().map(tracing::field::display),
                    %reason, "connection lost"
                );
                self.connection.modify(ConnectionState::connection_lost, &mut self.wakers);
                self.void_requests();
                self.stimulate_all(now, Happening::Disconnected);
            }
            Event::LeaseLapsed => self.stimulate_all(now, Happening::LeaseLapsed),
            Event::HeartbeatRefused { error } => self.heartbeat_refused(now, error),
            Event::Ended(end) => self.session_ended(now, end),
            // Of calls and watches, which were handed out; no nomination keeps a persistent watch.
            Event::Completed { .. }
            | Event::Fired { .. }
            | Event::Changed { .. }
            | Event::ChangesMissed { .. }
            | Event::WatchLost { .. } => {}
        }
        self.connection.read(|state| self.observer.observe(state));
    }

    /// While the session lives, a watch is only lost where it relied on another one of the same path
    /// that the server refused: the nominee looks again, as after a change of the data.
    fn watch_of_nomination_lost(&mut self, now: Instant, key: NominationKey, ticket: Ticket) {
        if self.session.ended().is_none() {
            let kind = EventType::NODE_DATA_CHANGED;
            self.stimulate(now, key, Stimulus::Happened(Happening::Fired { ticket, kind }));
        }
    }

    fn session_ended(&mut self, now: Instant, end: SessionEnd) {
        let session = self.session.id().map(tracing::field::display);
        match end {
            // As it was asked for.
            SessionEnd::Closed | SessionEnd::Detached => {
                info!(target: CONNECTION, session, %end, "session ended");
            }
            _ => warn!(target: CONNECTION, session, %end, "session ended"),
        }
        self.void_requests();
        if let Some((expiry, session)) = self.renewed_session(now, end) {
            self.stimulate_all(now, Happening::SessionExpired);
            self.session = session;
            self.first_transport = Some(zk_session::TransportCommand::Disconnect);
            self.connection.set(ConnectionState::Expired { expiry }, &mut self.wakers);
        } else {
            let nominations = core::mem::take(&mut self.nominations).into_values();
            let ending = core::mem::take(&mut self.ending);
            for mut nomination in nominations.chain(ending) {
                nomination.client_ended(end, &mut self.wakers);
                self.retired.push(nomination);
            }
            self.connection.set(ConnectionState::Closed { end }, &mut self.wakers);
            self.calls.announce_room(&self.session, &mut self.wakers);
        }
    }

    /// Without a connection nothing that nominees asked for is answered, and there is nothing to look
    /// at.
    fn void_requests(&mut self) {
        self.lists.clear();
        self.looks.stop();
    }

    /// The session that follows one that expired, if there is to be one.
    fn renewed_session(&mut self, now: Instant, end: SessionEnd) -> Option<(Expiry, Session)> {
        let SessionEnd::Expired(expiry) = end else {
            return None;
        };
        let renews = match self.settings.resumption.take() {
            Some(Resumption { if_gone, .. }) => if_gone == IfGone::StartAnew,
            None => self.settings.on_expiry == OnExpiry::Renew,
        };
        if !renews {
            return None;
        }
        self.sessions += 1;
        Some((expiry, new_session(&self.settings, self.sessions, now).ok()?))
    }

    pub(super) fn stimulate(&mut self, now: Instant, key: NominationKey, stimulus: Stimulus) {
        let Some(nomination) = self.nominations.get(&key) else {
            return;
        };
        if let Some(delivery) = self.lists.claim(&nomination.target.server_path, key) {
            self.deliver(now, delivery);
        }
        self.step(now, key, stimulus);
    }

    fn step(&mut self, now: Instant, key: NominationKey, stimulus: Stimulus) {
        let Self { nominations, session, lists, wakers, .. } = self;
        let Some(nomination) = nominations.get_mut(&key) else {
            return;
        };
        nomination.handle(Surroundings { session, now, lists, wakers }, stimulus);
        if nomination.waits_for_look() {
            self.looks.retry_soon(now);
        }
        if nomination.awaits_lease() && !self.awaiting_lease.contains(&key) {
            self.awaiting_lease.push(key);
        }
        if nomination.is_over()
            && let Some(nomination) = self.nominations.remove(&key)
        {
            self.retired.push(nomination);
        }
        self.tend_heartbeats(now, key);
    }

    /// Hands lists to the nominees that they were asked for by, as many as fit one turn, and asks for
    /// the next ones.
    fn deliver_lists(&mut self, now: Instant) {
        let mut turn = Turn::new();
        while let Some(next) = self.lists.next(&mut turn) {
            match next {
                Next::Deliver(delivery) => self.deliver(now, delivery),
                Next::Submit { election, key } => {
                    let submitted = submit_list(&mut self.session, now, &election, key);
                    if let Err(error) = submitted {
                        for customer in self.lists.not_sent(&election) {
                            let not_sent = (customer.ticket, failure_of(error));
                            let happening = Happening::NotSent(not_sent);
                            self.step(now, customer.key, Stimulus::Happened(happening));
                        }
                    }
                }
                Next::Done => {}
            }
        }
    }

    fn deliver(&mut self, now: Instant, delivery: Delivery) {
        let Delivery { to, listed } = delivery;
        self.step(now, to.key, Stimulus::Listed { ticket: to.ticket, listed });
    }

    /// Lets all nominees look at the same moment: the lists serve all of one election.
    pub(super) fn look_if_due(&mut self, now: Instant) {
        if self.looks.is_due(now) {
            self.start_looks(now);
            self.stimulate_all(now, Happening::Look);
        }
        if self.looks.is_retry_due(now) {
            let throttled = self.nominations.iter().filter(|(_, other)| other.waits_for_look());
            let throttled: Vec<_> = throttled.map(|(key, _)| *key).collect();
            for key in throttled {
                self.stimulate(now, key, Stimulus::Happened(Happening::Look));
            }
        }
    }

    /// Nominees with a connection look now and then.
    fn start_looks(&mut self, now: Instant) {
        if let ConnectionState::Connected { timeout, .. } = self.connection.read(Clone::clone)
            && !self.nominations.is_empty()
        {
            self.looks.start(now, timeout);
        }
    }

    fn stimulate_all(&mut self, now: Instant, happening: Happening) {
        let keys: Vec<_> = self.nominations.keys().copied().collect();
        for key in keys {
            self.stimulate(now, key, Stimulus::Happened(happening));
        }
    }

    /// An answer, or the passing of time, may have changed the lease that a leadership waits for.
    fn announce_leaders(&mut self, now: Instant) {
        let Self { nominations, session, lists, wakers, .. } = self;
        self.awaiting_lease.retain(|key| match nominations.get_mut(key) {
            Some(nomination) => {
                nomination.look_at_lease(Surroundings { session, now, lists, wakers });
                nomination.awaits_lease()
            }
            None => false,
        });
    }
}

/// Why an attempt failed whose transport did not say why.
fn unanswered(end: ConnectionEnd) -> SharedError {
    match end {
        ConnectionEnd::Closed => SharedError::new(ClosedUnanswered(end)),
        end => SharedError::new(end),
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "{0} before it answered: it does not serve at present, has seen less than this client, or \
     wants TLS on this port"
)]
struct ClosedUnanswered(#[source] ConnectionEnd);

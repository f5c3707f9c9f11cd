//! Dispatches the events of the host.

use std::sync::Arc;

use election_session::Event;
use zk_jute::Frames;
use zk_session::{ConnectionEnd, Instant, Rollback, SessionEnd};

use super::unlocked::{Retired, Unlocked};
use super::watches::{WatchOutcome, WatchedChange};
use super::{Hub, Seat};
use crate::error::SharedError;
use crate::state::{ConnectFailure, ConnectionState};
use crate::telemetry::{CallKey, Entry, FailedAttempt, FailureKind, Outcome};

type HostEvent = Event<Box<dyn Seat>, CallKey, super::WatchKey>;

impl Hub {
    /// Takes in frames, and hands out what came of them: recipes may have something to send.
    pub(crate) fn take_in(&mut self, now: Instant, frames: &mut Vec<Frames>) {
        let mut has_completed = false;
        for some in frames.drain(..) {
            for frame in some {
                if let Some((tag, completion)) = self.host.handle_frame_picking(now, frame) {
                    self.calls.complete(tag, Ok(completion), &mut self.unlocked.wakers);
                    has_completed = true;
                }
            }
        }
        self.dispatch_after(now, has_completed);
    }

    /// Hands out all events that the host has.
    pub(crate) fn dispatch(&mut self, now: Instant) {
        self.dispatch_after(now, false);
    }

    fn dispatch_after(&mut self, now: Instant, mut has_completed: bool) {
        while let Some(event) = self.host.poll_event(now) {
            let wakers = &mut self.unlocked.wakers;
            match event {
                Event::Completed { tag, outcome } => {
                    has_completed = true;
                    self.calls.complete(tag, outcome, wakers);
                }
                Event::Fired { watcher, kind, zxid } => {
                    self.unlocked.journal.note(Entry::WatchFired(kind));
                    self.watches.fired(watcher, WatchOutcome::Fired { kind, zxid }, wakers);
                }
                Event::Changed { watcher, path, kind, zxid } => {
                    self.unlocked.journal.note(Entry::WatchFired(kind));
                    self.watches.changed(watcher, WatchedChange { path, kind, zxid }, wakers);
                }
                Event::ChangesMissed { watcher } => self.watches.changes_missed(watcher, wakers),
                Event::WatchLost { watcher } => self.watches.lost(watcher, wakers),
                Event::Stepped(step) => {
                    if let Some((seat, view)) = self.host.recipe_mut(step.key) {
                        seat.stepped(step, view, &mut self.unlocked);
                    }
                }
                Event::Over { mut recipe, site, end, .. } => {
                    recipe.over(end, &mut self.unlocked);
                    self.unlocked.retired.push(Box::new((recipe, site)));
                }
                Event::Requested { kind, outcome } => {
                    let outcome = Outcome::of(&outcome);
                    self.unlocked.journal.note(Entry::RecipeRequest { kind, outcome });
                }
                event => self.dispatch_connection(now, event),
            }
        }
        self.repeats.catch_up(now, &mut self.unlocked.journal);
        if has_completed && self.host.has_room() {
            self.calls.announce_room(&mut self.unlocked.wakers);
        }
    }

    fn dispatch_connection(&mut self, now: Instant, event: HostEvent) {
        match event {
            Event::ConnectFailed { end, .. } => return self.attempt_failed(now, end),
            Event::RolledBack(rollback) => return self.rolled_back(rollback),
            _ => {}
        }
        let Self { connection, repeats, unlocked, vitals, host, .. } = self;
        let Unlocked { journal, wakers, .. } = unlocked;
        // Replaced values may contain an error of the user's.
        let replaced: Retired = match event {
            Event::Connected { session, timeout, read_only } => {
                let entry = Entry::Connected { session, timeout, read_only };
                let retold = repeats.connection.note(now, entry, journal);
                self.servers.connected();
                self.connections += 1;
                if host.server_family().is_some_and(|family| !family.keeps_leases()) {
                    journal.note(Entry::ConnectedWithoutLease);
                }
                repeats.outage.ended(timeout);
                let failure = vitals.set_last_failure(None);
                let connected = ConnectionState::Connected { session, timeout, read_only };
                Box::new((connection.set(connected, wakers), retold, failure))
            }
            Event::Disconnected { session, end, .. } => {
                let reason = match self.transport_error.take() {
                    Some(error) => error.into(),
                    None => SharedError::new(end),
                };
                let entry = Entry::ConnectionLost { session, reason };
                let retold = repeats.connection.note(now, entry, journal);
                Box::new((connection.modify(ConnectionState::connection_lost, wakers), retold))
            }
            Event::HeartbeatRefused { path, error, .. } => {
                let entry = Entry::HeartbeatRefused { path, error };
                Box::new(repeats.heartbeats.note(now, entry, journal))
            }
            Event::Renewed { session, expiry } => {
                let end = SessionEnd::Expired(expiry);
                let entry = Entry::SessionEnded { session, end };
                let retold = repeats.connection.note(now, entry, journal);
                let expired = ConnectionState::Expired { expiry };
                Box::new((connection.set(expired, wakers), retold))
            }
            Event::Ended { session, end } => {
                journal.note(Entry::SessionEnded { session, end });
                Box::new(connection.set(ConnectionState::Closed { end }, wakers))
            }
            // Recipes hear of it; and the others were handed out.
            Event::ConnectFailed { .. }
            | Event::RolledBack(_)
            | Event::LeaseLapsed
            | Event::Completed { .. }
            | Event::Fired { .. }
            | Event::Changed { .. }
            | Event::ChangesMissed { .. }
            | Event::WatchLost { .. }
            | Event::Stepped(_)
            | Event::Over { .. }
            | Event::Requested { .. } => return,
        };
        unlocked.retired.push(replaced);
        self.observe_connection(now);
    }

    fn rolled_back(&mut self, rollback: Rollback) {
        let mut wakers = Vec::new();
        self.rollback().set(Some(rollback), &mut wakers);
        self.unlocked.wakers.append(&mut wakers);
        self.unlocked.journal.note(Entry::RolledBack(rollback));
    }

    fn attempt_failed(&mut self, now: Instant, end: ConnectionEnd) {
        let Self { connection, repeats, unlocked, vitals, .. } = self;
        let Unlocked { journal, wakers, .. } = unlocked;
        let (kind, reason) = match self.transport_error.take() {
            Some(error) => (FailureKind::Transport(error.kind()), error.into()),
            None => (FailureKind::Ended(end), unanswered(end)),
        };
        let failure = Arc::new(self.servers.failed(reason));
        let kind = match *failure {
            ConnectFailure::Server { .. } => kind,
            ConnectFailure::NoneKnown { .. } => FailureKind::NoneKnown,
        };
        journal.note(Entry::ConnectFailed(Arc::clone(&failure)));
        let (_, since) = vitals.phase();
        let lasted = now.saturating_since(since);
        let attempt = FailedAttempt { kind, failure: Arc::clone(&failure), lasted };
        repeats.outage.attempt_failed(attempt, now, journal);
        let before = vitals.set_last_failure(Some(Arc::clone(&failure)));
        let replaced = connection.modify(|state| state.attempt_failed(failure), wakers);
        unlocked.retired.push(Box::new((replaced, before)));
        self.observe_connection(now);
    }

    fn observe_connection(&mut self, now: Instant) {
        let Self { connection, vitals, observer, unlocked, .. } = self;
        connection.read(|state| {
            vitals.connection_is(state, now);
            observer.observe(state, &mut unlocked.journal);
        });
        if self.host.has_room() {
            self.calls.announce_room(&mut unlocked.wakers);
        }
    }
}

/// Returns why an attempt failed, for a transport that gave no error.
fn unanswered(end: ConnectionEnd) -> SharedError {
    match end {
        ConnectionEnd::Closed => SharedError::new(ClosedUnanswered(end)),
        end => SharedError::new(end),
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the server closed the connection without an answer: it does not serve at present, has seen less \
     than this client, or wants TLS on this port"
)]
struct ClosedUnanswered(#[source] ConnectionEnd);

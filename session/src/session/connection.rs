//! From no connection to an established one, and back.

use alloc::collections::VecDeque;
use core::time::Duration;

use zk_jute::records::{ConnectRequest, ConnectResponse, PASSWORD_LEN};
use zk_jute::{Decode, DecodeError, DecodeErrorKind, FrameSplitter, SessionId};

use super::Session;
use super::state::{
    AcceptedHandshake, Closing, Grant, Granted, Heartbeat, Identity, Live, Ping, Server, State,
    Turn,
};
use crate::config::ReadOnlyServers;
use crate::event::{ConnectionEnd, Event, Expiry, Failure, SessionEnd, TransportCommand};
use crate::lease::Handshake;
use crate::requests::{Pending, Purpose};
use crate::sasl::Sasl;
use crate::search::Search;
use crate::secret::Secret;
use crate::servers::ServerIndex;
use crate::time::Instant;

/// The longest `setWatches`, far below the smallest frame limit in use: above its limit a server
/// drops the connection (ZOOKEEPER-706).
const LONGEST_SET_WATCHES: usize = 128 * 1024;

/// With many servers a fair share of a short timeout would be too short for any of them.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(100);

/// A server that takes longer is as good as away.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(3);

/// Servers send 36 or 37 bytes; what is shorter is no answer to a handshake, although its first
/// bytes may read as a refusal.
const SHORTEST_HANDSHAKE_ANSWER: usize = 36;

impl<R, W: Clone> Session<R, W> {
    pub(super) fn open(&mut self, now: Instant) {
        let server = self.servers.next();
        self.open_to(now, server);
    }

    pub(super) fn open_to(&mut self, now: Instant, server: ServerIndex) {
        self.state = State::Opening { server, give_up_at: now + self.attempt_timeout() };
        self.splitter = FrameSplitter::default();
        self.transport = Some(TransportCommand::Connect(server));
    }

    /// For opening the transport, and again for the handshake. Short enough that every server can
    /// be tried more than once within the life of the session: one that accepts and then says
    /// nothing, as a starting server may, must not cost the session.
    pub(super) fn attempt_timeout(&self) -> Duration {
        let timeout = match self.identity.granted() {
            Some(granted) => granted.timeout,
            None => self.config.session_timeout,
        };
        let share = timeout / self.servers.count().get() / 3;
        share.clamp(SHORTEST_ATTEMPT, LONGEST_ATTEMPT)
    }

    pub(super) fn send_handshake(&mut self) {
        let (session_id, password) = match self.identity.granted() {
            Some(granted) => (granted.session, granted.password.expose()),
            None => (SessionId::NONE, [0; PASSWORD_LEN].as_slice()),
        };
        let timeout = self.config.session_timeout.as_millis();
        self.requests.send_handshake(&ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: self.seen,
            timeout: i32::try_from(timeout).unwrap_or(i32::MAX),
            session_id,
            password: Some(password),
            read_only: Some(self.config.read_only_servers == ReadOnlyServers::Accept),
        });
    }

    pub(super) fn handle_handshake(
        &mut self,
        now: Instant,
        server: ServerIndex,
        sent_at: Instant,
        frame: &[u8],
    ) {
        let response = match decode_handshake(frame) {
            Ok(response) => response,
            Err(error) => return self.connection_ended(now, ConnectionEnd::Protocol(error.into())),
        };
        let session = response.session_id;
        let own = self.identity.granted().map(|granted| granted.session);
        match (own, response.is_refused()) {
            (None, true) => self.connection_ended(now, ConnectionEnd::Refused),
            (Some(_), true) => self.end(SessionEnd::Expired(Expiry::Refused)),
            (Some(own), false) if own != session => {
                self.end(SessionEnd::Expired(Expiry::Replaced(session)));
            }
            (_, false) => {
                let accepted = self.take_grant(now, sent_at, &response);
                match self.config.sasl {
                    Sasl::Off => self.establish(now, accepted),
                    Sasl::Required => self.begin_sasl(now, server, accepted),
                }
            }
        }
    }

    fn take_grant(
        &mut self,
        now: Instant,
        sent_at: Instant,
        response: &ConnectResponse<'_>,
    ) -> AcceptedHandshake {
        let session = response.session_id;
        let millis = u64::try_from(response.timeout).unwrap_or(0);
        let timeout = Duration::from_millis(millis);
        let read_only = response.read_only.unwrap_or(false);
        let (grant, last_received, least_timeout) = match self.identity.granted() {
            Some(granted) => {
                let least_timeout = granted.least_timeout.min(timeout);
                (Grant::Resumed(session), granted.last_received, least_timeout)
            }
            None => (Grant::Made(session), now, timeout),
        };
        self.identity = match (grant, read_only) {
            (Grant::Made(session), true) => Identity::Local { session },
            // There are releases that let a read-only server go on with a session of the ensemble.
            (Grant::Made(session), false) | (Grant::Resumed(session), _) => {
                let password = Secret::new(response.password.unwrap_or_default());
                Identity::Granted(Granted {
                    session,
                    password,
                    timeout,
                    least_timeout,
                    last_received,
                })
            }
        };
        let handshake = Handshake { sent_at, answered_at: now, least_timeout };
        self.lease.accepted(handshake);
        AcceptedHandshake { handshake, timeout, read_only, session: grant }
    }

    /// The connection is one to work with. An exchange between the handshake and this is nothing
    /// that the server's clock for the session counts: that runs from the handshake.
    pub(super) fn establish(&mut self, now: Instant, accepted: AcceptedHandshake) {
        let AcceptedHandshake { handshake, timeout, read_only, session: grant } = accepted;
        match (grant, read_only) {
            (_, true) => self.lease.read_only(),
            (Grant::Made(_), false) => self.lease.begin(handshake),
            (Grant::Resumed(_), false) => self.lease.resume(now, handshake),
        }
        let (Grant::Made(session) | Grant::Resumed(session)) = grant;
        let heartbeat = Heartbeat::DueAt(self.first_heartbeat_at(now, &accepted));
        self.state = State::Live(Live {
            timeout,
            ping_after: timeout / 3,
            silent_after: timeout * 2 / 3,
            since: now,
            last_sent: handshake.sent_at,
            last_received: now,
            server: if read_only {
                Server::ReadOnly(Search::new(now))
            } else {
                Server::TakesWrites
            },
            ping: Ping::Answered,
            heartbeat,
            refusals: 0,
            closing: Closing::NotAsked,
        });
        self.events.push_back(Event::Connected { session, timeout, read_only });
        self.check_lease(now);
        self.restore(now);
    }

    /// What goes out first on an established connection: identities, watches, then the requests
    /// that waited.
    fn restore(&mut self, now: Instant) {
        for authentication in &self.authentications {
            let sent = self.requests.send_auth(&authentication.packet());
            debug_assert!(sent.is_ok(), "its length was checked when it was taken in");
        }
        let longest = LONGEST_SET_WATCHES.min(self.config.limits.max_frame);
        for batch in self.watches.batches(longest) {
            let lists = batch.lists();
            let sent = if batch.has_persistent() {
                self.requests.send(now, &lists.all(self.delivered), Purpose::SetWatches)
            } else {
                self.requests.send(now, &lists.one_shot(self.delivered), Purpose::SetWatches)
            };
            debug_assert!(sent.is_ok(), "each path was checked when it was taken in");
        }
        self.requests.release();
        if let State::Live(live) = self.state {
            self.beat_if_due(now, live);
        }
    }

    /// The connection, or the attempt to make one, is over; the session is not.
    pub(super) fn connection_ended(&mut self, now: Instant, end: ConnectionEnd) {
        match self.state {
            State::Waiting { .. } | State::Ended(_) => {}
            State::Opening { server, .. } | State::Handshaking { server, .. } => {
                self.attempt_failed(now, server, end);
            }
            State::Authenticating(exchange) => {
                let end = match (end, exchange.turn) {
                    (ConnectionEnd::Closed, Turn::Server | Turn::ServerFinal) => {
                        ConnectionEnd::ClosedInSasl
                    }
                    (end, _) => end,
                };
                self.attempt_failed(now, exchange.server, end);
            }
            State::Live(Live { closing: Closing::GiveUpAt(_), .. }) => {
                self.end(SessionEnd::Abandoned);
            }
            State::Live(Live { since, last_received, .. }) => {
                let delay = if self.has_proved_itself(now.saturating_since(since), end) {
                    self.first_delay()
                } else {
                    self.next_delay()
                };
                if let Identity::Granted(granted) = &mut self.identity {
                    granted.last_received = last_received;
                }
                let lost = self.requests.disconnect();
                self.wait_until(now + delay);
                self.events
                    .push_back(Event::Disconnected { end, lease_deadline: self.lease.deadline() });
                self.fail(lost, Failure::ConnectionLoss);
                self.watches.disconnected();
            }
        }
    }

    /// Whether a connection that ends so, after so long, is a reason to dial again at once: a server
    /// can answer something on each one, and then break off, for ever.
    fn has_proved_itself(&self, lasted: Duration, end: ConnectionEnd) -> bool {
        match end {
            ConnectionEnd::Protocol(_) | ConnectionEnd::ExpiryClaimed => false,
            ConnectionEnd::Closed
            | ConnectionEnd::ClosedInSasl
            | ConnectionEnd::TimedOut
            | ConnectionEnd::LeftReadOnly
            | ConnectionEnd::Silent
            | ConnectionEnd::Refused => lasted >= self.config.backoff.cap,
        }
    }

    fn attempt_failed(&mut self, now: Instant, server: ServerIndex, end: ConnectionEnd) {
        // Before a session is established, no request is on its way but those of its making.
        self.requests.disconnect();
        let retry_at = now + self.next_delay();
        self.wait_until(retry_at);
        self.events.push_back(Event::ConnectFailed { server, end, retry_at });
    }

    fn wait_until(&mut self, until: Instant) {
        self.state = State::Waiting { until };
        self.challenge = None;
        self.transport = Some(TransportCommand::Disconnect);
        self.probe = None;
    }

    /// After a connection that lasted: another server is dialled at once, since callers wait. Where there is
    /// no other, the server that has just gone is not back yet.
    fn first_delay(&mut self) -> Duration {
        self.attempts = 0;
        let delay = self.next_delay();
        if self.servers.count().get() > 1 { Duration::ZERO } else { delay }
    }

    /// A round of all servers shares one step of the backoff, so that the loss of one server
    /// costs no more than a first short wait.
    fn next_delay(&mut self) -> Duration {
        let round = self.round();
        self.attempts = self.attempts.saturating_add(1);
        self.config.backoff.delay(round, &mut self.rng)
    }

    /// Rounds of all servers that were begun since a connection lasted: the step of the backoff.
    pub(super) fn round(&self) -> u32 {
        self.attempts / self.servers.count()
    }

    /// Whether the session is over, or about to be.
    pub(super) const fn is_closing(&self) -> bool {
        matches!(
            self.state,
            State::Ended(_) | State::Live(Live { closing: Closing::GiveUpAt(_), .. })
        )
    }

    pub(super) fn end(&mut self, end: SessionEnd) {
        if matches!(self.state, State::Ended(_)) {
            return;
        }
        self.state = State::Ended(end);
        self.challenge = None;
        self.transport = Some(TransportCommand::Disconnect);
        self.probe = None;
        self.lease.end();
        let lost = self.requests.disconnect();
        self.fail(lost, Failure::ConnectionLoss);
        let unsent = self.requests.take_queued();
        self.fail(unsent, Failure::NotSent);
        let lost = self.watches.drain();
        self.events.extend(lost.map(|watcher| Event::WatchLost { watcher }));
        self.events.push_back(Event::Ended(end));
    }

    fn fail(&mut self, requests: VecDeque<Pending<R>>, failure: Failure) {
        for pending in requests {
            let tag = match pending.purpose {
                Purpose::Caller(tag) => tag,
                Purpose::Watching(tag, watch) => {
                    self.watches.unanswered(watch);
                    tag
                }
                Purpose::Sasl
                | Purpose::SetWatches
                | Purpose::RemoveWatches
                | Purpose::Heartbeat
                | Purpose::Confirmation
                | Purpose::Close => continue,
            };
            let outcome = Err(failure);
            self.events.push_back(Event::Completed { tag, outcome });
        }
    }

    /// Every call that brings the time does this first, so that a process that was paused hears
    /// of a lapse before anything that came in meanwhile.
    #[inline]
    pub(super) fn check_lease(&mut self, now: Instant) {
        if self.lease.lapses(now) {
            self.events.push_back(Event::LeaseLapsed);
        }
    }

    /// When the session is declared dead, if it has no connection until then.
    pub(super) fn dead_at(&self) -> Option<Instant> {
        match self.state {
            State::Live(_) | State::Ended(_) => None,
            State::Waiting { .. }
            | State::Opening { .. }
            | State::Handshaking { .. }
            | State::Authenticating(_) => self.identity.granted().map(Granted::dead_at),
        }
    }
}

fn decode_handshake(frame: &[u8]) -> Result<ConnectResponse<'_>, DecodeError> {
    if frame.len() < SHORTEST_HANDSHAKE_ANSWER {
        return Err(DecodeError {
            kind: DecodeErrorKind::Truncated {
                needed: SHORTEST_HANDSHAKE_ANSWER,
                left: frame.len(),
            },
            offset: 0,
        });
    }
    ConnectResponse::decode_prefix(frame)
}

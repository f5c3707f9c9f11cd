//! Connecting and disconnecting (docs/protocol.md#the-handshake).

use alloc::collections::VecDeque;
use core::num::NonZeroU32;
use core::time::Duration;

use zk_jute::records::{ConnectRequest, ConnectResponse, PASSWORD_LEN};
use zk_jute::{Decode, DecodeError, DecodeErrorKind, FrameSplitter, OpCode, SessionId};

use super::Session;
use super::state::{
    AcceptedHandshake, Closing, Grant, Granted, Heartbeat, Identity, Live, Ping, Server, State,
    Turn,
};
use crate::config::ReadOnlyServers;
use crate::event::{
    ConnectionEnd, Event, Expiry, Failure, ProtocolError, SessionEnd, TransportCommand,
};
use crate::family::ServerFamily;
use crate::lease::{Handshake, LeaseGrade};
use crate::requests::{Pending, Purpose};
use crate::sasl::Sasl;
use crate::search::Search;
use crate::secret::Secret;
use crate::server_limit::EndedBy;
use crate::servers::ServerIndex;
use crate::time::Instant;

/// The longest `setWatches`, far below the smallest frame limit in use: a server drops the
/// connection above its limit (ZOOKEEPER-706).
const LONGEST_SET_WATCHES: usize = 128 * 1024;

/// With many servers, a fair share of a short timeout would be too short for each of them.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(100);

/// A server that takes longer counts as absent, as long as there is a session to lose.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(3);

/// Without a session the patience grows up to this. The system's resolver waits for five seconds, by
/// default, before it asks the next name server.
const MOST_PATIENCE: Duration = Duration::from_secs(12);

/// More doublings make even the shortest attempt longer than the most patience.
const MOST_DOUBLINGS: u32 = 7;

/// Servers send 36 or 37 bytes. A shorter frame is no answer to a handshake, although its first
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

    /// Returns the bound on opening the transport, and again on the handshake. It is short enough
    /// to try every server more than once within the life of the session: a server that accepts and
    /// then says nothing, as a starting one may, must not cost the session.
    ///
    /// Without a session there is nothing to lose, and [patience](Self::patience) counts.
    pub(super) fn attempt_timeout(&self) -> Duration {
        match self.identity.granted() {
            Some(_) => self.share(),
            None => self.patience(),
        }
    }

    /// Returns a bound that doubles with each round of all servers that came to nothing. Otherwise
    /// the session would never begin where every attempt takes longer than its share: because of slow
    /// name servers, or of many round trips.
    pub(super) fn patience(&self) -> Duration {
        (self.share() * (1 << self.round().min(MOST_DOUBLINGS))).min(MOST_PATIENCE)
    }

    /// Returns the share that a server has of the timeout.
    fn share(&self) -> Duration {
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
            (_, false) => match (self.too_short(&response), self.config.sasl) {
                (Some(error), _) => self.connection_ended(now, ConnectionEnd::Protocol(error)),
                (None, Sasl::Off) => {
                    let accepted = self.take_grant(now, sent_at, &response);
                    self.establish(now, accepted);
                }
                (None, Sasl::Required) => {
                    let accepted = self.take_grant(now, sent_at, &response);
                    self.begin_sasl(now, server, accepted);
                }
            },
        }
    }

    /// Returns the error of a server that grants a timeout within which no attempt to connect could
    /// succeed, although a longer one was asked for.
    fn too_short(&self, response: &ConnectResponse<'_>) -> Option<ProtocolError> {
        let granted = Duration::from_millis(u64::try_from(response.timeout).unwrap_or(0));
        let asked = self.config.session_timeout;
        (granted < asked.min(SHORTEST_ATTEMPT))
            .then_some(ProtocolError::TimeoutTooShort { granted, asked })
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
            // Some releases let a read-only server continue a session of the ensemble.
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
        let family = ServerFamily::of_password(response.password);
        self.family = Some(family);
        if !self.grants_leases(family) {
            self.lapse();
            self.lease.no_proof();
        }
        AcceptedHandshake { handshake, timeout, read_only, session: grant, family }
    }

    /// Returns whether the session has a lease on servers of this family.
    pub(super) fn grants_leases(&self, family: ServerFamily) -> bool {
        family.keeps_leases() || self.config.grade == LeaseGrade::Advisory
    }

    /// Ends the lease before its deadline.
    fn lapse(&mut self) {
        if self.lease.deadline().is_some() {
            self.events.push_back(Event::LeaseLapsed);
        }
        self.lease.end();
    }

    /// Makes the connection a working one. The server's clock for the session runs from the
    /// handshake, not from the end of an exchange behind it.
    pub(super) fn establish(&mut self, now: Instant, accepted: AcceptedHandshake) {
        let AcceptedHandshake { handshake, timeout, read_only, session: grant, family } = accepted;
        match (grant, read_only) {
            _ if !self.grants_leases(family) => {}
            (_, true) => self.lease.read_only(),
            (Grant::Made(_), false) => self.lease.begin(handshake),
            (Grant::Resumed(_), false) => self.lease.resume(now, handshake),
        }
        let (Grant::Made(session) | Grant::Resumed(session)) = grant;
        let heartbeat = Heartbeat::DueAt(self.first_heartbeat_at(now, &accepted));
        self.waits.serve(now);
        self.state = State::Live(Live {
            timeout,
            ping_after: timeout / 3,
            silent_after: timeout * 2 / 3,
            since: now,
            last_sent: handshake.sent_at,
            last_received: now,
            silence_from: now,
            family,
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

    /// Sends the first requests of an established connection: identities, watches, then the
    /// requests that waited.
    fn restore(&mut self, now: Instant) {
        for authentication in &self.authentications {
            let sent = self.requests.send_auth(&authentication.packet());
            debug_assert!(sent.is_ok(), "its length was checked when it was taken in");
        }
        if self.requests.is_refused(OpCode::SET_WATCHES2) {
            let lost = self.watches.drain_persistent();
            self.events.extend(lost.into_iter().map(|watcher| Event::WatchLost { watcher }));
        }
        let longest = LONGEST_SET_WATCHES.min(self.requests.divide_above());
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

    /// Handles the end of a connection, or of an attempt to make one, in a session that goes on.
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
            State::Live(Live { since, last_received, family, .. }) => {
                let delay = if self.has_proved_itself(now.saturating_since(since), end) {
                    self.first_delay()
                } else {
                    self.next_delay()
                };
                if let Identity::Granted(granted) = &mut self.identity {
                    granted.last_received = last_received;
                }
                let lost = self.requests.disconnect(ended_by(end));
                if may_be_over_a_request(end) {
                    self.requests.ended_over(family, &lost);
                }
                self.wait_until(now + delay);
                let is_advisory = self.config.grade == LeaseGrade::Advisory;
                let lease_deadline = self.lease.deadline().filter(|_| !is_advisory);
                self.events.push_back(Event::Disconnected { end, lease_deadline });
                if is_advisory {
                    self.lapse();
                }
                self.fail(lost, Failure::ConnectionLoss);
                self.watches.disconnected();
            }
        }
    }

    /// Returns whether a connection that ends so, after this time, is a reason to dial again at
    /// once. A server could answer something on each connection, and then break off, for ever.
    fn has_proved_itself(&self, lasted: Duration, end: ConnectionEnd) -> bool {
        match end {
            ConnectionEnd::Protocol(_)
            | ConnectionEnd::ExpiryClaimed
            | ConnectionEnd::Unanswered(_) => false,
            ConnectionEnd::Closed
            | ConnectionEnd::ClosedInSasl
            | ConnectionEnd::TimedOut
            | ConnectionEnd::LeftReadOnly
            | ConnectionEnd::Silent
            | ConnectionEnd::Overdue(_)
            | ConnectionEnd::Refused => lasted >= self.config.backoff.cap,
        }
    }

    fn attempt_failed(&mut self, now: Instant, server: ServerIndex, end: ConnectionEnd) {
        // Before a session is established, only the requests of its making are on their way.
        self.requests.give_up_attempt();
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

    /// Returns the wait after a connection that lasted: none before another server, since callers
    /// wait. The server that has just gone is not back yet.
    fn first_delay(&mut self) -> Duration {
        self.attempts = 0;
        let delay = self.next_delay();
        if self.servers.count().get() > 1 { Duration::ZERO } else { delay }
    }

    /// Returns the next wait. A round of all servers shares one step of the backoff, so the loss of
    /// one server costs no more than a first short wait.
    pub(super) fn next_delay(&mut self) -> Duration {
        let round = self.round();
        self.attempts = self.attempts.saturating_add(1);
        self.config.backoff.delay(round, &mut self.rng)
    }

    /// Returns the rounds of all servers that began since a connection lasted: the step of the
    /// backoff.
    pub(super) fn round(&self) -> u32 {
        self.attempts / self.servers.count()
    }

    /// Returns the attempts that are as many rounds of so many servers. What is left of a round
    /// counts as in proportion, and no attempt is lost by it.
    pub(super) fn attempts_among(&self, servers: NonZeroU32) -> u32 {
        let (now, then) = (u64::from(servers.get()), u64::from(self.servers.count().get()));
        let attempts = (u64::from(self.attempts) * now).div_ceil(then);
        u32::try_from(attempts).unwrap_or(u32::MAX)
    }

    /// Returns whether the session has ended, or is about to.
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
        let lost = self.requests.disconnect(EndedBy::Session);
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
                | Purpose::RemoveWatches(_)
                | Purpose::Heartbeat
                | Purpose::Confirmation
                | Purpose::Close => continue,
            };
            let outcome = Err(failure);
            self.events.push_back(Event::Completed { tag, outcome });
        }
    }

    /// Reports a lapse. Every call that brings the time does this first, so a process that was
    /// paused hears of a lapse before anything that came in meanwhile.
    #[inline]
    pub(super) fn check_lease(&mut self, now: Instant) {
        if self.lease.lapses(now) {
            self.events.push_back(Event::LeaseLapsed);
        }
    }

    /// Returns when to declare the session dead if it has no connection until then.
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

const fn ended_by(end: ConnectionEnd) -> EndedBy {
    match end {
        ConnectionEnd::Closed => EndedBy::Server,
        ConnectionEnd::Protocol(_)
        | ConnectionEnd::ExpiryClaimed
        | ConnectionEnd::Unanswered(_)
        | ConnectionEnd::ClosedInSasl
        | ConnectionEnd::TimedOut
        | ConnectionEnd::LeftReadOnly
        | ConnectionEnd::Silent
        | ConnectionEnd::Overdue(_)
        | ConnectionEnd::Refused => EndedBy::Session,
    }
}

/// Returns whether a connection may have ended so because its server does not know a request.
const fn may_be_over_a_request(end: ConnectionEnd) -> bool {
    matches!(
        end,
        ConnectionEnd::Closed
            | ConnectionEnd::Silent
            | ConnectionEnd::Unanswered(_)
            // A server that leaves a request unanswered goes on with the next.
            | ConnectionEnd::Protocol(ProtocolError::UnexpectedReply { .. })
    )
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

//! From no connection to an established one, and back.

use core::num::NonZeroU32;
use core::time::Duration;

use zk_jute::records::{
    AuthPacket, ConnectRequest, ConnectResponse, Credential, PASSWORD_LEN, SetWatches,
};
use zk_jute::{Decode, OpCode, RequestHeader, SessionId, Vector, Xid};

use super::{Authentication, Closing, Identity, Live, Ping, Session, State};
use crate::config::Credentials;
use crate::event::{ConnectionEnd, End, Event, Expiry, Failure, Transport};
use crate::outbox::Outbox;
use crate::pending::Purpose;
use crate::time::Instant;

/// Bytes of paths in one `setWatches`: far below the smallest frame limit in use (C-49).
const SET_WATCHES_BYTES: usize = 128 * 1024;

impl<R, W> Session<R, W> {
    pub(super) fn open(&mut self, now: Instant) {
        let server = self.servers.next();
        self.state = State::Opening {
            server,
            give_up_at: now + self.connect_timeout(),
        };
        self.transport = Some(Transport::Connect(server));
    }

    /// For opening the transport, and again for the handshake.
    pub(super) fn connect_timeout(&self) -> Duration {
        let timeout = match &self.identity {
            Identity::New => self.config.session_timeout,
            Identity::Granted { timeout, .. } => *timeout,
        };
        timeout / NonZeroU32::new(self.servers.count()).map_or(1, NonZeroU32::get)
    }

    pub(super) fn send_handshake(&mut self) {
        debug_assert_eq!(self.outbox.len(), 0, "cleared with the last connection");
        let (session_id, password) = match &self.identity {
            Identity::New => (SessionId::NONE, [0; PASSWORD_LEN].as_slice()),
            Identity::Granted { credentials, .. } => {
                (credentials.session, credentials.password.as_slice())
            }
        };
        let timeout = self.config.session_timeout.as_millis();
        let request = ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: self.seen,
            timeout: i32::try_from(timeout).unwrap_or(i32::MAX),
            session_id,
            password: Some(password),
            read_only: Some(false),
        };
        let pushed = self.outbox.push(usize::MAX, &request, &());
        debug_assert!(pushed.is_ok(), "a password from a frame fits into a frame");
    }

    pub(super) fn handle_handshake(&mut self, now: Instant, sent_at: Instant, frame: &[u8]) {
        let response = match ConnectResponse::decode_prefix(frame) {
            Ok(response) => response,
            Err(error) => return self.connection_ended(now, ConnectionEnd::Protocol(error.into())),
        };
        let granted = self.id();
        match (granted, response.is_refused()) {
            (None, true) => return self.connection_ended(now, ConnectionEnd::Refused),
            (Some(_), true) => return self.end(End::Expired(Expiry::Refused)),
            (Some(session), false) if session != response.session_id => {
                return self.end(End::Expired(Expiry::Replaced(response.session_id)));
            }
            (_, false) => {}
        }
        let millis = u64::try_from(response.timeout).unwrap_or(0);
        let timeout = Duration::from_millis(millis);
        let credentials = Credentials {
            session: response.session_id,
            password: response.password.unwrap_or_default().to_vec(),
        };
        self.identity = Identity::Granted {
            credentials,
            timeout,
            dead_at: dead_at(now, timeout),
        };
        self.state = State::Live(Live {
            timeout,
            last_sent: sent_at,
            last_received: now,
            ping: Ping::Answered,
            closing: Closing::NotAsked,
        });
        self.attempts = 0;
        self.lease.prove(sent_at, timeout);
        self.events.push_back(Event::Connected {
            session: response.session_id,
            timeout,
            read_only: response.read_only.unwrap_or(false),
        });
        self.restore(now);
    }

    /// What goes out first on an established connection: identities, watches, then the requests
    /// that waited (protocol section 7.5).
    fn restore(&mut self, now: Instant) {
        for authentication in &self.credentials {
            send_auth(&mut self.outbox, authentication);
        }
        let watches = core::mem::replace(&mut self.watches, crate::watches::Watches::new());
        for batch in watches.batches(SET_WATCHES_BYTES) {
            let request = SetWatches {
                relative_zxid: self.delivered,
                data: Vector::new(&batch.data),
                exist: Vector::new(&batch.exist),
                child: Vector::new(&batch.child),
            };
            let sent = self.send(now, &request, Purpose::SetWatches);
            debug_assert!(sent.is_ok(), "a batch is below every limit");
        }
        self.watches = watches;
        self.outbox.append(&mut self.queued.frames);
        self.in_flight.append(&mut self.queued.requests);
    }

    /// The connection, or the attempt to make one, is over; the session is not.
    pub(super) fn connection_ended(&mut self, now: Instant, end: ConnectionEnd) {
        let (server, live) = match self.state {
            State::Waiting { .. } | State::Ended(_) => return,
            State::Opening { server, .. } | State::Handshaking { server, .. } => {
                (Some(server), None)
            }
            State::Live(live) => (None, Some(live)),
        };
        if let Some(Live {
            closing: Closing::GiveUpAt(_),
            ..
        }) = live
        {
            return self.end(End::Abandoned);
        }
        let retry_at = now + self.next_delay();
        self.state = State::Waiting { until: retry_at };
        self.transport = Some(Transport::Disconnect);
        self.outbox.clear();
        if let Some(server) = server {
            self.events.push_back(Event::ConnectFailed {
                server,
                end,
                retry_at,
            });
        } else {
            let lease_deadline = self.lease.deadline();
            self.events.push_back(Event::Disconnected {
                end,
                lease_deadline,
            });
            self.fail_in_flight();
        }
    }

    /// A round of all servers shares one step of the backoff, so that the loss of one server
    /// costs no more than a first short wait.
    fn next_delay(&mut self) -> Duration {
        let round =
            self.attempts / NonZeroU32::new(self.servers.count()).map_or(1, NonZeroU32::get);
        self.attempts = self.attempts.saturating_add(1);
        self.config.backoff.delay(round, &mut self.rng)
    }

    /// Nobody knows whether these were executed.
    fn fail_in_flight(&mut self) {
        for pending in self.in_flight.drain(..) {
            if let Purpose::Caller { tag, watch } = pending.purpose {
                if let Some(watch) = watch {
                    self.watches.forget(watch.id);
                }
                let outcome = Err(Failure::ConnectionLoss);
                self.events.push_back(Event::Completed { tag, outcome });
            }
        }
    }

    pub(super) fn end(&mut self, end: End) {
        if matches!(self.state, State::Ended(_)) {
            return;
        }
        self.state = State::Ended(end);
        self.transport = Some(Transport::Disconnect);
        self.fail_in_flight();
        self.queued.frames.clear();
        for pending in core::mem::take(&mut self.queued.requests) {
            if let Purpose::Caller { tag, watch } = pending.purpose {
                if let Some(watch) = watch {
                    self.watches.forget(watch.id);
                }
                self.events.push_back(Event::Completed {
                    tag,
                    outcome: Err(Failure::NotSent),
                });
            }
        }
        let lost = self
            .watches
            .drain()
            .map(|watcher| Event::WatchLost { watcher });
        self.events.extend(lost);
        self.events.push_back(Event::Ended(end));
    }

    pub(super) fn check_lease(&mut self, now: Instant) {
        if self.lease.lapses(now) {
            self.events.push_back(Event::LeaseLapsed);
        }
    }

    /// When the session is declared dead, if it has no connection until then.
    pub(super) fn dead_at(&self) -> Option<Instant> {
        match (&self.identity, self.state) {
            (Identity::New, _) | (_, State::Live(_) | State::Ended(_)) => None,
            (Identity::Granted { dead_at, .. }, _) => Some(*dead_at),
        }
    }
}

/// Four thirds of the timeout after the last sign of life: no server can still know the session.
pub(super) fn dead_at(last_received: Instant, timeout: Duration) -> Instant {
    last_received + timeout * 4 / 3
}

pub(super) fn send_auth(outbox: &mut Outbox, authentication: &Authentication) {
    let header = RequestHeader {
        xid: Xid::AUTH,
        opcode: OpCode::AUTH,
    };
    let packet = AuthPacket {
        kind: 0,
        scheme: &authentication.scheme,
        credential: Credential::new(Some(&authentication.credential)),
    };
    let pushed = outbox.push(usize::MAX, &header, &packet);
    debug_assert!(pushed.is_ok(), "no limit was given");
}

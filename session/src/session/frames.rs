//! An established connection: frames from the server, and time passing.

use core::time::Duration;

use bytes::{Buf, Bytes};
use zk_jute::records::WatcherEvent;
use zk_jute::{Decode, ErrorCode, ReplyHeader, Xid, Zxid};

use super::{Closing, Identity, Live, Ping, Session, State, connection};
use crate::event::{Completion, ConnectionEnd, End, Event, Failure, ProtocolError};
use crate::pending::{Pending, Purpose};
use crate::time::Instant;

impl Live {
    /// A ping is due when nothing was sent for a third of the timeout.
    fn ping_at(&self) -> Option<Instant> {
        match self.ping {
            Ping::Answered => Some(self.last_sent + self.timeout / 3),
            Ping::SentAt(_) => None,
        }
    }

    /// The connection is given up when nothing came for two thirds of the timeout (C-57).
    fn silent_at(&self) -> Instant {
        self.last_received + self.timeout * 2 / 3
    }

    fn give_up_at(&self) -> Option<Instant> {
        match self.closing {
            Closing::NotAsked => None,
            Closing::GiveUpAt(at) => Some(at),
        }
    }

    pub(super) fn next_timeout(&self) -> Instant {
        let others = [self.ping_at(), self.give_up_at()];
        others
            .into_iter()
            .flatten()
            .fold(self.silent_at(), Instant::min)
    }
}

impl<R, W> Session<R, W> {
    pub(super) fn handle_live_timeout(&mut self, now: Instant, live: Live) {
        if live.give_up_at().is_some_and(|at| at <= now) {
            self.end(End::Abandoned);
        } else if live.silent_at() <= now {
            self.connection_ended(now, ConnectionEnd::Silent);
        } else if live.ping_at().is_some_and(|at| at <= now) {
            self.outbox.push_ping();
            self.state = State::Live(Live {
                last_sent: now,
                ping: Ping::SentAt(now),
                ..live
            });
        }
    }

    pub(super) fn handle_live_frame(&mut self, now: Instant, mut frame: Bytes) {
        let header = match ReplyHeader::decode_prefix(&frame) {
            Ok(header) => header,
            Err(error) => return self.broken(now, error.into()),
        };
        frame.advance(REPLY_HEADER_LEN);
        let timeout = self.received(now, header.zxid);
        match header.xid {
            Xid::NOTIFICATION => self.handle_notification(now, header.zxid, &frame),
            Xid::PING => self.handle_ping_reply(header.zxid, timeout),
            Xid::AUTH => self.handle_auth_reply(header.error),
            _ => self.handle_reply(now, timeout, header, frame),
        }
    }

    /// Notes a sign of life, and tells the negotiated timeout.
    fn received(&mut self, now: Instant, zxid: Zxid) -> Duration {
        self.seen = self.seen.max(zxid);
        let (
            State::Live(live),
            Identity::Granted {
                dead_at, timeout, ..
            },
        ) = (&mut self.state, &mut self.identity)
        else {
            return Duration::ZERO;
        };
        live.last_received = now;
        *dead_at = connection::dead_at(now, *timeout);
        *timeout
    }

    fn handle_notification(&mut self, now: Instant, zxid: Zxid, body: &[u8]) {
        let event = match WatcherEvent::decode_prefix(body) {
            Ok(event) => event,
            Err(error) => return self.broken(now, error.into()),
        };
        let fired = self.watches.fire(event.path, event.kind);
        let events = fired.into_iter().map(|watcher| Event::Fired {
            watcher,
            kind: event.kind,
            zxid,
        });
        self.events.extend(events);
    }

    fn handle_ping_reply(&mut self, zxid: Zxid, timeout: Duration) {
        self.delivered = self.delivered.max(zxid);
        if let State::Live(live) = &mut self.state
            && let Ping::SentAt(sent_at) = live.ping
        {
            live.ping = Ping::Answered;
            self.lease.prove(sent_at, timeout);
        }
    }

    fn handle_auth_reply(&mut self, error: ErrorCode) {
        if error != ErrorCode::OK {
            self.end(End::AuthFailed(error));
        }
    }

    fn handle_reply(&mut self, now: Instant, timeout: Duration, header: ReplyHeader, body: Bytes) {
        let expected = self.in_flight.front().map(|pending| pending.xid);
        let pending = match self.in_flight.pop_front() {
            Some(pending) if pending.xid == header.xid => pending,
            unanswered => {
                unanswered
                    .into_iter()
                    .for_each(|pending| self.in_flight.push_front(pending));
                let got = header.xid;
                return self.broken(now, ProtocolError::UnexpectedReply { expected, got });
            }
        };
        self.delivered = self.delivered.max(header.zxid);
        self.lease.prove(pending.sent_at, timeout);
        self.complete(now, header, pending, body);
    }

    fn complete(&mut self, now: Instant, header: ReplyHeader, pending: Pending<R>, body: Bytes) {
        match (pending.purpose, header.error) {
            (Purpose::Close, _) => self.end(End::Closed),
            (Purpose::SetWatches, ErrorCode::OK) => {}
            (Purpose::SetWatches, error) => {
                self.broken(now, ProtocolError::WatchesRefused(error));
            }
            (Purpose::Caller { tag, watch }, error) => {
                if let Some(watch) = watch {
                    self.watches.answer(watch.id, watch.by, error);
                }
                let outcome = match error {
                    ErrorCode::OK => Ok(Completion {
                        zxid: header.zxid,
                        body,
                    }),
                    error => Err(Failure::Refused(error)),
                };
                self.events.push_back(Event::Completed { tag, outcome });
                self.heed(now, error);
            }
        }
    }

    /// Some refusals concern more than the request (protocol section 6, mark K).
    fn heed(&mut self, now: Instant, error: ErrorCode) {
        match error {
            ErrorCode::AUTH_FAILED | ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH => {
                self.end(End::AuthFailed(error));
            }
            ErrorCode::SESSION_MOVED => self.broken(now, ProtocolError::SessionMoved),
            _ => {}
        }
    }

    fn broken(&mut self, now: Instant, error: ProtocolError) {
        self.connection_ended(now, ConnectionEnd::Protocol(error));
    }
}

const REPLY_HEADER_LEN: usize = <ReplyHeader as Decode<'static>>::MIN_ENCODED_LEN;

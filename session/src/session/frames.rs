//! An established connection: frames from the server, and time passing.

use bytes::{Buf, Bytes};
use zk_jute::records::WatcherEvent;
use zk_jute::{Decode, ErrorCode, ReplyHeader, Xid, Zxid};

use super::Session;
use super::state::{Live, Ping, State};
use crate::event::{Completion, ConnectionEnd, End, Event, Expiry, Failure, ProtocolError};
use crate::requests::Purpose;
use crate::time::Instant;

impl<R, W> Session<R, W> {
    pub(super) fn handle_live_timeout(&mut self, now: Instant, live: Live) {
        if live.give_up_at().is_some_and(|at| at <= now) {
            self.end(End::Abandoned);
        } else if live.silent_at() <= now {
            self.connection_ended(now, ConnectionEnd::Silent);
        } else if live.search_at().is_some_and(|at| at <= now) {
            self.search(now);
        } else if self.heartbeat_at(live).is_some_and(|at| at <= now) {
            self.beat_if_due(now, live);
        } else if self.ping_at(live).is_some_and(|at| at <= now) {
            self.requests.send_ping();
            self.state = State::Live(Live { last_sent: now, ping: Ping::SentAt(now), ..live });
        }
    }

    pub(super) fn handle_live_frame(&mut self, now: Instant, live: Live, mut frame: Bytes) {
        self.state = State::Live(Live { last_received: now, ..live });
        let header = match ReplyHeader::decode_prefix(&frame) {
            Ok(header) => header,
            Err(error) => return self.broken(now, error.into()),
        };
        frame.advance(REPLY_HEADER_LEN);
        match header.xid {
            Xid::NOTIFICATION => self.handle_notification(now, header.zxid, &frame),
            Xid::PING => self.handle_ping_reply(now, header.zxid),
            Xid::AUTH => self.handle_auth_reply(header.error),
            _ => self.handle_reply(now, header, frame),
        }
    }

    /// The transaction of an event counts as seen, but not as delivered: more events of it may be
    /// on their way.
    fn handle_notification(&mut self, now: Instant, zxid: Zxid, body: &[u8]) {
        let event = match WatcherEvent::decode_prefix(body) {
            Ok(event) => event,
            Err(error) => return self.broken(now, error.into()),
        };
        self.seen = self.seen.max(zxid);
        let fired = self.watches.fire(event.path, event.kind);
        let events =
            fired.into_iter().map(|watcher| Event::Fired { watcher, kind: event.kind, zxid });
        self.events.extend(events);
    }

    fn handle_ping_reply(&mut self, now: Instant, zxid: Zxid) {
        self.note_reply(zxid);
        if let State::Live(live) = &mut self.state
            && let Ping::SentAt(sent_at) = live.ping
        {
            live.ping = Ping::Answered;
            self.lease.answered(now, sent_at);
        }
    }

    fn handle_auth_reply(&mut self, error: ErrorCode) {
        if error != ErrorCode::OK {
            self.end(End::AuthFailed(error));
        }
    }

    fn handle_reply(&mut self, now: Instant, header: ReplyHeader, body: Bytes) {
        let pending = match self.requests.answered_by(header.xid) {
            Ok(pending) => pending,
            Err(unexpected) => return self.broken(now, unexpected),
        };
        self.note_reply(header.zxid);
        match (pending.purpose, header.error) {
            (Purpose::Close, ErrorCode::OK | ErrorCode::SESSION_EXPIRED) => {
                return self.end(End::Closed);
            }
            (Purpose::Close, _) => return self.end(End::Abandoned),
            (Purpose::SetWatches, ErrorCode::OK) => {}
            (Purpose::SetWatches, error) => {
                return self.broken(now, ProtocolError::WatchesRefused(error));
            }
            (Purpose::Heartbeat, error) => self.heartbeat_answered(now, pending.sent_at, error),
            (Purpose::Confirmation, ErrorCode::OK) => self.lease.confirmed(now),
            (Purpose::Confirmation, _) => {}
            (Purpose::Caller(tag), _) => self.complete(tag, header, body),
            (Purpose::Watching(tag, watch), error) => {
                self.watches.answer(watch.id, watch.by, error);
                self.complete(tag, header, body);
            }
        }
        // Some refusals concern more than the request (protocol section 6, mark K), and are no
        // evidence that the session lives.
        match header.error {
            ErrorCode::SESSION_EXPIRED => self.end(End::Expired(Expiry::Refused)),
            ErrorCode::AUTH_FAILED | ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH => {
                self.end(End::AuthFailed(header.error));
            }
            ErrorCode::SESSION_MOVED => self.broken(now, ProtocolError::SessionMoved),
            _ => self.lease.answered(now, pending.sent_at),
        }
    }

    fn complete(&mut self, tag: R, header: ReplyHeader, body: Bytes) {
        let outcome = match header.error {
            ErrorCode::OK => Ok(Completion { zxid: header.zxid, body }),
            error => Err(Failure::Refused(error)),
        };
        self.events.push_back(Event::Completed { tag, outcome });
    }

    /// All events up to the transaction of a reply came before it (protocol section 3.3), those of
    /// watches that are not set again yet excepted: their turn is after the last `setWatches`.
    fn note_reply(&mut self, zxid: Zxid) {
        self.seen = self.seen.max(zxid);
        if !self.requests.are_setting_watches() {
            self.delivered = self.delivered.max(zxid);
        }
    }

    fn broken(&mut self, now: Instant, error: ProtocolError) {
        self.connection_ended(now, ConnectionEnd::Protocol(error));
    }
}

const REPLY_HEADER_LEN: usize = <ReplyHeader as Decode<'static>>::MIN_ENCODED_LEN;

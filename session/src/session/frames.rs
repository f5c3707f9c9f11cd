//! An established connection: frames from the server, and time passing.

use bytes::{Buf, Bytes};
use zk_jute::records::WatcherEvent;
use zk_jute::{Decode, ErrorCode, OpCode, Oversized, ReplyHeader, Xid, Zxid};

use super::Session;
use super::heartbeat::{heartbeat_kind, heartbeat_outcome};
use super::state::{Live, Ping, State};
use crate::event::{
    Completion, ConnectionEnd, Event, Failure, ProtocolError, Rollback, SessionEnd,
};
use crate::family::ServerFamily;
use crate::requests::Purpose;
use crate::time::Instant;
use crate::watches::Delivery;

impl<R, W: Clone> Session<R, W> {
    pub(super) fn handle_live_timeout(&mut self, now: Instant, live: Live) {
        if live.give_up_at().is_some_and(|at| at <= now) {
            self.end(SessionEnd::Abandoned);
        } else if live.silent_at() <= now {
            self.connection_ended(now, ConnectionEnd::Silent);
        } else if let Some(due) = self.overdue_at(&live).filter(|due| *due <= now) {
            self.overdue(now, due);
        } else if let Some(opcode) = self.unanswered(now, &live) {
            self.connection_ended(now, ConnectionEnd::Unanswered(opcode));
        } else if live.search_at().is_some_and(|at| at <= now) {
            self.search(now);
        } else if self.heartbeat_at(&live).is_some_and(|at| at <= now) {
            self.beat_if_due(now, live);
        } else if self.ping_at(&live).is_some_and(|at| at <= now) {
            self.requests.send_ping();
            self.state = State::Live(Live { last_sent: now, ping: Ping::SentAt(now), ..live });
        }
    }

    /// Returns when the connection is given up because a request is not answered. Apache ZooKeeper closes
    /// the connection itself.
    pub(super) fn unanswered_at(&self, live: &Live) -> Option<Instant> {
        if live.family.keeps_leases() {
            return None;
        }
        self.requests.oldest().map(|(_, sent_at)| sent_at + live.timeout)
    }

    fn unanswered(&self, now: Instant, live: &Live) -> Option<OpCode> {
        self.unanswered_at(live).filter(|at| *at <= now)?;
        self.requests.oldest().map(|(opcode, _)| opcode)
    }

    #[inline]
    pub(super) fn handle_live_frame<T>(
        &mut self,
        now: Instant,
        mut frame: Bytes,
        pick: impl FnOnce(R) -> Result<T, R>,
    ) -> Option<(T, Completion)> {
        let header = match ReplyHeader::decode_prefix(&frame) {
            Ok(header) => header,
            Err(error) => {
                self.broken(now, error.into());
                return None;
            }
        };
        frame.advance(REPLY_HEADER_LEN);
        if header.error == ErrorCode::OK
            && self.events.is_empty()
            && header.zxid > self.seen_before
            && let Some((tag, opcode, sent_at)) = self.requests.callers_answered_by(header.xid)
        {
            self.note_reply(header.zxid);
            self.prove_by_answer(now, opcode, sent_at);
            let completion = Completion { zxid: header.zxid, body: frame };
            return match pick(tag) {
                Ok(tag) => Some((tag, completion)),
                Err(tag) => {
                    self.events.push_back(Event::Completed { tag, outcome: Ok(completion) });
                    None
                }
            };
        }
        self.handle_frame_with(now, header, frame);
        None
    }

    fn handle_frame_with(&mut self, now: Instant, header: ReplyHeader, frame: Bytes) {
        match header.xid {
            Xid::NOTIFICATION => self.handle_notification(now, header.zxid, &frame),
            Xid::PING => self.handle_ping_reply(now, header),
            Xid::AUTH => self.handle_auth_reply(header.error),
            _ => self.handle_reply(now, header, frame),
        }
    }

    /// Fails only the request: a read that asks for too much concerns only its caller. Drops the
    /// watch that came with it: it reports changes of a state that the caller does not know.
    pub(super) fn handle_oversized_reply(&mut self, now: Instant, frame: &Oversized) {
        let Ok(header) = ReplyHeader::decode_prefix(&frame.head) else {
            return self.connection_ended(now, ConnectionEnd::too_long(frame));
        };
        if !self.requests.is_caller_answered_by(header.xid) || header.error != ErrorCode::OK {
            return self.connection_ended(now, ConnectionEnd::too_long(frame));
        }
        let pending = match self.requests.answered_by(header.xid) {
            Ok(pending) => pending,
            Err(unexpected) => return self.broken(now, unexpected),
        };
        self.note_reply(header.zxid);
        let outcome = Err(Failure::ReplyTooLarge { length: frame.length, limit: frame.limit });
        match pending.purpose {
            Purpose::Caller(tag) => self.events.push_back(Event::Completed { tag, outcome }),
            Purpose::Watching(tag, watch) => {
                self.watches.forget(watch);
                self.watches.answer(watch, header.error);
                self.events.push_back(Event::Completed { tag, outcome });
                self.remove_unwanted(now);
            }
            _ => {}
        }
        self.lease.answered(now, pending.sent_at);
    }

    /// Handles an event. Its transaction counts as seen, but not as delivered, because more of its
    /// events may be on their way.
    fn handle_notification(&mut self, now: Instant, zxid: Zxid, body: &[u8]) {
        let event = match WatcherEvent::decode_prefix(body) {
            Ok(event) => event,
            Err(error) => return self.broken(now, error.into()),
        };
        self.seen = self.seen.max(zxid);
        let deliveries = self.watches.fire(event.path, event.kind);
        self.events.extend(deliveries.into_iter().map(|delivery| match delivery {
            Delivery::Fired(watcher, kind) => Event::Fired { watcher, kind, zxid },
            Delivery::Changed(watcher, path, kind) => Event::Changed { watcher, path, kind, zxid },
        }));
        self.remove_unwanted(now);
    }

    /// Handles the reply to a ping. A server that demands authentication may refuse it, and so may
    /// a leader for a session that is closing. A refusal proves nothing.
    fn handle_ping_reply(&mut self, now: Instant, header: ReplyHeader) {
        self.note_reply(header.zxid);
        let State::Live(live) = &mut self.state else {
            return;
        };
        let sent_at = match live.ping {
            Ping::SentAt(sent_at) => Some(sent_at),
            Ping::Answered => None,
        };
        live.ping = Ping::Answered;
        match (header.error, sent_at) {
            (ErrorCode::OK, Some(sent_at)) => {
                self.lease.ping_answered(now, sent_at);
                self.remove_again(now);
            }
            (error, _) => self.handle_refusal(now, error),
        }
    }

    fn handle_auth_reply(&mut self, error: ErrorCode) {
        if error != ErrorCode::OK {
            self.end(SessionEnd::AuthFailed(error));
        }
    }

    fn handle_reply(&mut self, now: Instant, header: ReplyHeader, body: Bytes) {
        let pending = match self.requests.answered_by(header.xid) {
            Ok(pending) => pending,
            Err(unexpected) => return self.broken(now, unexpected),
        };
        match (&pending.purpose, header.error) {
            // The events for its watches are still to come, on the next connection.
            (Purpose::SetWatches, error) if error != ErrorCode::OK => {
                self.seen = self.seen.max(header.zxid);
            }
            _ => self.note_reply(header.zxid),
        }
        self.compare_with_seen_before(header, pending.opcode);
        if header.error == ErrorCode::UNIMPLEMENTED && header.zxid == UNKNOWN_OPCODE {
            self.requests.refuse(pending.opcode);
        }
        let mut outcome = header.error;
        match (pending.purpose, header.error) {
            (Purpose::Close, ErrorCode::OK | ErrorCode::SESSION_EXPIRED) => {
                return self.end(SessionEnd::Closed);
            }
            (Purpose::Close, _) => return self.end(SessionEnd::Abandoned),
            (Purpose::SetWatches, ErrorCode::OK) => self.watches_are_set(),
            (Purpose::SetWatches, error) if concerns_the_session(error) => {}
            (Purpose::Heartbeat, error) => {
                outcome = match heartbeat_outcome(pending.opcode, error, &body) {
                    Ok(outcome) => outcome,
                    Err(error) => return self.broken(now, error.into()),
                };
                let kind = heartbeat_kind(pending.opcode);
                self.heartbeat_answered(now, pending.sent_at, kind, outcome);
                if outcome == ErrorCode::OK {
                    self.remove_again(now);
                }
            }
            (Purpose::Confirmation, error) => {
                self.confirmation_answered(now, pending.sent_at, error);
            }
            // A removal may find no watch: the event is on its way, or the server is too old.
            (Purpose::RemoveWatches(path), ErrorCode::THROTTLED_OP) => {
                self.watches.removal_refused(path);
            }
            (Purpose::Sasl, ErrorCode::OK) | (Purpose::RemoveWatches(_), _) => {}
            (Purpose::Sasl | Purpose::SetWatches, error) => {
                return self.watches_refused(now, error);
            }
            (Purpose::Caller(tag), _) => self.complete(tag, header, body),
            (Purpose::Watching(tag, watch), error) => {
                let lost = self.watches.answer(watch, error);
                self.complete(tag, header, body);
                if let Some(watcher) = lost {
                    self.events.push_back(Event::WatchLost { watcher });
                }
                self.remove_unwanted(now);
            }
        }
        if concerns_the_session(outcome) {
            self.handle_refusal(now, outcome);
        } else if header.error == ErrorCode::OK {
            self.prove_by_answer(now, pending.opcode, pending.sent_at);
        } else {
            self.lease.answered(now, pending.sent_at);
        }
    }

    /// Tells whether the ensemble still has what earlier sessions saw, by the answer to a write of this one.
    /// The answer's zxid may be that of a later transaction, never that of an earlier one. Servers of other
    /// families number their transactions in their own ways.
    fn compare_with_seen_before(&mut self, header: ReplyHeader, opcode: OpCode) {
        if header.error != ErrorCode::OK || !shows_a_commit(opcode) {
            return;
        }
        let (seen, written) = (core::mem::take(&mut self.seen_before), header.zxid);
        if written <= seen && self.family.is_some_and(ServerFamily::keeps_leases) {
            self.events.push_back(Event::RolledBack(Rollback { seen, written }));
        }
    }

    /// Takes a success for a proof that the session lives.
    #[inline]
    fn prove_by_answer(&mut self, now: Instant, opcode: OpCode, sent_at: Instant) {
        if shows_a_commit(opcode) {
            self.lease.committed(now, sent_at);
        }
        self.lease.answered(now, sent_at);
    }

    /// Handles an error. Some errors concern more than the request, and do not show that the
    /// session lives.
    fn handle_refusal(&mut self, now: Instant, error: ErrorCode) {
        match error {
            // The answer to the close is on its way, and decides.
            ErrorCode::SESSION_EXPIRED if self.is_closing() => {}
            // This is no proof of the end: a leader of the ensemble that was deposed unawares says
            // so of sessions that live on. The next handshake decides.
            ErrorCode::SESSION_EXPIRED => self.connection_ended(now, ConnectionEnd::ExpiryClaimed),
            ErrorCode::SESSION_MOVED => self.broken(now, ProtocolError::SessionMoved),
            error if refuses_identity(error) => self.end(SessionEnd::AuthFailed(error)),
            _ => {}
        }
    }

    /// Reports missed changes to persistent watches: servers keep no events for them while the
    /// client is away. It does so once the server has them all again, so a read after it misses
    /// nothing.
    fn watches_are_set(&mut self) {
        if !self.requests.are_setting_watches() {
            let interrupted = self.watches.resume();
            self.events.extend(interrupted.map(|watcher| Event::ChangesMissed { watcher }));
        }
    }

    /// Drops the persistent watches: a server before 3.6 does not know them, and has closed the
    /// connection. The next attempt succeeds without them.
    fn watches_refused(&mut self, now: Instant, error: ErrorCode) {
        if error == ErrorCode::UNIMPLEMENTED {
            let lost = self.watches.drain_persistent();
            self.events.extend(lost.into_iter().map(|watcher| Event::WatchLost { watcher }));
        }
        self.broken(now, ProtocolError::WatchesRefused(error));
    }

    fn complete(&mut self, tag: R, header: ReplyHeader, body: Bytes) {
        let outcome = match header.error {
            ErrorCode::OK => Ok(Completion { zxid: header.zxid, body }),
            error => Err(Failure::Refused(error)),
        };
        self.events.push_back(Event::Completed { tag, outcome });
    }

    /// Notes the transaction of a reply. All events up to the transaction of a reply came before
    /// it, those of watches that are not set again yet excepted: their turn is after the last
    /// `setWatches`.
    #[inline]
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

/// The zxid of a server that does not know the request and closes the connection. A server that
/// knows the request and has it switched off sends a real one.
const UNKNOWN_OPCODE: Zxid = Zxid::new(-1);

/// Returns whether a success of this operation shows that a quorum has committed it, for a session that
/// ZooKeeper's leader was not closing (`PrepRequestProcessor` checks the session first). The header of a
/// multi says nothing of the kind: it may have failed.
const fn shows_a_commit(opcode: OpCode) -> bool {
    matches!(
        opcode,
        OpCode::CREATE
            | OpCode::CREATE2
            | OpCode::CREATE_CONTAINER
            | OpCode::CREATE_TTL
            | OpCode::DELETE
            | OpCode::SET_DATA
            | OpCode::SET_ACL
    )
}

/// Returns whether an error concerns the session or its connection, whatever the request was.
const fn concerns_the_session(error: ErrorCode) -> bool {
    matches!(error, ErrorCode::SESSION_EXPIRED | ErrorCode::SESSION_MOVED)
        || refuses_identity(error)
}

/// Returns whether an error means that the connection lacks an identity that the server accepts,
/// whatever the request was.
pub(super) const fn refuses_identity(error: ErrorCode) -> bool {
    matches!(error, ErrorCode::AUTH_FAILED | ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH)
}

pub(super) const REPLY_HEADER_LEN: usize = <ReplyHeader as Decode<'static>>::MIN_ENCODED_LEN;

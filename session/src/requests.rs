//! Requests in order, with their numbers: those that were sent, and those that wait for a connection
//! (docs/protocol.md#order).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::BytesMut;
use zk_jute::records::{AuthPacket, ConnectRequest};
use zk_jute::{DEFAULT_MAX_FRAME, FrameError, OpCode, Request, RequestHeader, Xid, put_frame};

use crate::config::Limits;
use crate::event::{ProtocolError, SubmitError};
use crate::family::ServerFamily;
use crate::outbox::Outbox;
use crate::server_limit::{EndedBy, ServerLimit};
use crate::time::Instant;
use crate::unanswered::{Answered, Unanswered};
use crate::watches::WatchId;

/// A request that was sent, or will be.
#[derive(Debug)]
pub(crate) struct Pending<R> {
    pub(crate) xid: Xid,
    pub(crate) opcode: OpCode,
    /// The moment of submission. It is never later than the sending, so a lease that rests on it errs
    /// on the safe side.
    pub(crate) sent_at: Instant,
    pub(crate) purpose: Purpose<R>,
}

/// The purpose of a request.
#[derive(Debug)]
pub(crate) enum Purpose<R> {
    Caller(R),
    /// A caller's request, which leaves a watch if it succeeds.
    Watching(R, WatchId),
    /// Carries a token of the SASL exchange, which comes before all other requests.
    Sasl,
    SetWatches,
    /// Removes watches that the session has dropped, at this path.
    RemoveWatches(Arc<str>),
    /// Shows that the session's server has its leader, or the leader its quorum.
    Heartbeat,
    /// Follows a heartbeat, and shows that the touches that the server handed over have arrived.
    Confirmation,
    Close,
}

/// All requests of a session. A server answers those of one connection in order.
#[derive(Debug)]
pub(crate) struct Requests<R> {
    limits: Limits,
    server_limit: ServerLimit,
    /// Continues from connection to connection, and wraps to 1.
    last_xid: Xid,
    outbox: Outbox,
    in_flight: VecDeque<Pending<R>>,
    queued: VecDeque<Pending<R>>,
    queued_frames: BytesMut,
    /// Mostly there are none, and a session at rest is to be small.
    unknown: Option<Box<Unknown>>,
    answered: Answered,
    /// The last request that takes long to send, until it is answered.
    long: Option<Xid>,
}

/// The operations that servers do not know.
#[derive(Debug, Default)]
struct Unknown {
    /// Those over which a server has closed the connection after its answer.
    refused: Vec<OpCode>,
    unanswered: Unanswered,
}

impl<R> Requests<R> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            server_limit: ServerLimit::default(),
            last_xid: Xid::default(),
            outbox: Outbox::default(),
            in_flight: VecDeque::new(),
            queued: VecDeque::new(),
            queued_frames: BytesMut::new(),
            unknown: None,
            answered: Answered::default(),
            long: None,
        }
    }

    /// Sends a request on the present connection, whatever the bounds on number and bytes are.
    #[inline]
    pub(crate) fn send<Q: Request>(
        &mut self,
        now: Instant,
        request: &Q,
        purpose: Purpose<R>,
    ) -> Result<(), SubmitError> {
        let pending = self.number::<Q>(now, purpose);
        match &pending.purpose {
            Purpose::Sasl => {
                let frame = self.outbox.confidential();
                put_request(frame, self.limits.max_frame, pending.xid, request)?;
            }
            purpose => {
                let limit = match purpose {
                    Purpose::Caller(_) | Purpose::Watching(..) => {
                        self.limits.max_frame.min(self.server_limit.at(now))
                    }
                    _ => self.limits.max_frame,
                };
                let frame = self.outbox.ordinary();
                let before = frame.len();
                put_request(frame, limit, pending.xid, request)
                    .map_err(|error| suspected(error, self.limits.max_frame))?;
                let length = frame.len() - before;
                if length > LONG_FRAME || frame.len() > LONG_QUEUE {
                    self.long = Some(pending.xid);
                }
                self.server_limit.sent(pending.xid, length - FRAME_HEAD_LEN);
            }
        }
        self.last_xid = pending.xid;
        self.in_flight.push_back(pending);
        Ok(())
    }

    /// Returns the length above which requests are divided that can be.
    pub(crate) fn divide_above(&self) -> usize {
        self.limits.max_frame.min(self.server_limit.divide_above())
    }

    /// Keeps a request until [`Requests::release`].
    pub(crate) fn queue<Q: Request>(
        &mut self,
        now: Instant,
        request: &Q,
        purpose: Purpose<R>,
    ) -> Result<(), SubmitError> {
        let pending = self.number::<Q>(now, purpose);
        let frame = &mut self.queued_frames;
        put_request(frame, self.limits.max_frame, pending.xid, request)?;
        self.last_xid = pending.xid;
        self.queued.push_back(pending);
        Ok(())
    }

    /// Sends the requests that waited for a connection.
    pub(crate) fn release(&mut self) {
        let frames = core::mem::take(&mut self.queued_frames);
        if frames.len() > LONG_FRAME {
            self.long = self.queued.back().map(|last| last.xid);
        }
        self.outbox.ordinary().unsplit(frames);
        self.in_flight.append(&mut self.queued);
    }

    /// Sends the first frame of a connection, which has no header.
    pub(crate) fn send_handshake(&mut self, request: &ConnectRequest<'_>) {
        debug_assert_eq!(self.outbox.len(), 0, "cleared with the last connection");
        let sent = put_frame(self.outbox.confidential(), usize::MAX, request, &());
        debug_assert!(sent.is_ok(), "a password from a frame fits into a frame");
    }

    pub(crate) fn send_ping(&mut self) {
        self.outbox.push_ping();
    }

    /// Sends an identity; its reply may overtake others.
    pub(crate) fn send_auth(&mut self, packet: &AuthPacket<'_>) -> Result<(), SubmitError> {
        let header = RequestHeader { xid: Xid::AUTH, opcode: OpCode::AUTH };
        let limit = self.limits.max_frame;
        put_frame(self.outbox.confidential(), limit, &header, packet).map_err(too_large)
    }

    /// Returns whether a reply with this number answers a request of the caller.
    pub(crate) fn is_caller_answered_by(&self, got: Xid) -> bool {
        self.in_flight.front().is_some_and(|oldest| {
            let callers = matches!(oldest.purpose, Purpose::Caller(_) | Purpose::Watching(..));
            oldest.xid == got && callers
        })
    }

    /// Takes out the request that a reply with this number answers, if it is a caller's and leaves no
    /// watch. Returns its tag, its operation and the moment of its submission.
    #[inline]
    pub(crate) fn callers_answered_by(&mut self, got: Xid) -> Option<(R, OpCode, Instant)> {
        match self.in_flight.front() {
            Some(Pending { xid, purpose: Purpose::Caller(_), .. }) if *xid == got => {}
            _ => return None,
        }
        match self.in_flight.pop_front() {
            Some(Pending { opcode, sent_at, purpose: Purpose::Caller(tag), .. }) => {
                self.note_answer(got, opcode);
                Some((tag, opcode, sent_at))
            }
            _ => None,
        }
    }

    /// Takes out the request that a reply with this number answers.
    pub(crate) fn answered_by(&mut self, got: Xid) -> Result<Pending<R>, ProtocolError> {
        let expected = self.in_flight.front().map(|oldest| oldest.xid);
        let unexpected = ProtocolError::UnexpectedReply { expected, got };
        if expected == Some(got) {
            let answered = self.in_flight.pop_front().ok_or(unexpected)?;
            self.note_answer(got, answered.opcode);
            Ok(answered)
        } else {
            Err(unexpected)
        }
    }

    /// Returns whether the server has not yet confirmed that all watches are set again. Those requests
    /// are the first of a connection.
    #[inline]
    pub(crate) fn are_setting_watches(&self) -> bool {
        let oldest = self.in_flight.front();
        oldest.is_some_and(|oldest| matches!(oldest.purpose, Purpose::SetWatches))
    }

    /// Takes out the requests that may or may not have been executed, because the connection has
    /// ended.
    pub(crate) fn disconnect(&mut self, by: EndedBy) -> VecDeque<Pending<R>> {
        let lost = self.give_up_attempt();
        let is_lost = |xid| lost.iter().any(|pending| pending.xid == xid);
        self.server_limit.connection_ended(by, is_lost);
        lost
    }

    /// Takes out the requests of an attempt to make a connection.
    pub(crate) fn give_up_attempt(&mut self) -> VecDeque<Pending<R>> {
        self.outbox.clear();
        self.long = None;
        core::mem::take(&mut self.in_flight)
    }

    /// Takes out the requests that were never sent, because the session has ended.
    pub(crate) fn take_queued(&mut self) -> VecDeque<Pending<R>> {
        self.queued_frames = BytesMut::new();
        core::mem::take(&mut self.queued)
    }

    /// Marks an operation as never to be sent again: each attempt costs the connection.
    pub(crate) fn refuse(&mut self, opcode: OpCode) {
        if !self.is_refused(opcode) {
            self.unknown.get_or_insert_default().refused.push(opcode);
        }
    }

    pub(crate) fn is_refused(&self, opcode: OpCode) -> bool {
        self.unknown.as_ref().is_some_and(|unknown| {
            unknown.refused.contains(&opcode) || unknown.unanswered.condemns(opcode)
        })
    }

    /// Returns whether servers of this family take watches down, as far as is known: a request in vain would cost the
    /// connection, and on Keeper the session, while a watch that stays costs nothing but its event.
    pub(crate) const fn may_remove_watches(&self, family: ServerFamily) -> bool {
        match family {
            ServerFamily::ZooKeeper => true,
            ServerFamily::KeeperLike => self.answered.show_removal_of_watches(),
        }
    }

    /// Returns whether a request is on its way that takes long to send: its server is no more silent than it has to
    /// be.
    pub(crate) const fn are_long_on_the_way(&self) -> bool {
        self.long.is_some()
    }

    #[inline]
    fn note_answer(&mut self, xid: Xid, opcode: OpCode) {
        if self.long == Some(xid) {
            self.long = None;
        }
        self.answered.note(opcode);
        if let Some(unknown) = &mut self.unknown {
            unknown.unanswered.answered(opcode);
        }
    }

    /// Notes the unanswered requests of a connection that ended, maybe over one of them.
    pub(crate) fn ended_over(&mut self, family: ServerFamily, lost: &VecDeque<Pending<R>>) {
        let unanswered = &mut self.unknown.get_or_insert_default().unanswered;
        let opcodes = lost.iter().map(|pending| pending.opcode);
        unanswered.connection_ended(family, self.answered, opcodes);
    }

    /// Takes over what the session before this one knew of the servers.
    pub(crate) fn inherit(&mut self, former: &Self) {
        self.answered = former.answered;
        if let Some(former) = &former.unknown {
            self.unknown.get_or_insert_default().unanswered = former.unanswered.clone();
        }
    }

    /// Returns the oldest request without an answer, and when it was submitted.
    pub(crate) fn oldest(&self) -> Option<(OpCode, Instant)> {
        self.in_flight.front().map(|oldest| (oldest.opcode, oldest.sent_at))
    }

    pub(crate) fn drain_into(&mut self, output: &mut BytesMut) {
        self.outbox.drain_into(output);
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.outbox.shrink_to_fit();
        self.in_flight.shrink_to_fit();
        self.queued.shrink_to_fit();
        if self.queued_frames.is_empty() {
            self.queued_frames = BytesMut::new();
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(crate) fn are_full(&self) -> bool {
        self.in_flight.len() + self.queued.len() >= self.limits.max_in_flight
            || self.queued_bytes() >= self.limits.max_queued_bytes
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.outbox.len() + self.queued_frames.len()
    }

    fn number<Q: Request>(&self, now: Instant, purpose: Purpose<R>) -> Pending<R> {
        Pending { xid: self.last_xid.next(), opcode: Q::OPCODE, sent_at: now, purpose }
    }
}

/// A frame that is longer takes long to send over a slow link.
const LONG_FRAME: usize = 32 * 1024;

/// More bytes that wait for the transport take long, too, whatever they belong to. Requests without data are fewer
/// bytes, as many as may be in flight by default.
const LONG_QUEUE: usize = 256 * 1024;

/// The length of the head of a frame, which does not count.
const FRAME_HEAD_LEN: usize = 4;

#[inline]
fn put_request<Q: Request>(
    frames: &mut BytesMut,
    limit: usize,
    xid: Xid,
    request: &Q,
) -> Result<(), SubmitError> {
    let header = RequestHeader { xid, opcode: Q::OPCODE };
    put_frame(frames, limit, &header, request).map_err(too_large)
}

/// Returns the error of a request that may be sent later: it is no longer than the caller allows.
#[cold]
fn suspected(error: SubmitError, max_frame: usize) -> SubmitError {
    match error {
        SubmitError::TooLarge { length, limit } if length <= max_frame => {
            SubmitError::Suspected { length, limit }
        }
        error => error,
    }
}

#[cold]
fn too_large(error: FrameError) -> SubmitError {
    match error {
        FrameError::TooLong { length, limit } => SubmitError::TooLarge { length, limit },
        // In a frame to be written, only the length can be wrong.
        _ => SubmitError::TooLarge { length: usize::MAX, limit: DEFAULT_MAX_FRAME },
    }
}

#[cfg(test)]
mod tests {
    use zk_jute::records::CloseSession;

    use super::*;

    /// The number after the largest is 1. No number is negative, because the reserved ones are
    /// (`ClickHouse` #44415).
    #[test]
    fn numbers_wrap_to_one() {
        let mut requests = Requests::new(Limits::default());
        requests.last_xid = Xid::new(i32::MAX - 2);
        for _ in 0..4 {
            let sent = requests.send(Instant::ORIGIN, &CloseSession, Purpose::Caller(()));
            assert_eq!(sent, Ok(()));
        }
        let xids = [i32::MAX - 1, i32::MAX, 1, 2];
        for xid in xids.map(Xid::new) {
            let answered = requests.answered_by(xid).map(|pending| pending.xid);
            assert_eq!(answered, Ok(xid));
        }
    }

    #[test]
    fn a_request_that_was_refused_for_its_size_takes_no_number() {
        let limits = Limits { max_frame: 7, ..Limits::default() };
        let mut requests = Requests::new(limits);
        let refused = SubmitError::TooLarge { length: 8, limit: 7 };
        let sent = requests.send(Instant::ORIGIN, &CloseSession, Purpose::Caller(()));
        assert_eq!(sent, Err(refused));
        assert_eq!(requests.last_xid, Xid::default());
        assert_eq!(requests.in_flight(), 0);
        assert_eq!(requests.outbox.len(), 0);
    }
}

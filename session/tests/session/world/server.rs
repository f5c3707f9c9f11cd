//! The requests that a server has read, and the proof that its answers are.

use core::time::Duration;
use std::collections::VecDeque;

use bytes::{Buf, BytesMut};
use zk_jute::records::ConnectRequest;
use zk_jute::{Decode, ErrorCode, OpCode, RequestHeader, Xid, frame_len};
use zk_session::Instant;

/// The server's knowledge, and the time until which the session may believe in its lease.
#[derive(Default)]
pub(crate) struct Server {
    pub(crate) input: BytesMut,
    pub(crate) handshake_at: Option<Instant>,
    pub(crate) requests: VecDeque<(Xid, Instant)>,
    /// The last request that was a token. It is none of the session, so its answer proves nothing.
    pub(crate) last_token: Option<Xid>,
    /// The last request that was a multi, as a heartbeat is.
    pub(crate) last_multi: Option<Xid>,
    pub(crate) ping_at: Option<Instant>,
    /// It has no leader: nothing that it says proves anything.
    pub(crate) cut_off: bool,
    /// The least timeout that was granted to the session, if a server of the ensemble made it.
    pub(crate) least: Option<Duration>,
    pub(crate) bound: Instant,
}

impl Server {
    /// Notes an accepted handshake: the server's clock starts again, but counts with the least
    /// timeout.
    pub(crate) fn granted(&mut self, timeout: Duration) {
        let sent_at = self.handshake_at.expect("a handshake was sent");
        self.least = Some(self.least.map_or(timeout, |least| least.min(timeout)));
        self.bound = sent_at + self.lease();
    }

    /// Notes a session that a read-only server makes by itself; the next one replaces it.
    pub(crate) fn granted_read_only(&mut self, timeout: Duration) {
        self.least = self.least.map(|least| least.min(timeout));
    }

    fn lease(&self) -> Duration {
        self.least.unwrap_or_default() * 9 / 10
    }

    pub(crate) fn prove(&mut self, sent_at: Option<Instant>) {
        if let Some(sent_at) = sent_at
            && !self.cut_off
        {
            self.bound = self.bound.max(sent_at + self.lease());
        }
    }

    /// Returns the oldest request: the next answer is for it.
    pub(crate) fn oldest(&self) -> Option<Xid> {
        self.requests.front().map(|&(xid, _)| xid)
    }

    /// Notes the answer with this number. It comes in order, or violates the protocol, which proves nothing; nor does
    /// a ping that is answered with an error.
    pub(crate) fn prove_by_answer(&mut self, xid: Xid, error: ErrorCode) {
        if xid == Xid::PING {
            let sent_at = self.ping_at.take();
            self.prove(sent_at.filter(|_| error == ErrorCode::OK));
        } else if self.oldest() == Some(xid) {
            let answered = self.requests.pop_front();
            if self.last_token != Some(xid) {
                self.prove(answered.map(|(_, sent_at)| sent_at));
            }
        }
    }

    /// Bytes of which nothing says what, and how much, they answer.
    pub(crate) fn prove_all(&mut self) {
        self.prove(self.requests.back().map(|&(_, sent_at)| sent_at));
        self.prove(self.ping_at);
    }

    pub(crate) fn read(&mut self, now: Instant) {
        while let Some(length) = frame_len(&self.input, usize::MAX).expect("a frame") {
            self.input.advance(4);
            let frame = self.input.split_to(length);
            if self.handshake_at.is_none() {
                ConnectRequest::decode_exact(&frame).expect("a handshake");
                self.handshake_at = Some(now);
                continue;
            }
            let header = RequestHeader::decode_prefix(&frame).expect("a header");
            match header.opcode {
                OpCode::SASL => self.last_token = Some(header.xid),
                OpCode::MULTI => self.last_multi = Some(header.xid),
                _ => {}
            }
            match header.xid {
                Xid::PING => self.ping_at = Some(now),
                Xid::AUTH => {}
                xid => self.requests.push_back((xid, now)),
            }
        }
    }

    pub(crate) fn disconnect(&mut self) {
        *self = Self { least: self.least, bound: self.bound, ..Self::default() };
    }
}

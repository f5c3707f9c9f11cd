//! A client's connection and its state.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use bytes::{Buf as _, BytesMut};
use zk_jute::records::{EventType, KeeperState, WatcherEvent};
use zk_jute::{Encode, ErrorCode, OpCode, ReplyHeader, SessionId, Xid, Zxid, put_frame};

use crate::access::Identities;
use crate::forward::Ticket;
use crate::time::Instant;
use crate::transport::ConnectionId;

/// A buffer that grew above this size is freed once its input is read.
const KEPT_CAPACITY: usize = 16 << 10;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
    /// The latest moment for the session to begin.
    pub(super) handshake_due: Instant,
    pub(super) phase: Phase,
    /// Bytes that were received and not read: part of a frame, or requests that have to wait.
    input: BytesMut,
    /// How many bytes of `input` are requests that were counted.
    counted: usize,
    pub(super) intake: Intake,
    output: BytesMut,
    deliverability: Deliverability,
    next_ticket: u64,
    pub(super) frames_received: u64,
    pub(super) frames_sent: u64,
}

/// The intake: every complete frame was read, or a frame waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intake {
    /// Every complete frame was read.
    Starved,
    /// A frame waits: for the client to take its replies, or for a write to be committed.
    Stalled,
}

/// The deliverability of frames: all of them, or one had to be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deliverability {
    Whole,
    /// One was longer than its length can tell.
    Lost,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Nothing was received, or too little to tell what it is.
    Greeting,
    /// The handshake was read, and the leader decides on it.
    Handshaking(Handshake),
    /// The connection has a session.
    Established(Established),
    /// The server sends the rest of its answers, and reads nothing more.
    Closing,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    pub(super) ticket: Ticket,
    pub(super) session: SessionId,
    pub(super) timeout: Duration,
    pub(super) answer: HandshakeAnswer,
}

/// The form of the handshake's answer, which matches the client's: with the last byte, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeAnswer {
    WithReadOnly,
    /// A client from before 3.4.
    WithoutReadOnly,
}

#[derive(Debug)]
pub(super) struct Established {
    pub(super) session: SessionId,
    pub(super) scope: Scope,
    pub(super) timeout: Duration,
    pub(super) identities: Identities,
    /// Requests that were forwarded and not answered, oldest first.
    pub(super) pending: VecDeque<Pending>,
}

/// Which servers know a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Ensemble,
    /// Only this replica, which is cut off from the others.
    Local,
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) ticket: Ticket,
    pub(super) xid: Xid,
    pub(super) awaited: Awaited,
}

/// The answer to a forwarded request if it succeeds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The result of the one operation.
    Single(CreateReply),
    /// The result of each operation.
    Multi(Vec<CreateReply>),
    SessionClosed,
    /// The path of the `sync`, which may be null.
    Synced(Option<String>),
}

/// The form in which the creation of a znode is answered; without meaning for other operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CreateReply {
    Path,
    PathAndStat,
}

impl Connection {
    pub(super) fn new(peer: SocketAddr, handshake_due: Instant) -> Self {
        Self {
            peer,
            handshake_due,
            phase: Phase::Greeting,
            input: BytesMut::new(),
            counted: 0,
            intake: Intake::Starved,
            output: BytesMut::new(),
            deliverability: Deliverability::Whole,
            next_ticket: 0,
            frames_received: 0,
            frames_sent: 0,
        }
    }

    pub(super) fn next_ticket(&mut self, connection: ConnectionId) -> Ticket {
        let number = self.next_ticket;
        self.next_ticket += 1;
        Ticket { connection, number }
    }

    pub(super) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    /// Counts the requests that end in `bytes`, which come behind the kept input and are taken
    /// next. Each request counts once, when its last byte comes, even if it cannot be read yet.
    /// Authentication does not count.
    pub(super) fn count_requests(&mut self, bytes: &[u8]) -> usize {
        let kept = self.input.get(self.counted..).unwrap_or_default();
        let (mut at, mut requests) = (0, 0);
        while let Some(length) = frame_length(kept, bytes, at) {
            let opcode = int_at(kept, bytes, at + 8).map(OpCode::new);
            requests += usize::from(!matches!(opcode, Some(OpCode::AUTH | OpCode::SASL)));
            at += length;
        }
        self.counted += at;
        requests
    }

    /// Takes the kept input, with `bytes` behind it.
    pub(super) fn take_input(&mut self, bytes: &[u8]) -> BytesMut {
        self.input.extend_from_slice(bytes);
        core::mem::take(&mut self.input)
    }

    /// Keeps input that could not be read.
    pub(super) fn keep_input(&mut self, rest: &[u8], used: usize) {
        self.counted = self.counted.saturating_sub(used);
        self.input.extend_from_slice(rest);
    }

    /// Gives back what [`Connection::take_input`] took, less what was read.
    pub(super) fn put_back(&mut self, mut input: BytesMut, used: usize) {
        self.counted = self.counted.saturating_sub(used);
        input.advance(used.min(input.len()));
        if !input.is_empty() || input.capacity() <= KEPT_CAPACITY {
            self.input = input;
        }
    }

    pub(super) fn unsent(&self) -> usize {
        self.output.len()
    }

    /// Sends a reply to a request.
    pub(super) fn reply(&mut self, xid: Xid, zxid: Zxid, body: &impl Encode) {
        let error = ErrorCode::OK;
        self.send(&ReplyHeader { xid, zxid, error }, body);
    }

    /// Sends a refusal, which has no body.
    pub(super) fn refuse(&mut self, xid: Xid, zxid: Zxid, error: ErrorCode) {
        self.send(&ReplyHeader { xid, zxid, error }, &());
    }

    pub(super) fn send(&mut self, header: &impl Encode, body: &impl Encode) {
        self.frames_sent += 1;
        if put_frame(&mut self.output, usize::MAX, header, body).is_err() {
            self.deliverability = Deliverability::Lost;
        }
    }

    /// Sends a watch event.
    pub(super) fn send_event(&mut self, zxid: Zxid, kind: EventType, path: &str) {
        let header = ReplyHeader { xid: Xid::NOTIFICATION, zxid, error: ErrorCode::OK };
        let state = KeeperState::SYNC_CONNECTED;
        self.send(&header, &WatcherEvent { kind, state, path });
    }

    /// Returns whether everything for this client can still reach it, and has not grown beyond
    /// `limit`.
    pub(super) fn is_deliverable(&self, limit: usize) -> bool {
        self.deliverability == Deliverability::Whole && self.output.len() <= limit
    }

    /// Sends text that is no frame.
    pub(super) fn send_text(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
    }

    pub(super) fn drain_into(&mut self, output: &mut BytesMut) {
        if output.is_empty() {
            core::mem::swap(output, &mut self.output);
        } else {
            output.extend_from_slice(&self.output);
            self.output.clear();
        }
    }
}

/// Returns the length of the frame at `at` of `kept` and `bytes` together, its length field
/// included, if the frame is complete.
fn frame_length(kept: &[u8], bytes: &[u8], at: usize) -> Option<usize> {
    let length = usize::try_from(int_at(kept, bytes, at)?).ok()?.checked_add(4)?;
    let end = at.checked_add(length)?;
    (length > 4 && end <= kept.len() + bytes.len()).then_some(length)
}

fn int_at(kept: &[u8], bytes: &[u8], at: usize) -> Option<i32> {
    let mut int = [0; 4];
    for (offset, byte) in int.iter_mut().enumerate() {
        let at = at + offset;
        let found = kept.get(at).or_else(|| bytes.get(at.checked_sub(kept.len())?));
        *byte = *found?;
    }
    Some(i32::from_be_bytes(int))
}

//! One session, a clock, and a server that does as it is told.

use core::num::NonZeroUsize;
use core::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use zk_jute::records::{
    ConnectRequest, ConnectResponse, EventType, KeeperState, MultiResponse, MultiResult,
    WatcherEvent,
};
use zk_jute::{
    Decode, Encode, ErrorCode, OpCode, ReplyHeader, RequestHeader, SessionId, Xid, Zxid, frame_len,
};
use zk_session::lease::LeaseGrade;
use zk_session::{
    Config, Event, Instant, ServerIndex, Session, TransportCommand, WatchId, Watching,
};

use crate::world::automaton::Automaton;

/// The session timeout that the scripted server grants.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(6);
/// Until when evidence proves the lease, after it was sent.
pub(crate) const LEASE: Duration = Duration::from_millis(5400);
/// The session that the scripted server grants.
pub(crate) const SESSION: SessionId = SessionId::new(0x0100_0011_4fe6_0000);
pub(crate) const PASSWORD: [u8; 16] = *b"sixteen bytes ok";

pub(crate) struct Lab {
    pub(crate) session: Session<u32, u32>,
    pub(crate) now: Instant,
    automaton: Automaton,
    sent: BytesMut,
}

/// A request as the server reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) xid: Xid,
    pub(crate) opcode: OpCode,
    pub(crate) body: Bytes,
}

/// A handshake as the server reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) server: ServerIndex,
    pub(crate) last_zxid_seen: Zxid,
    pub(crate) session: SessionId,
    pub(crate) password: Vec<u8>,
    pub(crate) timeout: i32,
    pub(crate) read_only: Option<bool>,
}

impl Lab {
    /// Makes a session that has not been polled yet, for one server.
    pub(crate) fn new() -> Self {
        Self::with(1, |_| ())
    }

    pub(crate) fn with(servers: usize, adjust: impl FnOnce(&mut Config)) -> Self {
        let mut config = Self::config(servers);
        adjust(&mut config);
        Self::of(Session::new(config, 1, Instant::ORIGIN), Instant::ORIGIN)
    }

    pub(crate) fn config(servers: usize) -> Config {
        let mut config = Config::new(NonZeroUsize::new(servers).expect("a server"));
        config.session_timeout = TIMEOUT;
        config.grade = LeaseGrade::Contact;
        config
    }

    /// Makes a lab of this session, which has not been polled yet.
    pub(crate) fn of(session: Session<u32, u32>, now: Instant) -> Self {
        Self { session, now, automaton: Automaton::Apart, sent: BytesMut::new() }
    }

    /// Makes a session that a server has granted.
    pub(crate) fn connected() -> Self {
        Self::connected_with(|_| ())
    }

    pub(crate) fn connected_with(adjust: impl FnOnce(&mut Config)) -> Self {
        let mut lab = Self::with(1, adjust);
        lab.connect();
        lab
    }

    /// Lets time pass without a word to the session.
    pub(crate) fn sleep(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
    }

    /// Lets time pass, with a call whenever the session wants one.
    pub(crate) fn pass(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while let Some(at) = self.session.poll_timeout().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            self.tick();
        }
        self.now = end;
    }

    pub(crate) fn tick(&mut self) {
        self.session.handle_timeout(self.now);
    }

    /// Lets time pass until the session wants a transport, and opens it.
    pub(crate) fn open(&mut self) -> Handshake {
        let server = self.wanted_server();
        self.session.handle_opened(self.now);
        let frame = self.next_frame().expect("a handshake");
        let request = ConnectRequest::decode_exact(&frame).expect("a handshake");
        assert!(self.next_frame().is_none(), "nothing before the answer");
        Handshake {
            server,
            last_zxid_seen: request.last_zxid_seen,
            session: request.session_id,
            password: request.password.unwrap_or_default().to_vec(),
            timeout: request.timeout,
            read_only: request.read_only,
        }
    }

    /// Lets time pass until the session wants a transport.
    pub(crate) fn wanted_server(&mut self) -> ServerIndex {
        for _ in 0..10 {
            match self.session.poll_transport() {
                Some(TransportCommand::Connect(server)) => return server,
                Some(TransportCommand::Disconnect) => {}
                None => {
                    let at = self.session.poll_timeout().expect("a session that goes on");
                    self.now = self.now.max(at);
                    self.tick();
                }
            }
        }
        unreachable!("no attempt to connect")
    }

    pub(crate) fn accept(&mut self) {
        self.accept_as(SESSION, TIMEOUT);
    }

    pub(crate) fn accept_as(&mut self, session_id: SessionId, timeout: Duration) {
        self.receive(&ConnectResponse {
            protocol_version: 0,
            timeout: i32::try_from(timeout.as_millis()).expect("a timeout"),
            session_id,
            password: Some(&PASSWORD),
            read_only: Some(false),
        });
    }

    pub(crate) fn accept_read_only(&mut self, session_id: SessionId) {
        self.receive(&ConnectResponse {
            protocol_version: 0,
            timeout: i32::try_from(TIMEOUT.as_millis()).expect("a timeout"),
            session_id,
            password: Some(&PASSWORD),
            read_only: Some(true),
        });
    }

    pub(crate) fn connect(&mut self) -> Handshake {
        let handshake = self.open();
        self.accept();
        handshake
    }

    pub(crate) fn receive(&mut self, payload: &impl Encode) {
        self.session.handle_frame(self.now, encoded(payload));
    }

    /// Answers with a header and nothing behind it.
    pub(crate) fn reply(&mut self, xid: Xid, zxid: i64, error: ErrorCode) {
        self.receive(&header(xid, zxid, error));
    }

    /// Answers a heartbeat, of which the server says this, as it says it of a multi.
    pub(crate) fn answer_heartbeat(
        &mut self,
        heartbeat: &Sent,
        zxid: i64,
        result: MultiResult<'_>,
    ) {
        assert_eq!(heartbeat.opcode, OpCode::MULTI);
        let mut frame = BytesMut::new();
        header(heartbeat.xid, zxid, ErrorCode::OK).encode(&mut frame);
        MultiResponse::new(&[result]).encode(&mut frame);
        self.session.handle_frame(self.now, frame.freeze());
    }

    pub(crate) fn pong(&mut self, zxid: i64) {
        self.reply(Xid::PING, zxid, ErrorCode::OK);
    }

    pub(crate) fn notify(&mut self, zxid: i64, kind: EventType, path: &str) {
        self.session.handle_frame(self.now, notification(zxid, kind, path));
    }

    pub(crate) fn close_by_server(&mut self) {
        self.session.handle_closed(self.now);
    }

    /// Watches a znode that exists; the server answers with this zxid.
    pub(crate) fn watch(&mut self, read: Watching<'_>, watcher: u32, zxid: i64) -> WatchId {
        self.watch_answered(read, watcher, zxid, ErrorCode::OK)
    }

    pub(crate) fn watch_answered(
        &mut self,
        read: Watching<'_>,
        watcher: u32,
        zxid: i64,
        error: ErrorCode,
    ) -> WatchId {
        let submitted = self.session.submit_watching(self.now, 0, read, watcher);
        let id = submitted.expect("accepted");
        let sent = self.sent_one();
        assert_eq!(sent.body.last(), Some(&1), "the watch flag");
        self.reply(sent.xid, zxid, error);
        self.events();
        id
    }

    /// Returns the requests that the server has read since the last call.
    pub(crate) fn sent(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        while let Some(mut body) = self.next_frame() {
            let header = RequestHeader::decode_prefix(&body).expect("a request");
            body.advance(8);
            sent.push(Sent { xid: header.xid, opcode: header.opcode, body });
        }
        sent
    }

    pub(crate) fn sent_one(&mut self) -> Sent {
        let [sent] = self.sent().try_into().expect("exactly one request");
        sent
    }

    pub(crate) fn opcodes_sent(&mut self) -> Vec<OpCode> {
        self.sent().into_iter().map(|sent| sent.opcode).collect()
    }

    /// Returns the events since the last call.
    pub(crate) fn events(&mut self) -> Vec<Event<u32, u32>> {
        let events: Vec<_> = core::iter::from_fn(|| self.session.poll_event()).collect();
        for event in &events {
            self.automaton.follow(event);
        }
        events
    }

    fn next_frame(&mut self) -> Option<Bytes> {
        let mut output = BytesMut::new();
        self.session.poll_transmit(&mut output);
        self.sent.unsplit(output);
        let length = frame_len(&self.sent, usize::MAX).expect("a length")?;
        self.sent.advance(4);
        Some(self.sent.split_to(length).freeze())
    }
}

pub(crate) fn header(xid: Xid, zxid: i64, error: ErrorCode) -> ReplyHeader {
    ReplyHeader { xid, zxid: Zxid::new(zxid), error }
}

pub(crate) fn notification(zxid: i64, kind: EventType, path: &str) -> Bytes {
    let mut frame = BytesMut::new();
    header(Xid::NOTIFICATION, zxid, ErrorCode::OK).encode(&mut frame);
    let state = KeeperState::SYNC_CONNECTED;
    WatcherEvent { kind, state, path }.encode(&mut frame);
    frame.freeze()
}

pub(crate) fn encoded(payload: &impl Encode) -> Bytes {
    let mut frame = BytesMut::new();
    payload.encode(&mut frame);
    frame.freeze()
}

pub(crate) fn after(millis: u64) -> Instant {
    Instant::since_origin(Duration::from_millis(millis))
}

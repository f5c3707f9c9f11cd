//! A server, its clients and its time: what the tests of the core stand on.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::VecDeque;

use bytes::{Buf as _, BytesMut};
use zk_embedded::{Config, ConnectionId, ExtendedTypes, Instant, Standalone, Transmit};
use zk_jute::records::{ConnectRequest, ConnectResponse, EventType, WatcherEvent};
use zk_jute::{
    DEFAULT_MAX_FRAME, Decode, Encode, ErrorCode, OpCode, ReplyHeader, Request, RequestHeader,
    SessionId, Xid, Zxid, frame_len, put_frame,
};

/// A reply's header and body.
pub(crate) type Reply = (ReplyHeader, Vec<u8>);

/// The session timeout of most clients.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct World {
    pub(crate) server: Standalone,
    pub(crate) now: Instant,
}

/// Makes a server that allows everything, at the beginning of time.
pub(crate) fn world() -> World {
    let mut config = Config::default();
    config.extended_types = ExtendedTypes::Enabled;
    config.super_digest = Some("super:xQJmxLMiHGwaqBvst5y6rkB6HQs=".to_owned());
    World::new(&config)
}

impl World {
    pub(crate) fn new(config: &Config) -> Self {
        let now = Instant::ORIGIN;
        Self { server: Standalone::new(now, config), now }
    }

    pub(crate) fn open_from(&mut self, peer: &str) -> Connection {
        let peer: SocketAddr = peer.parse().expect("an address");
        let id = self.server.open(self.now, peer).expect("below the limits");
        Connection { id, received: BytesMut::new(), is_closed: false, next_xid: Xid::FIRST }
    }

    pub(crate) fn open(&mut self) -> Connection {
        self.open_from("127.0.0.1:50000")
    }

    /// Makes a client with a new session.
    pub(crate) fn client(&mut self) -> Client {
        let mut connection = self.open();
        let granted = connection.shake_hands(self, &new_session()).expect("a session");
        Client { connection, granted, notifications: VecDeque::new() }
    }

    pub(crate) fn advance(&mut self, span: Duration) {
        self.now = self.now + span;
        self.server.handle_timeout(self.now);
    }

    /// Goes on to the moment that the server wants to be woken at.
    pub(crate) fn advance_to_timeout(&mut self) {
        self.now = self.server.poll_timeout().expect("something is due").max(self.now);
        self.server.handle_timeout(self.now);
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        let paths = self.server.database().znodes().map(|(path, _)| path.to_owned());
        paths.filter(|path| path != "/" && !path.starts_with("/zookeeper")).collect()
    }

    pub(crate) fn zxid(&self) -> i64 {
        self.server.database().last_zxid().get()
    }
}

pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    received: BytesMut,
    pub(crate) is_closed: bool,
    next_xid: Xid,
}

/// The session and its timeout, as a server granted them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) session: SessionId,
    pub(crate) password: Vec<u8>,
    pub(crate) timeout: i32,
    pub(crate) read_only: Option<bool>,
}

pub(crate) fn new_session() -> ConnectRequest<'static> {
    ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: Zxid::ZERO,
        timeout: i32::try_from(TIMEOUT.as_millis()).expect("a short time"),
        session_id: SessionId::NONE,
        password: Some(&[0; 16]),
        read_only: Some(false),
    }
}

impl Granted {
    pub(crate) fn again(&self) -> ConnectRequest<'_> {
        let session_id = self.session;
        ConnectRequest { session_id, password: Some(&self.password), ..new_session() }
    }
}

impl Connection {
    pub(crate) fn send(&mut self, world: &mut World, bytes: &[u8]) {
        world.server.receive(world.now, self.id, bytes);
        self.take(world);
    }

    pub(crate) fn send_frame(
        &mut self,
        world: &mut World,
        header: &impl Encode,
        body: &impl Encode,
    ) {
        let bytes = frame(header, body);
        self.send(world, &bytes);
    }

    /// Takes all that the server has for this connection.
    pub(crate) fn take(&mut self, world: &mut World) {
        while !self.is_closed {
            let mut output = BytesMut::new();
            let transmit = world.server.poll_transmit(world.now, self.id, &mut output);
            self.received.extend_from_slice(&output);
            if transmit == Transmit::Close {
                self.is_closed = true;
                world.server.close(self.id);
            } else if output.is_empty() {
                break;
            }
        }
    }

    pub(crate) fn next_frame(&mut self) -> Option<Vec<u8>> {
        let length = frame_len(&self.received, usize::MAX).expect("a sound length")?;
        self.received.advance(4);
        Some(self.received.split_to(length).to_vec())
    }

    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.received.split().to_vec()
    }

    /// Shakes hands; `None` if the server closed the connection instead.
    pub(crate) fn shake_hands(
        &mut self,
        world: &mut World,
        request: &ConnectRequest<'_>,
    ) -> Option<Granted> {
        self.send_frame(world, &(), request);
        let frame = self.next_frame()?;
        let response = ConnectResponse::decode_exact(&frame).expect("a connect response");
        Some(Granted {
            session: response.session_id,
            password: response.password.expect("a password").to_vec(),
            timeout: response.timeout,
            read_only: response.read_only,
        })
    }
}

pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) granted: Granted,
    notifications: VecDeque<(EventType, String, Zxid)>,
}

impl Client {
    pub(crate) fn session(&self) -> SessionId {
        self.granted.session
    }

    /// Sends a request and takes its reply; events that came before it are kept.
    pub(crate) fn request<R: Request>(&mut self, world: &mut World, request: &R) -> Reply {
        let mut body = Vec::new();
        request.encode(&mut body);
        self.raw_request(world, R::OPCODE, &body)
    }

    pub(crate) fn raw_request(&mut self, world: &mut World, opcode: OpCode, body: &[u8]) -> Reply {
        let xid = self.connection.next_xid;
        self.connection.next_xid = xid.next();
        let header = RequestHeader { xid, opcode };
        let mut bytes = BytesMut::new();
        let mut payload = Vec::new();
        header.encode(&mut payload);
        payload.extend_from_slice(body);
        put_frame(&mut bytes, DEFAULT_MAX_FRAME, &Raw(&payload), &()).expect("a short frame");
        self.connection.send(world, &bytes);
        let (header, body) = self.next_reply().expect("a reply");
        if header.xid != Xid::PING {
            assert_eq!(header.xid, xid);
        }
        (header, body)
    }

    /// Returns the error code of a request.
    pub(crate) fn code<R: Request>(&mut self, world: &mut World, request: &R) -> ErrorCode {
        self.request(world, request).0.error
    }

    pub(crate) fn next_reply(&mut self) -> Option<Reply> {
        loop {
            let frame = self.connection.next_frame()?;
            let header = ReplyHeader::decode_prefix(&frame).expect("a header");
            let body = frame[16..].to_vec();
            if header.xid != Xid::NOTIFICATION {
                return Some((header, body));
            }
            let event = WatcherEvent::decode_exact(&body).expect("an event");
            self.notifications.push_back((event.kind, event.path.to_owned(), header.zxid));
        }
    }

    /// Returns the events since the last call.
    pub(crate) fn events(&mut self, world: &mut World) -> Vec<(EventType, String)> {
        self.events_with_zxid(world).into_iter().map(|(kind, path, _)| (kind, path)).collect()
    }

    pub(crate) fn events_with_zxid(&mut self, world: &mut World) -> Vec<(EventType, String, Zxid)> {
        self.connection.take(world);
        assert_eq!(self.next_reply(), None, "a reply to no request");
        self.notifications.drain(..).collect()
    }
}

struct Raw<'a>(&'a [u8]);

impl Encode for Raw<'_> {
    fn encode<W: zk_jute::Writer + ?Sized>(&self, writer: &mut W) {
        writer.put(self.0);
    }
}

pub(crate) fn frame(header: &impl Encode, body: &impl Encode) -> BytesMut {
    let mut bytes = BytesMut::new();
    put_frame(&mut bytes, DEFAULT_MAX_FRAME, header, body).expect("a short frame");
    bytes
}

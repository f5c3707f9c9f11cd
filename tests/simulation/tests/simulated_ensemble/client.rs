//! A client, down to its bytes.

use std::collections::VecDeque;

use bytes::{Buf as _, BytesMut};
use zk_embedded::{ConnectionId, Instant, Transmit};
use zk_jute::records::{
    ConnectRequest, ConnectResponse, CreateMode, CreateRequest, CreateResponse, ExistsRequest,
    Ping, SyncRequest,
};
use zk_jute::{
    DEFAULT_MAX_FRAME, Decode, Encode, ErrorCode, ReplyHeader, Request, RequestHeader, SessionId,
    Vector, Xid, Zxid, frame_len, put_frame,
};
use zk_simulation::ensemble::{Member, MemberId};

use crate::network::Network;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientId(pub(crate) usize);

/// A client, as a test holds it.
pub(crate) struct Client {
    /// The timeout that it asks for, in milliseconds.
    timeout: i32,
    reader: Reader,
    transport: Transport,
    received: BytesMut,
    granted: Option<Granted>,
    /// Set once the handshake of the present connection was answered.
    is_established: bool,
    pub(crate) replies: VecDeque<Reply>,
    next_xid: i32,
    last_zxid: Zxid,
    /// How often a session was refused.
    pub(crate) refusals: usize,
}

/// The reader of what members send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// The client itself.
    Client,
    /// A session outside of the network, which also writes.
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Closed,
    Open(MemberId, ConnectionId),
}

#[derive(Clone, Debug)]
struct Granted {
    session: SessionId,
    password: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) xid: Xid,
    pub(crate) zxid: Zxid,
    pub(crate) error: ErrorCode,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Returns the path of a znode that was created.
    pub(crate) fn path(&self) -> String {
        let response = CreateResponse::decode_exact(&self.body).expect("a path");
        response.path.to_owned()
    }
}

impl Client {
    /// Makes a client that asks for this timeout, in milliseconds.
    pub(crate) fn new(timeout: i32) -> Self {
        Self::read_by(Reader::Client, timeout)
    }

    /// Makes the transport of a session.
    pub(crate) fn transport() -> Self {
        Self::read_by(Reader::Session, 0)
    }

    fn read_by(reader: Reader, timeout: i32) -> Self {
        Self {
            timeout,
            reader,
            transport: Transport::Closed,
            received: BytesMut::new(),
            granted: None,
            is_established: false,
            replies: VecDeque::new(),
            next_xid: 0,
            last_zxid: Zxid::ZERO,
            refusals: 0,
        }
    }

    /// Sets the timeout that it asks for from its next connection on, in milliseconds.
    pub(crate) const fn ask_for(&mut self, timeout: i32) {
        self.timeout = timeout;
    }

    /// Returns the session, while this is connected in it.
    pub(crate) fn session(&self) -> Option<SessionId> {
        let granted = self.granted.as_ref().filter(|_| self.is_established);
        granted.map(|granted| granted.session)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.transport == Transport::Closed
    }

    pub(crate) fn place(&self) -> Option<(MemberId, ConnectionId)> {
        match self.transport {
            Transport::Closed => None,
            Transport::Open(member, connection) => Some((member, connection)),
        }
    }

    pub(crate) fn member(&self) -> Option<MemberId> {
        self.place().map(|(member, _)| member)
    }

    pub(crate) fn is_at(&self, member: MemberId, connection: ConnectionId) -> bool {
        self.transport == Transport::Open(member, connection)
    }

    /// Opens a connection, on which nothing is sent yet.
    pub(crate) fn open(&mut self, member: &mut Member, now: Instant) -> ConnectionId {
        let peer = "127.0.0.1:4000".parse().expect("an address");
        let connection = member.open(now, peer).expect("below the limits");
        self.transport = Transport::Open(member.id(), connection);
        connection
    }

    pub(crate) fn connect(&mut self, member: &mut Member, now: Instant) {
        let connection = self.open(member, now);
        let (session_id, password) = self
            .granted
            .as_ref()
            .map_or((SessionId::NONE, &[0; 16][..]), |known| (known.session, &known.password));
        let request = ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: self.last_zxid,
            timeout: self.timeout,
            session_id,
            password: Some(password),
            read_only: Some(false),
        };
        member.receive(now, connection, &frame(&(), &request));
    }

    pub(crate) fn lose_connection(&mut self) {
        self.transport = Transport::Closed;
        self.is_established = false;
        self.received.clear();
    }

    /// Takes what the member has for this client.
    pub(crate) fn take(&mut self, member: &mut Member, now: Instant) {
        while let Transport::Open(_, connection) = self.transport {
            let before = self.received.len();
            let transmit = member.poll_transmit(now, connection, &mut self.received);
            let is_drained = self.received.len() == before;
            if self.reader == Reader::Client {
                self.read();
            }
            if transmit == Transmit::Close {
                member.close(connection);
                self.lose_connection();
            } else if is_drained {
                break;
            }
        }
    }

    /// Takes the bytes that were received for a session.
    pub(crate) fn take_received(&mut self) -> BytesMut {
        self.received.split()
    }

    fn read(&mut self) {
        while let Some(length) = frame_len(&self.received, usize::MAX).expect("a sound length")
            && self.received.len() >= length + 4
        {
            self.received.advance(4);
            let frame = self.received.split_to(length);
            if self.is_established {
                let header = ReplyHeader::decode_prefix(&frame).expect("a header");
                let ReplyHeader { xid, zxid, error } = header;
                self.last_zxid = self.last_zxid.max(zxid);
                let body = frame[16..].to_vec();
                self.replies.push_back(Reply { xid, zxid, error, body });
            } else {
                self.granted(&frame);
            }
        }
    }

    fn granted(&mut self, frame: &[u8]) {
        let response = ConnectResponse::decode_exact(frame).expect("a connect response");
        if response.session_id == SessionId::NONE {
            self.refusals += 1;
            self.granted = None;
        } else {
            let password = response.password.expect("a password").to_vec();
            self.granted = Some(Granted { session: response.session_id, password });
            self.is_established = true;
        }
    }
}

/// Requests, sent now and answered some time.
impl Network {
    pub(crate) fn ask(&mut self, client: ClientId, request: &impl Request) -> Xid {
        self.clients[client.0].next_xid += 1;
        let xid = Xid::new(self.clients[client.0].next_xid);
        self.send_request(client, xid, request);
        xid
    }

    pub(crate) fn ping(&mut self, client: ClientId) {
        self.send_request(client, Xid::PING, &Ping);
    }

    pub(crate) fn sync(&mut self, client: ClientId) -> Xid {
        self.ask(client, &SyncRequest { path: "/" })
    }

    pub(crate) fn exists(&mut self, client: ClientId, path: &str) -> Xid {
        self.ask(client, &ExistsRequest { path, watch: false })
    }

    pub(crate) fn create(&mut self, client: ClientId, path: &str, mode: CreateMode) -> Xid {
        self.ask(client, &CreateRequest { path, data: Some(b""), acl: Vector::OPEN, mode })
    }

    /// Takes the next reply, if it has come.
    pub(crate) fn reply(&mut self, client: ClientId) -> Option<Reply> {
        self.clients[client.0].replies.pop_front()
    }

    /// Waits for the reply to the only request under way.
    pub(crate) fn answer(&mut self, client: ClientId) -> Reply {
        self.wait(crate::network::TICK * 10, "a reply", |network| {
            network[client].replies.front().cloned()
        });
        self.reply(client).expect("a reply")
    }

    fn send_request(&mut self, client: ClientId, xid: Xid, request: &impl Request) {
        let opcode = opcode_of(request);
        self.receive(client, &frame(&RequestHeader { xid, opcode }, request));
    }
}

fn opcode_of<R: Request>(_: &R) -> zk_jute::OpCode {
    R::OPCODE
}

fn frame(header: &impl Encode, body: &impl Encode) -> BytesMut {
    let mut bytes = BytesMut::new();
    put_frame(&mut bytes, DEFAULT_MAX_FRAME, header, body).expect("a short frame");
    bytes
}

//! A blocking client of a few lines, for the tests of the laboratory and as a second opinion.
//!
//! It writes its bytes by hand and shares nothing with the codec. It pings only when told to, and
//! reconnects only when told to.

mod several;

use alloc::collections::VecDeque;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use crate::opcode::Opcode;
pub use several::Created;

/// How long an answer may take.
const BOUND: Duration = Duration::from_secs(30);
/// More than any answer in a test: a length beyond it is a mistake.
const LARGEST_FRAME: usize = 64 << 20;

/// Why a [`RawClient`] did not get what it asked for.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    /// The connection failed, ended, or stayed silent for half a minute.
    #[error("the connection gave no answer")]
    Connection(#[from] io::Error),
    /// The server does not know the session, or no longer.
    #[error("the session has expired")]
    SessionExpired,
    /// The server refused, with this error code.
    #[error("{opcode:?} was refused with code {code}")]
    Refused {
        /// The operation.
        opcode: Opcode,
        /// The error code of the reply.
        code: i32,
    },
    /// An answer that this client cannot read.
    #[error("the answer ends in the middle of its {0}")]
    Truncated(&'static str),
    /// A reply to another request than the one sent.
    #[error("expected the reply to request {expected}, received that to {received}")]
    WrongReply {
        /// The xid sent.
        expected: i32,
        /// The xid received.
        received: i32,
    },
}

/// The id and the password that resume a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawSession {
    /// The session id.
    pub id: i64,
    /// The negotiated session timeout.
    pub timeout: Duration,
    /// The highest zxid that the client has seen.
    pub last_zxid: i64,
    password: Vec<u8>,
}

impl RawSession {
    /// Returns a session by its id alone. ZooKeeper derives the password from the id: 16 bytes of
    /// Java's `Random`, seeded with the id and a constant of its source.
    pub fn by_id_alone(id: i64, timeout: Duration) -> Self {
        const SECRET: i64 = 0xb341_5c00;
        const MULTIPLIER: u64 = 0x5_deec_e66d;
        const MASK: u64 = (1 << 48) - 1;
        let mut state = ((id ^ SECRET).cast_unsigned() ^ MULTIPLIER) & MASK;
        let mut password = Vec::with_capacity(16);
        for _ in 0..4 {
            state = state.wrapping_mul(MULTIPLIER).wrapping_add(0xb) & MASK;
            let [.., a, b, c, d, _, _] = state.to_be_bytes();
            password.extend([d, c, b, a]);
        }
        Self { id, timeout, last_zxid: 0, password }
    }
}

/// How a znode is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// Stays until deleted.
    Persistent,
    /// Ends with its session.
    Ephemeral,
    /// Ends with its session; the server appends a sequence number.
    EphemeralSequential,
}

/// A watch fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The event type: 1 created, 2 deleted, 3 data changed, 4 children changed.
    pub event_type: i32,
    /// The znode.
    pub path: String,
}

/// A reply, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawReply {
    /// The xid of the request.
    pub xid: i32,
    /// The last transaction that the server had applied, or that of the request.
    pub zxid: i64,
    /// The error code of the header.
    pub code: i32,
    /// The bytes behind the header.
    pub body: Vec<u8>,
}

/// One connection of one session.
#[derive(Debug)]
pub struct RawClient {
    stream: TcpStream,
    session: RawSession,
    last_xid: i32,
    notifications: VecDeque<Notification>,
}

impl RawClient {
    /// Opens a session.
    pub fn connect(server: SocketAddr, timeout: Duration) -> Result<Self, RawError> {
        let session = RawSession { id: 0, timeout, last_zxid: 0, password: vec![0; 16] };
        Self::resume(server, &session)
    }

    /// Resumes a session over a new connection.
    pub fn resume(server: SocketAddr, session: &RawSession) -> Result<Self, RawError> {
        let mut stream = TcpStream::connect_timeout(&server, BOUND)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(BOUND))?;
        let timeout = i32::try_from(session.timeout.as_millis()).unwrap_or(i32::MAX);
        let mut request = Vec::new();
        request.extend(0_i32.to_be_bytes());
        request.extend(session.last_zxid.to_be_bytes());
        request.extend(timeout.to_be_bytes());
        request.extend(session.id.to_be_bytes());
        put_buffer(&mut request, &session.password);
        request.push(0);
        send_frame(&mut stream, &request)?;

        let frame = receive_frame(&mut stream)?;
        let mut body = Body(&frame);
        body.int("protocol version")?;
        let timeout = u64::try_from(body.int("timeout")?).unwrap_or_default();
        let id = body.long("session id")?;
        let password = body.buffer("password")?.to_vec();
        if timeout == 0 || id == 0 {
            return Err(RawError::SessionExpired);
        }
        let timeout = Duration::from_millis(timeout);
        let session = RawSession { id, timeout, password, last_zxid: session.last_zxid };
        Ok(Self { stream, session, last_xid: 0, notifications: VecDeque::new() })
    }

    /// Returns the id and the password that resume this session.
    pub const fn session(&self) -> &RawSession {
        &self.session
    }

    /// Sends a ping and waits for its answer.
    pub fn ping(&mut self) -> Result<(), RawError> {
        self.send(-2, Opcode::PING, &[])?;
        self.reply(-2, Opcode::PING).map(|_| ())
    }

    /// Creates a znode without data, open to everyone; gives its path.
    pub fn create(&mut self, path: &str, mode: CreateMode) -> Result<String, RawError> {
        let reply = self.request(Opcode::CREATE, &create_request(path, mode))?;
        let path = Body(&reply).buffer("path")?;
        Ok(String::from_utf8_lossy(path).into_owned())
    }

    /// Sends a `create` and does not wait for its reply.
    pub fn send_create(&mut self, path: &str, mode: CreateMode) -> Result<(), RawError> {
        let xid = self.next_xid();
        self.send(xid, Opcode::CREATE, &create_request(path, mode))
    }

    /// Deletes a znode, whatever its version.
    pub fn delete(&mut self, path: &str) -> Result<(), RawError> {
        let mut body = Vec::new();
        put_buffer(&mut body, path.as_bytes());
        body.extend((-1_i32).to_be_bytes());
        self.request(Opcode::DELETE, &body).map(|_| ())
    }

    /// Whether the znode is there.
    pub fn exists(&mut self, path: &str) -> Result<bool, RawError> {
        self.look(path, 0)
    }

    /// Whether the znode is there; and sets a watch on it.
    pub fn watch(&mut self, path: &str) -> Result<bool, RawError> {
        self.look(path, 1)
    }

    /// Returns the names of the znode's children.
    pub fn children(&mut self, path: &str) -> Result<Vec<String>, RawError> {
        let mut body = Vec::new();
        put_buffer(&mut body, path.as_bytes());
        body.push(0);
        let reply = self.request(Opcode::GET_CHILDREN, &body)?;
        let mut reply = Body(&reply);
        let count = reply.int("count")?;
        (0..count)
            .map(|_| Ok(String::from_utf8_lossy(reply.buffer("child")?).into_owned()))
            .collect()
    }

    /// Waits for a watch to fire.
    pub fn next_notification(&mut self) -> Result<Notification, RawError> {
        loop {
            if let Some(notification) = self.notifications.pop_front() {
                return Ok(notification);
            }
            if let Message::Reply { xid, .. } = self.receive()? {
                return Err(RawError::WrongReply { expected: -1, received: xid });
            }
        }
    }

    /// Reads until the other side ends the connection. Whatever arrives before that is dropped.
    pub fn wait_for_end(mut self) -> Result<(), RawError> {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads until the other side ends the connection; gives what arrives before that.
    pub fn rest(mut self) -> Result<Vec<u8>, RawError> {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => Ok(rest),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(rest),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the session.
    pub fn close(mut self) -> Result<(), RawError> {
        self.request(Opcode::CLOSE_SESSION, &[]).map(|_| ())
    }

    /// Sends a request with a body written by hand; gives the body of its reply.
    pub fn request(&mut self, opcode: Opcode, body: &[u8]) -> Result<Vec<u8>, RawError> {
        let xid = self.next_xid();
        self.send(xid, opcode, body)?;
        self.reply(xid, opcode)
    }

    /// Sends a request with a body written by hand, and does not wait for its reply; gives its xid.
    pub fn send_request(&mut self, opcode: Opcode, body: &[u8]) -> Result<i32, RawError> {
        let xid = self.next_xid();
        self.send(xid, opcode, body)?;
        Ok(xid)
    }

    /// Waits for the next reply, whatever its code; events that come before it are kept.
    pub fn next_reply(&mut self) -> Result<RawReply, RawError> {
        loop {
            if let Message::Reply { xid, zxid, code, body } = self.receive()? {
                return Ok(RawReply { xid, zxid, code, body });
            }
        }
    }

    /// Takes the events that have come so far.
    pub fn notifications(&mut self) -> Vec<Notification> {
        self.notifications.drain(..).collect()
    }

    /// Whether nothing comes for so long. For what is not to come at all: it shows no more than that
    /// it did not come yet.
    pub fn is_silent_for(&mut self, span: Duration) -> Result<bool, RawError> {
        self.stream.set_read_timeout(Some(span))?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(BOUND))?;
        match peeked {
            Ok(_) => Ok(false),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn look(&mut self, path: &str, watch: u8) -> Result<bool, RawError> {
        const NO_NODE: i32 = -101;
        let mut body = Vec::new();
        put_buffer(&mut body, path.as_bytes());
        body.push(watch);
        match self.request(Opcode::EXISTS, &body) {
            Ok(_) => Ok(true),
            Err(RawError::Refused { code: NO_NODE, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    const fn next_xid(&mut self) -> i32 {
        self.last_xid = if self.last_xid == i32::MAX { 1 } else { self.last_xid + 1 };
        self.last_xid
    }

    fn send(&mut self, xid: i32, opcode: Opcode, body: &[u8]) -> Result<(), RawError> {
        let mut request = Vec::new();
        request.extend(xid.to_be_bytes());
        request.extend(opcode.0.to_be_bytes());
        request.extend(body);
        Ok(send_frame(&mut self.stream, &request)?)
    }

    fn reply(&mut self, expected: i32, opcode: Opcode) -> Result<Vec<u8>, RawError> {
        loop {
            match self.receive()? {
                Message::Notified => {}
                Message::Reply { xid, .. } if xid != expected => {
                    return Err(RawError::WrongReply { expected, received: xid });
                }
                Message::Reply { code: 0, body, .. } => return Ok(body),
                Message::Reply { code, .. } => return Err(RawError::Refused { opcode, code }),
            }
        }
    }

    fn receive(&mut self) -> Result<Message, RawError> {
        const NOTIFICATION: i32 = -1;
        let frame = receive_frame(&mut self.stream)?;
        let mut body = Body(&frame);
        let xid = body.int("xid")?;
        let zxid = body.long("zxid")?;
        let code = body.int("error code")?;
        if xid == NOTIFICATION {
            let event_type = body.int("event type")?;
            body.int("state")?;
            let path = String::from_utf8_lossy(body.buffer("path")?).into_owned();
            self.notifications.push_back(Notification { event_type, path });
            return Ok(Message::Notified);
        }
        self.session.last_zxid = self.session.last_zxid.max(zxid);
        Ok(Message::Reply { xid, zxid, code, body: body.0.to_vec() })
    }
}

enum Message {
    Reply { xid: i32, zxid: i64, code: i32, body: Vec<u8> },
    Notified,
}

fn create_request(path: &str, mode: CreateMode) -> Vec<u8> {
    let mut body = Vec::new();
    put_buffer(&mut body, path.as_bytes());
    put_buffer(&mut body, &[]);
    body.extend(1_i32.to_be_bytes());
    body.extend(31_i32.to_be_bytes());
    put_buffer(&mut body, b"world");
    put_buffer(&mut body, b"anyone");
    let flags: i32 = match mode {
        CreateMode::Persistent => 0,
        CreateMode::Ephemeral => 1,
        CreateMode::EphemeralSequential => 3,
    };
    body.extend(flags.to_be_bytes());
    body
}

fn put_buffer(into: &mut Vec<u8>, bytes: &[u8]) {
    into.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    into.extend(bytes);
}

fn send_frame(stream: &mut TcpStream, payload: &[u8]) -> io::Result<()> {
    let mut frame = Vec::new();
    put_buffer(&mut frame, payload);
    stream.write_all(&frame)
}

fn receive_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > LARGEST_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length}")));
    }
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

/// The rest of an answer.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn int(&mut self, what: &'static str) -> Result<i32, RawError> {
        self.array(what).map(i32::from_be_bytes)
    }

    fn long(&mut self, what: &'static str) -> Result<i64, RawError> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// Reads a buffer; a null one reads as an empty one.
    fn buffer(&mut self, what: &'static str) -> Result<&'a [u8], RawError> {
        let length = usize::try_from(self.int(what)?).unwrap_or_default();
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(RawError::Truncated(what))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], RawError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(RawError::Truncated(what))?;
        self.0 = rest;
        Ok(*bytes)
    }
}

//! Sessions of others than the client under test: their requests are answered at once.

use core::time::Duration;

use election_tokio::{ErrorCode, SessionId, Version, Zxid};
use zk_embedded::ConnectionId;
use zk_jute::records::{
    CloseSession, ConnectRequest, ConnectResponse, CreateMode, CreateRequest, DeleteRequest,
    SetDataRequest,
};
use zk_jute::{Decode as _, ReplyHeader, Request, RequestHeader, Vector, Xid};

use crate::lies::frame;
use crate::server::Server;

/// Longer than any test takes.
const TIMEOUT: Duration = Duration::from_secs(1_000_000);

/// A session with frames written by hand. Dropping it closes the session.
#[derive(Debug)]
pub(crate) struct RawSession {
    server: Server,
    connection: ConnectionId,
    id: SessionId,
}

impl RawSession {
    pub(crate) fn new(server: &Server) -> Self {
        let connection = server.state().open();
        let request = ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: Zxid::ZERO,
            timeout: i32::try_from(TIMEOUT.as_millis()).expect("it fits"),
            session_id: SessionId::NONE,
            password: Some(&[0; 16]),
            read_only: Some(false),
        };
        let answer = server.state().exchange(connection, &frame(&(), &request));
        let granted = ConnectResponse::decode_prefix(&answer[4..]).expect("a session");
        Self { server: server.clone(), connection, id: granted.session_id }
    }

    pub(crate) const fn id(&self) -> SessionId {
        self.id
    }

    pub(crate) fn create(&self, path: &str, mode: CreateMode) -> Result<(), ErrorCode> {
        self.request(&CreateRequest { path, data: Some(b""), acl: Vector::OPEN, mode })
    }

    pub(crate) fn delete(&self, path: &str) -> Result<(), ErrorCode> {
        self.request(&DeleteRequest { path, version: Version::ANY })
    }

    pub(crate) fn set_data(&self, path: &str, data: &[u8]) -> Result<(), ErrorCode> {
        self.request(&SetDataRequest { path, data: Some(data), version: Version::ANY })
    }

    fn request<R: Request>(&self, request: &R) -> Result<(), ErrorCode> {
        let header = RequestHeader { xid: Xid::FIRST, opcode: R::OPCODE };
        let answer = self.server.state().exchange(self.connection, &frame(&header, request));
        let reply = ReplyHeader::decode_prefix(&answer[4..]).expect("an answer");
        if reply.error == ErrorCode::OK { Ok(()) } else { Err(reply.error) }
    }
}

impl Drop for RawSession {
    fn drop(&mut self) {
        let header = RequestHeader { xid: Xid::FIRST, opcode: CloseSession::OPCODE };
        let mut state = self.server.state();
        // It may have expired.
        let _ = state.exchange(self.connection, &frame(&header, &CloseSession));
        state.close(self.connection);
    }
}

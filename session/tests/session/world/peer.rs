//! The server's frames.

use bytes::{Bytes, BytesMut};
use zk_jute::records::{
    ConnectResponse, Credential, EventType, KeeperState, MultiResponse, MultiResult,
    SetSaslResponse, WatcherEvent,
};
use zk_jute::{Decode as _, Encode, ErrorCode, ReplyHeader, SessionId, Xid, Zxid};

use super::World;
use super::happening::{Answer, Receive};

impl World {
    pub(super) fn receive(&mut self, receive: &Receive) {
        match receive {
            Receive::Accept { session, timeout, read_only } => {
                self.accept(*session, *timeout, *read_only);
            }
            Receive::Answer { zxid, answer } => self.answer(*zxid, answer),
            Receive::Mangled { at, byte } => self.mangled(*at, *byte),
            Receive::Token { token } => self.token(token.as_deref()),
            Receive::Pong { zxid, error } => self.reply(Xid::PING, *zxid, *error, &[]),
            Receive::Authenticated { error } => self.reply(Xid::AUTH, 0, *error, &[]),
            Receive::Notify { zxid, kind, path } => {
                let (kind, state) = (EventType::new(*kind), KeeperState::SYNC_CONNECTED);
                let event = encoded(&WatcherEvent { kind, state, path }, &[]);
                self.reply(Xid::NOTIFICATION, *zxid, ErrorCode::OK, &event);
            }
            Receive::Reply { xid, zxid, error, body } => {
                self.reply(Xid::new(*xid), *zxid, *error, body);
            }
            Receive::Frame(frame) => self.frame(Bytes::from(frame.clone())),
            Receive::Stream(bytes) => {
                self.server.prove_all();
                self.session.handle_bytes(self.now, &mut BytesMut::from(&**bytes), 1 << 16);
            }
        }
    }

    pub(super) fn accept(&mut self, session: i64, timeout: i32, read_only: Option<bool>) {
        let response = ConnectResponse {
            protocol_version: 0,
            timeout,
            session_id: SessionId::new(session),
            password: Some(&[7; 16]),
            read_only,
        };
        self.session.handle_frame(self.now, encoded(&response, &[]));
    }

    pub(super) fn token(&mut self, token: Option<&[u8]>) {
        if let Some(xid) = self.server.oldest() {
            let token = Credential::new(token);
            let body = encoded(&SetSaslResponse { token }, &[]);
            self.reply(xid, 0, ErrorCode::OK, &body);
        }
    }

    fn answer(&mut self, zxid: i64, answer: &Answer) {
        let Some(xid) = self.server.oldest() else { return };
        let results = |result| encoded(&MultiResponse::new(&[result]), &[]);
        let is_heartbeat = self.server.last_multi == Some(xid);
        match answer {
            Answer::Sound(error) if is_heartbeat && *error != ErrorCode::OK => {
                self.reply(xid, zxid, ErrorCode::OK, &results(MultiResult::Error(*error)));
            }
            Answer::Sound(error) if is_heartbeat => {
                self.reply(xid, zxid, *error, &results(MultiResult::Check));
            }
            // Random bytes can hardly be the answer to a heartbeat.
            Answer::Any(error, body) if is_heartbeat && body.is_empty() => {
                self.reply(xid, zxid, *error, &results(MultiResult::Check));
            }
            Answer::Sound(error) => self.reply(xid, zxid, *error, &[]),
            Answer::Any(error, body) => self.reply(xid, zxid, *error, body),
        }
    }

    fn mangled(&mut self, at: usize, byte: u8) {
        let xid = self.server.oldest().unwrap_or(Xid::PING);
        let zxid = Zxid::new(5);
        let mut frame =
            BytesMut::from(&*encoded(&ReplyHeader { xid, zxid, error: ErrorCode::OK }, &[]));
        let at = at % frame.len();
        if let Some(mangled) = frame.get_mut(at) {
            *mangled = byte;
        }
        self.frame(frame.freeze());
    }

    fn reply(&mut self, xid: Xid, zxid: i64, error: ErrorCode, body: &[u8]) {
        self.frame(encoded(&ReplyHeader { xid, zxid: Zxid::new(zxid), error }, body));
    }

    /// Delivers a frame. It proves the lease by the request that it answers, if any.
    fn frame(&mut self, frame: Bytes) {
        if let Ok(header) = ReplyHeader::decode_prefix(&frame) {
            self.server.prove_by_answer(header.xid, header.error);
        }
        self.session.handle_frame(self.now, frame);
    }
}

/// Returns a record, and bytes behind it.
fn encoded(record: &impl Encode, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    record.encode(&mut frame);
    frame.extend_from_slice(body);
    frame.freeze()
}

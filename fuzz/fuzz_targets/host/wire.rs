//! The server, and what is on its way between it and the host.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::VecDeque;

use bytes::{Buf as _, Bytes, BytesMut};
use zk_embedded::{ConnectionId, Instant as ServerInstant, Standalone, Transmit};
use zk_fuzz::Blob;
use zk_fuzz::session::encoded;
use zk_jute::records::ConnectResponse;
use zk_jute::{Decode as _, ReplyHeader, RequestHeader, SessionId, Xid, Zxid, frame_len};

use crate::script::{Falsification, TELLING};

const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);

/// The embedded server, as far as the fuzzer lets it speak.
pub(crate) struct Wire {
    server: Standalone,
    link: Option<ConnectionId>,
    to_server: BytesMut,
    /// Bytes of a frame that has not come to its end.
    from_server: BytesMut,
    /// Payloads of frames.
    to_client: VecDeque<Bytes>,
    /// The client's bytes: where its handshake ends, and requests without an answer.
    sent: BytesMut,
    handshakes: usize,
    unanswered: VecDeque<Xid>,
}

impl Wire {
    pub(crate) fn new(server: Standalone) -> Self {
        Self {
            server,
            link: None,
            to_server: BytesMut::new(),
            from_server: BytesMut::new(),
            to_client: VecDeque::new(),
            sent: BytesMut::new(),
            handshakes: 0,
            unanswered: VecDeque::new(),
        }
    }

    pub(crate) fn open(&mut self, now: ServerInstant) -> Result<(), ()> {
        self.close();
        self.link = Some(self.server.open(now, PEER).map_err(drop)?);
        Ok(())
    }

    /// Whether there was a connection.
    pub(crate) fn close(&mut self) -> bool {
        self.to_server.clear();
        self.from_server.clear();
        self.to_client.clear();
        self.sent.clear();
        self.handshakes = 0;
        self.unanswered.clear();
        let Some(link) = self.link.take() else { return false };
        self.server.close(link);
        true
    }

    /// Sends the client's bytes: whole frames.
    pub(crate) fn send(&mut self, bytes: BytesMut) {
        self.sent.extend_from_slice(&bytes);
        self.to_server.unsplit(bytes);
        while let Some(length) = frame_len(&self.sent, usize::MAX).expect("a frame") {
            self.sent.advance(4);
            let frame = self.sent.split_to(length);
            self.handshakes += 1;
            if self.handshakes == 1 {
                continue;
            }
            let header = RequestHeader::decode_prefix(&frame).expect("a header");
            if header.xid > Xid::new(0) {
                self.unanswered.push_back(header.xid);
            }
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: ServerInstant) {
        self.server.handle_timeout(now);
    }

    pub(crate) fn to_server(&mut self, now: ServerInstant, most: usize) {
        let bytes = self.to_server.split_to(self.to_server.len().min(most));
        if let Some(link) = self.link {
            self.server.receive(now, link, &bytes);
        }
    }

    /// Takes the frame that arrives next.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        let frame = self.to_client.pop_front()?;
        if ReplyHeader::decode_prefix(&frame).is_ok_and(|header| header.xid > Xid::new(0)) {
            self.unanswered.pop_front();
        }
        Some(frame)
    }

    pub(crate) fn next_unanswered(&mut self) -> Option<Xid> {
        self.unanswered.pop_front()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.to_server.is_empty() && self.to_client.is_empty()
    }

    /// Takes out what the server sends. Whether it closes the connection.
    pub(crate) fn collect(&mut self, now: ServerInstant) -> bool {
        let mut closes = false;
        while let Some(id) = self.server.poll_ready() {
            let mut output = BytesMut::new();
            let transmit = loop {
                let before = output.len();
                let transmit = self.server.poll_transmit(now, id, &mut output);
                if transmit == Transmit::Close || output.len() == before {
                    break transmit;
                }
            };
            if self.link == Some(id) {
                self.from_server.unsplit(output);
            }
            if transmit == Transmit::Close {
                self.server.close(id);
                closes |= self.link == Some(id);
            }
        }
        while let Some(length) = frame_len(&self.from_server, usize::MAX).expect("a frame") {
            self.from_server.advance(4);
            self.to_client.push_back(self.from_server.split_to(length).freeze());
        }
        closes
    }

    pub(crate) fn falsify(&mut self, nth: u8, by: &Falsification) {
        let nth = usize::from(nth) % self.to_client.len().max(1);
        let Some(frame) = self.to_client.get_mut(nth) else { return };
        let header = ReplyHeader::decode_prefix(frame);
        match (by, header) {
            (Falsification::Error(code), Ok(header)) => {
                *frame = encoded(&ReplyHeader { error: code.error(&TELLING), ..header }, &[]);
            }
            (Falsification::Zxid(zxid), Ok(header)) => {
                let header = ReplyHeader { zxid: Zxid::new((*zxid).into()), ..header };
                *frame = encoded(&header, frame.get(HEADER..).unwrap_or_default());
            }
            (Falsification::Body(Blob(body)), Ok(header)) => *frame = encoded(&header, body),
            (Falsification::Byte { at, by }, _) => {
                let mut bytes = BytesMut::from(&**frame);
                let at = usize::from(*at) % bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= by;
                }
                *frame = bytes.freeze();
            }
            (Falsification::Session(id), _) => {
                if let Ok(accepted) = ConnectResponse::decode_prefix(frame) {
                    let session_id = SessionId::new((*id).into());
                    *frame = encoded(&ConnectResponse { session_id, ..accepted }, &[]);
                }
            }
            (Falsification::ReadOnly, _) => {
                if let Ok(accepted) = ConnectResponse::decode_prefix(frame) {
                    *frame = encoded(&ConnectResponse { read_only: Some(true), ..accepted }, &[]);
                }
            }
            (Falsification::Drop, _) => drop(self.to_client.remove(nth)),
            (Falsification::Twice, _) => {
                let frame = frame.clone();
                self.to_client.insert(nth, frame);
            }
            (_, Err(_)) => {}
        }
    }
}

/// Of a reply.
const HEADER: usize = 16;

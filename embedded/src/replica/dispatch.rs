//! Reads requests from bytes, and dispatches them.

use alloc::string::ToString;

use zk_jute::records::{AuthPacket, CreateMode, Credential, GetSaslRequest, SetSaslResponse};
use zk_jute::{Decode, ErrorCode, FrameError, OpCode, Reader, RequestHeader, Xid, Zxid, frame_len};

use super::connection::{Awaited, CreateReply, Established, Intake, Pending, Phase, Scope};
use super::reads::Reads;
use super::{Replica, four_letter};
use crate::access::Identity;
use crate::config::Throttling;
use crate::deviations::UnknownOperations;
use crate::digest;
use crate::forward::Forward;
use crate::mode::ServerMode;
use crate::transport::ConnectionId;
use crate::write::{self, MultiEntry, WriteRequest};

/// The longest frame before a connection has a session. A handshake takes 45 bytes; only its password has no length of its
/// own. Apache's servers take `jute.maxbuffer` there, too, so that clients without a session can make them keep
/// that much for each connection.
const MAX_HANDSHAKE: usize = 1 << 10;

/// The progress of a request: handled, or waiting.
enum Progress {
    Done,
    /// An earlier request has to be finished first.
    Wait,
}

impl Replica {
    /// Reads as many frames as possible, and returns how many bytes they took.
    pub(super) fn read(&mut self, id: ConnectionId, bytes: &[u8]) -> usize {
        let mut used = 0;
        while let Some(connection) = self.connections.get_mut(&id) {
            let rest = bytes.get(used..).unwrap_or_default();
            let max_frame = self.config.limits.max_frame;
            let max_frame = match connection.phase {
                Phase::Closing => return bytes.len(),
                Phase::Handshaking(_) => {
                    connection.intake = Intake::Stalled;
                    return used;
                }
                Phase::Greeting => {
                    if let Some(word) = four_letter::recognise(rest) {
                        self.answer_four_letters(id, word);
                        return bytes.len();
                    }
                    max_frame.min(MAX_HANDSHAKE)
                }
                Phase::Established(_) => {
                    if connection.unsent() >= self.config.limits.max_backlog {
                        connection.intake = Intake::Stalled;
                        return used;
                    }
                    max_frame
                }
            };
            let payload = match next_payload(rest, max_frame) {
                Ok(Some(payload)) => payload,
                Ok(None) => {
                    connection.intake = Intake::Starved;
                    return used;
                }
                Err(_) => {
                    self.end(id);
                    return bytes.len();
                }
            };
            match self.read_payload(id, payload) {
                Progress::Done => used += payload.len() + 4,
                Progress::Wait => return used,
            }
        }
        bytes.len()
    }

    fn read_payload(&mut self, id: ConnectionId, payload: &[u8]) -> Progress {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Progress::Done;
        };
        if matches!(connection.phase, Phase::Greeting) {
            self.shake_hands(id, payload);
            return Progress::Done;
        }
        let mut reader = Reader::new(payload);
        let Ok(header) = RequestHeader::decode(&mut reader) else {
            self.end(id);
            return Progress::Done;
        };
        let progress = self.handle_request(id, header, reader.rest());
        if let Some(connection) = self.connections.get_mut(&id) {
            match progress {
                Progress::Done => {
                    connection.frames_received += 1;
                    self.frames_received += 1;
                    if !connection.is_deliverable(usize::MAX) {
                        self.end(id);
                    } else if connection.unsent() > 0 {
                        self.ready.insert(id);
                    }
                }
                Progress::Wait => connection.intake = Intake::Stalled,
            }
        }
        progress
    }

    fn handle_request(&mut self, id: ConnectionId, header: RequestHeader, body: &[u8]) -> Progress {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Progress::Done;
        };
        let Phase::Established(established) = &mut connection.phase else {
            return Progress::Done;
        };
        if !self.config.deviations.has(header.opcode) {
            return self.meet_unknown(id, header);
        }
        // The server answers these two when it reads them, whatever else waits.
        match header.opcode {
            OpCode::AUTH => {
                self.authenticate(id, header.xid, body);
                return Progress::Done;
            }
            OpCode::SASL => {
                self.answer_sasl(id, header.xid, body);
                return Progress::Done;
            }
            _ => {}
        }
        // `ZooKeeperServer.submitRequestNow` drops a request if it cannot touch its session.
        if self.closing_sessions.contains(&established.session) {
            return Progress::Done;
        }
        if self.throttling == Throttling::On && is_throttleable(header.opcode) {
            return if established.pending.is_empty() {
                let zxid = self.database.last_zxid();
                connection.refuse(header.xid, zxid, ErrorCode::THROTTLED_OP);
                Progress::Done
            } else {
                Progress::Wait
            };
        }
        if is_forwarded(header.opcode, self.mode) {
            return if self.mode == ServerMode::ReadOnly {
                self.refuse_write(id, header);
                Progress::Done
            } else if established.takes_another(self.config.limits.max_outstanding) {
                self.forward(id, header, body)
            } else {
                Progress::Wait
            };
        }
        if !established.pending.is_empty() {
            return Progress::Wait;
        }
        let reads = Reads {
            database: &self.database,
            watches: &mut self.watches,
            session: established.session,
            identities: established.identities.clone(),
            max_reply: self.config.limits.max_reply,
            id,
            connection,
        };
        if reads.answer(header, body).is_err() {
            return self.meet_unknown(id, header);
        }
        Progress::Done
    }

    /// Handles a request of an operation that the server does not have.
    fn meet_unknown(&mut self, id: ConnectionId, header: RequestHeader) -> Progress {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Progress::Done;
        };
        match (self.config.deviations.unknown_operations, &connection.phase) {
            (UnknownOperations::Unanswered, _) => {}
            (UnknownOperations::ConnectionClosed, _) => self.end(id),
            (UnknownOperations::Answered, Phase::Established(Established { pending, .. }))
                if !pending.is_empty() =>
            {
                return Progress::Wait;
            }
            (UnknownOperations::Answered, _) => {
                connection.refuse(header.xid, Zxid::new(-1), ErrorCode::UNIMPLEMENTED);
                self.end(id);
            }
        }
        Progress::Done
    }

    fn forward(&mut self, id: ConnectionId, header: RequestHeader, body: &[u8]) -> Progress {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Progress::Done;
        };
        let ticket = connection.next_ticket(id);
        let Phase::Established(established) = &mut connection.phase else {
            return Progress::Done;
        };
        let session = established.session;
        let read = if header.opcode == OpCode::SYNC {
            Option::<&str>::decode_prefix(body).map(|path| {
                let path = path.map(ToString::to_string);
                (Forward::Sync { session }, Awaited::Synced(path))
            })
        } else {
            let Some(write) = write::read(header.opcode, body, &established.identities) else {
                return Progress::Done;
            };
            write.map(|write| {
                let identities = established.identities.clone();
                let request = WriteRequest { session, identities, write };
                (Forward::Write(request), awaited(header.opcode, body))
            })
        };
        let Ok((forward, awaited)) = read else {
            // It needs no transaction, but it has to wait for its turn.
            if !established.pending.is_empty() {
                return Progress::Wait;
            }
            let zxid = self.database.last_zxid();
            connection.refuse(header.xid, zxid, ErrorCode::MARSHALLING_ERROR);
            return Progress::Done;
        };
        established.pending.push_back(Pending { ticket, xid: header.xid, awaited });
        self.forwards.push_back((ticket, forward));
        Progress::Done
    }

    /// Refuses a request that needs the leader, on a read-only server. The end of one of its own
    /// sessions succeeds.
    fn refuse_write(&mut self, id: ConnectionId, header: RequestHeader) {
        let zxid = self.database.last_zxid();
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        match &connection.phase {
            Phase::Established(Established { session, scope: Scope::Local, .. })
                if header.opcode == OpCode::CLOSE_SESSION =>
            {
                self.local_sessions.remove(session);
                connection.reply(header.xid, zxid, &());
                self.end(id);
            }
            _ => connection.refuse(header.xid, zxid, ErrorCode::NOT_READ_ONLY),
        }
    }

    /// Adds an identity to the connection. A refusal ends the connection.
    fn authenticate(&mut self, id: ConnectionId, xid: Xid, body: &[u8]) {
        let super_digest = self.config.super_digest.as_deref();
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let Phase::Established(established) = &mut connection.phase else {
            return;
        };
        let packet = AuthPacket::decode_prefix(body);
        let credential = packet.map(|packet| (packet.scheme, packet.credential.expose()));
        match credential {
            Ok(("ip", _)) => {}
            Ok(("digest", Some(credential))) => {
                let digest = digest::identity_of(credential);
                let identities = &mut established.identities;
                let privileged = if Some(&*digest) == super_digest {
                    identities.add(Identity::Super)
                } else {
                    Ok(())
                };
                let added = privileged.and_then(|()| identities.add(Identity::Digest(digest)));
                if added.is_err() {
                    return self.refuse_identity(id, xid);
                }
            }
            Ok(_) | Err(_) => return self.refuse_identity(id, xid),
        }
        connection.reply(xid, Zxid::ZERO, &());
    }

    fn refuse_identity(&mut self, id: ConnectionId, xid: Xid) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.refuse(xid, Zxid::ZERO, ErrorCode::AUTH_FAILED);
        }
        self.end(id);
    }

    /// Answers a SASL token with a null token, as a server without SASL does
    /// (docs/protocol.md#sasl).
    fn answer_sasl(&mut self, id: ConnectionId, xid: Xid, body: &[u8]) {
        let request = GetSaslRequest::decode_prefix(body);
        let has_token = request.is_ok_and(|request| request.token.expose().is_some());
        match self.connections.get_mut(&id) {
            Some(connection) if has_token => {
                let token = Credential::new(None);
                connection.reply(xid, Zxid::ZERO, &SetSaslResponse { token });
            }
            Some(_) | None => self.end(id),
        }
    }
}

impl Established {
    /// Returns whether another request may follow. None follows the end of a session.
    fn takes_another(&self, max_outstanding: usize) -> bool {
        let closes = |pending: &Pending| pending.awaited == Awaited::SessionClosed;
        self.pending.len() < max_outstanding.max(1) && !self.pending.back().is_some_and(closes)
    }
}

/// Returns the payload of the first frame of `input`, once it is complete. It refuses an empty
/// frame like one that is too long.
fn next_payload(input: &[u8], limit: usize) -> Result<Option<&[u8]>, FrameError> {
    match frame_len(input, limit)? {
        Some(0) => Err(FrameError::Negative(0)),
        Some(length) => Ok(input.get(4..).and_then(|behind| behind.get(..length))),
        None => Ok(None),
    }
}

/// Returns whether the leader has to see a request. The leader answers a `sync` of its own clients
/// like a read.
fn is_forwarded(opcode: OpCode, mode: ServerMode) -> bool {
    is_write(opcode)
        || (opcode == OpCode::SYNC && !matches!(mode, ServerMode::Leader | ServerMode::Standalone))
}

/// Whether a request may change something.
fn is_write(opcode: OpCode) -> bool {
    matches!(
        opcode,
        OpCode::CREATE
            | OpCode::CREATE2
            | OpCode::CREATE_CONTAINER
            | OpCode::CREATE_TTL
            | OpCode::DELETE
            | OpCode::SET_DATA
            | OpCode::SET_ACL
            | OpCode::MULTI
            | OpCode::RECONFIG
            | OpCode::CLOSE_SESSION
    )
}

/// Returns whether a request is answered with `ThrottledOp` once it has waited too long. An unknown
/// one is not: it costs the connection, as without throttling.
fn is_throttleable(opcode: OpCode) -> bool {
    !matches!(opcode, OpCode::PING | OpCode::CLOSE_SESSION)
        && (is_write(opcode) || Reads::knows(opcode))
}

fn awaited(opcode: OpCode, body: &[u8]) -> Awaited {
    match opcode {
        OpCode::CLOSE_SESSION => Awaited::SessionClosed,
        OpCode::MULTI => {
            let reply = |entry: &MultiEntry<'_>| match entry {
                MultiEntry::Create(create) if create.mode != CreateMode::CONTAINER => {
                    CreateReply::Path
                }
                _ => CreateReply::PathAndStat,
            };
            // The server refuses a multi that does not decode as a whole.
            let entries = write::multi_entries(body).ok().flatten().unwrap_or_default();
            Awaited::Multi(entries.iter().map(reply).collect())
        }
        OpCode::CREATE => Awaited::Single(CreateReply::Path),
        _ => Awaited::Single(CreateReply::PathAndStat),
    }
}

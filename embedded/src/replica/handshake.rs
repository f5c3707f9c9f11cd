//! Handshakes: sessions begin and continue (docs/protocol.md#the-handshake).

use alloc::collections::VecDeque;
use core::time::Duration;

use zk_jute::records::{ConnectRequest, ConnectResponse, PASSWORD_LEN};
use zk_jute::{Decode, SessionId};

use super::Replica;
use super::connection::{Connection, Established, Handshake, HandshakeAnswer, Phase, Scope};
use super::session_id::password_of;
use crate::access::Identities;
use crate::deviations::{Passwords, Resumption};
use crate::forward::{Answer, Forward, Ticket};
use crate::mode::ServerMode;
use crate::transport::ConnectionId;

impl Replica {
    /// Handles the first frame of a connection.
    pub(super) fn shake_hands(&mut self, id: ConnectionId, payload: &[u8]) {
        let Ok(request) = ConnectRequest::decode_prefix(payload) else {
            return self.end(id);
        };
        let accepts_read_only = request.read_only == Some(true);
        if self.mode == ServerMode::NotServing
            || (self.mode == ServerMode::ReadOnly && !accepts_read_only)
            || request.last_zxid_seen > self.database.last_zxid()
        {
            return self.end(id);
        }
        let deviations = self.config.deviations;
        let is_new =
            request.session_id == SessionId::NONE || deviations.resumption == Resumption::Replaced;
        let session = if is_new {
            self.new_session()
        } else {
            // Apache's servers do this before they compare the password.
            if let Some(other) = self.by_session.get(&request.session_id).copied() {
                self.end(other);
            }
            request.session_id
        };
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let handshake = Handshake {
            ticket: connection.next_ticket(id),
            session,
            timeout: self.config.negotiate(request.timeout),
            answer: match request.read_only {
                Some(_) => HandshakeAnswer::WithReadOnly,
                None => HandshakeAnswer::WithoutReadOnly,
            },
        };
        connection.phase = Phase::Handshaking(handshake);
        let knows_password = deviations.passwords == Passwords::Zeros
            || request.password == Some(&password_of(session)[..]);
        match (is_new, knows_password, self.mode) {
            (true, _, ServerMode::ReadOnly) => {
                self.local_sessions.insert(session);
                self.establish(id, handshake, Scope::Local);
            }
            (true, ..) => self.forward_handshake(handshake, |session, timeout| {
                Forward::CreateSession { session, timeout }
            }),
            (false, false, _) => self.refuse_session(id, handshake),
            (false, true, ServerMode::ReadOnly) => self.resume_locally(id, handshake),
            (false, true, _) => self.forward_handshake(handshake, |session, timeout| {
                Forward::ResumeSession { session, timeout }
            }),
        }
    }

    /// Sends the leader's answer to a handshake.
    pub(super) fn conclude_handshake(
        &mut self,
        id: ConnectionId,
        handshake: Handshake,
        answer: Answer,
    ) {
        match answer {
            Answer::SessionResumed => self.establish(id, handshake, Scope::Ensemble),
            Answer::SessionUnknown => self.refuse_session(id, handshake),
            Answer::TooManySessions | Answer::SessionMoved | Answer::Synced => self.end(id),
        }
    }

    pub(super) fn establish(&mut self, id: ConnectionId, handshake: Handshake, scope: Scope) {
        let session = handshake.session;
        if let Some(other) = self.by_session.insert(session, id).filter(|other| *other != id) {
            self.end(other);
            self.by_session.insert(session, id);
        }
        let read_only = self.mode == ServerMode::ReadOnly;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let timeout = handshake.timeout;
        let password = match self.config.deviations.passwords {
            Passwords::FromId => password_of(session),
            Passwords::Zeros => [0; PASSWORD_LEN],
        };
        let response = ConnectResponse {
            protocol_version: 0,
            timeout: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
            session_id: session,
            password: Some(&password),
            read_only: handshake.answer.read_only(read_only),
        };
        connection.send(&(), &response);
        self.handshake_deadlines.remove(&(connection.handshake_due, id));
        connection.phase = Phase::Established(Established {
            session,
            scope,
            timeout,
            identities: Identities::of_peer(connection.peer.ip()),
            pending: VecDeque::new(),
        });
        self.ready.insert(id);
    }

    /// Continues a session on a read-only server. Since 3.7.0 only its own sessions can, not those
    /// of the ensemble.
    fn resume_locally(&mut self, id: ConnectionId, handshake: Handshake) {
        if self.local_sessions.contains(&handshake.session) {
            self.establish(id, handshake, Scope::Local);
        } else if self.database.has_session(handshake.session) {
            self.end(id);
        } else {
            self.refuse_session(id, handshake);
        }
    }

    fn refuse_session(&mut self, id: ConnectionId, handshake: Handshake) {
        let read_only = self.mode == ServerMode::ReadOnly;
        if let Some(connection) = self.connections.get_mut(&id) {
            let response = ConnectResponse {
                read_only: handshake.answer.read_only(read_only),
                ..ConnectResponse::REFUSED
            };
            connection.send(&(), &response);
        }
        self.end(id);
    }

    fn forward_handshake(
        &mut self,
        handshake: Handshake,
        forward: impl FnOnce(SessionId, Duration) -> Forward,
    ) {
        let forward = forward(handshake.session, handshake.timeout);
        self.forwards.push_back((handshake.ticket, forward));
    }

    fn new_session(&mut self) -> SessionId {
        let session = self.next_session;
        self.next_session = SessionId::new(session.get().wrapping_add(1));
        session
    }
}

impl Connection {
    /// Returns the handshake that this ticket is for.
    pub(super) fn handshake(&self, ticket: Ticket) -> Option<Handshake> {
        match self.phase {
            Phase::Handshaking(handshake) if handshake.ticket == ticket => Some(handshake),
            Phase::Greeting | Phase::Handshaking(_) | Phase::Established(_) | Phase::Closing => {
                None
            }
        }
    }
}

impl HandshakeAnswer {
    fn read_only(self, read_only: bool) -> Option<bool> {
        match self {
            Self::WithReadOnly => Some(read_only),
            Self::WithoutReadOnly => None,
        }
    }
}

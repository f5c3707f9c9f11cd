//! How a session begins and goes on (protocol section 2).

use alloc::collections::VecDeque;
use core::time::Duration;

use zk_jute::records::{ConnectRequest, ConnectResponse, PASSWORD_LEN};
use zk_jute::{Decode, SessionId};

use super::connection::{
    Connection, ConnectionId, Established, Handshake, HandshakeAnswer, Phase, Scope,
};
use super::{Answer, Forward, Mode, Replica};
use crate::access::Identities;
use crate::config::Config;

impl Replica {
    /// The first frame of a connection.
    pub(super) fn shake_hands(&mut self, id: ConnectionId, payload: &[u8]) {
        let Ok(request) = ConnectRequest::decode_prefix(payload) else {
            return self.end(id);
        };
        let accepts_read_only = request.read_only == Some(true);
        if self.mode == Mode::NotServing
            || (self.mode == Mode::ReadOnly && !accepts_read_only)
            || request.last_zxid_seen > self.database.last_zxid()
        {
            return self.end(id);
        }
        let session = if request.session_id == SessionId::NONE {
            self.new_session()
        } else {
            // Before the password is looked at, as real servers do (protocol section 2.3).
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
        let is_new = request.session_id == SessionId::NONE;
        let knows_password = request.password == Some(&password_of(session)[..]);
        match (is_new, knows_password, self.mode) {
            (true, _, Mode::ReadOnly) => {
                self.local_sessions.insert(session);
                self.establish(id, handshake, Scope::Local);
            }
            (true, ..) => self.forward_handshake(handshake, |session, timeout| {
                Forward::CreateSession { session, timeout }
            }),
            (false, false, _) => self.refuse_session(id, handshake),
            (false, true, Mode::ReadOnly) => self.resume_locally(id, handshake),
            (false, true, _) => self.forward_handshake(handshake, |session, timeout| {
                Forward::ResumeSession { session, timeout }
            }),
        }
    }

    /// The leader's answer to a handshake.
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
        let read_only = self.mode == Mode::ReadOnly;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let timeout = handshake.timeout;
        let password = password_of(session);
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

    /// A session of the ensemble cannot go on here (since 3.7.0), one from here can.
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
        let read_only = self.mode == Mode::ReadOnly;
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
    /// The handshake that this ticket is for.
    pub(super) fn handshake(&self, ticket: super::Ticket) -> Option<Handshake> {
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

/// The server's number in the first byte, behind it what real servers take from their clock
/// (protocol section 2.5).
pub(super) fn first_session(config: &Config) -> SessionId {
    const BEHIND_SERVER_ID: u64 = (1 << 56) - 1;
    // Spreads small seeds over the bits above the 24 that count up.
    let started_at = config.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) << 24 & BEHIND_SERVER_ID;
    let id = u64::from(config.server_id) << 56 | started_at;
    // 0 asks for a session, so no session may have it.
    SessionId::new(id.max(1).cast_signed())
}

/// Every server derives the same password from an id, so that none has to be passed around. It is
/// no secret (protocol section 2.5).
pub(super) fn password_of(session: SessionId) -> [u8; PASSWORD_LEN] {
    const SALT: u64 = 0xb341_5c00;
    const MULTIPLIER: u64 = 0x5_deec_e66d;
    const MODULUS_MASK: u64 = (1 << 48) - 1;
    let mut state = (session.get().cast_unsigned() ^ SALT ^ MULTIPLIER) & MODULUS_MASK;
    let mut password = [0; PASSWORD_LEN];
    for word in password.as_chunks_mut::<4>().0 {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(0xb) & MODULUS_MASK;
        let bits = u32::try_from(state >> 16).expect("32 of 48 bits are left");
        *word = bits.to_le_bytes();
    }
    password
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of protocol section 2.5.
    #[test]
    fn passwords_are_those_of_real_servers() {
        let password = password_of(SessionId::new(0x0100_0011_4fe6_0000));
        let expected = 0x3806_fe0c_6527_f4d9_d64f_76b7_b68a_042c_u128;
        assert_eq!(password, expected.to_be_bytes());
    }

    #[test]
    fn session_ids_begin_with_the_server_and_differ_by_seed() {
        let mut config = Config::default();
        let first = first_session(&config).get();
        assert_eq!(first, 0x0100_0000_0000_0000);
        config.seed = 1;
        let second = first_session(&config).get();
        assert_ne!(first, second);
        assert_eq!(second >> 56, 1);
        assert_eq!(second & 0xff_ffff, 0);
    }
}

//! The SASL exchange at the beginning of a connection (docs/protocol.md#sasl).
//!
//! The session sends nothing else meanwhile, not even pings: a server that demands SASL would close
//! the connection.

use bytes::{Buf, Bytes};
use zk_jute::records::{Credential, GetSaslRequest, SetSaslResponse};
use zk_jute::{Decode, ErrorCode, ReplyHeader};

use super::Session;
use super::frames::{REPLY_HEADER_LEN, refuses_identity};
use super::state::{AcceptedHandshake, Authenticating, State, Turn};
use crate::event::{ConnectionEnd, ProtocolError, SessionEnd};
use crate::requests::Purpose;
use crate::sasl::{SaslAnswer, SaslChallenge, SaslFailure};
use crate::servers::ServerIndex;
use crate::time::Instant;

impl<R, W: Clone> Session<R, W> {
    /// Returns a challenge for the driver's SASL mechanism, if there is one. Once a
    /// [`TransportCommand`](crate::TransportCommand) drops the transport, no answer is awaited any
    /// more.
    pub fn poll_sasl(&mut self) -> Option<SaslChallenge> {
        self.challenge.take()
    }

    /// Reports the mechanism's answer to the last [`poll_sasl`](Session::poll_sasl). It may take
    /// its time: the session waits as long as for a handshake, and then gives the connection up. It
    /// ignores an answer that it does not wait for.
    pub fn handle_sasl(&mut self, now: Instant, answer: SaslAnswer<'_>) {
        self.check_lease(now);
        let State::Authenticating(exchange @ Authenticating { turn: Turn::Mechanism, .. }) =
            self.state
        else {
            return;
        };
        self.challenge = None;
        match answer {
            SaslAnswer::Token(token) => self.send_token(now, exchange, token, Turn::Server),
            SaslAnswer::LastToken(token) => {
                self.send_token(now, exchange, token, Turn::ServerFinal);
            }
            SaslAnswer::Done => self.establish(now, exchange.accepted),
            SaslAnswer::Failed(failure) => self.end(SessionEnd::SaslFailed(failure)),
        }
    }

    pub(super) fn begin_sasl(
        &mut self,
        now: Instant,
        server: ServerIndex,
        accepted: AcceptedHandshake,
    ) {
        // The server is there, so the exchange is worth the wait: a mechanism may ask a slow third party.
        let give_up_at = now + self.patience();
        let turn = Turn::Mechanism;
        self.state = State::Authenticating(Authenticating { server, accepted, give_up_at, turn });
        self.challenge = Some(SaslChallenge::Begin(server));
    }

    pub(super) fn handle_sasl_frame(
        &mut self,
        now: Instant,
        exchange: Authenticating,
        mut frame: Bytes,
    ) {
        let header = match ReplyHeader::decode_prefix(&frame) {
            Ok(header) => header,
            Err(error) => return self.sasl_broken(now, error.into()),
        };
        if let Err(unexpected) = self.requests.answered_by(header.xid) {
            return self.sasl_broken(now, unexpected);
        }
        frame.advance(REPLY_HEADER_LEN);
        match header.error {
            ErrorCode::OK => self.handle_token(now, exchange, &frame),
            error if refuses_identity(error) => self.end(SessionEnd::AuthFailed(error)),
            error => self.sasl_broken(now, ProtocolError::SaslRefused(error)),
        }
    }

    fn handle_token(&mut self, now: Instant, exchange: Authenticating, body: &Bytes) {
        let token = match SetSaslResponse::decode_prefix(body) {
            Ok(response) => response.token.expose(),
            Err(error) => return self.sasl_broken(now, error.into()),
        };
        match (exchange.turn, token) {
            (Turn::Server, Some(token)) => {
                self.challenge = Some(SaslChallenge::Token(body.slice_ref(token)));
                let turn = Turn::Mechanism;
                self.state = State::Authenticating(Authenticating { turn, ..exchange });
            }
            (Turn::Server | Turn::Mechanism, _) => {
                self.end(SessionEnd::SaslFailed(SaslFailure::NotOffered));
            }
            (Turn::ServerFinal, _) => self.establish(now, exchange.accepted),
        }
    }

    fn send_token(&mut self, now: Instant, exchange: Authenticating, token: &[u8], turn: Turn) {
        let request = GetSaslRequest { token: Credential::new(Some(token)) };
        match self.requests.send(now, &request, Purpose::Sasl) {
            Ok(()) => self.state = State::Authenticating(Authenticating { turn, ..exchange }),
            Err(_) => self.end(SessionEnd::SaslFailed(SaslFailure::TokenTooLong)),
        }
    }

    fn sasl_broken(&mut self, now: Instant, error: ProtocolError) {
        self.connection_ended(now, ConnectionEnd::Protocol(error));
    }
}

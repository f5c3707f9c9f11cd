//! The states of a session, each with its deadline, and its identity.

use alloc::string::String;
use core::time::Duration;

use zk_jute::SessionId;
use zk_jute::records::{AuthPacket, Credential};

use crate::event::SessionEnd;
use crate::family::ServerFamily;
use crate::lease::Handshake;
use crate::search::Search;
use crate::secret::Secret;
use crate::servers::ServerIndex;
use crate::time::Instant;

/// The connection of a session.
///
/// ```text
/// Waiting --until--> Opening --opened--> Handshaking --accepted--> Live
///    ^                  | failed, too late   |                       | lost, silent, broken
///    '------------------+--------------------+-----------------------'
/// any state but Ended --closed, expired, authentication failed--> Ended
/// ```
///
/// With SASL, `Authenticating` comes between `Handshaking` and `Live`, and fails as the former
/// does.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Waiting { until: Instant },
    Opening { server: ServerIndex, give_up_at: Instant },
    Handshaking { server: ServerIndex, sent_at: Instant, give_up_at: Instant },
    Authenticating(Authenticating),
    Live(Live),
    Ended(SessionEnd),
}

/// A handshake that a server accepted, with its grants.
#[derive(Clone, Copy, Debug)]
pub(super) struct AcceptedHandshake {
    pub(super) handshake: Handshake,
    /// The timeout that was negotiated for this connection.
    pub(super) timeout: Duration,
    pub(super) read_only: bool,
    pub(super) session: Grant,
    pub(super) family: ServerFamily,
}

/// The way in which a handshake granted the session.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grant {
    Made(SessionId),
    Resumed(SessionId),
}

/// A connection in the middle of its SASL exchange, after an accepted handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Authenticating {
    pub(super) server: ServerIndex,
    pub(super) accepted: AcceptedHandshake,
    pub(super) give_up_at: Instant,
    pub(super) turn: Turn,
}

/// The side that sends the next token.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    Mechanism,
    Server,
    /// The server, and its confirmation completes the exchange.
    ServerFinal,
}

/// A connection on which the session is established.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub(super) timeout: Duration,
    /// After this time without sending, a third of the timeout, a ping is due to keep the
    /// connection.
    pub(super) ping_after: Duration,
    /// After this time without receiving, two thirds of the timeout, the connection is given up.
    pub(super) silent_after: Duration,
    pub(super) since: Instant,
    pub(super) last_sent: Instant,
    pub(super) last_received: Instant,
    /// A silence counts from here at the earliest: a part of a frame has arrived, or the caller was late.
    pub(super) silence_from: Instant,
    pub(super) family: ServerFamily,
    pub(super) server: Server,
    pub(super) ping: Ping,
    pub(super) heartbeat: Heartbeat,
    /// How many heartbeats in a row were refused.
    pub(super) refusals: u32,
    pub(super) closing: Closing,
}

/// The server's state on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Server {
    TakesWrites,
    /// It is cut off from its ensemble; the session looks for another one.
    ReadOnly(Search),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Ping {
    Answered,
    SentAt(Instant),
}

/// The requests that the session sends for its lease, on this connection and on later ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Upkeep {
    Idle,
    Ready,
    InForce {
        /// The znode that heartbeats check.
        znode: String,
    },
}

/// When the next heartbeat goes out, if there are any.
#[derive(Clone, Copy, Debug)]
pub(super) enum Heartbeat {
    DueAt(Instant),
    /// The last one was refused. With the same znode, the next one is due then.
    RefusedUntil(Instant),
    /// It, or its confirmation, is on its way.
    Unanswered(SentFor),
}

/// The upkeep for which the heartbeat on its way was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentFor {
    ThePresent,
    /// An earlier upkeep: the caller has asked for another znode, or for no check.
    AFormer,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Closing {
    NotAsked,
    GiveUpAt(Instant),
}

impl Live {
    pub(super) fn ping_at(&self) -> Instant {
        self.last_sent + self.ping_after
    }

    pub(super) fn silent_at(&self) -> Instant {
        self.last_received + self.silent_after
    }

    pub(super) const fn is_read_only(&self) -> bool {
        matches!(self.server, Server::ReadOnly(_))
    }

    pub(super) fn search_at(&self) -> Option<Instant> {
        match (self.server, self.closing) {
            (Server::ReadOnly(search), Closing::NotAsked) => Some(search.due_at()),
            (Server::ReadOnly(_) | Server::TakesWrites, _) => None,
        }
    }

    pub(super) fn give_up_at(&self) -> Option<Instant> {
        match self.closing {
            Closing::NotAsked => None,
            Closing::GiveUpAt(at) => Some(at),
        }
    }
}

/// The identity of the session, which a server grants.
#[derive(Debug)]
pub(super) enum Identity {
    New,
    /// A read-only server made it, and no other server knows it: the next connection begins with a
    /// new session.
    Local {
        session: SessionId,
    },
    Granted(Granted),
}

impl Identity {
    /// Returns what the servers of the ensemble know of the session.
    pub(super) const fn granted(&self) -> Option<&Granted> {
        match self {
            Self::Granted(granted) => Some(granted),
            Self::New | Self::Local { .. } => None,
        }
    }
}

/// The data that continue a session on another connection.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) session: SessionId,
    pub(super) password: Secret,
    /// The timeout that was negotiated last.
    pub(super) timeout: Duration,
    /// The least timeout that any server ever granted to the session, its creation included.
    pub(super) least_timeout: Duration,
    /// When the last connection last received something; not updated while there is one. An
    /// accepted handshake alone does not count if an exchange has to follow: a session that is
    /// refused the exchange for ever has to die.
    pub(super) last_received: Instant,
}

impl Granted {
    /// Returns four thirds of the timeout after the last sign of life: no server can still know the
    /// session then.
    pub(super) fn dead_at(&self) -> Instant {
        self.last_received + self.timeout * 4 / 3
    }
}

/// An identity to present on every connection.
#[derive(Debug)]
pub(super) struct Authentication {
    pub(super) scheme: String,
    pub(super) credential: Secret,
}

impl Authentication {
    pub(super) fn packet(&self) -> AuthPacket<'_> {
        AuthPacket {
            kind: 0,
            scheme: &self.scheme,
            credential: Credential::new(Some(self.credential.expose())),
        }
    }
}

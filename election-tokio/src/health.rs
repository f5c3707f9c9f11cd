//! The health of a client and its nominations, for probes.
//!
//! [`Client::health`] and [`NominationProbe::health`](crate::election::NominationProbe::health) answer
//! even while the runtime is blocked.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use election_core::Token;
use election_session::EndReason;
use tokio::time::Instant;
use zk_session::SessionEnd;

use crate::client::Client;
use crate::election::Blocker;
use crate::hub::{ConnectionPhase, Shared};
use crate::state::ConnectFailure;

/// How late the task of a client may be before the client counts as
/// [`Stalled`](ClientHealth::Stalled): a busy runtime is no reason to restart a process.
const LATE: Duration = Duration::from_secs(1);

/// The health of a client at one moment; made by [`Client::health`].
///
/// - [`is_live`](Self::is_live) is for a **liveness** probe: if it stays false, *restart* the
///   process.
/// - [`is_ready`](Self::is_ready) is for a **readiness** probe: while it is false, *take the
///   process out of service*. Do not restart it, because the client connects again by itself.
///
/// Displayed as a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientHealth {
    /// Connected to a server that takes writes.
    Connected {
        /// The rest of the lease. A client without nominees that has gone back to pings has none: it is
        /// zero, too.
        lease_remaining: Duration,
    },
    /// Connected to a server that is cut off from its ensemble and answers only reads.
    ReadOnly {
        /// The time for which the server has been read-only.
        lasted: Duration,
    },
    /// No server has granted a session yet.
    Connecting {
        /// The time without a session.
        lasted: Duration,
        /// The last attempt that failed.
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// The connection is lost, and the session in doubt.
    Suspended {
        /// The time without a connection.
        lasted: Duration,
        /// The rest of the lease: a leadership goes on until its end.
        lease_remaining: Duration,
        /// The last attempt to reconnect that failed.
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// The session has expired, and another one is being made.
    Expired {
        /// The time without a connection.
        lasted: Duration,
        /// The last attempt to reconnect that failed.
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// The task of the client, which moves its bytes and keeps its session alive, does not run: a
    /// thread of the runtime is blocked, or too busy, or the runtime is gone without having dropped
    /// the task. Leaderships end at their lease deadline, and the real state is unknown.
    Stalled {
        /// How late the task is.
        overdue: Duration,
    },
    /// The client has ended, and does not reconnect.
    Closed {
        /// How its session ended.
        end: SessionEnd,
    },
}

impl ClientHealth {
    /// Returns whether the client can do its work, or will be able to without help: the answer to a
    /// liveness probe. It is false if the client is [`Stalled`](Self::Stalled) or
    /// [`Closed`](Self::Closed): only a restart, or another client, helps. It stays true while
    /// servers are out of reach, since a restart does not bring them back.
    pub const fn is_live(&self) -> bool {
        !matches!(self, Self::Stalled { .. } | Self::Closed { .. })
    }

    /// Returns whether the client is connected to a server that takes writes: the answer to a
    /// readiness probe.
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Makes the health. Takes no lock that is held for longer than it takes to copy a pointer.
    pub(crate) fn of(shared: &Shared) -> Self {
        let (vitals, now) = (&shared.vitals, shared.clock.now());
        let (phase, since) = vitals.phase();
        let lasted = now.saturating_since(since);
        // A driver that has ended is not late.
        if let (ConnectionPhase::Closed, Some(end)) = (phase, vitals.end()) {
            return Self::Closed { end };
        }
        let overdue = vitals.overdue(shared.clock.awake(Instant::now()));
        if overdue > LATE {
            return Self::Stalled { overdue };
        }
        let lease_remaining = shared.lease_remaining().unwrap_or_default();
        let last_failure = vitals.last_failure();
        match phase {
            ConnectionPhase::Connected => Self::Connected { lease_remaining },
            ConnectionPhase::ReadOnly => Self::ReadOnly { lasted },
            ConnectionPhase::Suspended => Self::Suspended { lasted, lease_remaining, last_failure },
            ConnectionPhase::Expired => Self::Expired { lasted, last_failure },
            // The driver writes the end before it writes that phase.
            ConnectionPhase::Connecting | ConnectionPhase::Closed => {
                Self::Connecting { lasted, last_failure }
            }
        }
    }
}

/// A time in tenths of a second.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0.as_secs_f64())
    }
}

impl fmt::Display for ClientHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last_failure = match self {
            Self::Connected { .. } => return f.write_str("connected"),
            Self::ReadOnly { lasted } => {
                let lasted = Seconds(*lasted);
                return write!(
                    f,
                    "connected for {lasted} to a server that is cut off from its ensemble"
                );
            }
            Self::Connecting { lasted, last_failure } => {
                write!(f, "no server has granted a session for {}", Seconds(*lasted))?;
                last_failure
            }
            Self::Suspended { lasted, last_failure, .. } => {
                write!(f, "disconnected for {}, the session in doubt", Seconds(*lasted))?;
                last_failure
            }
            Self::Expired { lasted, last_failure } => {
                write!(f, "disconnected for {}, the session expired", Seconds(*lasted))?;
                last_failure
            }
            Self::Stalled { overdue } => {
                return write!(
                    f,
                    "the client's task is {} late for its turn: a thread of the runtime is \
                     blocked, or has too much to do",
                    Seconds(*overdue)
                );
            }
            Self::Closed { end } => return write!(f, "the client is over: {end}"),
        };
        match last_failure {
            Some(failure) => write!(f, "; last failure: {failure}"),
            None => Ok(()),
        }
    }
}

/// The health of a nomination and its client at one moment; made by
/// [`Nomination::health`](crate::election::Nomination::health).
///
/// [`is_live`](Self::is_live) and [`is_ready`](Self::is_ready) answer liveness and readiness
/// probes, like those of [`ClientHealth`].
///
/// Displayed as a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NominationHealth {
    /// The health of the client.
    pub client: ClientHealth,
    /// The health of the nominee, by its last knowledge.
    pub nominee: NomineeHealth,
    session_timeout: Duration,
}

/// The state of a nominee, for probes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NomineeHealth {
    /// The nominee leads, and may act during the rest of the lease.
    Leading {
        /// The token that fences the leadership.
        token: Token,
        /// The rest of the lease.
        lease_remaining: Duration,
    },
    /// The nominee waits behind another candidate.
    Following,
    /// The nominee waits behind a znode that only a human can remove, and does not lead before that.
    Blocked {
        /// The znode in its way.
        by: Blocker,
        /// The time without a known leader: zero while a candidate ahead of the blocker may lead.
        leaderless: Duration,
    },
    /// The nominee knows of no leader, not even itself: it connects, takes a place in the queue, or
    /// waits for its lease.
    Leaderless {
        /// The time without a known leader.
        lasted: Duration,
    },
    /// The nominee removes its candidate.
    Leaving,
    /// The nominee has ended.
    Ended(EndReason),
}

impl NominationHealth {
    pub(crate) fn new(shared: &Shared, nominee: NomineeHealth) -> Self {
        let session_timeout = shared.vitals.session_timeout();
        Self { client: ClientHealth::of(shared), nominee, session_timeout }
    }

    /// Returns whether the nomination can go on, or will be able to without help: the answer to a
    /// liveness probe. If it stays false, *restart* the process. It is false if the client [is not
    /// live](ClientHealth::is_live), or the nomination has failed. It stays true without a leader,
    /// or without a server.
    pub const fn is_live(&self) -> bool {
        self.client.is_live() && !matches!(self.nominee, NomineeHealth::Ended(EndReason::Failed(_)))
    }

    /// Returns whether the nominee takes part in the election, and knows of a leader: the answer to
    /// a readiness probe. While it is false, *take the process out of service*, and do not restart
    /// it.
    ///
    /// It is [`is_ready_within`](Self::is_ready_within) the session timeout, because take-overs are
    /// faster than that.
    pub fn is_ready(&self) -> bool {
        self.is_ready_within(self.session_timeout)
    }

    /// Returns whether the client [is ready](ClientHealth::is_ready), the nomination goes on, and
    /// it has known of no leader for at most `longest`. A leader with a lapsed lease is not ready.
    pub fn is_ready_within(&self, longest: Duration) -> bool {
        self.client.is_ready()
            && match &self.nominee {
                NomineeHealth::Leading { lease_remaining, .. } => !lease_remaining.is_zero(),
                NomineeHealth::Following => true,
                NomineeHealth::Leaderless { lasted }
                | NomineeHealth::Blocked { leaderless: lasted, .. } => *lasted <= longest,
                NomineeHealth::Leaving | NomineeHealth::Ended(_) => false,
            }
    }
}

impl fmt::Display for NomineeHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leading { token, lease_remaining: Duration::ZERO } => {
                write!(f, "leading with token {token}, the lease lapsed")
            }
            Self::Leading { token, lease_remaining } => {
                write!(f, "leading with token {token} for {} at least", Seconds(*lease_remaining))
            }
            Self::Following => f.write_str("waiting behind another candidate"),
            Self::Blocked { by, leaderless: Duration::ZERO } => write!(f, "blocked by {by}"),
            Self::Blocked { by, leaderless } => {
                let lasted = Seconds(*leaderless);
                write!(f, "no leader known for {lasted}, blocked by {by}")
            }
            Self::Leaderless { lasted } => {
                write!(f, "no leader known for {}", Seconds(*lasted))
            }
            Self::Leaving => f.write_str("removing its candidate"),
            Self::Ended(reason) => write!(f, "ended: {reason}"),
        }
    }
}

impl fmt::Display for NominationHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, nominee, .. } = self;
        match client {
            ClientHealth::Connected { .. } => nominee.fmt(f),
            client => write!(f, "{nominee}; {client}"),
        }
    }
}

impl Client {
    /// Returns the present health of the client, for liveness and readiness probes.
    ///
    /// Waits for nothing and does no IO. It answers from any thread, even while the runtime of the
    /// client is blocked: it returns [`Stalled`](ClientHealth::Stalled) then. A blocked task of the client shows within a second after
    /// the task was due; it is due several times in a session timeout.
    pub fn health(&self) -> ClientHealth {
        ClientHealth::of(self.shared())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn sentence(health: &ClientHealth) -> String {
        health.to_string()
    }

    #[test]
    fn health_is_told_in_a_sentence() {
        let (lasted, lease_remaining) = (Duration::from_millis(2340), Duration::ZERO);
        assert_eq!(
            sentence(&ClientHealth::Suspended { lasted, lease_remaining, last_failure: None }),
            "disconnected for 2.3 s, the session in doubt"
        );
        let reason = crate::error::SharedError::new("no such file");
        let last_failure = Some(Arc::new(ConnectFailure::NoneKnown { reason }));
        assert_eq!(
            sentence(&ClientHealth::Connecting { lasted, last_failure }),
            "no server has granted a session for 2.3 s; last failure: no server is known: no such file"
        );
        assert_eq!(
            sentence(&ClientHealth::Closed { end: SessionEnd::Detached }),
            "the client is over: session handed over"
        );
        let client = ClientHealth::Stalled { overdue: lasted };
        let nominee = NomineeHealth::Leading { token: Token::new(7), lease_remaining };
        let health = NominationHealth { client, nominee, session_timeout: lasted };
        assert_eq!(
            health.to_string(),
            "leading with token 7, the lease lapsed; the client's task is 2.3 s late for its turn: \
             a thread of the runtime is blocked, or has too much to do"
        );
    }

    #[test]
    fn a_gap_between_leaders_is_ready_for_so_long() {
        let client = ClientHealth::Connected { lease_remaining: Duration::ZERO };
        let session_timeout = Duration::from_secs(10);
        let of = |nominee| NominationHealth { client: client.clone(), nominee, session_timeout };
        let leaderless =
            |seconds| of(NomineeHealth::Leaderless { lasted: Duration::from_secs(seconds) });
        assert!(leaderless(10).is_ready() && !leaderless(11).is_ready());
        assert!(leaderless(11).is_live());
        assert!(!leaderless(2).is_ready_within(Duration::from_secs(1)));
        let token = Token::new(7);
        let leading = |lease_remaining| of(NomineeHealth::Leading { token, lease_remaining });
        assert!(leading(Duration::from_millis(1)).is_ready());
        assert!(!leading(Duration::ZERO).is_ready());
        let failed = EndReason::Failed(election_core::election::NominationError::NoElectionNode);
        assert!(!of(NomineeHealth::Ended(failed)).is_live());
    }

    /// The answer must come even if a call holds the hub's lock for ever and so stops the driver.
    #[test]
    fn a_lock_that_is_held_shows_as_a_stall() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let client = {
            let _entered = runtime.enter();
            // No server is there. The attempts to connect make the driver due again and again.
            let builder = Client::builder("127.0.0.1:1");
            builder.session_timeout(Duration::from_secs(2)).start().unwrap()
        };
        let began = std::time::Instant::now();
        // A busy machine may be late with the driver's first turn.
        while !client.health().is_live() {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", client.health());
            thread::sleep(Duration::from_millis(20));
        }
        let held = client.shared().lock();
        while client.health().is_live() {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", client.health());
            thread::sleep(Duration::from_millis(20));
        }
        assert!(matches!(client.health(), ClientHealth::Stalled { .. }));
        drop(held);
        while !client.health().is_live() {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", client.health());
            thread::sleep(Duration::from_millis(20));
        }
        drop(client);
    }
}

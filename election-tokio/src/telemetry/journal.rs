//! Reports of what happened under the hub's lock, made once the lock is released: a subscriber or a
//! recorder may run anything, even a call on the same client.

use core::time::Duration;
use std::sync::Arc;

use election_core::election::{Cause, Notice, Obstacle};
use election_core::name::CandidateName;
use election_core::{NomineeId, Token};
use election_session::{LostReason, RequestKind, Site};
use tracing::field::display;
use tracing::{Span, debug, info, warn};
use zk_jute::records::EventType;
use zk_jute::{ErrorCode, SessionId, Zxid};
use zk_session::lease::LeaseOutlook;
use zk_session::{Rollback, SessionEnd};

use super::election_metrics::{self, ElectionLabel};
use super::figure::ElectionFigure;
use super::lock::LockEntry;
use super::{BLOCKED, CONNECTION, ELECTION, GROUP, Outcome, metrics};
use crate::error::{Place, SharedError};
use crate::state::ConnectFailure;

/// Entries, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Journal(Vec<Entry>);

impl Journal {
    pub(crate) fn note(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }

    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Reports all entries. The caller must not hold a lock.
    pub(crate) fn tell(&mut self, client: &Span) {
        for entry in self.0.drain(..) {
            entry.tell(client);
        }
    }
}

/// An event to report.
#[derive(Debug)]
pub(crate) enum Entry {
    Connected {
        session: SessionId,
        timeout: Duration,
        read_only: bool,
    },
    ConnectFailed(Arc<ConnectFailure>),
    /// The client has had no server for so long, a session timeout at least.
    WithoutServer {
        lasted: Duration,
        failure: Arc<ConnectFailure>,
    },
    ConnectionLost {
        session: Option<SessionId>,
        reason: SharedError,
    },
    SessionEnded {
        session: Option<SessionId>,
        end: SessionEnd,
    },
    HeartbeatRefused {
        path: String,
        error: ErrorCode,
    },
    RolledBack(Rollback),
    /// The creation of a member's znode is held back.
    MemberHeldBack(Place),
    OtherServers {
        count: usize,
    },
    NoServers {
        reason: SharedError,
    },
    /// Lines like the next one were left out, since there were too many of them.
    LeftOut {
        count: u32,
    },
    /// The connection changed its state, by these names.
    StateEntered {
        left: &'static str,
        entered: &'static str,
    },
    AttemptFailed,
    SessionGranted(SessionId),
    SessionResumed,
    /// The server is of a family on which no lease holds.
    ConnectedWithoutLease,
    ConnectionCountedAsLost,
    SessionExpired,
    WatchFired(EventType),
    RecipeRequest {
        kind: RequestKind,
        outcome: Outcome,
    },
    Election(Box<ElectionEntry>),
    Lock(Box<LockEntry>),
    ElectionFigure(ElectionFigure),
    /// A connection was lost for this time, with this outcome for the session.
    SuspensionEnded {
        outcome: &'static str,
        lasted: Duration,
    },
    TenureEnded {
        label: ElectionLabel,
        reason: LostReason,
        lasted: Duration,
    },
}

/// An event of a nomination.
#[derive(Debug)]
pub(crate) struct ElectionEntry {
    pub(crate) site: Arc<Site>,
    pub(crate) label: ElectionLabel,
    pub(crate) nominee: NomineeId,
    pub(crate) candidate: Option<CandidateName>,
    pub(crate) predecessor: Option<CandidateName>,
    /// A sequential child of another format.
    pub(crate) foreign: Option<Box<str>>,
    pub(crate) session: Option<SessionId>,
    pub(crate) zxid: Zxid,
    pub(crate) what: InElection,
}

#[derive(Debug)]
pub(crate) enum InElection {
    Noticed(Notice),
    Elected(Token),
    /// It is promoted, and the leader before it has not confirmed that it ended.
    AwaitingLockDelay,
    LeaseOutOfReach(LeaseOutlook),
    FewNumbersLeft(u32),
    ClientEnded(SessionEnd),
}

impl Entry {
    fn tell(self, client: &Span) {
        match self {
            Self::Connected { session, timeout, read_only } => {
                info!(target: CONNECTION, %session, ?timeout, read_only, "connected");
            }
            Self::ConnectFailed(failure) => {
                debug!(target: CONNECTION, %failure, "no connection");
            }
            Self::WithoutServer { lasted, failure } => warn!(
                target: CONNECTION, ?lasted, %failure,
                "without a server for longer than the session timeout: see that servers run, and are \
                 those of the connect string; the client goes on trying"
            ),
            Self::ConnectionLost { session, reason } => {
                let session = session.map(display);
                warn!(target: CONNECTION, session, %reason, "connection lost");
            }
            Self::SessionEnded { session, end } => tell_session_end(session, end),
            Self::HeartbeatRefused { path, error } => {
                let candidate = path.rsplit_once('/').map_or(&*path, |(_, name)| name);
                warn!(
                    target: CONNECTION, candidate, %error,
                    "heartbeat refused: the lease is not renewed by it"
                );
            }
            Self::RolledBack(rollback) => tell_rollback(rollback),
            Self::MemberHeldBack(at) => tell_held_back(&at),
            Self::OtherServers { count } => {
                info!(target: CONNECTION, count, "another list of servers");
            }
            Self::NoServers { reason } => {
                warn!(target: CONNECTION, %reason, "no new list of servers");
            }
            Self::LeftOut { count } => {
                warn!(target: CONNECTION, count, "too many lines of a kind: left out");
            }
            Self::StateEntered { left, entered } => metrics::state_entered(left, entered),
            Self::AttemptFailed => metrics::connect_failed(),
            Self::SessionGranted(session) => {
                metrics::session_granted();
                client.record("session", display(session));
            }
            Self::SessionResumed => metrics::session_resumed(),
            Self::ConnectedWithoutLease => metrics::connected_without_lease(),
            Self::ConnectionCountedAsLost => metrics::connection_lost(),
            Self::SessionExpired => metrics::session_expired(),
            Self::WatchFired(kind) => metrics::watch_event(kind),
            Self::RecipeRequest { kind, outcome } => {
                metrics::recipe_request(kind.name(), outcome);
            }
            Self::Election(entry) => entry.tell(),
            Self::Lock(entry) => entry.tell(),
            Self::ElectionFigure(figure) => figure.tell(),
            Self::SuspensionEnded { outcome, lasted } => {
                metrics::suspension_ended(outcome, lasted);
            }
            Self::TenureEnded { label, reason, lasted } => {
                election_metrics::tenure_ended(label, reason, lasted);
            }
        }
    }
}

fn tell_held_back(at: &Place) {
    warn!(
        target: GROUP, %at,
        "held back: connections were lost over a member's znode, which the servers may not take; it is \
         sent again later: if its data are long, shorten them, or raise `jute.maxbuffer` of the servers"
    );
}

fn tell_rollback(Rollback { seen, written }: Rollback) {
    metrics::rolled_back();
    warn!(
        target: CONNECTION, %seen, %written,
        "the ensemble has lost transactions that this client had seen: tokens go back, so that systems which \
         keep the greatest token refuse each new leader; see docs/operating.md, \
         \"When the ensemble has lost its data\""
    );
}

fn tell_session_end(session: Option<SessionId>, end: SessionEnd) {
    let shown = session.map(display);
    match end {
        // As it was asked for.
        SessionEnd::Closed | SessionEnd::Detached => {
            info!(target: CONNECTION, session = shown, %end, "session ended");
        }
        // It has left nothing behind on a server.
        SessionEnd::Abandoned if session.is_none() => {
            info!(target: CONNECTION, "ended before a server granted a session");
        }
        _ => warn!(target: CONNECTION, session = shown, %end, "session ended"),
    }
}

impl ElectionEntry {
    fn tell(self) {
        let Self { site, label, nominee, candidate, session, zxid, what, .. } = &self;
        let election = site.path();
        let candidate = candidate.as_ref().map(CandidateName::text);
        let candidate = candidate.as_deref();
        let session = session.map(display::<SessionId>);
        match *what {
            InElection::Noticed(notice) => self.tell_notice(notice),
            InElection::Elected(token) => {
                election_metrics::tenure_began(*label);
                info!(
                    target: ELECTION, election, %nominee, candidate, session, %zxid, %token,
                    "elected"
                );
            }
            InElection::LeaseOutOfReach(outlook) => {
                if let LeaseOutlook::NoLease { family } = outlook {
                    warn!(
                        target: ELECTION, election, %nominee, session, %family,
                        "promoted, but not elected: no lease holds on servers of this family; take the \
                         grade `Advisory` with tokens or transactions for each write, or Apache ZooKeeper"
                    );
                }
                if let LeaseOutlook::RoundTripTooLong { round_trip, timeout, longest } = outlook {
                    warn!(
                        target: ELECTION, election, %nominee, session, ?round_trip, ?timeout,
                        ?longest,
                        "promoted, but not elected: answers take too long for a lease to be kept; \
                         a longer session timeout helps, or a smaller margin, or a nearer server"
                    );
                }
            }
            InElection::AwaitingLockDelay => info!(
                target: ELECTION, election, %nominee, candidate, session, %zxid,
                "promoted, but not elected yet: the leader before has not said that it ended, so the \
                 lock delay is to pass"
            ),
            InElection::FewNumbersLeft(remaining) => warn!(
                target: ELECTION, election, %nominee, candidate, remaining,
                "sequence numbers run out: hold the election at a fresh election node in time, or \
                 delete this one and create it again once it is empty"
            ),
            InElection::ClientEnded(end) => info!(
                target: ELECTION, election, %nominee, %end, "nomination ended"
            ),
        }
    }

    fn tell_notice(&self, notice: Notice) {
        let Self { site, nominee, candidate, predecessor, foreign, session, zxid, .. } = self;
        let election = site.path();
        let candidate = candidate.as_ref().map(CandidateName::text);
        let candidate = candidate.as_deref();
        let session = session.map(display::<SessionId>);
        match notice {
            // This is reported once the lease is proved.
            Notice::Elected(_) => {}
            Notice::Following => debug!(
                target: ELECTION, election, %nominee, candidate, session, %zxid, "following"
            ),
            Notice::FollowingUnwatched => warn!(
                target: ELECTION, election, %nominee, candidate, session, %zxid,
                "following a predecessor that may not be read: its end shows at the next look"
            ),
            Notice::FollowingPersistent => warn!(
                target: BLOCKED, election, %nominee, candidate, session, %zxid,
                predecessor = predecessor.as_ref().map(CandidateName::text).as_deref(),
                "blocked: the candidate ahead is not ephemeral, so that no session's end removes \
                 it; delete it if no participant needs it"
            ),
            Notice::Obstructed(obstacle @ Obstacle::HeldBack) => warn!(
                target: BLOCKED, election, %nominee, session, %zxid, %obstacle,
                "blocked: a request is held back"
            ),
            Notice::Obstructed(obstacle) => warn!(
                target: BLOCKED, election, %nominee, candidate, session, %zxid, %obstacle,
                foreign = foreign.as_deref(),
                "blocked: a znode is in the way that no nominee makes"
            ),
            Notice::ForeignChild => warn!(
                target: BLOCKED, election, %nominee, candidate, session, %zxid,
                foreign = foreign.as_deref(),
                "a sequential znode of another format stands in the election: all participants have to \
                 use one format"
            ),
            Notice::Suspended => warn!(
                target: ELECTION, election, %nominee, candidate, session, %zxid, "suspended"
            ),
            Notice::Resumed(token) => info!(
                target: ELECTION, election, %nominee, candidate, session, %zxid, %token,
                "resumed"
            ),
            Notice::Lost(cause @ Cause::SteppedDown) => info!(
                target: ELECTION, election, %nominee, session, %zxid, %cause,
                "leadership given up"
            ),
            Notice::Lost(cause) => warn!(
                target: ELECTION, election, %nominee, session, %zxid, %cause,
                "leadership lost"
            ),
            Notice::CandidateLost(cause) => warn!(
                target: ELECTION, election, %nominee, session, %zxid, %cause, "candidate lost"
            ),
            Notice::Ended(end) => info!(
                target: ELECTION, election, %nominee, session, %zxid, ?end,
                "nomination ended"
            ),
        }
    }
}

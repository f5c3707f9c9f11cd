//! A process that stands for election: the real session, the real nominees, and between them what
//! the tokio adapter's hub does, without tokio.

mod dispatch;
mod nomination;
mod perform;

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use election_core::{CandidateName, NomineeId, Notice, Policy, Role, Ticket, Token};
use zk_jute::records::{
    Acl, CheckVersionRequest, CreateMode, CreateRequest, DeleteRequest, MultiOp, MultiRequest,
    SetDataRequest,
};
use zk_jute::{DEFAULT_MAX_FRAME, SessionId, Vector, Version, Zxid};
use zk_session::{Config, ConnectionEnd, End, Grade, Instant, Transport, WhileDisconnected};

pub(super) use self::nomination::NominationKey;
use self::nomination::{Happening, Nomination, Stimulus};
use self::perform::Step;

/// The election node.
pub(super) const ELECTION: &str = "/election";
/// What leaders write to, under the guard of their candidate.
pub(super) const RESOURCE: &str = "/resource";

type Session = zk_session::Session<Tag, Watcher>;

/// Whom a reply is for.
#[derive(Debug)]
pub(super) enum Tag {
    Nomination {
        key: NominationKey,
        ticket: Ticket,
        step: Step,
    },
    /// Nobody: what was done shows on the server.
    Nobody,
}

/// Whom a watch event is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watcher {
    key: NominationKey,
    ticket: Ticket,
}

/// What a client process is made with.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) servers: NonZeroUsize,
    pub(super) timeout: Duration,
    pub(super) grade: Grade,
    pub(super) while_disconnected: WhileDisconnected,
    pub(super) seed: u64,
}

/// What somebody who watches a client closely sees it do.
#[derive(Debug)]
pub(super) enum Observed {
    Connected {
        session: SessionId,
        timeout: Duration,
    },
    ConnectFailed,
    Disconnected(ConnectionEnd),
    LeaseLapsed,
    HeartbeatRefused,
    Fired,
    WatchLost,
    Completed,
    Ended(End),
    /// The session ended and another begins.
    Renewed,
    Notice {
        nominee: NomineeId,
        notice: Notice,
    },
    /// With the lease deadline at that moment.
    Announced {
        nominee: NomineeId,
        token: Token,
        until: Option<Instant>,
    },
    /// The nomination is over, because the client is.
    EndedWithClient {
        nominee: NomineeId,
    },
    /// A follower heard of its predecessor's end, in a transaction.
    Woken {
        nominee: NomineeId,
        candidate: String,
        zxid: Zxid,
    },
}

/// What becomes of the client when its session expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnExpiry {
    Renew,
    Close,
}

/// Something done to the election from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chore {
    Delete(String),
    Write(String),
    Create(String),
}

#[derive(Debug)]
pub(super) struct Client {
    settings: Settings,
    session: Session,
    /// Sessions before this one.
    sessions: u64,
    on_expiry: OnExpiry,
    nominations: BTreeMap<NominationKey, Nomination>,
    /// Nominations that end with the session, which is being closed.
    ending: Vec<Nomination>,
    last_nomination: u64,
    /// Whose candidate the session's heartbeats check.
    heartbeats: Option<(NominationKey, CandidateName)>,
    /// A transport of an earlier session, to be dropped.
    stale_transport: Option<Transport>,
    input: BytesMut,
}

impl Client {
    pub(super) fn new(settings: Settings, now: Instant) -> Self {
        Self {
            session: new_session(&settings, 0, now),
            settings,
            sessions: 0,
            on_expiry: OnExpiry::Renew,
            nominations: BTreeMap::new(),
            ending: Vec::new(),
            last_nomination: 0,
            heartbeats: None,
            stale_transport: None,
            input: BytesMut::new(),
        }
    }

    pub(super) fn handle_opened(&mut self, now: Instant) {
        self.input.clear();
        self.session.handle_opened(now);
    }

    pub(super) fn handle_bytes(&mut self, now: Instant, bytes: &Bytes) {
        self.input.extend_from_slice(bytes);
        self.session.handle_bytes(now, &mut self.input, DEFAULT_MAX_FRAME);
    }

    pub(super) fn handle_closed(&mut self, now: Instant) {
        self.session.handle_closed(now);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.session.poll_timeout()
    }

    pub(super) fn poll_transport(&mut self) -> Option<Transport> {
        self.stale_transport.take().or_else(|| self.session.poll_transport())
    }

    pub(super) fn poll_transmit(&mut self, output: &mut BytesMut) {
        self.session.poll_transmit(output);
    }

    /// Whether the client is over.
    pub(super) fn ended(&self) -> Option<End> {
        self.session.ended()
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        self.session.id()
    }

    /// Until when the client counts on its session.
    pub(super) fn lease_deadline(&self) -> Option<Instant> {
        self.session.lease_deadline()
    }

    /// The leaderships that were announced and not called off. They are valid until the lease
    /// deadline: whoever asks compares it with the clock first.
    pub(super) fn announced(&self) -> impl Iterator<Item = (NomineeId, Token)> {
        self.nominations.values().filter_map(|nomination| {
            nomination.announced().map(|(token, _)| (nomination.nominee.id(), token))
        })
    }

    pub(super) fn nominees(&self) -> impl Iterator<Item = (NomineeId, Role<'_>)> {
        self.nominations
            .values()
            .map(|nomination| (nomination.nominee.id(), nomination.nominee.role()))
    }

    /// The nominations that stand, or try to: not those that are leaving.
    pub(super) fn standing(&self) -> impl Iterator<Item = NominationKey> {
        self.nominations.iter().filter(|(_, other)| !other.is_leaving()).map(|(key, _)| *key)
    }
}

/// What users ask for.
impl Client {
    pub(super) fn nominate(
        &mut self,
        now: Instant,
        (id, policy): (NomineeId, Policy),
        observed: &mut Vec<Observed>,
    ) {
        if self.session.ended().is_some() || self.on_expiry == OnExpiry::Close {
            return;
        }
        self.last_nomination += 1;
        let key = NominationKey(self.last_nomination);
        self.nominations.insert(key, Nomination::new(key, id, policy));
        if let Some(session) = self.session.id().filter(|_| self.session.is_connected()) {
            let stimulus = Stimulus::Happened(Happening::Connected(session));
            self.stimulate(now, key, stimulus, observed);
        }
    }

    pub(super) fn withdraw(
        &mut self,
        now: Instant,
        key: NominationKey,
        observed: &mut Vec<Observed>,
    ) {
        self.stimulate(now, key, Stimulus::Withdraw, observed);
    }

    /// Closes the session. Nobody leads from here on.
    pub(super) fn close(&mut self, now: Instant) {
        self.on_expiry = OnExpiry::Close;
        self.session.close(now);
        self.heartbeats = None;
        let (leaving, ending) = core::mem::take(&mut self.nominations)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(_, nomination)| nomination.is_leaving());
        self.nominations = leaving;
        for (_, mut nomination) in ending {
            nomination.client_ends();
            self.ending.push(nomination);
        }
    }

    /// Lets a leader that is valid write its token to the resource, if its candidate stands.
    pub(super) fn work(&mut self, now: Instant) {
        if self.session.lease_deadline().is_none_or(|deadline| deadline <= now) {
            return;
        }
        let Some((token, candidate)) = self.nominations.values().find_map(Nomination::announced)
        else {
            return;
        };
        let candidate = child(candidate);
        let data = token.get().to_be_bytes();
        let version = Version::ANY;
        let operations = [
            MultiOp::Check(CheckVersionRequest { path: &candidate, version }),
            MultiOp::SetData(SetDataRequest { path: RESOURCE, data: Some(&data), version }),
        ];
        // Whether it was applied shows on the server.
        let _ = self.session.submit(now, Tag::Nobody, &MultiRequest::new(&operations));
    }

    pub(super) fn operate(&mut self, now: Instant, chore: &Chore) {
        let version = Version::ANY;
        // An operator looks at what became of it and asks again, or not.
        let _ = match chore {
            Chore::Delete(path) => {
                self.session.submit(now, Tag::Nobody, &DeleteRequest { path, version })
            }
            Chore::Write(path) => {
                let request = SetDataRequest { path, data: Some(b"operator"), version };
                self.session.submit(now, Tag::Nobody, &request)
            }
            Chore::Create(path) => {
                let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
                let request = CreateRequest { path, data: Some(&[]), acl, mode };
                self.session.submit(now, Tag::Nobody, &request)
            }
        };
    }
}

/// The path of a child of the election node.
pub(super) fn child(name: impl core::fmt::Display) -> String {
    format!("{ELECTION}/{name}")
}

fn new_session(settings: &Settings, generation: u64, now: Instant) -> Session {
    let mut config = Config::new(settings.servers);
    config.session_timeout = settings.timeout;
    config.grade = settings.grade;
    config.while_disconnected = settings.while_disconnected;
    Session::new(config, settings.seed.wrapping_add(generation), now)
}

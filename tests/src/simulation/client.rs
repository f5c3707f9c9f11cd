//! A process that stands for election: the real session, the real nominees, and between them what
//! the tokio adapter's hub does, without tokio.

mod dispatch;
mod handover;
mod nomination;
mod perform;
mod users;

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use election_core::{CandidateName, NomineeId, Notice, Role, Ticket, Token};
use zk_jute::{DEFAULT_MAX_FRAME, SessionId, Zxid};
use zk_session::{
    Config, ConnectionEnd, Instant, LeaseGrade, LeaseOutlook, SessionEnd, TransportCommand,
    WhileDisconnected,
};

pub(super) use self::handover::Detached;
use self::nomination::Nomination;
pub(super) use self::nomination::NominationKey;
use self::perform::Step;
use self::users::GuardedWrite;
pub(super) use self::users::{Chore, Stand};

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
    pub(super) grade: LeaseGrade,
    pub(super) while_disconnected: WhileDisconnected,
    /// How often nominees look whether they have missed anything, more or less.
    pub(super) look_every: Duration,
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
    /// With the leaderships that were announced.
    LeaseLapsed(Vec<(NomineeId, Token)>),
    HeartbeatRefused,
    Fired,
    WatchLost,
    Completed,
    Ended(SessionEnd),
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
    /// Writes under guard that wait for room.
    writes: Vec<GuardedWrite>,
    /// A transport of an earlier session, to be dropped.
    stale_transport: Option<TransportCommand>,
    input: BytesMut,
    look_at: Instant,
    random: fastrand::Rng,
}

impl Client {
    pub(super) fn new(settings: Settings, now: Instant) -> Self {
        let session = new_session(&settings, 0, now);
        Self::with_session(settings, session, now)
    }

    fn with_session(settings: Settings, session: Session, now: Instant) -> Self {
        let mut random = fastrand::Rng::with_seed(settings.seed);
        let first_look = settings.look_every * random.u32(0..1_000) / 1_000;
        Self {
            session,
            look_at: now + first_look,
            random,
            settings,
            sessions: 0,
            on_expiry: OnExpiry::Renew,
            nominations: BTreeMap::new(),
            ending: Vec::new(),
            last_nomination: 0,
            heartbeats: None,
            writes: Vec::new(),
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
        self.write_if_due(now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let write = self.writes.iter().map(|write| write.due).min();
        let look = (!self.nominations.is_empty()).then_some(self.look_at);
        self.session.poll_timeout().into_iter().chain(write).chain(look).min()
    }

    pub(super) fn poll_transport(&mut self) -> Option<TransportCommand> {
        self.stale_transport.take().or_else(|| self.session.poll_transport())
    }

    pub(super) fn poll_transmit(&mut self, output: &mut BytesMut) {
        self.session.poll_transmit(output);
    }

    /// Whether the client is over.
    pub(super) fn ended(&self) -> Option<SessionEnd> {
        self.session.ended()
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        self.session.id()
    }

    /// Until when the client counts on its session.
    pub(super) fn lease_deadline(&self) -> Option<Instant> {
        self.session.lease_deadline()
    }

    /// What that rests on, or waits for.
    pub(super) fn lease_outlook(&self, now: Instant) -> LeaseOutlook {
        self.session.lease_outlook(now)
    }

    /// The leaderships that were announced and not called off. They are valid until the lease
    /// deadline: whoever asks compares it with the clock first.
    pub(super) fn announced(&self) -> impl Iterator<Item = (NomineeId, Token)> {
        self.nominations.values().filter_map(|nomination| {
            nomination.announced().map(|(token, _)| (nomination.nominee.id(), token))
        })
    }

    /// The nominees that have ended and look for what they may have left behind.
    pub(super) fn debtors(&self) -> impl Iterator<Item = NomineeId> {
        let debtors = self.nominations.values().filter(|other| other.nominee.owes_cleanup());
        debtors.map(|nomination| nomination.nominee.id())
    }

    pub(super) fn nominees(&self) -> impl Iterator<Item = (NomineeId, Role<'_>)> {
        self.nominations
            .values()
            .filter(|nomination| !nomination.is_over())
            .map(|nomination| (nomination.nominee.id(), nomination.nominee.role()))
    }

    /// The nominations that stand, or try to: not those that are leaving.
    pub(super) fn standing(&self) -> impl Iterator<Item = NominationKey> {
        let standing =
            self.nominations.iter().filter(|(_, other)| !other.is_leaving() && !other.is_over());
        standing.map(|(key, _)| *key)
    }
}

fn new_session(settings: &Settings, generation: u64, now: Instant) -> Session {
    Session::new(config(settings), settings.seed.wrapping_add(generation), now)
}

fn config(settings: &Settings) -> Config {
    let mut config = Config::new(settings.servers);
    config.session_timeout = settings.timeout;
    config.grade = settings.grade;
    config.while_disconnected = settings.while_disconnected;
    config
}

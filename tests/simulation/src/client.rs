//! A process that stands for election and contends for locks: it drives `election-session` as every
//! adapter does, and has users.

mod caching;
mod calls;
mod confirming;
mod contending;
mod deleting;
mod ending;
mod endings;
mod epochs;
mod handing_over;
mod handover;
mod observed;
mod operating;
mod queued;
mod rounds;
mod sharing;
mod standing;
mod tree_writes;
mod users;
mod using;
mod writing;

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use election_core::election::{Nominee, Role};
use election_core::{NomineeId, Phase, Token};
use election_session::{Chroot, Grant, KeepReady, RecipeHost, RecipeKey, Resumption, Site};
use zk_jute::{DEFAULT_MAX_FRAME, SessionId};
use zk_session::lease::{HeartbeatPace, LeaseGrade, LeaseOutlook};
use zk_session::{
    Config, Instant, ProbeAnswer, ReadOnlyServers, ServerIndex, SessionEnd, SilentServers,
    TransportCommand, WhileDisconnected,
};

use self::caching::{Cached, Caching};
pub(super) use self::calls::CallId;
use self::calls::Calls;
pub(super) use self::confirming::Question;
pub(super) use self::ending::{Goal, sign_of};
pub(super) use self::handing_over::Leader;
pub(super) use self::handover::Detached;
pub(super) use self::observed::Observed;
use self::observed::Seen;
use self::operating::Procedures;
use self::queued::Queued;
use self::sharing::Sharing;
use self::standing::Standing;
pub(super) use self::users::{Chore, Nomination};
use self::users::{GuardedWrite, Stand, Terms};
use self::using::Using;
pub(super) use self::using::{Began, Terms as UseTerms, Told, waits};
use self::writing::Writing;
pub(super) use self::writing::Written;
use super::checker::{Entry, queue_of};
use super::queue::Queue;
use super::round::Round;

type Host = RecipeHost<Standing, CallId, CallId>;

/// The settings of a client process.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) servers: NonZeroUsize,
    pub(super) timeout: Duration,
    pub(super) grade: LeaseGrade,
    pub(super) heartbeats: HeartbeatPace,
    pub(super) keep_ready: KeepReady,
    pub(super) silent_servers: SilentServers,
    pub(super) while_disconnected: WhileDisconnected,
    pub(super) read_only_servers: ReadOnlyServers,
    /// How many calls of its user may be in flight.
    pub(super) most_calls: usize,
    /// How often nominees look whether they have missed anything, more or less.
    pub(super) look_every: Duration,
    pub(super) seed: u64,
}

/// A client that a world drives.
#[derive(Debug)]
pub(super) struct Client {
    host: Host,
    /// The nominations that its user has begun, with what was seen of each.
    seen: BTreeMap<RecipeKey, Seen>,
    /// The rounds that its user plays.
    rounds: BTreeMap<RecipeKey, Round>,
    using: Using,
    procedures: Procedures,
    /// The caches of its user.
    caches: BTreeMap<Cached, Caching>,
    /// Its share of the slots, if its user has joined those that have one.
    sharing: Option<Sharing>,
    /// Whether its user has closed it.
    usage: Usage,
    /// Writes under guard that wait for room.
    writes: Vec<GuardedWrite>,
    writing: Writing,
    /// The requests of its user to the host itself.
    calls: Calls,
    /// The user's acts since events were handed out last.
    told: Vec<Observed>,
    input: BytesMut,
    random: fastrand::Rng,
}

/// Whether the user goes on with the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usage {
    Open,
    Closed,
}

impl Client {
    pub(super) fn new(settings: &Settings, now: Instant) -> Self {
        Self::with(settings, None, now)
    }

    fn with(settings: &Settings, resumption: Option<Resumption>, now: Instant) -> Self {
        let mut host_settings = election_session::Settings::new(config(settings), settings.seed);
        host_settings.look_interval = Some(settings.look_every);
        host_settings.keep_ready = settings.keep_ready;
        host_settings.resumption = resumption.map(Box::new);
        Self {
            host: RecipeHost::new(host_settings, now).expect("there are no identities to refuse"),
            seen: BTreeMap::new(),
            rounds: BTreeMap::new(),
            using: Using::default(),
            procedures: Procedures::default(),
            caches: BTreeMap::new(),
            sharing: None,
            usage: Usage::Open,
            writes: Vec::new(),
            writing: Writing::default(),
            calls: Calls::new(settings.seed),
            told: Vec::new(),
            input: BytesMut::new(),
            random: fastrand::Rng::with_seed(settings.seed),
        }
    }

    pub(super) fn handle_opened(&mut self, now: Instant) {
        self.input.clear();
        self.host.handle_opened(now);
    }

    pub(super) fn handle_bytes(&mut self, now: Instant, bytes: &Bytes) {
        self.input.extend_from_slice(bytes);
        self.host.handle_bytes(now, &mut self.input, DEFAULT_MAX_FRAME);
    }

    pub(super) fn handle_closed(&mut self, now: Instant) {
        self.host.handle_closed(now);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.host.handle_timeout(now);
        self.write_if_due(now);
        self.go_on_if_due(now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let write = self.writes.iter().map(|write| write.due).min();
        self.host
            .poll_timeout()
            .into_iter()
            .chain(write)
            .chain(self.procedures.due())
            .chain(self.cache_due())
            .chain(self.share_due())
            .min()
    }

    /// Notes that another list of servers counts, of this length.
    pub(super) fn handle_servers(&mut self, now: Instant, count: NonZeroUsize) {
        self.host.handle_servers(now, count);
    }

    /// Returns a server that is to be asked whether it takes writes.
    pub(super) fn poll_probe(&mut self) -> Option<ServerIndex> {
        self.host.poll_probe()
    }

    pub(super) fn handle_probed(&mut self, now: Instant, server: ServerIndex, answer: ProbeAnswer) {
        self.host.handle_probed(now, server, answer);
    }

    pub(super) fn poll_transport(&mut self) -> Option<TransportCommand> {
        self.host.poll_transport()
    }

    pub(super) fn poll_transmit(&mut self, output: &mut BytesMut) {
        self.host.poll_transmit(output);
    }

    /// Hands out all that the host has to tell.
    pub(super) fn dispatch(&mut self, now: Instant, observed: &mut Vec<Observed>) {
        observed.append(&mut self.told);
        while let Some(event) = self.host.poll_event(now) {
            self.see(now, event, observed);
            observed.append(&mut self.told);
        }
        self.drive_share(now);
        self.drive_caches(now);
        observed.append(&mut self.told);
    }

    /// Adds a nomination.
    fn stand(&mut self, now: Instant, nominee: Nominee, nomination: Nomination) -> RecipeKey {
        let Nomination { id, queue, policy, when_asked } = nomination;
        let nominee = nominee.when_asked(when_asked);
        let key = self.host.stand(now, Standing::Nominee(nominee), site(queue));
        let stand = Stand { id, queue, terms: Terms::Nominee(policy, when_asked) };
        self.seen.insert(key, Seen::new(stand));
        self.told.push(Observed::Entry(Entry::Stood(key)));
        key
    }

    /// Whether the client is over.
    pub(super) fn ended(&self) -> Option<SessionEnd> {
        self.host.ended()
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        self.host.session_id()
    }

    /// Returns the time until which the client counts on its session.
    pub(super) fn lease_deadline(&self) -> Option<Instant> {
        self.host.lease_deadline()
    }

    /// Returns the prospect of the lease: in force, or waiting for something.
    pub(super) fn lease_outlook(&self, now: Instant) -> LeaseOutlook {
        self.host.lease_outlook(now)
    }

    /// Returns the leaderships that were announced and not called off. They are valid until the
    /// lease deadline, which their users compare with the clock first.
    pub(super) fn announced(&self) -> impl Iterator<Item = (NomineeId, Token)> {
        self.seen.iter().filter_map(|(key, seen)| match self.host.view(*key)?.grant {
            Grant::Announced { token } => Some((seen.stand.id, *token)),
            _ => None,
        })
    }

    /// Returns the leaderships that the host calls held at this moment; drivers are to ask this before each act of a
    /// leader.
    pub(super) fn held(&self, now: Instant) -> impl Iterator<Item = (NomineeId, Token)> {
        let held = move |(key, seen): (&RecipeKey, &Seen)| {
            self.host.held(now, *key).map(|token| (seen.stand.id, token))
        };
        self.seen.iter().filter_map(held)
    }

    /// Returns the nominees, or contenders, that have ended and look for what they may have left
    /// behind.
    pub(super) fn debtors(&self) -> impl Iterator<Item = NomineeId> {
        let debtors = self.queued().filter(|(_, it)| it.phase == Phase::CleaningUp);
        debtors.map(|(_, queued)| queued.id)
    }

    /// The nominees that let the lock delay pass.
    pub(super) fn awaiting_lock_delay(&self) -> impl Iterator<Item = NomineeId> {
        let is_delayed = |(key, seen): (&RecipeKey, &Seen)| {
            let until = self.host.view(*key)?.delay_until;
            until.map(|_| seen.stand.id)
        };
        self.seen.iter().filter_map(is_delayed)
    }

    /// Those that are promoted, and not announced yet.
    pub(super) fn awaiting_lease(&self) -> impl Iterator<Item = NomineeId> {
        let waits = |(key, seen): (&RecipeKey, &Seen)| {
            let is_waiting = matches!(self.host.view(*key)?.grant, Grant::AwaitsLease { .. });
            is_waiting.then_some(seen.stand.id)
        };
        self.seen.iter().filter_map(waits)
    }

    /// Those that have not ended, contenders for locks included.
    pub(super) fn nominees(&self) -> impl Iterator<Item = (NomineeId, Role<'_>)> {
        let nominees = self.queued().map(|(_, queued)| (queued.id, queued.role));
        nominees.filter(|(_, role)| !matches!(role, Role::Ended(_)))
    }

    /// Returns their number; a contender for a permit, which contends twice, counts for two.
    pub(super) fn parts(&self) -> usize {
        let parts =
            self.nominees().map(|(id, _)| 1 + usize::from(queue_of(id) == Queue::SEMAPHORE));
        parts.sum()
    }

    /// Returns those that stand, or try to: not those that are leaving.
    pub(super) fn standing(&self) -> impl Iterator<Item = RecipeKey> {
        let standing = self.queued().filter(|(_, queued)| queued.phase == Phase::Standing);
        standing.map(|(key, _)| key)
    }

    fn queued(&self) -> impl Iterator<Item = (RecipeKey, Queued<'_>)> {
        self.host.recipes().filter_map(|(key, standing)| Some((key, standing.queued()?)))
    }

    /// Whether a nominee leads, or is the next to lead, as far as it knows; or a contender holds, or
    /// waits for the first of its queue.
    pub(super) fn needs_the_lease(&self, is_first: impl Fn(NomineeId, &str) -> bool) -> bool {
        // A member may plan, or hold a slot.
        self.shares_slots()
            || self.queued().any(|(_, queued)| match queued.role {
                Role::Leading { .. } | Role::Suspended { .. } => true,
                Role::Following { predecessor, leader, .. } => {
                    predecessor == leader && is_first(queued.id, &predecessor.text())
                }
                // The next that gets a permit.
                Role::Standing => queue_of(queued.id) == Queue::SEMAPHORE,
                _ => false,
            })
    }

    fn is_closed(&self) -> bool {
        self.host.ended().is_some() || self.usage == Usage::Closed
    }
}

fn config(settings: &Settings) -> Config {
    let mut config = Config::new(settings.servers);
    config.session_timeout = settings.timeout;
    config.grade = settings.grade;
    config.pace = settings.heartbeats;
    config.while_disconnected = settings.while_disconnected;
    config.read_only_servers = settings.read_only_servers;
    config.silent_servers = settings.silent_servers;
    config.limits.max_in_flight = settings.most_calls;
    config
}

/// Returns the site of a queue's contenders.
fn site(queue: Queue) -> Arc<Site> {
    let node = queue.site().parse().expect("it is a path");
    let site = Site::new(&node, &Chroot::default());
    Arc::new(site.payload(Bytes::from_static(b"simulated")))
}

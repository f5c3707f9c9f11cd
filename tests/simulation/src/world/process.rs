//! A client's process, from one start to the next.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use election_core::election::Notice;
use election_core::{NomineeId, Token};
use election_session::slots::SlotName;
use zk_jute::SessionId;
use zk_session::Instant;
use zk_session::lease::HeartbeatPace;

use crate::checker::queue_of;
use crate::client::{Client, Detached, Observed, Settings};
use crate::clock::{Clock, Time};
use crate::cuts::Cutting;
use crate::ending::Ending;
use crate::heartbeats::{Heartbeats, Terms};
use crate::links::NodeId;
use crate::network::ConnKey;
use crate::queue::{Kind, Queue};
use crate::server::Condition;

/// In which dials are counted.
pub(super) const DIAL_WINDOW: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Process {
    pub(super) node: NodeId,
    settings: Settings,
    /// The servers at the places of the list that the client goes by.
    pub(super) servers: Vec<NodeId>,
    /// The list that the client is to be given next.
    next_servers: Option<Vec<NodeId>>,
    /// How the client ends with the next thing that it hears, if it is to.
    pub(super) ending: Option<Ending>,
    pub(super) clock: Clock,
    /// When its machine was held, and its clock stood still.
    stops: Vec<Stop>,
    pub(super) condition: Condition,
    /// When it last went on after a pause.
    pub(super) resumed_at: Time,
    pub(super) wake_at: Option<Time>,
    pub(super) client: Option<Client>,
    /// The connection that the client has, or is opening.
    pub(super) line: Option<ConnKey>,
    /// The session of a process that has ended, for the next one.
    pub(super) detached: Option<Detached>,
    starts: u64,
    /// Starts of a process that knew nothing of the one before.
    lives: u64,
    pub(super) nominees: u16,
    /// Since when it has been connected.
    pub(super) connected_at: Option<Time>,
    /// The shortest timeout that servers have granted to the session.
    granted: Option<(SessionId, Duration)>,
    /// The moment at which a heartbeat was last refused.
    pub(super) refused_at: Option<Time>,
    /// Nominees that were promoted, and not announced yet.
    pub(super) promoted: BTreeMap<NomineeId, Time>,
    /// Of the present connection.
    pub(super) heartbeats: Heartbeats,
    pub(super) traffic: Traffic,
    /// The moments of its last dials.
    dials: VecDeque<Time>,
    /// How many faults keep it from getting replies.
    pub(super) unanswered: u32,
    /// The connections that are to be cut at requests.
    pub(super) cutting: Option<Cutting>,
    /// How many faults have its connections break at the first answer in its session.
    pub(super) broken_off: u32,
    /// Candidates lost or withdrawn on this connection. Each leaves a watch behind at most, on its
    /// predecessor.
    pub(super) candidates_gone: usize,
    /// The same of contenders.
    pub(super) contenders_gone: usize,
    /// It goes on with the session of another one.
    pub(super) was_handed_over: bool,
    /// Contenders of earlier processes, which may have znodes in the session.
    pub(super) left_behind: BTreeSet<NomineeId>,
}

/// The traffic of a client while nothing happens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) pings: u32,
    pub(super) syncs: u32,
    /// Heartbeats that a quorum commits.
    pub(super) checks: u32,
    pub(super) others: u32,
    pub(super) notifications: u32,
    /// Connections that ended.
    pub(super) losses: u32,
}

/// A time in which the clock of a process stood still.
#[derive(Clone, Copy, Debug)]
struct Stop {
    /// What the clock showed.
    shown: Instant,
    since: Time,
    /// How long it was, once it is over.
    lasted: Option<Duration>,
}

impl Process {
    pub(super) fn new(node: NodeId, settings: Settings, clock: Clock) -> Self {
        Self {
            servers: (0..settings.servers.get()).map(NodeId).collect(),
            next_servers: None,
            ending: None,
            node,
            settings,
            clock,
            stops: Vec::new(),
            condition: Condition::Down,
            resumed_at: Time::ORIGIN,
            wake_at: None,
            client: None,
            line: None,
            detached: None,
            starts: 0,
            lives: 0,
            nominees: 0,
            connected_at: None,
            granted: None,
            refused_at: None,
            promoted: BTreeMap::new(),
            heartbeats: Heartbeats::default(),
            traffic: Traffic::default(),
            dials: VecDeque::new(),
            unanswered: 0,
            cutting: None,
            broken_off: 0,
            candidates_gone: 0,
            contenders_gone: 0,
            was_handed_over: false,
            left_behind: BTreeSet::new(),
        }
    }

    pub(super) fn now(&self, now: Time) -> Instant {
        Instant::since_origin(self.clock.reading(now))
    }

    /// Notes the facts about a client that are needed later.
    pub(super) fn observe(&mut self, now: Time, what: &Observed) {
        match what {
            Observed::Connected { session, timeout } => {
                self.candidates_gone = 0;
                self.contenders_gone = 0;
                self.granted(*session, *timeout);
                self.connected_at = Some(now);
            }
            Observed::Disconnected(_) => {
                self.connected_at = None;
                self.traffic.losses += 1;
            }
            Observed::SlotContenderOver => self.candidates_gone += 1,
            Observed::HeartbeatRefused => self.refused_at = Some(now),
            Observed::Notice { nominee, notice: Notice::Elected(_) } => {
                self.promoted.insert(*nominee, now);
            }
            Observed::Notice {
                nominee,
                notice: Notice::CandidateLost(_) | Notice::Lost(_) | Notice::Ended(_),
            } => {
                match queue_of(*nominee).kind() {
                    Kind::Election => self.candidates_gone += 1,
                    _ => self.contenders_gone += 1,
                }
                self.promoted.remove(nominee);
            }
            Observed::EndedWithClient { nominee } => {
                self.promoted.remove(nominee);
            }
            _ => {}
        }
    }

    /// Starts a process that knows nothing of the one before.
    pub(super) fn start(&mut self, now: Time) {
        // Of a machine that is held, another one takes the place.
        self.clock_goes_on(now);
        self.stops.clear();
        let settings = self.next_settings();
        self.lives += 1;
        self.detached = None;
        self.client = Some(Client::new(&settings, self.now(now)));
        self.condition = Condition::Running;
    }

    /// Ends the process, and leaves its session to another one, which asks for that timeout.
    pub(super) fn detach(&mut self, detached: Detached, timeout: Duration) {
        self.crash();
        self.line = None;
        self.left_behind.extend(&detached.contenders);
        self.was_handed_over = true;
        self.detached = Some(detached);
        self.settings.timeout = timeout;
    }

    /// Starts a process that goes on with the session of the one before.
    pub(super) fn resume(&mut self, now: Time, clock: Clock, detached: Detached) {
        self.clock = clock;
        let settings = self.next_settings();
        let now = self.now(now);
        self.client = Some(Client::resume(&settings, detached, now));
        self.condition = Condition::Running;
    }

    /// Sets the list of servers that counts as soon as the process runs.
    pub(super) fn hand_list(&mut self, list: Vec<NodeId>) {
        self.next_servers = Some(list);
    }

    /// Gives the client the list that waits for it, if its process runs: before anything else that it
    /// does.
    pub(super) fn take_list(&mut self, now: Time) {
        let Some(list) = self.next_servers.take_if(|_| self.condition == Condition::Running) else {
            return;
        };
        let now = self.now(now);
        self.go_by(list);
        if let Some(client) = &mut self.client {
            client.handle_servers(now, self.settings.servers);
        }
    }

    fn go_by(&mut self, list: Vec<NodeId>) {
        self.settings.servers = NonZeroUsize::new(list.len()).unwrap_or(NonZeroUsize::MIN);
        self.servers = list;
    }

    fn next_settings(&mut self) -> Settings {
        if let Some(list) = self.next_servers.take() {
            self.go_by(list);
        }
        self.ending = None;
        self.dials.clear();
        self.starts += 1;
        let mut settings = self.settings.clone();
        settings.seed = settings.seed.wrapping_add(self.starts << 32);
        settings
    }

    pub(super) fn crash(&mut self) {
        self.client = None;
        self.stops.clear();
        self.connected_at = None;
        self.condition = Condition::Down;
        self.wake_at = None;
    }

    /// Returns the leaderships that this process would call valid at this moment, whatever it does.
    pub(super) fn valid(&self, now: Time) -> impl Iterator<Item = (NomineeId, Token)> {
        let now = self.now(now);
        let client = self.client.as_ref();
        let client = client.filter(|client| client.lease_deadline().is_some_and(|end| now < end));
        client.into_iter().flat_map(Client::announced)
    }

    /// Stops its clock: its machine is held.
    pub(super) fn clock_stops(&mut self, now: Time) {
        self.stops.push(Stop { shown: self.now(now), since: now, lasted: None });
        self.clock.stop(now);
    }

    /// Its clock goes on, if it stands still.
    pub(super) fn clock_goes_on(&mut self, now: Time) {
        if let (Some(stood), Some(stop)) = (self.clock.go_on(now), self.stops.last_mut()) {
            stop.lasted = Some(stood);
        }
    }

    /// Returns how long its clock has stood still in the life of its process, in true time.
    pub(super) fn stood_still(&self, now: Time) -> Duration {
        self.stops.iter().map(|stop| stop.lasted(now)).sum()
    }

    /// Whether this process would call its leaderships valid if its clock had gone on. The evidence for a lease may have
    /// been asked for a timeout before its end, and the clock may have stood still since.
    pub(super) fn is_valid_had_the_clock_gone_on(&self, now: Time) -> bool {
        let Some(deadline) = self.client.as_ref().and_then(Client::lease_deadline) else {
            return false;
        };
        let asked = deadline.elapsed().saturating_sub(self.timeout());
        let since = self.stops.iter().filter(|stop| stop.shown.elapsed() >= asked);
        let behind: Duration = since.map(|stop| self.clock.span(stop.lasted(now))).sum();
        self.now(now) + behind < deadline
    }

    /// Returns the slots that this process would call its own at this moment, whatever it does.
    pub(super) fn slots(&self, now: Time) -> impl Iterator<Item = (&SlotName, Token)> {
        let now = self.now(now);
        let client = self.client.as_ref();
        let client = client.filter(|client| client.lease_deadline().is_some_and(|end| now < end));
        client.into_iter().flat_map(Client::held_slots)
    }

    /// Returns the leaderships that its driver would be told are held.
    pub(super) fn held(&self, now: Time) -> impl Iterator<Item = (NomineeId, Token)> {
        let now = self.now(now);
        self.client.iter().flat_map(move |client| client.held(now))
    }

    /// Returns the time until which that is so, if nothing more comes in.
    pub(super) fn valid_until(&self) -> Option<Time> {
        let deadline = self.client.as_ref()?.lease_deadline()?;
        Some(self.clock.when(deadline.elapsed()))
    }

    pub(super) fn nominees_in(&self, queue: Queue) -> usize {
        let nominees = self.client.iter().flat_map(Client::nominees);
        nominees.filter(|(nominee, _)| queue_of(*nominee) == queue).count()
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        self.client.as_ref()?.session()
    }

    /// Whether the client is gone, or has closed its session.
    pub(super) fn is_over(&self) -> bool {
        self.client.as_ref().is_none_or(|client| client.ended().is_some())
    }

    pub(super) fn is_up(&self) -> bool {
        self.condition == Condition::Running
    }

    /// Notes that a server has granted this timeout.
    fn granted(&mut self, session: SessionId, timeout: Duration) {
        self.granted = match self.granted {
            Some((same, shortest)) if same == session => Some((session, shortest.min(timeout))),
            _ => Some((session, timeout)),
        };
    }

    /// Returns the shortest timeout that the session was ever granted.
    pub(super) fn timeout(&self) -> Duration {
        self.granted.map_or(self.settings.timeout, |(_, timeout)| timeout)
    }

    /// Notes that the client dials, and returns how often it has in [`DIAL_WINDOW`].
    pub(super) fn dials(&mut self, now: Time) -> usize {
        self.dials.push_back(now);
        while self.dials.front().is_some_and(|at| now.since(*at) > DIAL_WINDOW) {
            self.dials.pop_front();
        }
        self.dials.len()
    }

    /// Returns what a promotion of this client may wait for, which comes as late as that at most.
    ///
    /// Two heartbeats and a proof have to come within the nine tenths of the timeout that a lease has
    /// (`LeaseOutlook::RoundTripTooLong`), each as late as that, and with a reserve of a tenth, or of three
    /// round trips. Round trips of a 45th leave the time for that; at twice the pace, of a 23rd.
    pub(super) fn terms(&self, lateness: Duration) -> Terms {
        let part = match self.settings.heartbeats {
            HeartbeatPace::Sixths => 23,
            _ => 45,
        };
        // By the slowest clock.
        let interval = self.timeout() * 1_000_000 / (3 * (1_000_000 - Clock::MAX_DRIFT));
        Terms { bearable: self.timeout() / part, interval: interval + lateness }
    }

    /// Returns the time between two pings or heartbeats: true time, and the least, as this clock
    /// and the fastest one may have it.
    pub(super) fn heartbeat_interval(&self) -> Duration {
        let parts = match self.settings.heartbeats {
            HeartbeatPace::Sixths => 6,
            _ => 3,
        };
        self.timeout() / parts * 9 / 10
    }
}

impl Stop {
    fn lasted(&self, now: Time) -> Duration {
        self.lasted.unwrap_or(now.since(self.since))
    }
}

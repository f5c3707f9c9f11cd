//! The plan: all decisions about a run that are made before it begins.

mod text;

use core::time::Duration;

use election_core::election::{OnLoss, Policy};
use election_session::KeepReady;
use zk_embedded::{CounterEnd, ExpiryPace};
use zk_session::lease::{HeartbeatPace, LeaseGrade};
use zk_session::{SilentServers, WhileDisconnected};

use super::addition::Addition;
use super::clock::{Clock, Time};
use super::ensemble::{ReadOnlyMode, TouchLoss};
use super::incident::{Incident, What};
use super::keeper::KeeperLike;
use super::locks::Locks;
use super::many::Many;
use super::operating::{Ends, Operating};
use super::profile::{Profile, grade_name};
use super::queue::Queue;
use super::reasons::Counters;
use super::round::Rounds;
use super::schedule;
use super::uses::Uses;

/// A run, as drawn from its seed, or cut down from one that was.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// The faults that are drawn.
    pub profile: Profile,
    /// The evidence that the clients' leases rest on.
    pub grade: LeaseGrade,
    /// The incidents until [`Plan::calm_at`], in order of time.
    pub incidents: Vec<Incident>,
    /// The moment from which everything is well again.
    pub calm_at: Time,
    /// How many servers: one on its own, or an ensemble.
    pub(super) servers: u8,
    pub(super) tick: Duration,
    /// The session timeout that most clients ask for, and the operator.
    pub(super) timeout: Duration,
    pub(super) init_limit: u32,
    pub(super) sync_limit: u32,
    /// By how much clocks differ from the true rate at most, in millionths.
    pub(super) drift: u32,
    pub(super) nominees: Vec<Standing>,
    /// How many elections there are.
    pub(super) elections: u8,
    /// How often leaders write, if they do.
    pub(super) work_every: Option<Duration>,
    /// How long such a write waits for room at most.
    pub(super) write_waits: Duration,
    /// How often nominees look whether they have missed anything, more or less.
    pub(super) look_every: Duration,
    /// The numbers at which the counters of the election nodes begin.
    pub(super) counters: Counters,
    /// The reaction of servers to a counter that has come to its end.
    pub(super) counter_end: CounterEnd,
    /// The longest session timeout that servers grant, in ticks.
    pub(super) most_ticks: u32,
    /// How long servers take to end an expired session.
    pub(super) pace: ExpiryPace,
    /// How members lose what they have to tell of sessions.
    pub(super) touch_loss: TouchLoss,
    /// The least time that each way between a client and a server takes.
    pub(super) latency: Duration,
    /// By how much a client's process comes too late at most.
    pub(super) lateness: Duration,
    /// How users call, if they do.
    pub(super) calls: Option<Calls>,
    /// Whether members without a leader serve reads, and clients do with that.
    pub(super) read_only: ReadOnlyMode,
    /// How clients play rounds of a recipe that none of the published crates knows, if they do.
    pub(super) rounds: Option<Rounds>,
    /// The addition to the draw of the seed, if any was made.
    pub(super) addition: Option<Addition>,
    /// How clients contend for locks, if they do.
    pub(super) locks: Option<Locks>,
    /// How clients use barriers, queues and the counter, if they do.
    pub(super) uses: Option<Uses>,
    /// How clients keep a tree, and share slots, if they do.
    pub(super) many: Option<Many>,
    /// The servers, if they are not ZooKeeper's.
    pub(super) like: Option<KeeperLike>,
    /// How elections are operated, if they are.
    pub(super) operating: Option<Operating>,
    /// How often heartbeats come.
    pub(super) heartbeats: HeartbeatPace,
    /// The conditions under which leases are kept ready.
    pub(super) keep_ready: KeepReady,
    /// What clients do with a silent server, if there is another one.
    pub(super) silent_servers: SilentServers,
}

/// The promise that clients are given of what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeasePromise {
    /// Of all that exclude each other at most one is valid.
    Lease,
    /// By servers that are not ZooKeeper's, to clients that ask for no lease: it ends with the connection.
    Advice,
    /// By them to all others.
    Nothing,
}

/// How the users of clients call znodes of their own.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    pub(super) every: Duration,
    /// How many of a client's calls may be in flight.
    pub(super) most: usize,
    pub(super) while_disconnected: WhileDisconnected,
}

/// How one client stands for election.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) from: Time,
    pub(super) policy: Policy,
    pub(super) timeout: Duration,
    /// An election for each nominee.
    pub(super) ballots: Vec<Queue>,
}

impl Plan {
    /// Draws the run of a seed. Its grade is drawn from those that hold under the profile, unless
    /// it is given. `Contact` is drawn for a server on its own only: in an ensemble it breaks also
    /// while all members are well, if rarely. A client that was silent for nearly its timeout is
    /// answered by a follower, and its session expires before that follower's next answer to its
    /// leader's ping, which tells of the client.
    pub fn draw(seed: u64, profile: Profile, grade: Option<LeaseGrade>) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let drawn = rng.choice(profile.grades()).copied().unwrap_or_default();
        let tick = Duration::from_millis(rng.choice([1000, 2000]).unwrap_or(2000));
        let timeout = draw_timeout(&mut rng, tick);
        let servers = match (profile, rng.u8(0..8)) {
            (Profile::Clients, 0..=1) => 1,
            (Profile::Quorum, 0) => 5,
            _ => 3,
        };
        let calm_at = Time::from_millis(rng.u64(25_000..60_000));
        let mut plan = Self {
            seed,
            profile,
            grade: grade.unwrap_or(match drawn {
                LeaseGrade::Contact if servers > 1 => LeaseGrade::Sync,
                drawn => drawn,
            }),
            incidents: Vec::new(),
            calm_at,
            servers,
            tick,
            timeout,
            init_limit: 5,
            sync_limit: rng.u32(2..=5),
            drift: rng.choice([0, Clock::MAX_DRIFT, Clock::MAX_DRIFT]).unwrap_or(0),
            nominees: Vec::new(),
            elections: rng.choice([1, 1, 1, 2, 3]).unwrap_or(1),
            work_every: rng.bool().then(|| Duration::from_millis(rng.u64(200..2_000))),
            write_waits: Duration::from_millis(rng.choice([0, 0, 300, 3_000]).unwrap_or(0)),
            look_every: timeout * rng.u32(2..6),
            counters: Counters::Fresh,
            counter_end: CounterEnd::Sticks,
            most_ticks: 20,
            pace: ExpiryPace::default(),
            touch_loss: TouchLoss::default(),
            latency: Duration::ZERO,
            lateness: Duration::ZERO,
            calls: None,
            read_only: ReadOnlyMode::Off,
            rounds: None,
            addition: None,
            locks: None,
            uses: None,
            many: None,
            like: None,
            operating: None,
            heartbeats: HeartbeatPace::default(),
            keep_ready: KeepReady::WhileNeeded,
            silent_servers: SilentServers::Endure,
        };
        plan.draw_servers(&mut rng);
        plan.nominees = (0..rng.u8(3..=5)).map(|_| Standing::draw(&mut rng, &plan)).collect();
        plan.incidents = schedule::draw(&mut rng, &plan);
        plan.draw_pace(&mut rng);
        plan.draw_callers();
        plan.draw_locks();
        plan.draw_uses();
        plan.draw_silence();
        plan
    }

    /// Draws the acts of callers on their clients, in some runs. It draws from numbers of its own,
    /// so that the others stay as they are.
    fn draw_callers(&mut self) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x000c_a11e_2500);
        if rng.u8(0..4) == 0 {
            self.calls = Some(Calls {
                every: Duration::from_millis(rng.u64(500..4_000)),
                most: rng.choice([1, 2, 4, 8, 16]).unwrap_or(1),
                while_disconnected: if rng.bool() {
                    WhileDisconnected::Queue
                } else {
                    WhileDisconnected::Refuse
                },
            });
        }
        if self.profile == Profile::Quorum && self.servers > 1 && rng.u8(0..4) == 0 {
            self.read_only = ReadOnlyMode::On;
        }
        self.incidents.extend(schedule::draw_of_callers(&mut rng, self));
        self.incidents.sort_by_key(|incident| incident.at);
        if rng.u8(0..4) == 0 {
            self.heartbeats = HeartbeatPace::Sixths;
        }
        if rng.bool() {
            self.keep_ready = KeepReady::Always;
        }
    }

    /// Locks, in half of the runs, of numbers of their own, too.
    fn draw_locks(&mut self) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x0010_c5ed_0000);
        if rng.bool() {
            self.locks = Some(Locks::draw(&mut rng, self));
            self.incidents.extend(schedule::draw_of_locks(&mut rng, self));
            self.incidents.sort_by_key(|incident| incident.at);
        }
    }

    /// Barriers, queues and a counter, in a quarter of the runs, of numbers of their own, too.
    fn draw_uses(&mut self) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x0005_e5ed_0000);
        if rng.u8(0..4) == 0 {
            self.uses = Some(Uses::draw(&mut rng, self));
            self.incidents.extend(schedule::draw_of_uses(&mut rng, self));
            self.incidents.sort_by_key(|incident| incident.at);
        }
    }

    /// Whether clients leave silent servers, in half of the runs, of a number of its own, too.
    fn draw_silence(&mut self) {
        if fastrand::Rng::with_seed(self.seed ^ 0x0051_1e47_0000).bool() {
            self.silent_servers = SilentServers::Leave;
        }
    }

    /// Draws the properties that set the servers of a run apart.
    fn draw_servers(&mut self, rng: &mut fastrand::Rng) {
        if rng.u8(0..16) == 0 {
            self.counters = Counters::Before(rng.i32(0..16));
        }
        if rng.u8(0..4) == 0 {
            self.counter_end = CounterEnd::Wraps;
        }
        if rng.u8(0..4) == 0 {
            self.most_ticks = rng.u32(2..=5);
        }
        if rng.u8(0..4) == 0 {
            // Less than a twelfth of the least timeout, two ticks, also by the slowest clock.
            self.pace.to_closing = self.tick * rng.u32(0..900) / 6_000;
        }
        if rng.u8(0..4) == 0 {
            self.pace.to_proposal = Duration::from_millis(rng.u64(0..1_000));
        }
        if rng.u8(0..4) == 0 {
            let within = Duration::from_millis(rng.u64(1..100));
            self.touch_loss =
                TouchLoss { per_mille: rng.u16(1..=1_000), within, ..TouchLoss::default() };
        }
    }

    /// Whether its clients are far from the servers, or come late. So that they get a connection at
    /// all, all ask for the same timeout: an attempt gives up after a third of that, divided by the
    /// servers, both for the transport and for the handshake.
    fn draw_pace(&mut self, rng: &mut fastrand::Rng) {
        match rng.u8(0..16) {
            0 | 1 => {
                let most = self.timeout / (6 * u32::from(self.servers));
                // No attempt waits longer than 3 s, however long the timeout is.
                let most = most.min(Duration::from_millis(1_400));
                let most = most.saturating_sub(Duration::from_millis(80));
                self.latency = most * rng.u32(0..1_000) / 1_000;
            }
            2 => self.lateness = Duration::from_millis(rng.u64(0..300)),
            _ => return,
        }
        self.most_ticks = 20;
        for standing in &mut self.nominees {
            standing.timeout = self.timeout;
        }
        for incident in &mut self.incidents {
            if let What::HandOver(_, timeout) = &mut incident.what {
                *timeout = self.timeout;
            }
        }
    }

    /// Whether clients are far from the servers, or come late.
    pub(super) fn is_far(&self) -> bool {
        self.latency + self.lateness > Duration::ZERO
    }

    /// Whether every client's lease can be proved in time: round trips are short enough, and
    /// processes come soon enough.
    pub(super) fn is_prompt(&self) -> bool {
        self.latency * 2 + self.lateness < self.shortest() / 34
    }

    /// Whether that is so even if a heartbeat is refused once and sent again.
    pub(super) fn is_near(&self) -> bool {
        self.latency * 2 + self.lateness < self.shortest() / 56
    }

    /// Returns the least that a server grants to a client.
    fn shortest(&self) -> Duration {
        let shortest = self.nominees.iter().map(|standing| standing.timeout).min();
        self.granted(shortest.unwrap_or(self.timeout).min(self.timeout))
    }

    /// Returns the timeout that servers grant.
    fn granted(&self, asked: Duration) -> Duration {
        asked.max(self.tick * 2).min(self.tick * 20)
    }

    /// Returns the longest session timeout that a client asks for.
    pub(super) fn longest(&self) -> Duration {
        let standing = self.nominees.iter().map(|standing| standing.timeout);
        let asked = self.incidents.iter().filter_map(|incident| match incident.what {
            What::HandOver(_, timeout) => Some(timeout),
            _ => None,
        });
        let longest = standing.chain(asked).fold(self.timeout, Duration::max);
        self.granted(longest)
    }

    /// Returns how long the election may take until it is settled once everything is well: a
    /// session of a process that is gone ends a timeout and a tick after a new leader of the
    /// ensemble has begun to count, which may take `initLimit` and `syncLimit` ticks; a client may
    /// find every server in turn not serving, and wait between attempts; clocks may be slow.
    pub(super) fn settling_time(&self) -> Duration {
        let election = self.tick * (self.init_limit + self.sync_limit + 2);
        let expiry = self.pace.to_closing + self.pace.to_proposal;
        (election
            + self.latency * 60
            + expiry * 3
            + self.longest() * 3
            + self.look_every * 2
            + self.lock_delay() * 3
            + Duration::from_secs(10))
            * 11
            / 10
    }

    /// Returns what clients are promised of what they hold.
    pub(super) fn promise(&self) -> LeasePromise {
        match (self.like, self.grade) {
            (None, _) => LeasePromise::Lease,
            (Some(_), LeaseGrade::Advisory) => LeasePromise::Advice,
            (Some(_), _) => LeasePromise::Nothing,
        }
    }

    /// Whether clients ask for no lease.
    pub(super) fn is_advisory(&self) -> bool {
        self.grade == LeaseGrade::Advisory
    }

    /// Whether leaders write in epochs, beside what they write under the guard of their candidates.
    pub(super) fn writes_in_epochs(&self) -> bool {
        self.operating.is_some_and(|it| matches!(it.ends, Ends::ByDeletion { .. }))
    }

    /// How long a new leader waits if the one before it has not said that it ended.
    pub(super) fn lock_delay(&self) -> Duration {
        self.operating.map_or(Duration::ZERO, |operating| operating.lock_delay)
    }

    /// The command that runs this seed again.
    pub fn command(&self) -> String {
        let addition = self.addition.map(|addition| format!(" --with {addition}"));
        format!(
            "cargo run -p zk-simulation --release --bin simulate -- --seeds 1 --from {} \
             --profile {} --grade {}{} --story",
            self.seed,
            self.profile,
            grade_name(self.grade),
            addition.unwrap_or_default()
        )
    }
}

impl Standing {
    fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Self {
        let on_loss = if rng.u8(0..4) == 0 { OnLoss::End } else { OnLoss::StandAgain };
        let others = rng.u8(0..4) == 0;
        let timeout = if others { draw_other_timeout(rng, plan.tick) } else { plan.timeout };
        let first = Queue::election(rng.u8(..), plan.elections);
        let mut ballots = vec![first];
        if plan.elections > 1 || rng.u8(0..8) == 0 {
            ballots.extend((0..rng.u8(0..3)).map(|_| Queue::election(rng.u8(..), plan.elections)));
        }
        Self {
            from: Time::from_millis(rng.u64(0..3_000)),
            policy: Policy { on_loss, ..Policy::default() },
            timeout,
            ballots,
        }
    }
}

/// Draws a timeout that servers grant as asked for.
fn draw_timeout(rng: &mut fastrand::Rng, tick: Duration) -> Duration {
    Duration::from_millis(rng.u64(4_000..=10_000)).max(tick * 2).min(tick * 5)
}

/// Draws the timeout of a client that asks for another one than the rest: up to the one that
/// servers grant, or more.
pub(super) fn draw_other_timeout(rng: &mut fastrand::Rng, tick: Duration) -> Duration {
    let longest = rng.choice([4, 8, 16, 24]).unwrap_or(4);
    tick * rng.u32(1_500..=longest * 1_000) / 1_000
}

//! The scene of a run: servers, the ways to them, and processes.

use core::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use zk_embedded::Profile;

use crate::clocks::WallClocks;
use crate::laws::Laws;
use crate::network::{Way, Weather};
use crate::others::{OtherServers, Promise};
use crate::process::{Order, Process};
use crate::servers::Servers;
use crate::setting::{Release, Setting};

pub(crate) const PROCESSES: usize = 4;
/// How long it storms.
const STORM: Duration = Duration::from_secs(40);
/// How long it takes, once nothing happens any more, until one leads and every process knows all:
/// an election of the ensemble, the rest of the sessions of the dead, a lease to prove, and a
/// backoff.
pub(crate) const CALM: Duration = Duration::from_secs(25);
/// How often the storm asks which processes lead.
const STEP: Duration = Duration::from_millis(3);

/// The use that processes make of their clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    /// Everything but a cached tree.
    All,
    /// Everything that there is.
    AllAndTrees,
    /// Slots, and nothing else.
    Slots,
    /// One election, led while its leader is well, and nothing else.
    Checked,
    /// A cached tree, and writes to it.
    Trees,
}

/// Cached trees alone have servers of before 3.6 from this seed on.
const FIRST_BEFORE_3_6: u64 = 30_000;

pub(crate) struct Scene {
    pub(crate) cast: Cast,
    pub(crate) rng: fastrand::Rng,
    rng_of_locks: fastrand::Rng,
    rng_of_recipes: fastrand::Rng,
    pub(crate) rng_of_operating: fastrand::Rng,
    /// Of its own, so that the names of znodes change nothing that is drawn.
    rng_of_ids: fastrand::Rng,
    pub(crate) rng_of_slots: fastrand::Rng,
    pub(crate) rng_of_health: fastrand::Rng,
    rng_of_trees: fastrand::Rng,
    pub(crate) rng_of_others: fastrand::Rng,
    pub(crate) rng_of_clocks: fastrand::Rng,
    pub(crate) wall_clocks: WallClocks,
    pub(crate) servers: Servers,
    pub(crate) ways: Vec<Way>,
    pub(crate) orders: Vec<mpsc::Sender<Order>>,
    /// Each ends a plague in time.
    pub(crate) healers: JoinSet<()>,
    pub(crate) setting: Setting,
    pub(crate) laws: Laws,
    processes: JoinSet<()>,
}

impl Scene {
    /// Begins with servers alone.
    pub(crate) fn begin(profile: Profile, seed: u64, cast: Cast) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut rng_of_slots = fastrand::Rng::with_seed(seed ^ 0x5107_5107);
        let mut rng_of_health = fastrand::Rng::with_seed(seed ^ 0x4ea1_7411);
        let mut rng_of_groups = fastrand::Rng::with_seed(seed ^ 0x0a9a_4700);
        let of_slots = (&mut rng_of_slots, &mut rng_of_groups);
        let mut setting = Setting::draw(&mut rng, of_slots, &mut rng_of_health);
        if !matches!(cast, Cast::All | Cast::AllAndTrees) {
            setting.elections = 0;
        }
        if cast == Cast::Trees && seed >= FIRST_BEFORE_3_6 {
            setting.release = Release::Before36;
        }
        let mut rng_of_others = fastrand::Rng::with_seed(seed ^ 0x07e4_5e44);
        if profile != Profile::ZooKeeper {
            setting.others = Some(OtherServers::draw(&mut rng_of_others, profile));
        }
        let laws = Laws::new(setting.promise());
        laws.slots_are_to_be_apart(&setting.slots[0].apart);
        let servers = Servers::start(&laws, &setting, rng.fork());
        Self {
            cast,
            rng,
            rng_of_locks: fastrand::Rng::with_seed(!seed),
            rng_of_recipes: fastrand::Rng::with_seed(seed ^ 0x4ec1_9e50),
            rng_of_operating: fastrand::Rng::with_seed(seed ^ 0x09e7_a7e5),
            rng_of_ids: fastrand::Rng::with_seed(seed ^ 0x1d5e_ed1d),
            rng_of_slots,
            rng_of_health,
            rng_of_trees: fastrand::Rng::with_seed(seed ^ 0x07ee_cac4),
            rng_of_others,
            rng_of_clocks: fastrand::Rng::with_seed(seed ^ 0x00c1_0c45),
            wall_clocks: WallClocks::of(seed, cast),
            servers,
            ways: Vec::new(),
            orders: Vec::new(),
            healers: JoinSet::new(),
            setting,
            laws,
            processes: JoinSet::new(),
        }
    }

    /// Returns a way that no plague befalls.
    pub(crate) fn spared_way(&mut self) -> Way {
        Way::to(&self.servers, self.rng.fork())
    }

    pub(crate) fn add_processes(&mut self) {
        for number in 0..PROCESSES {
            self.add_process(number);
        }
    }

    fn add_process(&mut self, number: usize) {
        let (sender, orders) = mpsc::channel(1);
        let way = Way::to(&self.servers, self.rng.fork());
        let (laws, rng) = (self.laws.clone(), self.rng.fork());
        let process = Process {
            number,
            cast: self.cast,
            setting: self.setting.clone(),
            laws,
            rng,
            rng_of_locks: self.rng_of_locks.fork(),
            rng_of_recipes: self.rng_of_recipes.fork(),
            rng_of_operating: self.rng_of_operating.fork(),
            rng_of_ids: self.rng_of_ids.fork(),
            rng_of_slots: self.rng_of_slots.fork(),
            rng_of_health: self.rng_of_health.fork(),
            rng_of_trees: self.rng_of_trees.fork(),
            way: way.clone(),
        };
        self.processes.spawn(process.run(orders));
        self.ways.push(way);
        self.orders.push(sender);
    }

    /// Brings one plague after the other, some at a time.
    pub(crate) async fn rage(&mut self) {
        let end = Instant::now() + STORM;
        let mut next = Instant::now();
        let mut reign = self.servers.leader();
        while Instant::now() < end && self.laws.what_is_broken().is_none() {
            if next <= Instant::now() {
                self.plague();
                self.plague_of_others();
                self.plague_of_clocks();
                next = Instant::now() + self.millis(5..1500);
            }
            sleep(STEP).await;
            self.laws.nothing_is_valid_without_a_connection();
            self.laws.one_leader_at_most();
            self.laws.locks_are_held_in_turn();
            self.laws.operated_by_one_at_most();
            self.laws.permits_are_enough();
            self.laws.slots_are_held_in_turn();
            self.laws.several_exclude_each_other();
            self.laws.one_well_leader_at_most();
            let leader = self.servers.leader();
            if leader.is_some() && leader != reign {
                self.laws.count(|tally| tally.successions += 1);
                self.laws.tell(|| format!("server {leader:?} leads the ensemble"));
                reign = leader;
            }
        }
        let is_ensemble = self.setting.servers > 1;
        let without_lease = self.setting.promise() == Promise::Nothing;
        self.laws.count(|tally| {
            tally.ensembles += u64::from(is_ensemble);
            tally.without_lease += u64::from(without_lease);
        });
    }

    /// Mends everything that plagues have broken.
    pub(crate) async fn mend(&mut self) {
        self.healers.shutdown().await;
        for way in &self.ways {
            way.change(Weather::clear_up);
        }
        self.servers.heal();
    }

    /// Ends all processes, some of which drop what they have.
    pub(crate) async fn end_processes(&mut self) {
        for orders in self.orders.drain(..) {
            if self.rng.bool() {
                let _ = orders.try_send(Order::Drop);
            }
        }
        let ended = async { while self.processes.join_next().await.is_some() {} };
        if timeout(CALM, ended).await.is_err() {
            self.laws.broken("a process never ends".to_owned());
        }
        sleep(CALM).await;
    }

    /// Checks that no session and no task is left behind, and that the members agree.
    pub(crate) fn all_is_over(&self) {
        let sessions = self.servers.sessions();
        if !sessions.is_empty() {
            self.laws.broken(format!("sessions are left behind: {sessions:?}"));
        }
        let zxids = self.servers.zxids();
        if zxids.iter().any(|zxid| Some(zxid) != zxids.first()) {
            self.laws.broken(format!("in the end the members are at {zxids:?}"));
        }
        // One is the servers' clock.
        let tasks = Handle::current().metrics().num_alive_tasks();
        if tasks != 1 {
            self.laws.broken(format!("{} tasks are left behind", tasks - 1));
        }
    }
}

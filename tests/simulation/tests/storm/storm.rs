//! A run: it storms, it clears up, and everything ends.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use zk_embedded::{Database, Znode};
use zk_simulation::recipes::QUEUES;
use zk_verdict::Op;

use crate::clerk::Clerk;
use crate::epochs::EndsBy;
use crate::laws::{self, Laws, NOTICE, Tally, Wish, number_in};
use crate::locks::Lock;
use crate::network::{Way, Weather};
use crate::operated::{OPERATED, Operator};
use crate::permits::SEMAPHORE;
use crate::process::{Order, Process};
use crate::recipes::queue_key;
use crate::servers::Servers;
use crate::setting::{LONGEST, Setting};

pub(crate) const PROCESSES: usize = 4;
/// How long it storms.
const STORM: Duration = Duration::from_secs(40);
/// How long it takes, once nothing happens any more, until one leads and every process knows all:
/// an election of the ensemble, the rest of the sessions of the dead, a lease to prove, and a
/// backoff.
const CALM: Duration = Duration::from_secs(25);
/// How often the storm asks which processes lead.
const STEP: Duration = Duration::from_millis(3);

pub(crate) struct Storm {
    pub(crate) rng: fastrand::Rng,
    rng_of_locks: fastrand::Rng,
    rng_of_recipes: fastrand::Rng,
    rng_of_operating: fastrand::Rng,
    /// Of its own, so that the names of znodes change nothing that is drawn.
    rng_of_ids: fastrand::Rng,
    pub(crate) servers: Servers,
    pub(crate) ways: Vec<Way>,
    pub(crate) orders: Vec<mpsc::Sender<Order>>,
    /// Each ends a plague in time.
    pub(crate) healers: JoinSet<()>,
    setting: Setting,
    pub(crate) laws: Laws,
    processes: JoinSet<()>,
    clerk: JoinHandle<()>,
    operator: JoinHandle<Operator>,
    closing_time: Arc<Notify>,
    /// The operator is to end no election any more.
    operators_end: Arc<Notify>,
}

impl Storm {
    pub(crate) async fn pass(seed: u64) -> Result<Tally, String> {
        let mut storm = Self::begin(seed).await;
        let laws = storm.laws.clone();
        storm.rage().await;
        storm.clear_up().await;
        storm.end().await;
        let setting = &storm.setting;
        laws.what_is_broken()
            .map_or_else(|| Ok(laws.tally()), |law| Err(format!("{law} ({setting:?})")))
    }

    async fn begin(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let setting = Setting::draw(&mut rng);
        let laws = Laws::new();
        laws.operated_is_to_end_by(EndsBy::of(seed));
        let servers = Servers::start(&laws, &setting, rng.fork());
        let way = Way::to(&servers, rng.fork());
        let clerk = Clerk::begin(&way, setting.elections, rng.fork()).await;
        let (closing_time, operators_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let mut rng_of_operating = fastrand::Rng::with_seed(seed ^ 0x09e7_a7e5);
        let operator = Operator::begin(&way, &laws, rng_of_operating.fork());
        let mut storm = Self {
            rng,
            rng_of_locks: fastrand::Rng::with_seed(!seed),
            rng_of_recipes: fastrand::Rng::with_seed(seed ^ 0x4ec1_9e50),
            rng_of_operating,
            rng_of_ids: fastrand::Rng::with_seed(seed ^ 0x1d5e_ed1d),
            servers,
            ways: Vec::new(),
            orders: Vec::new(),
            healers: JoinSet::new(),
            setting,
            laws,
            processes: JoinSet::new(),
            clerk: tokio::spawn(clerk.keep_notice(Arc::clone(&closing_time))),
            operator: tokio::spawn(operator.operate(Arc::clone(&operators_end))),
            closing_time,
            operators_end,
        };
        for number in 0..PROCESSES {
            storm.add_process(number);
        }
        storm
    }

    fn add_process(&mut self, number: usize) {
        let (sender, orders) = mpsc::channel(1);
        let way = Way::to(&self.servers, self.rng.fork());
        let (laws, rng) = (self.laws.clone(), self.rng.fork());
        let process = Process {
            number,
            setting: self.setting.clone(),
            laws,
            rng,
            rng_of_locks: self.rng_of_locks.fork(),
            rng_of_recipes: self.rng_of_recipes.fork(),
            rng_of_operating: self.rng_of_operating.fork(),
            rng_of_ids: self.rng_of_ids.fork(),
            way: way.clone(),
        };
        self.processes.spawn(process.run(orders));
        self.ways.push(way);
        self.orders.push(sender);
    }

    /// Brings one plague after the other, some at a time.
    async fn rage(&mut self) {
        let end = Instant::now() + STORM;
        let mut next = Instant::now();
        let mut reign = self.servers.leader();
        while Instant::now() < end && self.laws.what_is_broken().is_none() {
            if next <= Instant::now() {
                self.plague();
                next = Instant::now() + self.millis(5..1500);
            }
            sleep(STEP).await;
            self.laws.one_leader_at_most();
            self.laws.locks_are_held_in_turn();
            self.laws.operated_by_one_at_most();
            self.laws.permits_are_enough();
            let leader = self.servers.leader();
            if leader.is_some() && leader != reign {
                self.laws.count(|tally| tally.successions += 1);
                self.laws.tell(|| format!("server {leader:?} leads the ensemble"));
                reign = leader;
            }
        }
        let is_ensemble = self.setting.servers > 1;
        self.laws.count(|tally| tally.ensembles += u64::from(is_ensemble));
    }

    /// Mends everything, and checks the calm: one leads each election and goes on leading, and every process knows the last number.
    async fn clear_up(&mut self) {
        self.laws.tell(|| "it clears up".to_owned());
        self.laws.wish(Wish::LeadOn);
        self.closing_time.notify_one();
        self.operators_end.notify_one();
        self.healers.shutdown().await;
        for way in &self.ways {
            way.change(Weather::clear_up);
        }
        self.servers.heal();
        sleep(CALM).await;
        let leaders = self.laws.leaders();
        let elections = leaders.iter().map(|(election, ..)| *election);
        if !elections.eq(0..self.setting.elections) {
            self.laws.broken(format!("in the calm these lead: {leaders:?}"));
        }
        let (held, used) = (self.laws.times_held(), self.laws.times_used());
        let permitted = self.laws.times_permitted();
        // What a process does next is drawn: now and then it does not come to one thing for a while.
        sleep(LONGEST * 4).await;
        self.all_have_held_since(&held);
        let later = self.laws.times_used();
        let mut idle = (0..PROCESSES).filter(|process| later.get(process) == used.get(process));
        if let Some(process) = idle.next() {
            self.laws.broken(format!("in the calm {process} gets nowhere with recipes"));
        }
        let later = self.laws.times_permitted();
        let mut idle =
            (0..PROCESSES).filter(|process| later.get(process) == permitted.get(process));
        if let Some(process) = idle.next() {
            self.laws.broken(format!("in the calm {process} does not get a permit"));
        }
        let later = self.laws.leaders();
        if later != leaders {
            self.laws.broken(format!("in the calm {later:?} lead after {leaders:?}"));
        }
        for election in 0..self.setting.elections {
            let candidates = self.servers.children(&laws::election(election));
            if candidates.len() != PROCESSES {
                self.laws.broken(format!("in the calm there are {candidates:?}"));
            }
        }
        if let Err(error) = (&mut self.clerk).await {
            self.laws.broken(error.to_string());
        }
        // Each process follows it in two ways.
        self.laws.all_have_seen(self.notice(), 2 * PROCESSES);
        match (&mut self.operator).await {
            Ok(operator) => self.operate_in_the_calm(&operator).await,
            Err(error) => self.laws.broken(error.to_string()),
        }
    }

    /// Checks that each process has held each lock once more.
    fn all_have_held_since(&self, before: &BTreeMap<(usize, Lock), u64>) {
        let held = self.laws.times_held();
        let all = (0..PROCESSES).flat_map(|process| Lock::ALL.map(|lock| (process, lock)));
        let mut idle = all.filter(|which| held.get(which) == before.get(which));
        if let Some((process, lock)) = idle.next() {
            self.laws.broken(format!("in the calm {process} does not get {lock:?}"));
        }
    }

    /// Checks that nothing is left behind: no candidate, no session, no task; and that the members
    /// agree.
    async fn end(&mut self) {
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
        for election in 0..self.setting.elections {
            let candidates = self.servers.children(&laws::election(election));
            if !candidates.is_empty() {
                self.laws.broken(format!("these are left behind: {candidates:?}"));
            }
        }
        for lock in Lock::ALL {
            let contenders = self.servers.children(&lock.path());
            if !contenders.is_empty() {
                self.laws.broken(format!("these are left behind: {contenders:?}"));
            }
        }
        let permits = ["locks", "leases"].map(|node| format!("{SEMAPHORE}/{node}"));
        for path in permits.iter().map(String::as_str).chain([OPERATED]) {
            let left = self.servers.children(path);
            if !left.is_empty() {
                self.laws.broken(format!("these are left behind: {left:?}"));
            }
        }
        self.laws.recipes_are_accounted_for();
        for (queue, path) in QUEUES.into_iter().enumerate() {
            let items = self.servers.show(|data| items(data, path)).unwrap_or_default();
            let call = self.laws.invoked(queue_key(queue), Op::Left { items: Vec::new() });
            self.laws.returned(call, Op::Left { items });
        }
        self.laws.judge();
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

    /// Returns the number in the notice.
    fn notice(&self) -> i64 {
        let read = |data: &Database| {
            let notice = data.znode(NOTICE);
            notice.map_or(0, |znode| number_in(znode.data().unwrap_or_default()))
        };
        self.servers.show(read).unwrap_or(0)
    }
}

/// Returns the items that stand in a queue.
fn items(data: &Database, queue: &str) -> Vec<String> {
    let names = data.znode(queue).into_iter().flat_map(Znode::children);
    let items = names.filter(|name| !name.starts_with("claimed-"));
    let of = |name: &str| data.znode(&format!("{queue}/{name}"))?.data();
    items.filter_map(of).map(|data| String::from_utf8_lossy(data).into_owned()).collect()
}

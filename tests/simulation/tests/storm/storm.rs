//! A run: it storms, it clears up, and everything ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use zk_embedded::{Database, Profile, Znode};
use zk_simulation::recipes::QUEUES;
use zk_verdict::Op;

use crate::clerk::Clerk;
use crate::epochs::EndsBy;
use crate::laws::{self, NOTICE, Tally, Wish, number_in};
use crate::locks::Lock;
use crate::operated::{OPERATED, Operator};
use crate::others::Promise;
use crate::permits::SEMAPHORE;
use crate::recipes::queue_key;
use crate::scene::{CALM, Cast, PROCESSES, Scene};
use crate::setting::LONGEST;
use crate::several;

/// From this seed on processes keep a cached tree, too: more requests give each seed another run, and tests and mutations
/// name seeds before it.
const FIRST_WITH_TREES: u64 = 20_000;

pub(crate) struct Storm {
    pub(crate) scene: Scene,
    clerk: JoinHandle<()>,
    operator: JoinHandle<Operator>,
    closing_time: Arc<Notify>,
    /// The operator is to end no election any more.
    operators_end: Arc<Notify>,
}

impl Storm {
    pub(crate) async fn pass(servers: Profile, seed: u64) -> Result<Tally, String> {
        let mut storm = Self::begin(servers, seed).await;
        let laws = storm.scene.laws.clone();
        storm.scene.rage().await;
        storm.clear_up().await;
        storm.end().await;
        let setting = &storm.scene.setting;
        laws.what_is_broken()
            .map_or_else(|| Ok(laws.tally()), |law| Err(format!("{law} ({setting:?})")))
    }

    async fn begin(servers: Profile, seed: u64) -> Self {
        let cast = if seed < FIRST_WITH_TREES { Cast::All } else { Cast::AllAndTrees };
        let mut scene = Scene::begin(servers, seed, cast);
        scene.laws.operated_is_to_end_by(EndsBy::of(seed));
        let way = scene.spared_way();
        let clerk = Clerk::begin(&way, scene.setting.elections, scene.rng.fork()).await;
        let (closing_time, operators_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let operator = Operator::begin(&way, &scene.laws, scene.rng_of_operating.fork());
        let clerk = tokio::spawn(clerk.keep_notice(Arc::clone(&closing_time)));
        let operator = tokio::spawn(operator.operate(Arc::clone(&operators_end)));
        scene.add_processes();
        Self { scene, clerk, operator, closing_time, operators_end }
    }

    /// Mends everything, and checks the calm: one leads each election and goes on leading, and every process knows the last number.
    async fn clear_up(&mut self) {
        self.scene.laws.tell(|| "it clears up".to_owned());
        self.scene.laws.wish(Wish::LeadOn);
        self.scene.laws.slots_are_to_rest();
        self.scene.laws.trees_are_to_rest();
        self.closing_time.notify_one();
        self.operators_end.notify_one();
        self.scene.mend().await;
        sleep(CALM).await;
        match self.scene.setting.promise() {
            Promise::Lease | Promise::Advice => self.all_get_what_they_want().await,
            Promise::Nothing => self.all_get_what_needs_no_lease().await,
        }
        for election in 0..self.scene.setting.elections {
            let candidates = self.scene.servers.children(&laws::election(election));
            if candidates.len() != PROCESSES {
                self.scene.laws.broken(format!("in the calm there are {candidates:?}"));
            }
        }
        if let Err(error) = (&mut self.clerk).await {
            self.scene.laws.broken(error.to_string());
        }
        // Each process follows it in two ways.
        self.scene.laws.all_have_seen(self.notice(), 2 * PROCESSES);
        match (&mut self.operator).await {
            Ok(_) if self.scene.setting.promise() == Promise::Nothing => {}
            Ok(operator) => self.operate_in_the_calm(&operator).await,
            Err(error) => self.scene.laws.broken(error.to_string()),
        }
    }

    async fn all_get_what_they_want(&self) {
        let leaders = self.scene.laws.leaders();
        let elections = leaders.iter().map(|(election, ..)| *election);
        if !elections.eq(0..self.scene.setting.elections) {
            self.scene.laws.broken(format!("in the calm these lead: {leaders:?}"));
        }
        self.scene.slots_are_shared_out(&BTreeSet::new());
        let tokens = self.scene.laws.tokens_of_slots();
        let several = self.scene.laws.times_several();
        let held = self.scene.laws.times_held();
        let permitted = self.scene.laws.times_permitted();
        // What a process does next is drawn: now and then it does not come to one thing for a while.
        self.all_get_what_needs_no_lease().await;
        self.all_have_held_since(&held);
        let later = self.scene.laws.times_permitted();
        let mut idle =
            (0..PROCESSES).filter(|process| later.get(process) == permitted.get(process));
        if let Some(process) = idle.next() {
            self.scene.laws.broken(format!("in the calm {process} does not get a permit"));
        }
        self.scene.slots_rest(&tokens);
        self.scene.caches_show_the_tree();
        self.scene.laws.the_job_has_run();
        let later = self.scene.laws.times_several();
        let mut idle = (0..PROCESSES).filter(|process| later.get(process) == several.get(process));
        if let Some(process) = idle.next() {
            self.scene.laws.broken(format!("in the calm {process} does not get several locks"));
        }
        let later = self.scene.laws.leaders();
        if later != leaders {
            self.scene.laws.broken(format!("in the calm {later:?} lead after {leaders:?}"));
        }
    }

    async fn all_get_what_needs_no_lease(&self) {
        let used = self.scene.laws.times_used();
        sleep(LONGEST * 4).await;
        let later = self.scene.laws.times_used();
        let mut idle = (0..PROCESSES).filter(|process| later.get(process) == used.get(process));
        if let Some(process) = idle.next() {
            self.scene.laws.broken(format!("in the calm {process} gets nowhere with recipes"));
        }
    }

    /// Checks that each process has held each lock once more.
    fn all_have_held_since(&self, before: &BTreeMap<(usize, Lock), u64>) {
        let held = self.scene.laws.times_held();
        let all = (0..PROCESSES).flat_map(|process| Lock::ALL.map(|lock| (process, lock)));
        let mut idle = all.filter(|which| held.get(which) == before.get(which));
        if let Some((process, lock)) = idle.next() {
            self.scene.laws.broken(format!("in the calm {process} does not get {lock:?}"));
        }
    }

    /// Checks that nothing is left behind: no candidate, no session, no task; and that the members
    /// agree.
    async fn end(&mut self) {
        self.scene.end_processes().await;
        for election in 0..self.scene.setting.elections {
            let candidates = self.scene.servers.children(&laws::election(election));
            if !candidates.is_empty() {
                self.scene.laws.broken(format!("these are left behind: {candidates:?}"));
            }
        }
        for lock in Lock::ALL {
            let contenders = self.scene.servers.children(&lock.path());
            if !contenders.is_empty() {
                self.scene.laws.broken(format!("these are left behind: {contenders:?}"));
            }
        }
        let permits = ["locks", "leases"].map(|node| format!("{SEMAPHORE}/{node}"));
        for path in permits.iter().map(String::as_str).chain([OPERATED]) {
            let left = self.scene.servers.children(path);
            if !left.is_empty() {
                self.scene.laws.broken(format!("these are left behind: {left:?}"));
            }
        }
        self.scene.slots_leave_what_they_document();
        for path in several::paths().chain([several::job()]) {
            let left = self.scene.servers.children(&path);
            if !left.is_empty() {
                self.scene.laws.broken(format!("these are left behind at {path}: {left:?}"));
            }
        }
        self.scene.laws.recipes_are_accounted_for();
        for (queue, path) in QUEUES.into_iter().enumerate() {
            let items = self.scene.servers.show(|data| items(data, path)).unwrap_or_default();
            let call = self.scene.laws.invoked(queue_key(queue), Op::Left { items: Vec::new() });
            self.scene.laws.returned(call, Op::Left { items });
        }
        self.scene.laws.judge();
        self.scene.all_is_over();
    }

    /// Returns the number in the notice.
    fn notice(&self) -> i64 {
        let read = |data: &Database| {
            let notice = data.znode(NOTICE);
            notice.map_or(0, |znode| number_in(znode.data().unwrap_or_default()))
        };
        self.scene.servers.show(read).unwrap_or(0)
    }
}

/// Returns the items that stand in a queue.
fn items(data: &Database, queue: &str) -> Vec<String> {
    let names = data.znode(queue).into_iter().flat_map(Znode::children);
    let items = names.filter(|name| !name.starts_with("claimed-"));
    let of = |name: &str| data.znode(&format!("{queue}/{name}"))?.data();
    items.filter_map(of).map(|data| String::from_utf8_lossy(data).into_owned()).collect()
}

//! A run of slots alone: a storm with an operator that drains members and spoils plans, and a calm with directed harm.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use election_tokio::Token;
use election_tokio::slots::SlotPlan;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use zk_embedded::Profile;

use crate::clerk::Clerk;
use crate::keeper::Keeper;
use crate::laws::Tally;
use crate::network::{Port, Weather};
use crate::others::Promise;
use crate::process::Order;
use crate::scene::{CALM, Cast, PROCESSES, Scene};
use crate::setting::LONGEST;
use crate::slots::{SLOTS, member};

/// How long it takes at most until slots are where the plan has them: the rest of a session, the pauses, a
/// deadline of works, a lease.
const SETTLED: Duration = LONGEST.saturating_mul(5);
/// The pause that a restart of a process is shorter than.
const LONG_PAUSE: Duration = Duration::from_secs(3);

pub(crate) struct Sharing {
    scene: Scene,
    keeper: JoinHandle<Keeper>,
    keepers_end: Arc<Notify>,
}

impl Sharing {
    pub(crate) async fn pass(servers: Profile, seed: u64) -> Result<Tally, String> {
        let mut sharing = Self::begin(servers, seed).await;
        let laws = sharing.scene.laws.clone();
        sharing.scene.rage().await;
        sharing.clear_up().await;
        sharing.scene.end_processes().await;
        sharing.scene.slots_leave_what_they_document();
        sharing.scene.laws.judge();
        sharing.scene.all_is_over();
        let setting = &sharing.scene.setting;
        laws.what_is_broken()
            .map_or_else(|| Ok(laws.tally()), |law| Err(format!("{law} ({setting:?})")))
    }

    async fn begin(servers: Profile, seed: u64) -> Self {
        let mut scene = Scene::begin(servers, seed, Cast::Slots);
        let way = scene.spared_way();
        // It makes the ledgers, and ends.
        drop(Clerk::begin(&way, 0, scene.rng.fork()).await);
        let keepers_end = Arc::new(Notify::new());
        let keeper = Keeper::begin(&way, &scene.laws, scene.rng_of_slots.fork());
        let keeper = tokio::spawn(keeper.keep(Arc::clone(&keepers_end)));
        scene.add_processes();
        Self { scene, keeper, keepers_end }
    }

    /// Mends everything, and checks the calm: each slot is held by the member of the plan, and nothing is written.
    async fn clear_up(&mut self) {
        self.scene.laws.tell(|| "it clears up".to_owned());
        self.scene.laws.slots_are_to_rest();
        self.keepers_end.notify_one();
        self.scene.mend().await;
        let keeper = match (&mut self.keeper).await {
            Ok(keeper) => keeper,
            Err(error) => return self.scene.laws.broken(error.to_string()),
        };
        sleep(CALM).await;
        if self.scene.setting.promise() == Promise::Nothing {
            return self.all_stand_and_none_plans().await;
        }
        let none = BTreeSet::new();
        self.scene.slots_are_shared_out(&none);
        let (tokens, tree) = (self.scene.laws.tokens_of_slots(), self.scene.tree_of_slots());
        sleep(LONGEST * 4).await;
        self.scene.slots_rest(&tokens);
        let later = self.scene.tree_of_slots();
        if later != tree {
            self.scene.laws.broken(format!("in the calm {later:#?} follows {tree:#?}"));
        }
        self.a_plan_is_mended(&keeper, &tokens).await;
        self.a_member_is_drained(&keeper).await;
        self.a_rolling_restart_moves_nothing().await;
        self.a_planner_that_is_cut_off_is_replaced(&keeper).await;
    }

    /// Checks that all members wait for one to plan: each has its candidate, and for want of a lease none has planned.
    async fn all_stand_and_none_plans(&self) {
        for _ in 0..2 {
            let candidates = self.scene.servers.children(&format!("{SLOTS}/members"));
            if candidates.len() != PROCESSES {
                self.scene.laws.broken(format!("in the calm these stand: {candidates:?}"));
            }
            if let Some((plan, _)) = self.scene.laws.plan_of_slots() {
                self.scene.laws.broken(format!("without a lease one has planned: {plan}"));
            }
            sleep(LONGEST * 4).await;
        }
    }

    /// Spoils the plan: it is written again as it was, and no slot is given up.
    async fn a_plan_is_mended(&self, keeper: &Keeper, tokens: &BTreeMap<u32, (usize, Token)>) {
        let Some((plan, _)) = self.scene.laws.plan_of_slots() else { return };
        for spoil in [Some("nonsense"), None] {
            match spoil {
                Some(text) => keeper.overwrite(text).await,
                None => keeper.delete_plan().await,
            }
            sleep(SETTLED).await;
            let mended = self.scene.laws.plan_of_slots().map(|(plan, _)| plan);
            if mended.as_ref() != Some(&plan) {
                let law = format!("{plan} was spoilt ({spoil:?}), and is {mended:?}");
                self.scene.laws.broken(law);
            }
            self.scene.slots_rest(tokens);
        }
    }

    async fn a_member_is_drained(&self, keeper: &Keeper) {
        let drained = BTreeSet::from([1]);
        keeper.drain(1).await;
        sleep(SETTLED).await;
        self.scene.slots_are_shared_out(&drained);
        keeper.admit(1).await;
        sleep(SETTLED).await;
        self.scene.slots_are_shared_out(&BTreeSet::new());
    }

    /// Ends each process in turn, which begins anew at once. Within the pause no plan is written.
    async fn a_rolling_restart_moves_nothing(&self) {
        let before = self.scene.laws.plan_of_slots();
        for (process, orders) in self.scene.orders.iter().enumerate() {
            let order = if process % 2 == 0 { Order::Close } else { Order::Crash };
            self.scene.laws.tell(|| format!("{process} is restarted"));
            let _ = orders.send(order).await;
            sleep(SETTLED).await;
            self.scene.slots_are_shared_out(&BTreeSet::new());
        }
        let terms = &self.scene.setting.slots;
        // A planner with another list plans for that.
        let are_patient =
            terms.iter().all(|own| own.spread >= LONG_PAUSE && own.list == terms[0].list);
        if are_patient && self.scene.laws.plan_of_slots() != before {
            self.scene.laws.broken("a rolling restart within the pause moves slots".to_owned());
        }
    }

    /// Cuts the planner off, and deletes the plan, until the others have its slots; and lets it come back. The next
    /// planner knows the plan that its member has seen, so the others keep theirs.
    async fn a_planner_that_is_cut_off_is_replaced(&self, keeper: &Keeper) {
        let Some(victim) = self.scene.planner() else {
            return self.scene.laws.broken("in the calm no member plans".to_owned());
        };
        self.scene.laws.tell(|| format!("{victim} is cut off"));
        let mut before = self.scene.laws.tokens_of_slots();
        before.retain(|_, (process, _)| *process != victim);
        let way = &self.scene.ways[victim];
        way.change(|weather| weather.port = Port::Closed);
        way.cut();
        keeper.delete_plan().await;
        sleep(SETTLED).await;
        self.scene.slots_are_held_without(victim);
        let terms = &self.scene.setting.slots;
        // To take slots apart some move that could stay, and so they may for another list.
        let are_alike = terms.iter().all(|own| own.apart.is_empty() && own.list == terms[0].list);
        let later = self.scene.laws.tokens_of_slots();
        if are_alike && before.iter().any(|(slot, held)| later.get(slot) != Some(held)) {
            let law = format!("with {victim} slots of others move: {before:?}, then {later:?}");
            self.scene.laws.broken(law);
        }
        way.change(Weather::clear_up);
        sleep(SETTLED).await;
        self.scene.slots_are_shared_out(&BTreeSet::new());
    }
}

impl Scene {
    /// Checks that all processes are in the plan, by their weights, and that each slot is held by its member.
    pub(crate) fn slots_are_shared_out(&self, drained: &BTreeSet<usize>) {
        let weight_of = |process: usize| {
            if drained.contains(&process) { 0 } else { self.setting.slots[process].weight }
        };
        let weights = (0..PROCESSES).map(|process| (member(process), weight_of(process)));
        self.slots_are_held_by(&weights.collect());
    }

    /// Returns the process whose member plans: the eldest candidate.
    fn planner(&self) -> Option<usize> {
        let path = format!("{SLOTS}/members");
        self.servers.show(|data| {
            let paths = data.znode(&path)?.children().map(|name| format!("{path}/{name}"));
            let eldest =
                paths.filter_map(|path| data.znode(&path)).min_by_key(|it| it.stat().czxid)?;
            let name = String::from_utf8_lossy(eldest.data().unwrap_or_default()).into_owned();
            (0..PROCESSES).find(|process| name.starts_with(&member(*process)))
        })?
    }

    fn slots_are_held_without(&self, victim: usize) {
        let others = (0..PROCESSES).filter(|process| *process != victim);
        let weight_of = |process: usize| (member(process), self.setting.slots[process].weight);
        self.slots_are_held_by(&others.map(weight_of).collect());
    }

    fn slots_are_held_by(&self, weights: &BTreeMap<String, u32>) {
        self.laws.slots_are_held_in_turn();
        let Some((plan, _)) = self.laws.plan_of_slots() else {
            return self.laws.broken("in the calm there is no plan".to_owned());
        };
        let planned = plan.members().iter();
        let planned: BTreeMap<_, _> =
            planned.map(|(name, member)| (name.to_string(), member.weight)).collect();
        if planned != *weights {
            let tree = self.tree_of_slots();
            let law =
                format!("in the calm {weights:?} are there, and the plan is {plan}: {tree:#?}");
            self.laws.broken(law);
        }
        let mut lists = self.setting.slots.iter().map(|own| own.list);
        if !lists.any(|count| usize::try_from(count).ok() == Some(plan.owners().len())) {
            self.laws.broken(format!("in the calm the plan is of no member's list: {plan}"));
        }
        self.laws.slots_are_apart(&plan);
        let holders = self.laws.tokens_of_slots();
        let holders: BTreeMap<_, _> = holders
            .iter()
            .map(|(slot, (process, _))| (slot.to_string(), member(*process)))
            .collect();
        if holders != owners(&plan) {
            self.laws.broken(format!("in the calm {holders:?} hold the slots of {plan}"));
        }
    }

    /// Returns what stands below the path of slots, each node with its owner and the transaction that changed it last.
    fn tree_of_slots(&self) -> Vec<String> {
        self.tree_below(SLOTS)
    }

    /// Does so below any path.
    pub(crate) fn tree_below(&self, root: &str) -> Vec<String> {
        let shown = self.servers.show(|data| {
            let below = data.znodes().filter(|(path, _)| path.starts_with(root));
            let told = below.map(|(path, znode)| {
                let stat = znode.stat();
                let text = String::from_utf8_lossy(znode.data().unwrap_or_default());
                format!("{path} {:?} {:?} {text:?}", stat.ephemeral_owner, stat.mzxid)
            });
            told.collect()
        });
        shown.unwrap_or_default()
    }

    /// Checks that no slot has changed hands.
    pub(crate) fn slots_rest(&self, tokens: &BTreeMap<u32, (usize, Token)>) {
        self.laws.slots_are_held_in_turn();
        let later = self.laws.tokens_of_slots();
        if later != *tokens {
            self.laws.broken(format!("in the calm slots move: {tokens:?}, then {later:?}"));
        }
    }

    /// Checks that the tree has the plan and the nodes of the locks, and nothing else.
    pub(crate) fn slots_leave_what_they_document(&self) {
        let mut nodes = self.servers.children(SLOTS);
        nodes.retain(|node| !["members", "plan", "slots", "drained"].contains(&&**node));
        let slots = self.servers.children(&format!("{SLOTS}/slots"));
        let locks = slots.iter().map(|slot| format!("{SLOTS}/slots/{slot}"));
        let empty = [format!("{SLOTS}/members"), format!("{SLOTS}/drained")];
        for path in locks.chain(empty) {
            nodes.extend(self.servers.children(&path));
        }
        if !nodes.is_empty() {
            self.laws.broken(format!("slots leave these behind: {nodes:?}"));
        }
    }
}

/// Returns the member of each slot.
fn owners(plan: &SlotPlan) -> BTreeMap<String, String> {
    let owners = plan.owners().into_iter();
    owners.filter_map(|(slot, owner)| Some((slot.to_string(), owner?.to_string()))).collect()
}

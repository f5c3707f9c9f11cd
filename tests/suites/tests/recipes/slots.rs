//! Slots shared out among members: evenly, moved as little as can be, and each held by one at a time.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};

use election_tokio::lock::Turn;
use election_tokio::slots::{SlotEvent, SlotGuard, SlotTable, Slots, SlotsError};
use election_tokio::{Client, Version};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Directions, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    slots_are_even_and_move_no_more_than_they_have_to,
    slots_of_a_group_are_apart_while_there_are_members_enough,
    a_rolling_restart_within_the_pause_moves_nothing,
    a_plan_that_is_overwritten_or_deleted_is_mended_and_moves_nothing,
    the_node_of_the_members_is_deleted_and_nothing_moves,
    a_member_that_is_cut_off_loses_its_slots_and_comes_back,
    a_drained_member_gives_up_its_slots_and_gets_none,
    a_work_that_does_not_end_is_dropped_at_the_deadline,
    a_guard_that_is_dropped_is_held_again_by_the_member_of_the_plan,
    a_slot_whose_lock_is_broken_is_held_again;
}

const SLOTS: &str = "/app/shards";
const COUNT: u32 = 12;

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(4);

/// The guards of those that work, of all members of a stage.
#[derive(Clone, Default)]
struct Works {
    at_work: Arc<Mutex<Vec<Arc<SlotGuard>>>>,
    meetings: Arc<AtomicUsize>,
}

impl Works {
    /// Works until it is to give up. Counts the works on the same slot whose guards are valid beside its own.
    async fn on(self, guard: Arc<SlotGuard>) {
        {
            let mut all = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
            let meets = |other: &Arc<SlotGuard>| {
                other.slot() == guard.slot() && other.is_valid() && guard.is_valid()
            };
            self.meetings.fetch_add(all.iter().filter(|other| meets(other)).count(), SeqCst);
            all.push(Arc::clone(&guard));
        }
        let _ends = Ends { works: &self, guard: &guard };
        guard.give_up_requested().await;
    }
}

/// Takes a work off the list when its future is dropped, or ends.
struct Ends<'a> {
    works: &'a Works,
    guard: &'a Arc<SlotGuard>,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let mut all = self.works.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| !Arc::ptr_eq(other, self.guard));
    }
}

/// A member that works on what it holds.
struct Member {
    client: Client,
    shutdown: oneshot::Sender<()>,
    run: JoinHandle<Result<(), SlotsError>>,
    works: Works,
}

impl Member {
    async fn leave(self) -> TestResult {
        let Self { client, shutdown, run, works } = self;
        drop(shutdown);
        soon("it has left", run).await???;
        assert_eq!(works.meetings.load(SeqCst), 0, "a slot had two holders");
        client.close().await?;
        Ok(())
    }
}

struct Stage {
    arena: Arena,
    spread: Duration,
    works: Works,
    /// Slots that are to be apart.
    groups: &'static [&'static [&'static str]],
}

impl Stage {
    async fn new(server: ServerKind, spread: Duration) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, "slots").await?;
        Ok(Self { arena, spread, works: Works::default(), groups: &[] })
    }

    fn slots(&self, client: &Client) -> Slots {
        let slots = client.slots(SLOTS, COUNT).spread_after(self.spread);
        let slots = slots.gather_for(Duration::from_millis(100));
        slots.apart(self.groups.iter().map(|group| group.iter())).expect("they are listed once")
    }

    async fn join(&self, name: &'static str) -> Result<Member, TestFailure> {
        Ok(self.join_by(self.arena.client().await?, name))
    }

    fn join_by(&self, client: Client, name: &'static str) -> Member {
        let slots = self.slots(&client);
        let (shutdown, told) = oneshot::channel();
        let (works, all) = (self.works.clone(), self.works.clone());
        let run =
            tokio::spawn(async move { slots.run(name, told, |guard| all.clone().on(guard)).await });
        Member { client, shutdown, run, works }
    }

    async fn table(&self) -> Result<SlotTable, TestFailure> {
        Ok(self.slots(&self.arena.admin).table().await?)
    }

    /// Waits until these members hold all slots, evenly, as the plan says. Returns their slots.
    async fn shared_by(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, BTreeSet<String>>, TestFailure> {
        let mut shared = BTreeMap::new();
        eventually_async(SOON, "the slots are shared out", async || {
            let Ok(table) = self.table().await else { return false };
            shared.clear();
            for name in names {
                shared.insert((*name).to_owned(), BTreeSet::new());
            }
            let is_held = |row: &election_tokio::slots::SlotHolding| {
                row.holder.is_some() && row.holder.as_deref() == row.planned.as_deref()
            };
            let are_held = table.slots.iter().all(is_held);
            for row in table.slots {
                let holder = row.holder.unwrap_or_default();
                shared.entry(holder).or_default().insert(row.slot.to_string());
            }
            let sizes: BTreeSet<usize> = shared.values().map(BTreeSet::len).collect();
            let (least, most) = (sizes.first().copied(), sizes.last().copied());
            let is_even = most <= least.map(|least| least + 1);
            let count = shared.values().map(BTreeSet::len).sum::<usize>();
            are_held && count == COUNT as usize && shared.len() == names.len() && is_even
        })
        .await?;
        Ok(shared)
    }
}

fn moved(
    before: &BTreeMap<String, BTreeSet<String>>,
    after: &BTreeMap<String, BTreeSet<String>>,
) -> usize {
    let lost = |(name, slots): (&String, &BTreeSet<String>)| {
        slots.iter().filter(|slot| !after.get(name).is_some_and(|now| now.contains(*slot))).count()
    };
    before.iter().map(lost).sum()
}

async fn slots_are_even_and_move_no_more_than_they_have_to(server: ServerKind) -> TestResult {
    let stage = Stage::new(server, Duration::from_millis(100)).await?;
    let (a, b, c) = (stage.join("a").await?, stage.join("b").await?, stage.join("c").await?);
    let three = stage.shared_by(&["a", "b", "c"]).await?;
    let d = stage.join("d").await?;
    let four = stage.shared_by(&["a", "b", "c", "d"]).await?;
    assert_eq!(moved(&three, &four), 3, "{three:?} {four:?}");
    // The eldest plans: another goes on.
    a.leave().await?;
    let others = stage.shared_by(&["b", "c", "d"]).await?;
    assert_eq!(moved(&four, &others), 3, "{four:?} {others:?}");
    for member in [b, c, d] {
        member.leave().await?;
    }
    let table = stage.table().await?;
    assert!(table.slots.iter().all(|row| row.holder.is_none()), "{table:?}");
    Ok(())
}

async fn slots_of_a_group_are_apart_while_there_are_members_enough(
    server: ServerKind,
) -> TestResult {
    // By their numbers alone each of these pairs would be one member's.
    let groups: &[&[&str]] = &[&["0", "2"], &["4", "6"], &["1", "3", "5"]];
    let stage = Stage::new(server, Duration::from_millis(100)).await?;
    let stage = Stage { groups, ..stage };
    let most_together = |shared: &BTreeMap<String, BTreeSet<String>>| {
        let together = shared.values().flat_map(|slots| {
            groups.iter().map(|group| group.iter().filter(|slot| slots.contains(**slot)).count())
        });
        together.max()
    };
    let (a, b) = (stage.join("a").await?, stage.join("b").await?);
    let two = stage.shared_by(&["a", "b"]).await?;
    assert_eq!(most_together(&two), Some(2), "three slots, two members: {two:?}");
    let c = stage.join("c").await?;
    let three = stage.shared_by(&["a", "b", "c"]).await?;
    assert_eq!(most_together(&three), Some(1), "{three:?}");
    a.leave().await?;
    let two = stage.shared_by(&["b", "c"]).await?;
    assert_eq!(most_together(&two), Some(2), "{two:?}");
    finish([b, c]).await?;

    let slots = stage.slots(&stage.arena.admin);
    let twice = slots.clone().apart([["0", "1"], ["2", "0"]]).map(drop);
    assert!(matches!(twice, Err(SlotsError::NotApart(slot)) if slot.as_str() == "0"));
    let unknown = slots.apart([["0", "12"]]).map(drop);
    assert!(matches!(unknown, Err(SlotsError::NotListed(slot)) if slot.as_str() == "12"));
    Ok(())
}

async fn a_rolling_restart_within_the_pause_moves_nothing(server: ServerKind) -> TestResult {
    let stage = Stage::new(server, Duration::from_secs(600)).await?;
    let mut members = BTreeMap::new();
    let names = ["a", "b", "c"];
    for name in names {
        members.insert(name, stage.join(name).await?);
    }
    let before = stage.shared_by(&names).await?;
    let plan = format!("{SLOTS}/plan");
    let (_, written) = stage.arena.admin.get_data(&plan).await?;
    for name in names {
        members.remove(name).ok_or(NoMember)?.leave().await?;
        members.insert(name, stage.join(name).await?);
        assert_eq!(stage.shared_by(&names).await?, before);
    }
    let (_, stat) = stage.arena.admin.get_data(&plan).await?;
    assert_eq!(stat, written, "no plan was written");
    for (_, member) in members {
        member.leave().await?;
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("there is no such member")]
struct NoMember;

async fn a_plan_that_is_overwritten_or_deleted_is_mended_and_moves_nothing(
    server: ServerKind,
) -> TestResult {
    let stage = Stage::new(server, Duration::from_millis(100)).await?;
    let (a, b) = (stage.join("a").await?, stage.join("b").await?);
    let before = stage.shared_by(&["a", "b"]).await?;
    let tokens = |table: SlotTable| table.slots.iter().map(|row| row.token).collect::<Vec<_>>();
    let held = tokens(stage.table().await?);
    let (admin, plan) = (&stage.arena.admin, format!("{SLOTS}/plan"));
    let (data, _) = admin.get_data(&plan).await?;
    for nonsense in [Some("nonsense"), None] {
        match nonsense {
            Some(nonsense) => drop(admin.set_data(&plan, nonsense, Version::ANY).await?),
            None => admin.delete(&plan, Version::ANY).await?,
        }
        eventually_async(SOON, "it is mended", async || {
            admin.get_data(&plan).await.is_ok_and(|(now, _)| now == data)
        })
        .await?;
        assert_eq!(stage.shared_by(&["a", "b"]).await?, before);
        assert_eq!(tokens(stage.table().await?), held, "no lock was released");
    }
    // That of an operator is a plan, and is made whole.
    admin.set_data(&plan, "slots/1\nmember a 1 0 1 2\nfree\n", Version::ANY).await?;
    stage.shared_by(&["a", "b"]).await?;
    admin.set_data(&plan, data, Version::ANY).await?;
    assert_eq!(stage.shared_by(&["a", "b"]).await?, before);
    finish([a, b]).await
}

/// A member that is cut off has lost its slots before others have them, and gets its part when it is back.
async fn a_member_that_is_cut_off_loses_its_slots_and_comes_back(server: ServerKind) -> TestResult {
    let stage = Stage::new(server, Duration::from_millis(100)).await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&stage.arena.servers_by(&proxy), SHORT).await?;
    let far = stage.join_by(client, "far");
    let (a, b) = (stage.join("a").await?, stage.join("b").await?);
    stage.shared_by(&["a", "b", "far"]).await?;
    proxy.black_hole(Directions::Both);
    stage.shared_by(&["a", "b"]).await?;
    proxy.heal_by_cutting();
    stage.shared_by(&["a", "b", "far"]).await?;
    finish([a, b, far]).await
}

async fn finish(members: impl IntoIterator<Item = Member>) -> TestResult {
    for member in members {
        member.leave().await?;
    }
    Ok(())
}

async fn the_node_of_the_members_is_deleted_and_nothing_moves(server: ServerKind) -> TestResult {
    let stage = Stage::new(server, Duration::from_secs(600)).await?;
    let (a, b) = (stage.join("a").await?, stage.join("b").await?);
    let before = stage.shared_by(&["a", "b"]).await?;
    let members = format!("{SLOTS}/members");
    stage.arena.admin.delete_tree(&members).await?;
    eventually_async(SOON, "both are there again", async || {
        let listed = stage.arena.admin.get_children(&members).await;
        listed.is_ok_and(|children| children.iter().count() == 2)
    })
    .await?;
    assert_eq!(stage.shared_by(&["a", "b"]).await?, before);
    finish([a, b]).await
}

async fn a_drained_member_gives_up_its_slots_and_gets_none(server: ServerKind) -> TestResult {
    let stage = Stage::new(server, Duration::from_millis(100)).await?;
    let (a, b) = (stage.join("a").await?, stage.join("b").await?);
    stage.shared_by(&["a", "b"]).await?;
    let slots = stage.slots(&stage.arena.admin);
    slots.drain("a").await?;
    slots.drain("a").await?;
    stage.shared_by(&["b"]).await?;
    let plan = stage.table().await?.plan.ok_or(NoMember)?;
    let drained = plan.members().get(&"a".parse()?).ok_or(NoMember)?;
    assert_eq!((drained.weight, drained.slots.len()), (0, 0));
    slots.admit("a").await?;
    slots.admit("a").await?;
    stage.shared_by(&["a", "b"]).await?;
    finish([a, b]).await
}

/// Of two members, the first is asked to give up half, and does not.
async fn a_work_that_does_not_end_is_dropped_at_the_deadline(server: ServerKind) -> TestResult {
    let stage = Stage::new(server, Duration::from_millis(100)).await?;
    let client = stage.arena.client().await?;
    let slots = stage.slots(&client).give_up_within(Duration::from_secs(1));
    let working = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&working);
    let stubborn = tokio::spawn(async move {
        let work = |_guard: Arc<SlotGuard>| {
            let count = Counted::new(&count);
            async move {
                let _count = count;
                core::future::pending::<()>().await;
            }
        };
        slots.run("stubborn", core::future::pending::<()>(), work).await
    });
    eventually_async(SOON, "it has all", async || working.load(SeqCst) == 12).await?;
    let other = stage.join("other").await?;
    stage.shared_by(&["other", "stubborn"]).await?;
    eventually_async(SOON, "half was dropped", async || working.load(SeqCst) == 6).await?;
    stubborn.abort();
    other.leave().await
}

struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

async fn a_guard_that_is_dropped_is_held_again_by_the_member_of_the_plan(
    server: ServerKind,
) -> TestResult {
    let stage = Stage::new(server, Duration::from_millis(100)).await?;
    let mut member = stage.arena.admin.slots(SLOTS, 1).join("a")?;
    let first = gained(&mut member).await?;
    let token = first.token();
    first.release().await?;
    let second = gained(&mut member).await?;
    assert!(second.token() > token);
    member.leave();
    let Some(Ok(SlotEvent::GiveUp { slot, .. })) = soon("it is told", member.next()).await? else {
        return Err(NoMember.into());
    };
    assert_eq!((&slot, second.give_up_by().is_some()), (second.slot(), true));
    soon("the guard is told", second.give_up_requested()).await?;
    drop(second);
    assert!(soon("it has left", member.next()).await?.is_none());
    Ok(())
}

async fn a_slot_whose_lock_is_broken_is_held_again(server: ServerKind) -> TestResult {
    let stage = Stage::new(server, Duration::from_millis(100)).await?;
    let mut member = stage.arena.admin.slots(SLOTS, 1).join("a")?;
    let first = gained(&mut member).await?;
    let lock = stage.arena.admin.lock(&format!("{SLOTS}/slots/0"));
    let contenders = lock.contenders().await?;
    let holder = contenders.iter().find(|contender| contender.turn == Turn::Holds);
    lock.break_lock(holder.ok_or(NoMember)?).await?;
    soon("it is lost", first.lost()).await?;
    // The work on it ends before it is worked on again.
    drop(first);
    let second = gained(&mut member).await?;
    second.release().await?;
    Ok(())
}

async fn gained(member: &mut election_tokio::slots::SlotMember) -> Result<SlotGuard, TestFailure> {
    match soon("a slot", member.next()).await? {
        Some(Ok(SlotEvent::Gained(guard))) => Ok(guard),
        Some(Err(error)) => Err(error.into()),
        _ => Err(NoMember.into()),
    }
}

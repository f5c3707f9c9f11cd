//! The costs of locks for the servers: requests of each operation, and the clients that a release
//! wakes.

use core::future::Future;
use core::pin::Pin;

use election_tokio::election::Departure;
use election_tokio::lock::{Lock, LockError, LockGuard};
use election_tokio::{Client, CreateMode};
use zk_test_kit::election::{Arena, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Counters, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_free_lock_takes_four_requests_with_its_release,
    a_lock_that_is_let_go_at_once_takes_no_more,
    one_that_waits_takes_four_and_is_woken_alone,
    a_lock_that_is_not_free_is_tried_by_three,
    a_thousand_that_wait_are_woken_one_by_one,
    a_writer_wakes_all_readers_behind_it_and_the_last_reader_the_writer;
}

const LOCK: &str = "/lock";

/// Clients of one arena, each with a proxy of its own.
struct Stage {
    arena: Arena,
    server: ServerKind,
}

struct Actor {
    client: Client,
    proxy: Proxy,
}

type Waiting = Pin<Box<dyn Future<Output = Result<LockGuard, LockError>> + Send>>;

/// The requests of a client but for its session, and the notifications that it has heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Traffic {
    creates: u64,
    lists: u64,
    reads: u64,
    deletes: u64,
    /// None of the above, and no proof of the lease.
    others: u64,
    events: u64,
}

impl Stage {
    async fn new(server: ServerKind) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, "lock-traffic").await?;
        arena.admin.create(LOCK, "", CreateMode::Persistent).await?;
        Ok(Self { arena, server })
    }

    async fn actor(&self) -> Result<Actor, TestFailure> {
        let proxy = Proxy::to(self.server.shared()?.addr())?;
        let client = self.arena.client_by(&proxy).await?;
        Ok(Actor { client, proxy })
    }

    async fn contenders(&self) -> Result<usize, TestFailure> {
        Ok(self.arena.admin.get_children(LOCK).await?.iter().count())
    }

    /// Asks for the lock, and goes on once that many contend.
    async fn wait_for(&self, lock: Lock, contenders: usize) -> Result<Waiting, TestFailure> {
        let mut waiting: Waiting = Box::pin(async move { lock.lock().await });
        assert!(is_pending(&mut waiting).await, "it is not free");
        eventually_async(SOON, "it contends", async || {
            assert!(is_pending(&mut waiting).await, "it is not free");
            self.contenders().await.is_ok_and(|count| count == contenders)
        })
        .await?;
        Ok(waiting)
    }
}

async fn is_pending(waiting: &mut Waiting) -> bool {
    tokio::select! {
        biased;
        _ = waiting => false,
        () = tokio::task::yield_now() => true,
    }
}

impl Actor {
    /// Waits until every request was answered, and every answer heard; returns the traffic.
    async fn settled(&self) -> Result<Traffic, TestFailure> {
        self.client.sync(LOCK).await?;
        Ok(Traffic::of(&self.proxy.counters()))
    }

    /// Waits until the client has asked for all that it needs before it waits; returns the traffic.
    async fn settled_after(&self, asked: [u64; 5]) -> Result<Traffic, TestFailure> {
        eventually_async(SOON, "the client has asked for all that it needs", async || {
            self.settled().await.is_ok_and(|now| now.requests() == asked)
        })
        .await?;
        self.settled().await
    }
}

impl Traffic {
    fn of(counters: &Counters) -> Self {
        let of = |opcode| counters.requests(opcode);
        let (creates, reads, deletes) =
            (of(Opcode::CREATE2), of(Opcode::GET_DATA), of(Opcode::DELETE));
        let lists = of(Opcode::GET_CHILDREN) + of(Opcode::GET_CHILDREN2);
        // A lease is proved by a `multi`; nothing else here is one.
        let named = creates + reads + deletes + lists + of(Opcode::MULTI);
        let others = counters.requests_but_upkeep() - named;
        Self { creates, lists, reads, deletes, others, events: counters.notifications() }
    }

    const fn since(self, before: Self) -> Self {
        Self {
            creates: self.creates - before.creates,
            lists: self.lists - before.lists,
            reads: self.reads - before.reads,
            deletes: self.deletes - before.deletes,
            others: self.others - before.others,
            events: self.events - before.events,
        }
    }

    const fn requests(self) -> [u64; 5] {
        [self.creates, self.lists, self.reads, self.deletes, self.others]
    }
}

async fn a_free_lock_takes_four_requests_with_its_release(server: ServerKind) -> TestResult {
    let stage = Stage::new(server).await?;
    let actor = stage.actor().await?;
    for _ in 0..3 {
        let before = actor.settled().await?;
        let guard = soon("the lock", actor.client.lock(LOCK).lock()).await??;
        let held = actor.settled().await?.since(before);
        assert_eq!((held.requests(), held.events), ([1, 1, 1, 0, 0], 0));
        assert_eq!(guard.release().await, Ok(Departure::Deleted));
        let released = actor.settled().await?.since(before);
        assert_eq!(released.requests(), [1, 1, 1, 1, 0]);
        assert!(released.events <= 1, "of its own znode");
    }
    Ok(())
}

/// The create proves the lease, and the deletion ends the watch whose read is still on its way.
async fn a_lock_that_is_let_go_at_once_takes_no_more(server: ServerKind) -> TestResult {
    let stage = Stage::new(server).await?;
    let actor = stage.actor().await?;
    let mut all = Vec::new();
    for _ in 0..20 {
        let before = actor.proxy.counters().requests_but_upkeep();
        soon("the lock", actor.client.lock(LOCK).lock()).await??.release().await?;
        actor.settled().await?;
        all.push(actor.proxy.counters().requests_but_upkeep() - before);
    }
    // A heartbeat is due now and then.
    let alone = all.iter().filter(|requests| **requests == 4).count();
    assert!(alone > 10 && all.iter().all(|requests| *requests <= 5), "{all:?}");
    assert_eq!(actor.proxy.counters().requests(Opcode::REMOVE_WATCHES), 0);
    Ok(())
}

async fn one_that_waits_takes_four_and_is_woken_alone(server: ServerKind) -> TestResult {
    let stage = Stage::new(server).await?;
    let (holder, heir, last) = (stage.actor().await?, stage.actor().await?, stage.actor().await?);
    let guard = soon("the lock", holder.client.lock(LOCK).lock()).await??;
    let waiting = stage.wait_for(heir.client.lock(LOCK), 2).await?;
    let heir_before = heir.settled_after([1, 1, 2, 0, 0]).await?;
    let third = stage.wait_for(last.client.lock(LOCK), 3).await?;
    let last_before = last.settled_after([1, 1, 1, 0, 0]).await?;

    guard.release().await?;
    let guard = soon("the heir has it", waiting).await??;
    let (woken, unmoved) = (heir.settled().await?.since(heir_before), last.settled().await?);
    // A look at the list: the one before it may have left a reader.
    assert_eq!((woken.requests(), woken.events), ([0, 1, 0, 0, 0], 1));
    assert_eq!(unmoved, last_before);
    drop(guard);
    soon("the last one has it", third).await??.release().await?;
    Ok(())
}

async fn a_lock_that_is_not_free_is_tried_by_three(server: ServerKind) -> TestResult {
    let stage = Stage::new(server).await?;
    let (holder, other) = (stage.actor().await?, stage.actor().await?);
    let guard = soon("the lock", holder.client.lock(LOCK).lock()).await??;
    let before = other.settled().await?;
    assert!(soon("an answer", other.client.lock(LOCK).try_lock()).await??.is_none());
    let tried = other.settled().await?.since(before);
    assert_eq!((tried.requests(), tried.events), ([1, 1, 0, 1, 0], 0));
    drop(guard);
    Ok(())
}

/// On one session, behind a holder of another one.
async fn a_thousand_that_wait_are_woken_one_by_one(server: ServerKind) -> TestResult {
    const WAITING: usize = 1_000;
    let stage = Stage::new(server).await?;
    let (holder, crowd) = (stage.actor().await?, stage.actor().await?);
    let mut guard = soon("the lock", holder.client.lock(LOCK).lock()).await??;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..WAITING {
        let (lock, tell) = (crowd.client.lock(LOCK), tell.clone());
        tokio::spawn(async move { tell.send(lock.lock().await) });
    }
    eventually_async(SOON, "all contend and watch", async || {
        let has_settled = crowd.settled().await.is_ok_and(|now| now.reads > 1_000);
        has_settled && stage.contenders().await.is_ok_and(|count| count == WAITING + 1)
    })
    .await?;
    let first = crowd.settled().await?;
    assert!(first.lists <= 1_000, "{first:?}");
    for turn in 0..20 {
        let before = crowd.settled().await?;
        guard.release().await?;
        let next = soon("the next one has it", told.recv()).await?;
        guard = next.expect("a thousand wait")?;
        let woken = crowd.settled().await?.since(before);
        // Of the release, and of its own znode that the one before has let go of in this session.
        assert_eq!(woken.events, 1, "turn {turn}: {woken:?}");
        // A look at the list and at two znodes, by one that did not know that it was next; and the
        // deletion.
        let most = [0, 1, 1, 1, 0];
        let within = woken.requests().iter().zip(most).all(|(asked, most)| *asked <= most);
        assert!(within, "turn {turn}: {woken:?}");
    }
    Ok(())
}

async fn a_writer_wakes_all_readers_behind_it_and_the_last_reader_the_writer(
    server: ServerKind,
) -> TestResult {
    const READERS: usize = 5;
    let stage = Stage::new(server).await?;
    let (first, second) = (stage.actor().await?, stage.actor().await?);
    let guard = soon("the lock", first.client.write_lock(LOCK).lock()).await??;
    let (mut readers, mut waiting) = (Vec::new(), Vec::new());
    for index in 0..READERS {
        let reader = stage.actor().await?;
        let lock = reader.client.read_lock(LOCK);
        waiting.push(stage.wait_for(lock, 2 + index).await?);
        readers.push(reader);
    }
    let mut writer = stage.wait_for(second.client.write_lock(LOCK), 2 + READERS).await?;
    let mut before = Vec::new();
    for reader in &readers {
        before.push(reader.settled_after([1, 1, 2, 0, 0]).await?);
    }
    second.settled_after([1, 1, 1, 0, 0]).await?;
    guard.release().await?;
    let mut guards = Vec::new();
    for waiting in waiting {
        guards.push(soon("a reader has it", waiting).await??);
    }
    for (reader, before) in readers.iter().zip(before) {
        let woken = reader.settled().await?.since(before);
        assert_eq!((woken.requests(), woken.events), ([0; 5], 1));
    }

    // The writer watches the reader before it, and hears of no other one.
    assert!(is_pending(&mut writer).await);
    let last = guards.pop().expect("five");
    let before = second.settled().await?;
    for guard in guards {
        guard.release().await?;
    }
    assert_eq!(second.settled().await?.events, before.events);
    last.release().await?;
    let guard = soon("the writer has it", writer).await??;
    let woken = second.settled().await?.since(before);
    assert_eq!((woken.requests(), woken.events), ([0, 1, 1, 0, 0], 1), "it lists once more");
    guard.release().await?;
    Ok(())
}

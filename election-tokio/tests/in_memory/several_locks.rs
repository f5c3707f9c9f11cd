//! Several locks at once: all or none, in one order, at every await point and at every lost request.

use core::future::pending;
use core::time::Duration;
use std::collections::BTreeSet;

use election_tokio::format::Format;
use election_tokio::lock::{LockError, LockLost, Locks, LocksError, LocksGuard};
use election_tokio::{Client, CreateMode, TransactionError, Version};
use tokio::time::{Instant, timeout};

use crate::cancellation::{at_every_await_point, run_until};
use crate::cuts::{Cuts, Fate, Place};
use crate::lies::Events;
use crate::server::{Server, settle, wait};

const A: &str = "/deep/a";
const B: &str = "/deep/b";
const C: &str = "/deep/c";
const WRITTEN: &str = "/deep/written";

fn both(client: &Client) -> Locks {
    client.locks([B, A])
}

/// Breaks one of the locks, as an operator does.
async fn break_lock(client: &Client, guard: &LocksGuard, path: &str) {
    let (_, of_path) = guard.iter().find(|(of, _)| *of == path).expect("it is among them");
    client.delete(&format!("{path}/{}", of_path.znode()), Version::ANY).await.unwrap();
}

/// Asserts that nothing of the locks is left while the session lives.
async fn are_free(server: &Server, client: &Client, context: &dyn core::fmt::Debug) {
    wait(3).await;
    for path in [A, B, C] {
        assert!(server.children(path).is_empty(), "{path} is held: {context:?}");
    }
    let guard = client.locks([A, B, C]).try_lock().await.unwrap().expect("they are free");
    assert!(guard.is_valid(), "{context:?}");
    guard.release().await.unwrap();
    settle().await;
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
}

#[tokio::test(start_paused = true)]
async fn several_locks_are_held_together_with_a_token_each() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = both(&one).shared([C]).data("host-7").lock().await.unwrap();
    assert!(guard.is_valid() && guard.remaining() > Duration::ZERO);
    let least = guard.iter().filter_map(|(_, guard)| guard.valid_until()).min();
    assert!(guard.valid_until() <= least && guard.valid_until().is_some());
    let paths: Vec<_> = guard.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, [A, B, C], "whatever the order in which they were given");
    let tokens: Vec<_> = paths.iter().filter_map(|path| guard.token(path)).collect();
    assert!(tokens.is_sorted() && tokens.len() == 3, "{tokens:?}");
    assert_eq!(guard.token("/deep"), None);
    for path in [A, B, C] {
        let data = server.data(&format!("{path}/{}", server.children(path)[0]));
        assert_eq!(data.as_deref(), Some(&b"host-7"[..]));
        assert!(other.lock(path).try_lock().await.unwrap().is_none());
    }
    let reader = other.read_lock(C).try_lock().await.unwrap();
    assert!(reader.is_some(), "readers share it");
    drop(reader);
    assert_eq!(guard.confirm().await, Ok(()));
    guard.release().await.unwrap();
    are_free(&server, &other, &"released").await;
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_named_twice_is_refused_before_anything_is_asked_for() {
    let server = Server::new();
    let client = server.client().await;
    let requests = server.requested().len();
    let twice = |path: &str| Err(LocksError::Duplicate { path: path.to_owned() });
    assert_eq!(client.locks([A, B, A]).lock().await.map(drop), twice(A));
    assert_eq!(client.locks([A]).shared([A]).try_lock().await.map(drop), twice(A));
    assert_eq!(client.locks([""; 0]).lock().await.map(drop), Err(LocksError::NoLocks));
    let format = Format::zookeeper_write_lock();
    let recurs = client.locks([A]).format(format).lock().await.map(drop);
    assert_eq!(recurs, Err(LocksError::NamesRecur { format }));
    let invalid = client.locks([A, "b"]).lock().await.map(drop);
    assert!(matches!(invalid, Err(LocksError::Lock(LockError::InvalidPath { .. }))));
    assert_eq!(server.requested().len(), requests, "nothing was sent");
    let unshared = client.locks([A]).shared([B]).format(Format::curator_lock()).lock().await;
    assert!(matches!(unshared, Err(LocksError::Lock(LockError::Format(_)))));
    settle().await;
    assert!(server.children(A).is_empty(), "the one before it is released");
}

/// The order is that of the paths on the server: clients with other chroots have the same.
#[tokio::test(start_paused = true)]
async fn clients_with_other_chroots_take_them_in_one_order() {
    let server = Server::new();
    let client = server.client().await;
    client.create("/deep", "", CreateMode::Persistent).await.unwrap();
    let rooted = Client::builder("in-memory/deep").connector(server.clone()).connect();
    let rooted = rooted.await.unwrap();
    let guard = rooted.locks(["/b", "/a"]).lock().await.unwrap();
    assert_eq!(guard.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["/a", "/b"]);
    assert!(both(&client).try_lock().await.unwrap().is_none());
    guard.release().await.unwrap();
    are_free(&server, &client, &"released").await;
}

#[tokio::test(start_paused = true)]
async fn several_locks_are_tried_once_or_until_a_deadline_all_or_none() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let holder = one.lock(B).lock().await.unwrap();
    assert!(both(&other).try_lock().await.unwrap().is_none());
    settle().await;
    assert!(server.children(A).is_empty(), "the first one is released");
    let deadline = Instant::now() + Duration::from_secs(5);
    assert!(both(&other).lock_until(deadline).await.unwrap().is_none());
    assert_eq!(Instant::now(), deadline, "the time is for all of them together");
    settle().await;
    assert!(server.children(A).is_empty());
    assert_eq!(server.children(B), [holder.znode().to_string()]);
    holder.release().await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    both(&other).lock_until(deadline).await.unwrap().expect("free").release().await.unwrap();
    are_free(&server, &one, &"released").await;
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_one_lock_is_the_loss_of_all() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = both(&one).lock().await.unwrap();
    let write = || guard.transaction().create(WRITTEN, "", CreateMode::Persistent).commit();
    assert!(write().await.is_ok());
    other.delete(WRITTEN, Version::ANY).await.unwrap();
    let working = guard.guard(async {
        break_lock(&other, &guard, B).await;
        pending::<()>().await;
    });
    let lost = timeout(Duration::from_secs(60), working).await.unwrap().unwrap_err();
    assert_eq!((lost.at.path(), lost.lost), (B, LockLost::Broken));
    assert!(!guard.is_valid() && guard.valid_until().is_none());
    assert_eq!(guard.remaining(), Duration::ZERO);
    assert_eq!(write().await, Err(TransactionError::NotHeld));
    assert_eq!(guard.confirm().await, Err(TransactionError::NotHeld));
    // The work was dropped, so nothing needs the other one.
    settle().await;
    assert!(server.children(A).is_empty(), "the rest is released");
    are_free(&server, &other, &"lost").await;
}

/// Before the holder hears of it: only the server knows that one of the znodes is gone.
#[tokio::test(start_paused = true)]
async fn a_transaction_under_several_locks_checks_all_of_them() {
    for path in [A, B] {
        let server = Server::new();
        let (one, other) = (server.client().await, server.client().await);
        let guard = both(&one).lock().await.unwrap();
        server.state().events = Events::Withheld;
        break_lock(&other, &guard, path).await;
        assert!(guard.is_valid(), "it has not heard of it");
        let write = guard.transaction().create(WRITTEN, "", CreateMode::Persistent).commit().await;
        assert_eq!(write, Err(TransactionError::NotHeld), "{path}");
        assert!(!server.exists(WRITTEN));
    }
    let server = Server::new();
    let client = server.client().await;
    let guard = both(&client).lock().await.unwrap();
    let write = guard.transaction().create(WRITTEN, "", CreateMode::Persistent);
    let refused = write.delete("/none", Version::ANY).commit().await.unwrap_err();
    let is_counted = matches!(refused, TransactionError::Refused { index: 1, .. });
    assert!(is_counted, "its checks are not the caller's operations: {refused:?}");
    let written = guard.transaction().create(WRITTEN, "", CreateMode::Persistent).commit().await;
    assert_eq!(written.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_of_the_locks_is_asked_for() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = both(&one).lock().await.unwrap();
    assert!(timeout(Duration::from_secs(5), guard.revoke_requested()).await.is_err());
    let lock = other.lock(B);
    let contenders = lock.contenders().await.unwrap();
    lock.request_revoke(&contenders[0]).await.unwrap();
    assert_eq!(timeout(Duration::from_secs(5), guard.revoke_requested()).await, Ok(Ok(())));
    assert!(guard.is_valid(), "nothing forces it");
}

/// A session that expires while the later lock is waited for takes the earlier one along: it begins anew.
#[tokio::test(start_paused = true)]
async fn a_wait_that_loses_an_earlier_lock_begins_anew() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let holder = one.lock(B).lock().await.unwrap();
    let handle = both(&other);
    let mut waiting = Box::pin(handle.lock());
    assert!(timeout(Duration::from_secs(1), &mut waiting).await.is_err());
    let [first] = server.children(A).try_into().expect("it holds the first");
    one.delete(&format!("{A}/{first}"), Version::ANY).await.unwrap();
    assert!(timeout(Duration::from_secs(5), &mut waiting).await.is_err());
    let again = server.children(A);
    assert!(again.len() == 1 && again[0] != first, "{again:?}");
    holder.release().await.unwrap();
    let guard = waiting.await.unwrap();
    assert!(guard.is_valid());
    guard.release().await.unwrap();
    are_free(&server, &one, &"released").await;
}

#[tokio::test(start_paused = true)]
async fn locks_that_are_dropped_anywhere_leave_nothing() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let handle = client.locks([C, A, B]);
            let held = run_until(&server, end, handle.lock()).await.map(drop);
            if is_cut {
                server.cut();
            }
            are_free(&server, &client, &(end, is_cut)).await;
            held.is_some()
        })
        .await;
    }
}

/// With a holder of the last one, so that it waits while it holds the others.
#[tokio::test(start_paused = true)]
async fn locks_that_are_dropped_while_they_wait_leave_nothing() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let holder = client.lock(C).lock().await.unwrap();
        let handle = client.locks([C, A, B]);
        let tried = run_until(&server, end, handle.try_lock()).await;
        wait(3).await;
        assert!(holder.is_valid());
        holder.release().await.unwrap();
        are_free(&server, &client, &end).await;
        tried.is_some()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn locks_whose_requests_are_lost_one_by_one_are_held_all_the_same() {
    for after in 0..16 {
        for fate in [Fate::Executed, Fate::Lost] {
            for left in [1, 3] {
                let context = format!("{after}, {fate:?}, {left}");
                let server = Server::new();
                let client = server.client().await;
                let place = Place::After(after);
                server.state().cuts = Some(Cuts { place, fate, left });
                let guard = both(&client).lock().await.expect(&context);
                assert!(guard.is_valid(), "{context}");
                guard.release().await.expect(&context);
                server.state().cuts = None;
                are_free(&server, &client, &context).await;
            }
        }
    }
}

/// Contenders that take the same locks in orders of their own: all are served, and no lock has two holders.
async fn all_are_served(wanted: Vec<Vec<usize>>) {
    let server = Server::new();
    let paths: Vec<_> = (0..4).map(|index| format!("/deep/{index}")).collect();
    let held = std::rc::Rc::new(std::cell::RefCell::new(BTreeSet::new()));
    let mut contenders = Vec::new();
    for wanted in wanted {
        let (client, held) = (server.client().await, std::rc::Rc::clone(&held));
        let locks = client.locks(wanted.iter().map(|index| paths[*index].clone()));
        contenders.push(async move {
            for _ in 0..2 {
                let guard = locks.lock().await.unwrap();
                for path in &wanted {
                    assert!(held.borrow_mut().insert(*path), "{path} has two holders");
                }
                tokio::time::sleep(Duration::from_millis(3)).await;
                assert!(guard.is_valid());
                for path in &wanted {
                    held.borrow_mut().remove(path);
                }
                guard.release().await.unwrap();
            }
        });
    }
    let all = tokio::task::LocalSet::new();
    for contender in contenders {
        all.spawn_local(contender);
    }
    timeout(Duration::from_secs(600), all).await.expect("none waits for ever");
}

#[tokio::test(start_paused = true)]
async fn contenders_for_any_locks_in_any_order_are_all_served() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let count = 2 + random.below(6);
        all_are_served((0..count).map(|_| random.some_of(4)).collect()).await;
    }
}

/// Numbers that are the same for each run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 33).expect("31 bits") % limit
    }

    /// Returns some of the numbers below `limit`, in any order.
    fn some_of(&mut self, limit: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..limit).collect();
        for index in 1..limit {
            all.swap(index, self.below(index + 1));
        }
        all.truncate(1 + self.below(limit));
        all
    }
}

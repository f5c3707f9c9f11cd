//! Writers that go on as readers, without letting go in between.

use core::time::Duration;

use election_tokio::election::Departure;
use election_tokio::format::Format;
use election_tokio::lock::{
    Access, DowngradeRefused, LockFailure, LockGuard, LockLost, NotDowngraded,
};
use election_tokio::{Client, CreateMode, ErrorCode, TransactionError, Version};
use tokio::time::timeout;
use zk_jute::OpCode;

use crate::cancellation::{at_every_await_point, run_until};
use crate::lies::Lie;
use crate::server::{Server, settle, wait};

const LOCK: &str = "/deep/lock";

async fn writer(client: &Client) -> LockGuard {
    client.write_lock(LOCK).data("host-7").lock().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_writer_becomes_a_reader_and_readers_get_in() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = writer(&one).await;
    let (first, second) = (other.read_lock(LOCK), other.read_lock(LOCK));
    let next = other.write_lock(LOCK);
    let short = Duration::from_millis(10);
    let mut before = Box::pin(first.lock());
    assert!(timeout(short, &mut before).await.is_err());
    let mut writing = Box::pin(next.lock());
    assert!(timeout(short, &mut writing).await.is_err());
    let mut after = Box::pin(second.lock());
    assert!(timeout(short, &mut after).await.is_err());

    let (token, sequence) = (guard.token(), guard.znode().sequence());
    let late = guard.transaction().create("/written", "", CreateMode::Persistent);
    let guard = guard.downgrade().await.unwrap();
    assert!(guard.is_valid() && guard.valid_until().is_some());
    let name = &*guard.znode().to_string();
    assert!(name.contains("-__READ__"), "{name}");
    assert_eq!((guard.token(), guard.znode().sequence()), (token, sequence));
    assert_eq!(one.get_data(&format!("{LOCK}/{name}")).await.unwrap().0, "host-7");
    assert!(before.await.unwrap().is_valid(), "nothing is in its way any more");
    assert!(timeout(short, &mut writing).await.is_err(), "a reader is before it");
    assert!(timeout(short, &mut after).await.is_err(), "a writer is before it");

    assert_eq!(late.commit().await.map(drop), Err(TransactionError::NotHeld), "as a writer");
    let written = guard.transaction().create("/written", "", CreateMode::Persistent).commit();
    assert_eq!(written.await.map(drop), Ok(()));
    assert_eq!(guard.confirm().await, Ok(()));
    wait(60).await;
    assert!(guard.is_valid(), "heartbeats check the reader's znode");
    server.cut();
    wait(3).await;
    assert!(guard.is_valid());
    assert_eq!(guard.release().await, Ok(Departure::Deleted));
    let writer = writing.await.unwrap();
    assert!(writer.token() > token);
    drop(writer);
    assert!(after.await.unwrap().is_valid());
}

/// As others see it, and as it can be asked, or made, to let go.
#[tokio::test(start_paused = true)]
async fn a_reader_that_was_a_writer_is_a_contender_like_others() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = writer(&one).await.downgrade().await.unwrap();
    let lock = other.write_lock(LOCK);
    let contenders = lock.contenders().await.unwrap();
    let [holder] = contenders.as_slice() else { panic!("{contenders:?}") };
    assert_eq!((&*holder.name, holder.access), (&*guard.znode().text(), Access::Shared));
    assert!(holder.token > guard.token());
    lock.request_revoke(holder).await.unwrap();
    assert_eq!(guard.revoke_requested().await, Ok(()));
    lock.break_lock(holder).await.unwrap();
    assert_eq!(guard.lost().await, LockLost::Broken);
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_become_a_reader_holds_on() {
    let server = Server::new();
    let client = server.client().await;
    let formats = [Format::curator_lock(), Format::kazoo()];
    for format in formats {
        let guard = client.lock(LOCK).format(format).lock().await.unwrap();
        let refused = guard.downgrade().await.unwrap_err();
        assert_eq!(refused.reason, NotDowngraded::Refused(DowngradeRefused::Format(format)));
        assert!(refused.guard.is_valid());
        refused.guard.release().await.unwrap();
    }
    let reader = client.read_lock(LOCK).lock().await.unwrap();
    let refused = reader.downgrade().await.unwrap_err();
    assert_eq!(refused.reason, NotDowngraded::Refused(DowngradeRefused::AlreadyShared));
    refused.guard.release().await.unwrap();

    let guard = writer(&client).await;
    server.lie_about(OpCode::MULTI, Lie::Code(ErrorCode::NO_AUTH));
    let refused = guard.downgrade().await.unwrap_err();
    assert_eq!(refused.reason, NotDowngraded::Failed(LockFailure::Rejected(-102)));
    assert!(refused.to_string().contains("NoAuth"), "{refused}");
    let guard = refused.guard;
    assert!(guard.is_valid() && guard.znode().text().contains("-__WRIT__"));
    assert_eq!(guard.confirm().await, Ok(()));
    let guard = guard.downgrade().await.expect("a second time nothing is in the way");

    client.delete(&format!("{LOCK}/{}", guard.znode()), Version::ANY).await.unwrap();
    assert_eq!(guard.lost().await, LockLost::Broken);
    let refused = guard.downgrade().await.unwrap_err();
    assert_eq!(refused.reason, NotDowngraded::Lost(LockLost::Broken));
    let guard = writer(&client).await;
    client.close().await.unwrap();
    let refused = guard.downgrade().await.unwrap_err();
    assert!(matches!(refused.reason, NotDowngraded::Lost(LockLost::ClientClosed(_))));
}

/// Wherever the connection is lost, the lock is held all the time, by one znode.
#[tokio::test(start_paused = true)]
async fn a_writer_becomes_a_reader_over_a_lost_connection() {
    for frames in 0..6 {
        let server = Server::new();
        let client = server.client().await;
        let guard = writer(&client).await;
        let token = guard.token();
        server.read_only_next(frames);
        let mut downgrading = Box::pin(guard.downgrade());
        let early = timeout(Duration::from_millis(10), &mut downgrading).await;
        server.cut();
        server.read_freely();
        let guard = match early {
            Ok(guard) => guard.unwrap(),
            Err(_) => downgrading.await.unwrap(),
        };
        wait(3).await;
        assert!(guard.is_valid(), "{frames}");
        assert_eq!(guard.token(), token);
        assert_eq!(server.children(LOCK), [guard.znode().to_string()], "{frames}");
        assert_eq!(guard.confirm().await, Ok(()));
        assert!(client.read_lock(LOCK).try_lock().await.unwrap().is_some());
        assert!(client.write_lock(LOCK).try_lock().await.unwrap().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_expires_meanwhile_is_told() {
    let server = Server::new();
    let client = server.client().await;
    let guard = writer(&client).await;
    server.read_only_next(0);
    let mut downgrading = Box::pin(guard.downgrade());
    assert!(timeout(Duration::from_millis(10), &mut downgrading).await.is_err());
    server.cut();
    server.expire();
    server.read_freely();
    let refused = downgrading.await.unwrap_err();
    assert_eq!(refused.reason, NotDowngraded::Lost(LockLost::SessionExpired));
    wait(3).await;
    assert!(server.children(LOCK).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_downgrade_that_is_dropped_anywhere_releases_the_lock() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let guard = writer(&client).await;
            let downgraded = run_until(&server, end, guard.downgrade()).await;
            let is_over = downgraded.is_some();
            drop(downgraded);
            if is_cut {
                server.cut();
            }
            wait(3).await;
            assert!(server.children(LOCK).is_empty(), "a znode is left: {end:?}");
            let guard = client.write_lock(LOCK).try_lock().await.unwrap();
            drop(guard.expect("it is free"));
            server.cut();
            wait(3).await;
            assert!(server.children(LOCK).is_empty(), "a znode is left: {end:?}");
            assert_eq!(server.watches(), 0, "a watch is left: {end:?}");
            is_over
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_downgrade_takes_two_requests() {
    let server = Server::new();
    let client = server.client().await;
    let guard = writer(&client).await;
    settle().await;
    let before = server.requested().len();
    let guard = guard.downgrade().await.unwrap();
    settle().await;
    assert_eq!(server.requested().split_off(before), [OpCode::MULTI, OpCode::GET_DATA]);
    drop(guard);
}

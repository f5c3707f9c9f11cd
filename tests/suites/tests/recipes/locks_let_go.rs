//! Holders that are asked to let go, and writers that become readers, on real servers.

use core::time::Duration;

use election_tokio::lock::{Contender, Lock, LockLost, RevokeRequest, Revoked};
use tokio::time::Instant;
use zk_test_kit::election::{Arena, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    holders_let_go_or_are_removed,
    a_writer_that_becomes_a_reader_lets_readers_in;
}

const LOCK: &str = "/locks/lock";

/// Returns the holder, as an asker sees it.
async fn first(lock: &Lock) -> Result<Contender, TestFailure> {
    Ok(lock.contenders().await?.into_iter().next().expect("a contender"))
}

async fn holders_let_go_or_are_removed(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "let-go").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let asker = other.lock(LOCK);
    let guard = one.lock(LOCK).lock().await?;
    let holder = first(&asker).await?;
    assert_eq!(asker.request_revoke(&holder).await, Ok(RevokeRequest::Made));
    soon("it is asked", guard.revoke_requested()).await??;
    assert!(guard.is_valid() && first(&asker).await?.is_revoke_requested());
    guard.release().await?;
    assert_eq!(asker.request_revoke(&holder).await, Ok(RevokeRequest::Gone));

    let guard = one.lock(LOCK).lock().await?;
    let deadline = Instant::now() + Duration::from_millis(500);
    let revoked = asker.revoke_by(&first(&asker).await?, deadline).await;
    assert_eq!(revoked, Ok(Revoked::Removed));
    assert!(Instant::now() >= deadline);
    assert_eq!(soon("it is lost", guard.lost()).await?, LockLost::Broken);
    soon("the next one has it", asker.lock()).await??.release().await?;
    Ok(())
}

async fn a_writer_that_becomes_a_reader_lets_readers_in(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "readers").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let writer = one.write_lock(LOCK).lock().await?;
    let token = writer.token();
    let (read, write) = (other.read_lock(LOCK), other.write_lock(LOCK));
    let (reader, guard) = tokio::join!(soon("the reader has it", read.lock()), writer.downgrade());
    let (reader, guard) = (reader??, guard?);
    assert!(reader.is_valid() && guard.is_valid());
    assert_eq!((guard.token(), guard.znode().text().contains("__READ__")), (token, true));
    guard.confirm().await?;
    assert!(write.try_lock().await?.is_none(), "two readers hold");
    reader.release().await?;
    guard.release().await?;
    let writer = soon("the writer has it", write.lock()).await??;
    assert!(writer.token() > token);
    writer.release().await?;
    Ok(())
}

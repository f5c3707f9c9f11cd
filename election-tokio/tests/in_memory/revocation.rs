//! Contenders that are asked to let go: they are told, and consent or are removed.

use core::time::Duration;

use election_tokio::election::Departure;
use election_tokio::error::Place;
use election_tokio::format::Format;
use election_tokio::lock::{
    Contender, Lock, LockGuard, LockLost, RevokeError, RevokeRequest, Revoked, Turn,
};
use election_tokio::{Client, CreateMode, Version};
use tokio::time::{Instant, timeout};

use crate::cancellation::{at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const LOCK: &str = "/lock";

fn revoking() -> Place {
    Place::new("lock", LOCK, "revoke")
}

fn lock(client: &Client) -> Lock {
    client.lock(LOCK).data("host-7")
}

fn in_seconds(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

/// Returns the first contender, as `client` sees it.
async fn first(client: &Client) -> Contender {
    let contenders = lock(client).contenders().await.unwrap();
    contenders.into_iter().next().expect("a contender")
}

async fn is_asked(guard: &LockGuard) -> bool {
    let asked = timeout(Duration::from_millis(10), guard.revoke_requested()).await;
    assert_eq!(asked.is_ok(), guard.is_revoke_requested());
    asked.is_ok_and(|asked| asked.is_ok())
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_asked_to_let_go_is_told_and_consents() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = lock(&one).lock().await.unwrap();
    assert!(!is_asked(&guard).await);
    let asker = lock(&other);
    let holder = first(&other).await;
    assert_eq!((&*holder.data, holder.is_revoke_requested()), (&b"host-7"[..], false));
    assert_eq!(asker.request_revoke(&holder).await, Ok(RevokeRequest::Made));
    assert!(is_asked(&guard).await && guard.is_valid());
    assert_eq!(guard.revoke_requested().await, Ok(()), "again, too");
    let shown = first(&other).await;
    assert_eq!((&*shown.data, shown.is_revoke_requested()), (&b"__REVOKE__"[..], true));
    assert_eq!(asker.request_revoke(&holder).await, Ok(RevokeRequest::Made), "it was before");
    assert_eq!(first(&other).await.version, shown.version);

    let mut waiting = Box::pin(asker.lock());
    assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
    assert_eq!(guard.release().await, Ok(Departure::Deleted));
    let next = waiting.await.unwrap();
    assert!(!is_asked(&next).await, "the request was for the former holder");
    assert_eq!(asker.request_revoke(&holder).await, Ok(RevokeRequest::Gone));
    // Of the page on recipes; and a request that is taken back.
    let path = format!("{LOCK}/{}", next.znode());
    one.set_data(&path, "unlock", Version::ANY).await.unwrap();
    assert!(is_asked(&next).await);
    one.set_data(&path, "never mind", Version::ANY).await.unwrap();
    assert!(!is_asked(&next).await);
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_is_told_once_it_holds() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let (guard, handle) = (lock(&one).lock().await.unwrap(), lock(&other));
    let mut waiting = Box::pin(handle.lock());
    assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
    let contenders = handle.contenders().await.unwrap();
    let [_, waiter] = contenders.as_slice() else { panic!("{contenders:?}") };
    assert_eq!(waiter.turn, Turn::Waits);
    assert_eq!(handle.request_revoke(waiter).await, Ok(RevokeRequest::Made));
    settle().await;
    drop(guard);
    let guard = waiting.await.unwrap();
    assert!(guard.is_revoke_requested());
    assert_eq!(guard.revoke_requested().await, Ok(()));
}

/// The watch does not tell of it: it is read again on the next connection.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_made_without_a_connection_is_told_on_the_next_one() {
    let server = Server::new();
    let client = server.client().await;
    let guard = lock(&client).lock().await.unwrap();
    let path = format!("{LOCK}/{}", guard.znode());
    server.refuse();
    server.cut();
    let written = server.raw().set_data(&path, b"unlock");
    assert!(written.is_ok() && !guard.is_revoke_requested());
    server.accept();
    assert_eq!(guard.revoke_requested().await, Ok(()));
    wait(2).await;
    assert!(guard.is_valid() && guard.is_revoke_requested());
}

#[tokio::test(start_paused = true)]
async fn all_holders_are_asked() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let (first, second) =
        (one.read_lock(LOCK).lock().await.unwrap(), other.read_lock(LOCK).lock().await.unwrap());
    let writer = other.write_lock(LOCK);
    let mut waiting = Box::pin(writer.lock());
    assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
    let asked = writer.request_revoke_of_holders().await.unwrap();
    let asked: Vec<_> = asked.iter().map(|one| &*one.name).collect();
    assert_eq!(asked, [first.znode().to_string(), second.znode().to_string()]);
    assert_eq!(first.revoke_requested().await, Ok(()));
    assert_eq!(second.revoke_requested().await, Ok(()));
    drop((first, second));
    assert!(!waiting.await.unwrap().is_revoke_requested());
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_does_not_let_go_is_removed_at_the_deadline() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    for consents in [true, false] {
        let guard = lock(&one).lock().await.unwrap();
        let holder = first(&other).await;
        let (asker, deadline) = (lock(&other), in_seconds(30));
        let revoking = asker.revoke_by(&holder, deadline);
        let holding = async {
            assert_eq!(guard.revoke_requested().await, Ok(()));
            // Neither ends the wait.
            server.cut();
            wait(2).await;
            one.set_data(&format!("{LOCK}/{}", guard.znode()), "busy", Version::ANY).await.unwrap();
            assert!(guard.is_valid());
            if consents {
                guard.release().await.map(drop).unwrap();
            } else {
                assert_eq!(guard.lost().await, LockLost::Broken);
                assert!(!guard.is_valid() && Instant::now() >= deadline);
            }
        };
        let (revoked, ()) = tokio::join!(revoking, holding);
        assert_eq!(revoked, Ok(if consents { Revoked::LetGo } else { Revoked::Removed }));
        assert_eq!(Instant::now() >= deadline, !consents);
        assert!(server.children(LOCK).is_empty());
    }
    settle().await;
    assert_eq!(server.watches(), 0, "a watch is left");
}

/// A request and a removal are for the contender that was shown.
#[tokio::test(start_paused = true)]
async fn no_other_contender_is_asked_or_removed() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = lock(&one).lock().await.unwrap();
    let holder = first(&other).await;
    let path = format!("{LOCK}/{}", holder.name);
    let asker = lock(&other);
    one.set_data(&path, "busy", Version::ANY).await.unwrap();
    assert_eq!(asker.request_revoke(&holder).await, Err(RevokeError::Changed { at: revoking() }));
    let revoked = asker.revoke_by(&holder, in_seconds(1)).await;
    assert_eq!(
        revoked,
        Err(RevokeError::Changed { at: revoking() }),
        "what was written was not seen"
    );
    assert_eq!(one.get_data(&path).await.unwrap().0, "busy");
    assert!(guard.is_valid());

    let holder = first(&other).await;
    drop(guard);
    settle().await;
    one.create(&path, "another", CreateMode::Ephemeral).await.unwrap();
    one.set_data(&path, "another", Version::ANY).await.unwrap();
    assert_eq!(asker.request_revoke(&holder).await, Ok(RevokeRequest::Gone));
    assert_eq!(asker.revoke_by(&holder, in_seconds(1)).await, Ok(Revoked::LetGo));
    assert_eq!(one.get_data(&path).await.unwrap().0, "another");
}

/// Curator's latch loses its watch by a data change, and is never promoted.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_to_contenders_in_the_format_of_a_latch() {
    let server = Server::new();
    let client = server.client().await;
    let format = Format::curator_latch();
    let latch = lock(&client).format(format);
    let guard = latch.lock().await.unwrap();
    let contenders = latch.contenders().await.unwrap();
    let [holder] = contenders.as_slice() else { panic!("{contenders:?}") };
    let refused = Err(RevokeError::Format { at: revoking(), format });
    assert_eq!(latch.request_revoke(holder).await, refused);
    assert_eq!(latch.revoke_by(holder, in_seconds(1)).await.map(drop), refused.map(drop));
    let path = format!("{LOCK}/{}", guard.znode());
    client.set_data(&path, "__REVOKE__", Version::ANY).await.unwrap();
    assert!(!is_asked(&guard).await);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_request_ends_with_the_lock() {
    let server = Server::new();
    let client = server.client().await;
    let guard = lock(&client).lock().await.unwrap();
    client.delete(&format!("{LOCK}/{}", guard.znode()), Version::ANY).await.unwrap();
    assert_eq!(guard.revoke_requested().await.unwrap_err().lost, LockLost::Broken);
    let guard = lock(&client).lock().await.unwrap();
    let (asked, ()) = tokio::join!(guard.revoke_requested(), async {
        client.close().await.unwrap();
    });
    assert!(matches!(asked.unwrap_err().lost, LockLost::ClientClosed(_)));
}

#[tokio::test(start_paused = true)]
async fn a_revocation_that_is_dropped_anywhere_leaves_nothing() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let (one, other) = (server.client().await, server.client().await);
            let guard = lock(&one).lock().await.unwrap();
            let holder = first(&other).await;
            let asker = lock(&other);
            let revoked = run_until(&server, end, async {
                let past = Instant::now();
                asker.request_revoke(&holder).await.unwrap();
                asker.revoke_by(&holder, past).await
            })
            .await;
            if is_cut {
                server.cut();
            }
            wait(3).await;
            let stands = server.children(LOCK) == [guard.znode().to_string()];
            assert_eq!(guard.is_valid(), stands, "{end:?}");
            assert!(!stands || revoked.is_none(), "{end:?}");
            drop(guard);
            wait(3).await;
            assert!(server.children(LOCK).is_empty(), "{end:?}");
            server.cut();
            wait(3).await;
            assert_eq!(server.watches(), 0, "a watch is left: {end:?}");
            revoked.is_some()
        })
        .await;
    }
}

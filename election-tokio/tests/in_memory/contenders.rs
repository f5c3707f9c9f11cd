//! Which clients contend for a lock, as others see it, and contenders that an operator removes.

use election_tokio::lock::{Access, Contender, Lock, LockLost, Removal, Turn};
use election_tokio::{Client, CreateMode, SessionId, Version};
use tokio::time::timeout;

use crate::cancellation::{at_every_await_point, run_until};
use crate::server::{Server, wait};

const LOCK: &str = "/lock";

/// Returns the data, the access and the turn of each contender.
async fn shown(lock: &Lock) -> Vec<(String, Access, Turn)> {
    let contenders = lock.contenders().await.unwrap();
    let text = |contender: &Contender| String::from_utf8(contender.data.to_vec()).unwrap();
    contenders.iter().map(|one| (text(one), one.access, one.turn)).collect()
}

fn of(name: &str, access: Access, turn: Turn) -> (String, Access, Turn) {
    (name.to_owned(), access, turn)
}

/// A contender has stood by the settings before, so what they make is there already.
#[tokio::test(start_paused = true)]
async fn settings_that_change_count_for_the_next_contender() {
    let server = Server::new();
    let lock = server.client().await.read_lock(LOCK).data("first");
    let first = lock.lock().await.unwrap();
    let second = lock.clone().data("second").lock().await.unwrap();
    let third = lock.lock().await.unwrap();
    let names: Vec<String> = shown(&lock).await.into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["first", "second", "first"]);
    drop((first, second, third));
}

#[tokio::test(start_paused = true)]
async fn contenders_are_shown_in_their_order_with_what_they_want() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let lock = one.read_lock(LOCK);
    assert_eq!(lock.contenders().await.unwrap(), [], "there is no lock");
    let first = one.read_lock(LOCK).data("first").lock().await.unwrap();
    let second = other.read_lock(LOCK).data("second").lock().await.unwrap();
    let (writer, reader) =
        (other.write_lock(LOCK).data("writer"), one.read_lock(LOCK).data("third"));
    let mut writing = Box::pin(writer.lock());
    assert!(timeout(core::time::Duration::from_millis(10), &mut writing).await.is_err());
    let mut reading = Box::pin(reader.lock());
    assert!(timeout(core::time::Duration::from_millis(10), &mut reading).await.is_err());
    // Of another format, and none of a contender.
    one.create(&format!("{LOCK}/x-latch-0000000000"), "", CreateMode::Persistent).await.unwrap();
    one.create(&format!("{LOCK}/notes"), "", CreateMode::Persistent).await.unwrap();

    let (shared, exclusive) = (Access::Shared, Access::Exclusive);
    let all = [
        of("first", shared, Turn::Holds),
        of("second", shared, Turn::Holds),
        of("writer", exclusive, Turn::Waits),
        of("third", shared, Turn::Waits),
    ];
    assert_eq!(shown(&lock).await, all);
    let contenders = lock.contenders().await.unwrap();
    let [holder, joint, ..] = contenders.as_slice() else { panic!("{contenders:?}") };
    assert_eq!((&*holder.name, holder.token), (&*first.znode().text(), first.token()));
    assert_eq!((holder.sequence, holder.version), (first.znode().sequence(), Version::new(0)));
    assert!(holder.is_ephemeral() && holder.session != joint.session);
    drop((first, second));
    let writer = writing.await.unwrap();
    assert_eq!(
        shown(&lock).await,
        [of("writer", exclusive, Turn::Holds), of("third", shared, Turn::Waits)]
    );
    drop(writer);
    let _third = reading.await.unwrap();
    assert_eq!(shown(&lock).await, [of("third", shared, Turn::Holds)]);
}

/// A writer of Curator's that goes on as a reader has both for a moment.
#[tokio::test(start_paused = true)]
async fn two_znodes_of_one_number_are_in_each_others_way_unless_they_are_one_clients() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    one.create(LOCK, "", CreateMode::Persistent).await.unwrap();
    let create = async |client: &Client, name: &str| {
        client.create(&format!("{LOCK}/{name}"), "", CreateMode::Ephemeral).await.unwrap();
    };
    create(&one, "_c_a-__READ__0000000004").await;
    create(&one, "_c_b-__WRIT__0000000004").await;
    let lock = one.write_lock(LOCK);
    let turns = async || {
        let contenders = lock.contenders().await.unwrap();
        contenders.iter().map(|one| (one.access, one.turn)).collect::<Vec<_>>()
    };
    let (shared, exclusive) = (Access::Shared, Access::Exclusive);
    assert_eq!(turns().await, [(exclusive, Turn::Holds), (shared, Turn::Holds)]);
    create(&other, "_c_c-__READ__0000000004").await;
    let all = [(exclusive, Turn::Holds), (shared, Turn::Holds), (shared, Turn::Waits)];
    assert_eq!(turns().await, all);
}

#[tokio::test(start_paused = true)]
async fn a_contender_that_an_operator_removes_hears_of_it() {
    let server = Server::new();
    let (one, operator) = (server.client().await, server.client().await);
    let guard = one.lock(LOCK).lock().await.unwrap();
    let lock = operator.lock(LOCK);
    let contenders = lock.contenders().await.unwrap();
    let [holder] = contenders.as_slice() else { panic!("{contenders:?}") };
    let path = format!("{LOCK}/{}", holder.name);
    // Written after it was shown: it is the same znode still.
    one.set_data(&path, "busy", Version::ANY).await.unwrap();
    assert_eq!(lock.break_lock(holder).await, Ok(Removal::Removed));
    assert_eq!(guard.lost().await, LockLost::Broken);
    assert_eq!(lock.break_lock(holder).await, Ok(Removal::Gone));

    // Another znode of that name is another contender.
    one.create(&path, "", CreateMode::Ephemeral).await.unwrap();
    assert_eq!(lock.break_lock(holder).await, Ok(Removal::Gone));
    assert_eq!(server.children(LOCK), [holder.name.as_str()]);

    one.delete(&path, Version::ANY).await.unwrap();
    one.create(&path, "", CreateMode::Persistent).await.unwrap();
    let contenders = lock.contenders().await.unwrap();
    let [left] = contenders.as_slice() else { panic!("{contenders:?}") };
    assert!(!left.is_ephemeral());
    assert_eq!(left.session, SessionId::NONE);
    assert_eq!(lock.break_lock(left).await, Ok(Removal::Removed));
    assert!(server.children(LOCK).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_removal_leaves_nothing_in_the_client() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let (one, operator) = (server.client().await, server.client().await);
        let guard = one.lock(LOCK).lock().await.unwrap();
        let lock = operator.lock(LOCK);
        let removed = run_until(&server, end, async {
            let contenders = lock.contenders().await.unwrap();
            lock.break_lock(contenders.first().expect("the holder")).await
        })
        .await;
        wait(3).await;
        let stands = server.children(LOCK) == [guard.znode().to_string()];
        assert_eq!(guard.is_valid(), stands, "{end:?}");
        assert!(!stands || removed.is_none(), "{end:?}");
        removed.is_some()
    })
    .await;
}

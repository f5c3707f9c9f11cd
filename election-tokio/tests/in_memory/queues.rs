//! Queues: what is put is taken once, in order, whatever is dropped or lost meanwhile.

use core::time::Duration;

use election_tokio::queue::{ClaimLost, Queue, QueueFormat, QueueItem, TakeError};
use election_tokio::{Client, CreateMode, Version};
use tokio::time::{Instant, timeout};
use zk_jute::OpCode;

use crate::cancellation::{DropAfter, at_every_await_point, run_until};
use crate::lies::Lie;
use crate::server::{Server, settle, wait};

const QUEUE: &str = "/deep/queue";

fn queue(client: &Client) -> Queue {
    client.queue(QUEUE)
}

fn text(item: &QueueItem) -> &str {
    core::str::from_utf8(&item.data).expect("text")
}

async fn all(queue: &Queue) -> Vec<String> {
    let mut taken = Vec::new();
    while let Some(item) = queue.try_take().await.unwrap() {
        taken.push(text(&item).to_owned());
    }
    taken
}

/// Asserts that no request follows, and that no claim or watch is left.
async fn is_at_rest(server: &Server, context: &dyn core::fmt::Debug) {
    wait(3).await;
    let claims: Vec<_> =
        server.children(QUEUE).into_iter().filter(|name| !name.starts_with("queue-")).collect();
    assert!(claims.is_empty(), "{claims:?}: {context:?}");
    for item in server.children(QUEUE) {
        assert!(server.children(&format!("{QUEUE}/{item}")).is_empty(), "{item}: {context:?}");
    }
    server.cut();
    wait(3).await;
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
    let requests = server.requested().len();
    wait(30).await;
    assert_eq!(server.requested().len(), requests, "no rest: {context:?}");
}

/// Requests are counted: one to put; a read and a deletion to take, and a list for many of them.
#[tokio::test(start_paused = true)]
async fn items_are_taken_in_order_by_one_request_for_each_step() {
    let server = Server::new();
    let client = server.client().await;
    let queue = queue(&client);
    assert_eq!(queue.len().await, Ok(0));
    assert!(queue.try_take().await.unwrap().is_none());
    let first = queue.put("a").await.unwrap();
    assert_eq!(first.to_string(), "queue-0000000000");
    let before = server.requested().len();
    queue.put("b").await.unwrap();
    queue.put_many(["c", "d"]).await.unwrap();
    assert_eq!(server.requested()[before..], [OpCode::CREATE2, OpCode::MULTI]);
    assert_eq!(queue.len().await, Ok(4));
    assert_eq!(queue.peek().await.unwrap().map(|item| item.name), Some(first));
    let before = server.requested().len();
    assert_eq!(text(&queue.take().await.unwrap()), "a");
    assert_eq!(text(&queue.take().await.unwrap()), "b");
    let (read, delete) = (OpCode::GET_DATA, OpCode::DELETE);
    assert_eq!(server.requested()[before..], [read, delete, read, delete], "the peek has listed");
    assert_eq!(all(&queue).await, ["c", "d"]);
    assert_eq!(queue.is_empty().await, Ok(true));
    is_at_rest(&server, &"empty").await;
}

#[tokio::test(start_paused = true)]
async fn takers_wait_and_each_item_goes_to_one() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let queue = queue(&client);
    let taking: Vec<_> = (0..4)
        .map(|taker| {
            let queue = if taker % 2 == 0 { queue.clone() } else { other.queue(QUEUE) };
            tokio::spawn(async move { text(&queue.take().await.unwrap()).to_owned() })
        })
        .collect();
    settle().await;
    let deadline = Instant::now() + Duration::from_secs(1);
    assert!(queue.take_until(deadline).await.unwrap().is_none());
    queue.put("0").await.unwrap();
    wait(1).await;
    let before = server.requested().len();
    queue.put("1").await.unwrap();
    wait(1).await;
    // Three that wait are woken: a list, a read, a deletion of which one succeeds, and a list each.
    let asked = server.requested().len() - before;
    assert!(asked <= 1 + 3 * 4, "{asked}");
    queue.put_many(["2", "3"]).await.unwrap();
    let mut taken = Vec::new();
    for taker in taking {
        taken.push(taker.await.unwrap());
    }
    taken.sort_unstable();
    assert_eq!(taken, ["0", "1", "2", "3"]);
    is_at_rest(&server, &"all are taken").await;
}

#[tokio::test(start_paused = true)]
async fn the_lowest_priority_goes_first() {
    let server = Server::new();
    let client = server.client().await;
    let queue = client.priority_queue(QUEUE);
    for (priority, data) in [(50, "c"), (7, "a"), (50, "d"), (9, "b")] {
        queue.put(priority, data).await.unwrap();
    }
    assert_eq!(server.children(QUEUE)[0], "queue-07-0000000001");
    assert_eq!(text(&queue.take().await.unwrap()), "a");
    queue.put(0, "first").await.unwrap();
    assert_eq!(text(&queue.take().await.unwrap()), "first", "it came after the list");
    assert_eq!(text(&queue.take().await.unwrap()), "b");
    let error = queue.put(100, "x").await.unwrap_err();
    assert!(!error.may_have_happened());
    assert_eq!(queue.len().await, Ok(2));
    assert_eq!(client.queue(QUEUE).len().await, Ok(0), "they are no items of a plain queue");
    let kazoo = client.priority_queue("/kazoo").format(QueueFormat::kazoo());
    assert_eq!(kazoo.put(100, "x").await.unwrap().to_string(), "entry-100-0000000000");
}

/// A look at the node in place of a list, while none has come.
#[tokio::test(start_paused = true)]
async fn a_priority_queue_is_listed_when_an_item_has_come() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let queue = client.priority_queue(QUEUE);
    for (priority, data) in [(50, "c"), (7, "a"), (60, "e"), (9, "b"), (50, "d"), (70, "f")] {
        queue.put(priority, data).await.unwrap();
    }
    let take = async |expected: &str| {
        let before = server.requested().len();
        assert_eq!(text(&queue.take().await.unwrap()), expected);
        server.requested()[before..].to_vec()
    };
    let (look, list) = (OpCode::EXISTS, OpCode::GET_CHILDREN);
    let (read, delete) = (OpCode::GET_DATA, OpCode::DELETE);
    assert_eq!(take("a").await, [list, read, delete]);
    assert_eq!(take("b").await, [look, list, read, delete], "of the first list it is not known");
    for expected in ["c", "d"] {
        assert_eq!(take(expected).await, [look, read, delete]);
    }
    other.priority_queue(QUEUE).put(0, "first").await.unwrap();
    assert_eq!(take("first").await, [look, list, read, delete]);
    let others = other.priority_queue(QUEUE).take().await.unwrap();
    assert_eq!(text(&others), "e");
    let asked = take("f").await;
    assert!(
        asked.starts_with(&[look, read]),
        "the one that is gone is no item that has come: {asked:?}"
    );
    assert!(queue.try_take().await.unwrap().is_none());
    is_at_rest(&server, &"empty").await;
}

/// Of 100,000 items a taker lists all, and remembers some; the next thousand takes list no more.
#[tokio::test(start_paused = true)]
async fn a_long_queue_is_listed_seldom() {
    let server = Server::new();
    let client = server.builder().max_reply(16 << 20).connect().await.unwrap();
    let queue = client.queue("/queue");
    for chunk in 0..20 {
        queue.put_many((0..5000).map(|item| format!("{}", chunk * 5000 + item))).await.unwrap();
    }
    let lists = server.requests(OpCode::GET_CHILDREN);
    for number in 0..20 {
        assert_eq!(text(&queue.take().await.unwrap()), number.to_string());
    }
    assert_eq!(server.requests(OpCode::GET_CHILDREN) - lists, 1);
    assert_eq!(queue.len().await, Ok(99_980));
}

#[tokio::test(start_paused = true)]
async fn an_item_goes_with_the_session_that_has_put_it() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    queue(&other).put_ephemeral("e").await.unwrap();
    assert_eq!(queue(&client).len().await, Ok(1));
    other.close().await.unwrap();
    assert_eq!(queue(&client).len().await, Ok(0));
}

/// The put of one that gets a number that servers give more than once is taken back.
#[tokio::test(start_paused = true)]
async fn the_last_number_ends_a_queue() {
    let server = Server::counted_on(QUEUE, i32::MAX - 1);
    let client = server.client().await;
    let queue = queue(&client);
    queue.put("a").await.unwrap();
    let error = queue.put("b").await.unwrap_err();
    assert!(error.to_string().contains("last number"), "{error}");
    assert!(queue.put_many(["b"]).await.is_err());
    let number = format!("{QUEUE}/queue-2147483647");
    client.create(&number, "foreign", CreateMode::Persistent).await.unwrap();
    assert_eq!(all(&queue).await, ["a"], "the foreign one is left where it is");
}

#[tokio::test(start_paused = true)]
async fn a_claim_keeps_an_item_until_it_is_done() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let (mine, others) = (queue(&client).data("mine"), queue(&other));
    mine.put_many(["a", "b"]).await.unwrap();
    let before = server.requested().len();
    let claimed = mine.claim().await.unwrap();
    let (list, read, multi) = (OpCode::GET_CHILDREN, OpCode::GET_DATA, OpCode::MULTI);
    assert_eq!(server.requested()[before..], [list, multi, read]);
    assert_eq!(text(claimed.item()), "a");
    let claim = format!("{QUEUE}/claimed-{}", claimed.item().name);
    assert_eq!(other.get_data(&claim).await.unwrap().0, "mine");
    let peeked = others.peek().await.unwrap().unwrap();
    assert_eq!(text(&peeked), "b", "the other one is claimed");
    assert_eq!(text(&others.take().await.unwrap()), "b");
    assert!(others.try_take().await.unwrap().is_none());
    let path = format!("{QUEUE}/{}", claimed.item().name);
    assert!(other.delete(&path, Version::ANY).await.unwrap_err().is_not_empty());
    // It waits, and is woken once the item is given back.
    let mut waiting = Box::pin(others.take());
    assert!(timeout(Duration::from_secs(1), &mut waiting).await.is_err());
    assert_eq!(claimed.give_back().await, Ok(()));
    assert_eq!(text(&waiting.await.unwrap()), "a");

    let mine = queue(&client);
    mine.put("c").await.unwrap();
    let before = server.requested().len();
    let claimed = mine.claim().await.unwrap();
    assert_eq!(claimed.done().await, Ok(()));
    assert_eq!(server.requested()[before..], [list, multi, read, multi]);
    mine.put("d").await.unwrap();
    let done = mine.take_with(async |claimed| Ok::<_, ()>(text(claimed.item()).len())).await;
    assert_eq!(done, Ok(Ok((1, Ok(())))));
    mine.put("e").await.unwrap();
    let failed = mine.take_with(async |_| Err::<(), _>("no")).await;
    assert_eq!(failed, Ok(Err("no")));
    assert_eq!(all(&others).await, ["e"]);
    is_at_rest(&server, &"all is done").await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_goes_with_its_session_or_its_guard() {
    let server = Server::new();
    let client = server.client().await;
    let queue = queue(&client);
    queue.put_many(["a", "b"]).await.unwrap();
    drop(queue.claim().await.unwrap());
    wait(1).await;
    let mut claimed = queue.claim().await.unwrap();
    assert_eq!(text(claimed.item()), "a", "it was given back in its place");
    server.expire();
    assert_eq!(claimed.lost().await, ClaimLost::Lost);
    assert_eq!(claimed.done().await.map_err(|error| error.lost), Err(ClaimLost::Lost));
    let claimed = queue.claim().await.unwrap();
    assert_eq!(text(claimed.item()), "a");
    // An operator deletes the claim.
    let item = format!("{QUEUE}/{}", claimed.item().name);
    let pin = server.children(&item).pop().unwrap();
    client.delete(&format!("{item}/{pin}"), Version::ANY).await.unwrap();
    assert_eq!(claimed.done().await.map_err(|error| error.lost), Err(ClaimLost::Lost));
}

/// The reply to the deletion is lost, with and without the deletion.
#[tokio::test(start_paused = true)]
async fn an_item_whose_deletion_is_in_doubt_is_taken_once_or_told_of() {
    let server = Server::new();
    let client = server.client().await;
    let queue = queue(&client);
    queue.put_many(["a", "b"]).await.unwrap();
    server.lie_about(OpCode::DELETE, Lie::Silence);
    let one = queue.clone();
    let taking = tokio::spawn(async move { one.take().await });
    settle().await;
    server.cut();
    assert_eq!(text(&taking.await.unwrap().unwrap()), "a", "it was not executed");

    // Another client deletes it meanwhile: this one cannot know which deletion removed it.
    server.lie_about(OpCode::DELETE, Lie::Silence);
    let one = queue.clone();
    let taking = tokio::spawn(async move { one.take().await });
    settle().await;
    let other = server.client().await;
    let path = format!("{QUEUE}/{}", server.children(QUEUE)[0]);
    other.delete(&path, Version::ANY).await.unwrap();
    server.cut();
    let Err(TakeError::Unknown(item)) = taking.await.unwrap() else { panic!("it is gone") };
    assert_eq!(text(&item), "b");
    assert!(queue.try_take().await.unwrap().is_none());
}

/// The deletion is on its way when the future is dropped: the handle has the item.
#[tokio::test(start_paused = true)]
async fn an_item_of_a_take_that_was_dropped_is_the_next_of_its_handle() {
    let server = Server::new();
    let client = server.client().await;
    let queue = queue(&client);
    queue.put("a").await.unwrap();
    server.state().latency = Duration::from_millis(100);
    let mut taking = Box::pin(queue.take());
    let clone = queue.clone();
    while !server.children(QUEUE).is_empty() {
        let _ = timeout(Duration::from_millis(1), &mut taking).await;
    }
    // One that waits already has it, too.
    let waiting = tokio::spawn(async move { clone.take().await });
    wait(1).await;
    drop(taking);
    assert_eq!(text(&waiting.await.unwrap().unwrap()), "a");
    is_at_rest(&server, &"taken").await;
}

/// With and without a lost connection at that moment.
#[tokio::test(start_paused = true)]
async fn a_take_that_is_dropped_anywhere_loses_nothing() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let queue = queue(&client);
            queue.put_many(["a", "b"]).await.unwrap();
            let taken = run_until(&server, end, queue.take()).await;
            if is_cut {
                server.cut();
            }
            wait(3).await;
            let mut found: Vec<String> =
                taken.iter().flatten().map(|item| text(item).to_owned()).collect();
            for _ in 0..4 {
                match queue.try_take().await {
                    Ok(Some(item)) | Err(TakeError::Unknown(item)) => {
                        found.push(text(&item).to_owned());
                    }
                    Ok(None) => {}
                    Err(error) => panic!("{error}: {end:?}"),
                }
            }
            assert_eq!(found, ["a", "b"], "{end:?}, {is_cut}");
            is_at_rest(&server, &(end, is_cut)).await;
            taken.is_some()
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_dropped_anywhere_is_given_back() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let queue = queue(&client);
            queue.put("a").await.unwrap();
            let claimed = run_until(&server, end, queue.claim()).await.map(drop);
            if is_cut {
                server.cut();
            }
            is_at_rest(&server, &(end, is_cut)).await;
            let claimed_again = queue.try_claim().await.unwrap().expect("it was given back");
            let done = run_until(&server, end, claimed_again.done()).await;
            if is_cut {
                server.cut();
            }
            is_at_rest(&server, &(end, is_cut)).await;
            // A call that was never polled has given the claim up; else it goes on.
            let is_given_back = matches!(end, DropAfter::Polls(0));
            assert_eq!(queue.len().await, Ok(usize::from(is_given_back)), "{end:?}, {is_cut}");
            claimed.is_some() && done.is_some()
        })
        .await;
    }
}

/// A call that waits leaves nothing behind either.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_leaves_no_watch() {
    let server = Server::new();
    let client = server.client().await;
    let queue = queue(&client);
    assert!(timeout(Duration::from_secs(1), queue.take()).await.is_err());
    is_at_rest(&server, &"dropped").await;
    client.clone().close().await.unwrap();
    assert!(matches!(queue.take().await, Err(TakeError::ClientClosed { .. })));
    assert!(matches!(client.queue("x").take().await, Err(TakeError::InvalidPath { .. })));
}

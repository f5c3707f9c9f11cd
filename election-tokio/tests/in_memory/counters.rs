//! A number that clients share.

use election_tokio::counter::{
    CompareAndSet, Counter, CounterError, CounterFailure, CounterFormat,
};
use election_tokio::{CreateMode, Version};
use zk_jute::OpCode;

use crate::cancellation::{at_every_await_point, run_until};
use crate::lies::Lie;
use crate::server::{Server, settle};

const PATH: &str = "/deep/counter";

#[tokio::test(start_paused = true)]
async fn a_counter_is_created_by_its_first_change_and_no_change_is_lost() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let (one, other) = (one.counter(PATH), other.counter(PATH));
    assert_eq!(one.get().await, Ok(0));
    assert!(server.children("/deep").is_empty(), "a read creates nothing");
    assert_eq!(one.add(5).await, Ok(5));
    let add = |counter: Counter| async move {
        for _ in 0..20 {
            counter.add(1).await.unwrap();
        }
    };
    tokio::join!(add(one.clone()), add(other.clone()), add(one.clone()), add(other));
    assert_eq!(one.get().await, Ok(85));
    assert_eq!(one.compare_and_set(85, -1).await, Ok(CompareAndSet::Set));
    assert_eq!(one.compare_and_set(85, 7).await, Ok(CompareAndSet::Differs(-1)));
    assert_eq!(server.data(PATH).as_deref(), Some(&b"-1"[..]));
}

/// `add` on one that exists: a read and a write.
#[tokio::test(start_paused = true)]
async fn a_change_takes_two_requests() {
    let server = Server::new();
    let counter = server.client().await.counter("/counter");
    let before = server.requested().len();
    counter.add(1).await.unwrap();
    assert_eq!(server.requested()[before..], [OpCode::GET_DATA, OpCode::CREATE2]);
    let before = server.requested().len();
    counter.add(1).await.unwrap();
    counter.get().await.unwrap();
    let (read, write) = (OpCode::GET_DATA, OpCode::SET_DATA);
    assert_eq!(server.requested()[before..], [read, write, read]);
}

#[tokio::test(start_paused = true)]
async fn a_counter_of_curators_has_four_bytes() {
    let server = Server::new();
    let client = server.client().await;
    let counter = client.counter("/counter").format(CounterFormat::BigEndian);
    assert_eq!(counter.add(258).await, Ok(258));
    let data = |server: &Server| server.data("/counter");
    assert_eq!(data(&server), Some(vec![0, 0, 1, 2]), "never without data");
    let overflow = counter.add(i64::from(i32::MAX)).await.unwrap_err();
    assert!(matches!(overflow, CounterError::Failed { failure: CounterFailure::Overflow(_), .. }));
    let decimal = client.counter("/counter").get().await;
    assert!(matches!(
        decimal,
        Err(CounterError::Failed { failure: CounterFailure::NotANumber(_), .. })
    ));
    // As kazoo leaves it.
    client.set_data("/counter", "", Version::ANY).await.unwrap();
    assert_eq!(counter.get().await, Ok(0));
}

/// The reply is on its way when the connection is lost, and then another client writes or does not.
#[tokio::test(start_paused = true)]
async fn a_change_whose_reply_is_lost_is_made_once_or_told_to_be_unknown() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    client.create("/counter", "1", CreateMode::Persistent).await.unwrap();
    let counter = client.counter("/counter");
    // It is not executed.
    server.lie_about(OpCode::SET_DATA, Lie::Silence);
    let adding = tokio::spawn(async move { counter.add(1).await });
    settle().await;
    server.cut();
    assert_eq!(adding.await.unwrap(), Ok(2));
    // Another client writes meanwhile: this one cannot know which of them wrote next.
    server.lie_about(OpCode::SET_DATA, Lie::Silence);
    let counter = client.counter("/counter");
    let adding = tokio::spawn(async move { counter.add(1).await });
    settle().await;
    assert_eq!(other.counter("/counter").add(10).await, Ok(12));
    server.cut();
    let error = adding.await.unwrap().unwrap_err();
    assert!(matches!(error, CounterError::Unknown { after: 3, .. }), "{error}");
    assert!(error.may_have_happened());
    assert_eq!(other.counter("/counter").get().await, Ok(12));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_dropped_anywhere_is_made_once_or_not() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let counter = client.counter(PATH);
        let added = run_until(&server, end, counter.add(1)).await;
        settle().await;
        let number = counter.get().await.unwrap();
        assert!(added.is_none() && number <= 1 || added == Some(Ok(1)), "{end:?}: {number}");
        assert_eq!(counter.add(1).await, Ok(number + 1));
        added.is_some()
    })
    .await;
}

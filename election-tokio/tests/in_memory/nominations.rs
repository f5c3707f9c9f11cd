//! Nominations and leaderships that are dropped, wherever they are.

use core::cell::Cell;
use core::time::Duration;

use election_tokio::election::{Departure, Election, EndReason, Role};
use election_tokio::{Client, CreateMode};
use zk_jute::OpCode;

use crate::cancellation::{DropAfter, at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const ELECTION: &str = "/deep/election";

fn election(client: &Client) -> Election {
    client.election(ELECTION)
}

/// The fate of the connection when the future is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    IsCut,
}

/// Asserts, after everything has settled, that no nominee stands, and that the client works.
async fn nobody_stands(server: &Server, client: &Client, context: &dyn core::fmt::Debug) {
    wait(3).await;
    assert!(server.children(ELECTION).is_empty(), "a znode is left: {context:?}");
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
    assert_eq!(server.sessions().len(), 1, "{context:?}");
    let requests = server.requested().len();
    wait(30).await;
    assert_eq!(server.requested().len(), requests, "no rest: {context:?}");
    client.exists("/").await.unwrap();
}

/// A nomination that is dropped at any point, from its first request to its first term, leaves no
/// znode while the session lives, with and without a lost connection at that moment (CURATOR-205,
/// CURATOR-297).
#[tokio::test(start_paused = true)]
async fn a_nomination_dropped_anywhere_leaves_no_znode() {
    for fate in [Fate::Stays, Fate::IsCut] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let elected = run_until(&server, end, async {
                let mut nomination = election(&client).nominate().unwrap();
                nomination.elected().await.unwrap();
            })
            .await;
            if fate == Fate::IsCut {
                server.cut();
            }
            // `Leadership`, the nomination and the future are gone here.
            wait(3).await;
            assert!(server.children(ELECTION).is_empty(), "{end:?} {fate:?}");
            nobody_stands_but_watches(&server, &client, &(end, fate)).await;
            elected.is_some()
        })
        .await;
    }
}

/// Asserts that no nominee stands; a watch of a nomination that left may stay at the server until
/// its znode changes.
async fn nobody_stands_but_watches(
    server: &Server,
    client: &Client,
    context: &dyn core::fmt::Debug,
) {
    server.cut();
    nobody_stands(server, client, context).await;
    assert_eq!(server.requests(OpCode::SET_WATCHES), 0, "{context:?}");
}

/// The same for one that follows when it is dropped.
#[tokio::test(start_paused = true)]
async fn a_follower_dropped_anywhere_leaves_no_znode() {
    for fate in [Fate::Stays, Fate::IsCut] {
        for steps in 0..20 {
            let server = Server::new();
            let client = server.client().await;
            let mut leader = election(&client).nominate().unwrap();
            let leadership = leader.elected().await.unwrap();
            let follower = election(&client).nominate().unwrap();
            let mut status = follower.updates();
            run_until(&server, DropAfter::Steps(steps), async {
                status
                    .wait_for(|status| matches!(status.role, Role::Following { .. }))
                    .await
                    .map(|_| ())
            })
            .await;
            drop(follower);
            if fate == Fate::IsCut {
                server.cut();
            }
            wait(3).await;
            assert_eq!(server.children(ELECTION).len(), 1, "{steps} {fate:?}");
            assert!(leadership.is_valid());
            assert_eq!(leader.withdraw().await, Ok(Departure::Deleted));
            drop(leadership);
            nobody_stands_but_watches(&server, &client, &(steps, fate)).await;
        }
    }
}

/// `elected` may be dropped at each await point; the nomination stands on and leads.
#[tokio::test(start_paused = true)]
async fn a_dropped_wait_for_the_election_changes_nothing() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = election(&client).nominate().unwrap();
        let elected = run_until(&server, end, nomination.elected()).await;
        let is_over = elected.is_some();
        settle().await;
        let leadership = nomination.elected().await.unwrap();
        assert!(leadership.is_valid());
        assert_eq!(server.children(ELECTION).len(), 1);
        is_over
    })
    .await;
}

/// Once polled, `withdraw` and `resign` go through, dropped or not; a `Nomination` that was moved
/// into one that was never polled is dropped with it, and withdraws too.
#[tokio::test(start_paused = true)]
async fn a_dropped_resignation_goes_through() {
    for fate in [Fate::Stays, Fate::IsCut] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let mut nomination = election(&client).nominate().unwrap();
            let leadership = nomination.elected().await.unwrap();
            let departed = run_until(&server, end, nomination.withdraw()).await;
            if fate == Fate::IsCut {
                server.cut();
            }
            assert!(!leadership.is_valid(), "{end:?} {fate:?}");
            drop(leadership);
            nobody_stands_but_watches(&server, &client, &(end, fate)).await;
            departed.is_some_and(|departure| departure.is_ok())
        })
        .await;
    }
}

/// The same by the leadership, while the test still holds the nomination.
#[tokio::test(start_paused = true)]
async fn a_dropped_resignation_of_a_leadership_goes_through() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = election(&client).nominate().unwrap();
        let leadership = nomination.elected().await.unwrap();
        let departed = run_until(&server, end, leadership.resign()).await;
        settle().await;
        let polled = !matches!(end, DropAfter::Polls(0));
        assert_eq!(matches!(nomination.status().role, Role::Ended(_)), polled, "{end:?}");
        drop(nomination);
        nobody_stands_but_watches(&server, &client, &end).await;
        departed.is_some()
    })
    .await;
}

/// A dropped `guard` drops its work, and the leadership goes on.
#[tokio::test(start_paused = true)]
async fn a_dropped_guard_drops_its_work_only() {
    struct Alive<'a>(&'a Cell<u32>);
    impl Drop for Alive<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = election(&client).nominate().unwrap();
        let leadership = nomination.elected().await.unwrap();
        let alive = Cell::new(1);
        let held = Alive(&alive);
        let work = leadership.guard(async {
            let _held = held;
            client.create("/work", "", CreateMode::Persistent).await.unwrap();
            client.exists("/work").await.unwrap();
        });
        let done = run_until(&server, end, work).await;
        assert_eq!(alive.get(), 0, "{end:?}");
        settle().await;
        assert!(leadership.is_valid(), "{end:?}");
        leadership.transaction().commit().await.unwrap();
        done.is_some()
    })
    .await;
}

/// Work is dropped when the session expires, at an await point of its own.
#[tokio::test(start_paused = true)]
async fn a_guard_ends_with_the_leadership() {
    let server = Server::new();
    let client = server.client().await;
    let mut nomination = election(&client).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    let work = leadership.guard(core::future::pending::<()>());
    server.refuse();
    server.cut();
    let started = tokio::time::Instant::now();
    work.await.unwrap_err();
    assert!(started.elapsed() <= Duration::from_secs(9), "{:?}", started.elapsed());
    assert!(!leadership.is_valid());
}

/// A client that is closed at any point of a nomination ends it, and leaves no znode.
#[tokio::test(start_paused = true)]
async fn a_close_at_any_point_of_a_nomination_leaves_no_znode() {
    for steps in 0..20 {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = election(&client).nominate().unwrap();
        run_until(&server, DropAfter::Steps(steps), nomination.elected()).await;
        assert_eq!(client.close().await, Ok(()), "{steps}");
        nomination.elected().await.expect_err("the client is closed");
        settle().await;
        assert!(server.children(ELECTION).is_empty(), "{steps}");
        assert!(server.sessions().is_empty(), "{steps}");
    }
}

/// A session that expires at any point of a nomination is followed by a new one, in which the
/// nomination stands with a new znode.
#[tokio::test(start_paused = true)]
async fn an_expiry_at_any_point_of_a_nomination_is_survived() {
    for steps in 0..20 {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = election(&client).nominate().unwrap();
        run_until(&server, DropAfter::Steps(steps), nomination.elected()).await;
        server.expire();
        wait(3).await;
        let leadership = nomination.elected().await.unwrap();
        assert!(leadership.is_valid(), "{steps}");
        assert_eq!(server.children(ELECTION), [leadership.candidate().to_string()], "{steps}");
    }
}

/// A nomination that fails at its first step is over like any other: its status is the last one,
/// and stays when the client is closed.
#[tokio::test(start_paused = true)]
async fn a_nomination_that_fails_at_once_is_over() {
    let server = Server::new();
    let client = server.client().await;
    let too_much = vec![0; 2 * 1024 * 1024];
    let mut nomination = election(&client).data(too_much).nominate().unwrap();
    let mut status = nomination.updates();
    let reason = nomination.elected().await.unwrap_err().reason;
    assert!(matches!(reason, EndReason::Failed(_)), "{reason}");
    let next = tokio::time::timeout(Duration::from_secs(1), async {
        while status.next().await.is_some() {}
    });
    assert!(next.await.is_ok(), "nothing says that it is over");
    client.close().await.unwrap();
    assert_eq!(nomination.status().role, Role::Ended(reason));
}

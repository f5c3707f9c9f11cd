//! Leaders that wait where the one before them has not said that it ended.

use core::future::pending;
use core::time::Duration;

use election_tokio::election::{Election, Leadership, LostReason, Nomination, Role, RunOptions};
use election_tokio::session::IfGone;
use election_tokio::{Client, Version};
use tokio::time::Instant;

use crate::cancellation::{DropAfter, at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const DELAY: Duration = Duration::from_secs(40);
const MARK: &str = "/election.lock-delay";

fn election(client: &Client) -> Election {
    client.election("/election").lock_delay(DELAY)
}

async fn leader(client: &Client) -> (Nomination, Leadership) {
    let mut nomination = election(client).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    (nomination, leadership)
}

fn awaits_delay(nomination: &Nomination) -> Option<Instant> {
    match nomination.status().role {
        Role::AwaitingLockDelay { until } => until,
        _ => None,
    }
}

fn has_mark(server: &Server) -> bool {
    server.exists(MARK)
}

/// Ends a nominee's process without a word, and its session.
fn kill(server: &Server, nomination: Nomination, client: Client) {
    let session = client.session_id().unwrap();
    let _unused = client.detach().unwrap();
    drop(nomination);
    server.state().expire(session);
}

#[tokio::test(start_paused = true)]
async fn after_an_unclean_end_the_next_leader_waits_for_the_lock_delay() {
    let server = Server::new();
    let (first, second) = (server.client().await, server.client().await);
    let (nomination, leadership) = leader(&first).await;
    assert!(has_mark(&server));
    let mut next = election(&second).nominate().unwrap();
    settle().await;
    kill(&server, nomination, first);
    let killed_at = Instant::now();
    settle().await;
    let until = awaits_delay(&next).expect("it waits");
    assert!(next.try_elected().unwrap().is_none());
    let elected = next.elected().await.unwrap();
    assert!(elected.token() > leadership.token());
    assert!(until <= Instant::now() && killed_at.elapsed() >= DELAY, "{:?}", killed_at.elapsed());
    assert!(killed_at.elapsed() < DELAY + Duration::from_secs(1), "{:?}", killed_at.elapsed());
    assert!(elected.is_valid());
    elected.confirm().await.unwrap();
    // Its own end is clean, and the next one does not wait.
    elected.resign().await.unwrap();
    assert!(!has_mark(&server));
    let before = Instant::now();
    let (_nomination, _leadership) = leader(&second).await;
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Resigns,
    Withdraws,
    StepsDown,
    IsDropped,
}

#[tokio::test(start_paused = true)]
async fn after_a_clean_end_the_next_leader_is_elected_at_once() {
    for end in [End::Resigns, End::Withdraws, End::StepsDown, End::IsDropped] {
        let server = Server::new();
        let (first, second) = (server.client().await, server.client().await);
        let (nomination, leadership) = leader(&first).await;
        let mut next = election(&second).nominate().unwrap();
        settle().await;
        let before = Instant::now();
        match end {
            End::Resigns => drop(leadership.resign().await),
            End::Withdraws => drop(nomination.withdraw().await),
            End::StepsDown => leadership.step_down().await.unwrap(),
            End::IsDropped => drop(nomination),
        }
        next.elected().await.unwrap();
        assert!(before.elapsed() < Duration::from_secs(1), "{end:?}: {:?}", before.elapsed());
    }
}

/// Its work goes on, and it gives the leadership up all the same.
#[tokio::test(start_paused = true)]
async fn a_leader_that_keeps_the_lock_delay_does_not_spare_the_next_one_the_wait() {
    for end in [End::Resigns, End::Withdraws, End::StepsDown, End::IsDropped] {
        let server = Server::new();
        let (first, second) = (server.client().await, server.client().await);
        let (nomination, leadership) = leader(&first).await;
        let next = election(&second).nominate().unwrap();
        settle().await;
        leadership.keep_lock_delay();
        assert!(leadership.is_valid());
        match end {
            End::Resigns => drop(leadership.resign().await),
            End::Withdraws => drop(nomination.withdraw().await),
            End::StepsDown => leadership.step_down().await.unwrap(),
            End::IsDropped => drop(nomination),
        }
        settle().await;
        assert!(awaits_delay(&next).is_some(), "{end:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_delay_is_not_kept_for_a_leadership_of_the_past() {
    let server = Server::new();
    let (first, second) = (server.client().await, server.client().await);
    let (mut nomination, past) = leader(&first).await;
    past.clone().step_down().await.unwrap();
    let present = nomination.elected().await.unwrap();
    let mut next = election(&second).nominate().unwrap();
    settle().await;
    past.keep_lock_delay();
    present.resign().await.unwrap();
    settle().await;
    assert!(next.try_elected().unwrap().is_some());
}

/// The close of a session takes its znodes along, and says nothing of the work.
#[tokio::test(start_paused = true)]
async fn a_client_that_is_closed_ends_its_leadership_uncleanly() {
    let server = Server::new();
    let (first, second) = (server.client().await, server.client().await);
    let (nomination, _leadership) = leader(&first).await;
    let next = election(&second).nominate().unwrap();
    settle().await;
    first.close().await.unwrap();
    drop(nomination);
    settle().await;
    assert!(awaits_delay(&next).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_nominee_that_dies_while_it_waits_leaves_the_delay_to_the_next_one() {
    let server = Server::new();
    let clients = [server.client().await, server.client().await, server.client().await];
    let [first, second, third] = clients;
    let (nomination, _leadership) = leader(&first).await;
    let waits = election(&second).nominate().unwrap();
    settle().await;
    let mut next = election(&third).nominate().unwrap();
    settle().await;
    kill(&server, nomination, first);
    tokio::time::sleep(DELAY / 2).await;
    assert!(awaits_delay(&waits).is_some());
    kill(&server, waits, second);
    let killed_at = Instant::now();
    next.elected().await.unwrap();
    assert!(killed_at.elapsed() >= DELAY, "{:?}", killed_at.elapsed());
}

/// The work that the same process had begun may still go on.
#[tokio::test(start_paused = true)]
async fn a_leader_whose_session_expired_waits_for_itself() {
    let server = Server::new();
    let client = server.client().await;
    let (mut nomination, leadership) = leader(&client).await;
    server.cut();
    server.expire();
    let expired_at = Instant::now();
    assert_eq!(leadership.lost().await, LostReason::SessionExpired);
    nomination.elected().await.unwrap();
    assert!(expired_at.elapsed() >= DELAY, "{:?}", expired_at.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_evicted_leader_has_not_said_that_it_ended() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let (mut nomination, leadership) = leader(&client).await;
    other.election("/election").evict(leadership.token()).await.unwrap();
    assert_eq!(leadership.lost().await, LostReason::Evicted);
    settle().await;
    assert!(awaits_delay(&nomination).is_some());
    nomination.elected().await.unwrap();
}

/// The connection is lost at any moment of the election, or while the delay passes.
#[tokio::test(start_paused = true)]
async fn the_lock_delay_goes_on_over_lost_connections() {
    for cut_after in 0..60 {
        let server = Server::new();
        let (first, second) = (server.client().await, server.client().await);
        let (nomination, _leadership) = leader(&first).await;
        let mut next = election(&second).nominate().unwrap();
        settle().await;
        kill(&server, nomination, first);
        let killed_at = Instant::now();
        tokio::time::sleep(Duration::from_secs(cut_after)).await;
        server.cut();
        next.elected().await.unwrap();
        let elapsed = killed_at.elapsed();
        assert!(elapsed >= DELAY, "{cut_after}: {elapsed:?}");
        // It is one wait, and not two.
        let longest = DELAY.max(Duration::from_secs(cut_after)) + Duration::from_secs(10);
        assert!(elapsed < longest, "{cut_after}: {elapsed:?}");
        wait(3).await;
        let leadership = next.try_elected().unwrap().unwrap();
        leadership.confirm().await.unwrap();
    }
}

/// Frame by frame: also when the reply to the writing of the mark is lost, it is the own one.
#[tokio::test(start_paused = true)]
async fn a_mark_in_doubt_is_read_again() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let mut nomination = election(&client).nominate().unwrap();
        let elected = run_until(&server, end, nomination.elected()).await.is_some();
        server.cut();
        let before = Instant::now();
        let leadership = nomination.elected().await.unwrap();
        assert!(before.elapsed() < Duration::from_secs(10), "{end:?}: it waits for nobody");
        leadership.resign().await.unwrap();
        assert!(!has_mark(&server), "{end:?}");
        elected
    })
    .await;
}

/// A resignation is one even if it is dropped, or its connection is lost, and another leader's mark stays.
#[tokio::test(start_paused = true)]
async fn a_resignation_in_doubt_deletes_no_other_mark() {
    for is_cut in [false, true] {
        at_every_await_point(async |end: DropAfter| {
            let server = Server::new();
            let (first, second) = (server.client().await, server.client().await);
            let (nomination, leadership) = leader(&first).await;
            let mut next = election(&second).nominate().unwrap();
            settle().await;
            let done = run_until(&server, end, leadership.resign()).await.is_some();
            if is_cut {
                server.cut();
            }
            drop(nomination);
            let before = Instant::now();
            next.elected().await.unwrap();
            assert!(before.elapsed() < Duration::from_secs(10), "{end:?}: at once");
            wait(10).await;
            assert!(has_mark(&server), "{end:?}: that of the next leader");
            done
        })
        .await;
    }
}

/// An operator knows that nothing goes on.
#[tokio::test(start_paused = true)]
async fn without_the_mark_no_leader_waits() {
    let server = Server::new();
    let (first, second) = (server.client().await, server.client().await);
    let (nomination, leadership) = leader(&first).await;
    second.delete(MARK, Version::ANY).await.unwrap();
    leadership.confirm().await.unwrap();
    kill(&server, nomination, first);
    let before = Instant::now();
    let (_nomination, leadership) = leader(&second).await;
    assert!(before.elapsed() < Duration::from_secs(1));
    // A mark that was deleted under a leader keeps it from nothing.
    second.delete(MARK, Version::ANY).await.unwrap();
    leadership.resign().await.unwrap();
    assert!(server.children("/election").is_empty());
}

/// Nominees without a lock delay do not heed the mark, nor leave one.
#[tokio::test(start_paused = true)]
async fn a_leader_without_a_lock_delay_leaves_the_mark_as_it_is() {
    let server = Server::new();
    let clients = [server.client().await, server.client().await, server.client().await];
    let [first, second, third] = clients;
    let (nomination, _leadership) = leader(&first).await;
    kill(&server, nomination, first);
    let mut between = second.election("/election").nominate().unwrap();
    let before = Instant::now();
    between.elected().await.unwrap().resign().await.unwrap();
    assert!(before.elapsed() < Duration::from_secs(1));
    let _nomination = leader(&third).await;
    assert!(before.elapsed() >= DELAY, "the mark of the first is still there");
}

#[tokio::test(start_paused = true)]
async fn a_leadership_that_goes_on_in_another_process_does_not_wait() {
    let server = Server::new();
    let client = server.client().await;
    let (nomination, leadership) = leader(&client).await;
    let id = nomination.id();
    let ticket = client.detach().unwrap();
    let next = server.builder().resume(ticket, IfGone::Fail).connect().await.unwrap();
    let before = Instant::now();
    let mut nomination = election(&next).take_over(id).unwrap();
    let again = nomination.elected().await.unwrap();
    assert_eq!(again.token(), leadership.token());
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    again.resign().await.unwrap();
    assert!(!has_mark(&server));
}

/// Tasks that the work has spawned may go on.
#[tokio::test(start_paused = true)]
async fn work_that_had_to_be_dropped_ends_the_leadership_uncleanly() {
    for returns in [true, false] {
        let server = Server::new();
        let (first, second) = (server.client().await, server.client().await);
        let nomination = election(&first).nominate().unwrap();
        let mut next = None;
        let options = RunOptions::new().grace(Duration::from_secs(1));
        let run = nomination.run_with(options, wait(30), async |_, cancelled| {
            next = Some(election(&second).nominate().unwrap());
            cancelled.wait().await;
            if !returns {
                pending::<()>().await;
            }
        });
        run.await.unwrap();
        let ended_at = Instant::now();
        next.unwrap().elected().await.unwrap();
        assert_eq!(
            ended_at.elapsed() < Duration::from_secs(1),
            returns,
            "{:?}",
            ended_at.elapsed()
        );
        assert_eq!(ended_at.elapsed() >= DELAY / 2, !returns);
    }
}

//! Terms of leadership: waited for within a time, and given up by those that stand on.

use core::time::Duration;

use election_tokio::TransactionError;
use election_tokio::election::{LostReason, OnLoss, Role};

use crate::cancellation::{DropAfter, at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

#[tokio::test(start_paused = true)]
async fn a_leadership_is_had_at_once_or_within_a_time_or_not() {
    let server = Server::new();
    let client = server.client().await;
    let mut leader = client.election("/election").nominate().unwrap();
    assert!(leader.try_elected().unwrap().is_none(), "it has no candidate yet");
    let leadership = leader.elected_within(Duration::from_secs(5)).await.unwrap().unwrap();
    assert_eq!(leader.try_elected().unwrap().unwrap().token(), leadership.token());
    let mut follower = client.election("/election").nominate().unwrap();
    assert!(follower.elected_within(Duration::from_secs(5)).await.unwrap().is_none());
    assert!(matches!(follower.status().role, Role::Following { .. }), "it stands on");
    leadership.resign().await.unwrap();
    assert!(follower.elected_within(Duration::ZERO).await.unwrap().is_some());
    let ended = leader.try_elected().unwrap_err();
    assert_eq!(ended.to_string(), "election /election, stand: resigned");
}

#[tokio::test(start_paused = true)]
async fn a_position_is_what_was_learned_last_and_becomes_older() {
    let server = Server::new();
    let client = server.client().await;
    let election = client.election("/election");
    let mut nominations = Vec::new();
    for _ in 0..4 {
        nominations.push(election.nominate().unwrap());
        settle().await;
    }
    let ahead = |index: usize| nominations[index].position().map(|position| position.ahead);
    assert_eq!([ahead(0), ahead(1), ahead(2)], [Some(0), Some(1), Some(2)]);
    wait(2).await;
    let position = nominations[2].position().unwrap();
    assert!(position.age() >= Duration::from_secs(2), "{position:?}");
    server.refuse();
    server.cut();
    wait(1).await;
    assert_eq!(nominations[2].position(), Some(position), "the last answer stays");
    server.accept();
    wait(3).await;
    assert!(nominations[2].position().unwrap().learned_at > position.learned_at);
    nominations.remove(0).withdraw().await.unwrap();
    settle().await;
    assert_eq!(nominations[0].position().unwrap().ahead, 0, "the heir leads without a list");
    let next = nominations[1].position().unwrap();
    assert_eq!(next.ahead, 1, "the new leader wakes it");
    let last = nominations[2].position().unwrap();
    assert_eq!(last.ahead, 3, "of the end of one farther ahead it does not hear");
}

/// The leadership ends with the call, before the candidate goes; the next one leads after that.
#[tokio::test(start_paused = true)]
async fn a_leader_that_steps_down_stands_again_behind_the_others() {
    for on_loss in [OnLoss::StandAgain, OnLoss::End] {
        let server = Server::new();
        let (first, second) = (server.client().await, server.client().await);
        let election = first.election("/election").on_loss(on_loss);
        let mut leader = election.nominate().unwrap();
        let leadership = leader.elected().await.unwrap();
        let again = leader.try_elected().unwrap().unwrap();
        let mut follower = second.election("/election").nominate().unwrap();
        settle().await;
        leadership.step_down().await.unwrap();
        assert_eq!(again.lost().await, LostReason::SteppedDown);
        let next = follower.elected().await.unwrap();
        assert!(next.token() > again.token());
        settle().await;
        assert!(matches!(leader.status().role, Role::Following { .. }), "{:?}", leader.status());
        assert_eq!(server.children("/election").len(), 2);
        // Giving the first term up again ends nothing: the second term goes on.
        next.resign().await.unwrap();
        let second_term = leader.elected().await.unwrap();
        assert!(second_term.token() > again.token());
        again.step_down().await.unwrap();
        assert!(second_term.is_valid());
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_steps_down_alone_leads_again_with_a_greater_token() {
    let server = Server::new();
    let client = server.client().await;
    let mut nomination = client.election("/election").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    let token = leadership.token();
    leadership.step_down().await.unwrap();
    assert!(nomination.elected().await.unwrap().token() > token);
    assert_eq!(server.children("/election").len(), 1);
}

/// Once polled, it goes through, whether it is dropped or not.
#[tokio::test(start_paused = true)]
async fn a_step_down_dropped_anywhere_goes_through() {
    at_every_await_point(async |end| steps_down(end, Link::Stays).await).await;
}

/// The same with a connection that is lost just before.
#[tokio::test(start_paused = true)]
async fn a_step_down_dropped_without_a_connection_goes_through() {
    for polls in 0..4 {
        steps_down(DropAfter::Polls(polls), Link::IsCut).await;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Stays,
    IsCut,
}

/// Whether the future came to its end.
async fn steps_down(end: DropAfter, link: Link) -> bool {
    let server = Server::new();
    let client = server.client().await;
    let mut nomination = client.election("/election").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    let held = nomination.try_elected().unwrap().unwrap();
    if link == Link::IsCut {
        server.cut();
    }
    let done = run_until(&server, end, leadership.step_down()).await;
    let is_polled = !matches!(end, DropAfter::Polls(0));
    assert_eq!(held.is_valid(), !is_polled, "{end:?}");
    if is_polled {
        let refused = held.transaction().commit().await;
        assert_eq!(refused, Err(TransactionError::NotHeld), "{end:?}");
    }
    wait(3).await;
    let next = nomination.elected().await.unwrap();
    assert_eq!(next.token() > held.token(), is_polled, "{end:?}");
    assert_eq!(server.children("/election").len(), 1, "{end:?}");
    done.is_some()
}

//! Terms of leadership on real servers: had within a time, given up, and where the others stand.

use core::time::Duration;

use election_tokio::election::{LostReason, Nomination, OnLoss, Role};
use zk_test_kit::election::{Arena, ELECTION, follows, follows_this, leads, reaches, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_leader_that_steps_down_is_the_last_of_the_queue,
    leaderships_are_waited_for_within_a_time,
    positions_are_told_and_grow_old;
}

/// Three take turns; nothing is ever held by two, and each term has a greater token.
async fn a_leader_that_steps_down_is_the_last_of_the_queue(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "turns").await?;
    let mut nominations = Vec::new();
    for index in 0..3 {
        let election = arena.client().await?.election(ELECTION).on_loss(OnLoss::End);
        nominations.push(election.nominate()?);
        arena.wait_for_children(index + 1).await?;
    }
    let mut last_token = None;
    for turn in 0..6 {
        let mut nomination = nominations.remove(0);
        let leadership = leads(&mut nomination).await?;
        assert!(Some(leadership.token()) > last_token, "turn {turn}");
        last_token = Some(leadership.token());
        let last = nominations.last().expect("there are others");
        let (last, _) = follows(last).await?;
        let seen = soon("it leads", nomination.elected()).await??;
        soon("it steps down", leadership.step_down()).await??;
        assert_eq!(soon("it is told", seen.lost()).await?, LostReason::SteppedDown);
        follows_this(&nomination, &last).await?;
        nominations.push(nomination);
    }
    assert_eq!(arena.children().await?.len(), 3);
    Ok(())
}

async fn leaderships_are_waited_for_within_a_time(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "within").await?;
    let mut leader = arena.client().await?.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let mut follower = arena.client().await?.election(ELECTION).nominate()?;
    assert!(follower.elected_within(Duration::from_millis(300)).await?.is_none());
    assert!(follower.try_elected()?.is_none());
    soon("it resigns", leadership.resign()).await??;
    assert!(follower.elected_within(SOON).await?.is_some());
    assert!(follower.try_elected()?.is_some());
    Ok(())
}

async fn positions_are_told_and_grow_old(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "position").await?;
    let client = arena.client().await?;
    let mut nominations = Vec::new();
    for index in 0..4 {
        nominations.push(client.election(ELECTION).nominate()?);
        arena.wait_for_children(index + 1).await?;
    }
    for (index, nomination) in (0..).zip(&nominations) {
        reaches(nomination, "it has a place", |status| {
            matches!(status.role, Role::Leading { .. } | Role::Following { .. }).then_some(())
        })
        .await?;
        assert_eq!(nomination.position().map(|position| position.ahead), Some(index));
    }
    let before = nominations.last().and_then(Nomination::position);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let after = nominations.last().and_then(Nomination::position);
    assert_eq!(before, after);
    assert!(after.is_some_and(|position| position.age() >= Duration::from_millis(50)));
    Ok(())
}

//! Elections that are ended, reopened and deleted on real servers, while many join and processes are killed.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::time::Duration;

use election_tokio::election::{
    EndReason, HandOver, HandOverError, LostReason, Nomination, OnLoss, Reopening, WhenAsked,
};
use election_tokio::error::Place;
use election_tokio::{Client, CreateMode, SessionId};
use tokio::task::JoinSet;
use tokio::time::timeout;
use zk_test_kit::election::{Arena, ELECTION, LASTING, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{NotInTime, SOON, eventually_async};
use zk_tests::nominee::NomineeProcess;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    an_ended_election_is_left_by_all_until_it_is_reopened,
    a_thousand_join_while_the_election_is_ended_and_deleted,
    operators_that_go_in_the_middle_are_followed_by_one_that_finishes,
    a_process_that_was_killed_does_not_keep_an_election_from_its_end,
    a_latch_of_another_library_is_before_the_sign_in_its_order,
    a_candidate_that_goes_ends_the_hand_over_at_once,
    a_leadership_is_handed_over_past_others;
}

/// The nominees that hear of their deletion ask at once: this is for a busy machine.
const QUIET: Duration = Duration::from_secs(2);
/// A follower that is not the heir hears of its deletion by its predecessor's, or by a look.
const LOOKS: Duration = Duration::from_secs(3);

async fn client(arena: &Arena) -> Result<Client, TestFailure> {
    let client = Client::builder(&arena.servers()).session_timeout(LASTING).look_interval(LOOKS);
    Ok(client.connect_timeout(SOON).connect().await?)
}

async fn is_told(mut nomination: Nomination) -> Result<(), NotInTime> {
    let ended = soon("the nomination ends", async {
        // By the default policy one that was elected before may be elected, and lose that, first.
        loop {
            match nomination.elected().await {
                Ok(leadership) => drop(leadership.lost().await),
                Err(ended) => return ended,
            }
        }
    });
    assert_eq!(ended.await?.reason, EndReason::ElectionEnded);
    Ok(())
}

async fn only_the_sign_is_left(arena: &Arena) -> TestResult {
    let is_alone = async || arena.children().await.is_ok_and(|children| children == ["ended"]);
    Ok(eventually_async(SOON, "the sign is alone", is_alone).await?)
}

async fn an_ended_election_is_left_by_all_until_it_is_reopened(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "ended").await?;
    let (one, other) = (client(&arena).await?, client(&arena).await?);
    let mut first = one.election(ELECTION).nominate()?;
    let leadership = leads(&mut first).await?;
    let nominations = [
        other.election(ELECTION).nominate()?,
        one.election(ELECTION).on_loss(OnLoss::End).nominate()?,
        other.election(ELECTION).on_loss(OnLoss::StandUntilElected).nominate()?,
    ];
    arena.wait_for_children(4).await?;
    // Those that had not listed yet delete their own.
    assert!(arena.election().end().await? >= 1);
    assert_eq!(soon("the leader is told", leadership.lost()).await?, LostReason::Evicted);
    is_told(first).await?;
    for nomination in nominations {
        is_told(nomination).await?;
    }
    is_told(one.election(ELECTION).nominate()?).await?;
    only_the_sign_is_left(&arena).await?;
    assert_eq!(arena.election().reopen().await?, Reopening::Reopened);
    assert_eq!(arena.election().reopen().await?, Reopening::WasOpen);
    let mut again = other.election(ELECTION).nominate()?;
    assert!(leads(&mut again).await?.token() > leadership.token());
    Ok(())
}

/// Half of them stand or join when the end begins, and the others join while it goes on (go-leaderelection's
/// `TestElectionDeleteRace`, with twice as many).
async fn a_thousand_join_while_the_election_is_ended_and_deleted(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "thousand").await?;
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(client(&arena).await?);
    }
    let mut told = JoinSet::new();
    let mut join = |half: usize| -> TestResult {
        for number in 0..500 {
            let client = &clients[(number + half) % 8];
            told.spawn(is_told(client.election(ELECTION).nominate()?));
        }
        Ok(())
    };
    join(0)?;
    let stand = async || arena.children().await.is_ok_and(|children| children.len() > 100);
    eventually_async(SOON, "a hundred stand", stand).await?;
    let election = arena.election();
    let ending = tokio::spawn(async move { election.end().await });
    join(1)?;
    ending.await??;
    while let Some(outcome) = told.join_next().await {
        outcome??;
    }
    only_the_sign_is_left(&arena).await?;
    assert_eq!(arena.election().delete(QUIET).await?, 0);
    assert_eq!(arena.election().delete(QUIET).await?, 0, "again");
    assert_eq!(arena.admin.get_children("/").await?.iter().count(), 0);
    Ok(())
}

async fn operators_that_go_in_the_middle_are_followed_by_one_that_finishes(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "operators").await?;
    let client = client(&arena).await?;
    let mut nominations = Vec::new();
    for number in 0..30 {
        nominations.push(client.election(ELECTION).nominate()?);
        arena.wait_for_children(number + 1).await?;
    }
    for millis in [0, 1, 2, 3, 5] {
        let operator = arena.client().await?;
        let ending = operator.election(ELECTION);
        // Dropped wherever it is by then, with its client.
        drop(timeout(Duration::from_millis(millis), ending.delete(Duration::ZERO)).await);
        drop(operator);
    }
    arena.election().end().await?;
    for nomination in nominations {
        is_told(nomination).await?;
    }
    arena.election().delete(QUIET).await?;
    assert_eq!(arena.admin.exists(ELECTION).await?, None);
    Ok(())
}

async fn a_process_that_was_killed_does_not_keep_an_election_from_its_end(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "killed").await?;
    let (program, servers) = (env!("CARGO_BIN_EXE_nominee").to_owned(), arena.servers());
    // It dies with the thread that started it.
    let killed = tokio::task::spawn_blocking(move || {
        let nominee = NomineeProcess::start(&program, &servers, "killed", LASTING)?;
        nominee.wait_for(SOON, "it leads", |report| match report {
            zk_tests::nominee::Report::Elected { .. } => Some(()),
            _ => None,
        })
    });
    let nomination = {
        arena.wait_for_children(1).await?;
        client(&arena).await?.election(ELECTION).nominate()?
    };
    arena.wait_for_children(2).await?;
    killed.await??;
    let candidates = arena.candidates().await?;
    assert_eq!(candidates.len(), 2, "its session lives on");
    assert!(candidates.iter().all(|candidate| candidate.session != SessionId::NONE));
    assert!(arena.election().end().await? >= 1);
    is_told(nomination).await?;
    only_the_sign_is_left(&arena).await
}

/// Curator's latches sort by what follows on `latch-`, and by the whole name where that is missing.
async fn a_latch_of_another_library_is_before_the_sign_in_its_order(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "order").await?;
    arena.election().end().await?;
    let latch = format!("{ELECTION}/_c_6f1b2c3d-0000-4000-8000-000000000000-latch-");
    arena.admin.create(&latch, "", CreateMode::EphemeralSequential).await?;
    let mut children = arena.children().await?;
    children.sort_by_key(|name| name.rsplit_once("latch-").map_or(name.clone(), |it| it.1.into()));
    assert_eq!(children.last().map(String::as_str), Some("ended"));
    Ok(())
}

/// The nominees between hear of it at their next look.
async fn a_leadership_is_handed_over_past_others(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "handed").await?;
    let mut nominations = Vec::new();
    for number in 0..4 {
        nominations.push(client(&arena).await?.election(ELECTION).nominate()?);
        arena.wait_for_children(number + 1).await?;
    }
    let leadership = leads(&mut nominations[0]).await?;
    let to = arena.candidates().await?[2].token;
    let election = arena.election();
    let asking = tokio::spawn(async move { election.hand_over(to, "ops", "", 4 * SOON).await });
    let request = soon("it is asked", leadership.step_down_requested()).await??;
    assert_eq!(request.to, Some(to));
    let handed = timeout(4 * SOON, leadership.hand_over(to, 4 * SOON)).await??;
    assert_eq!(handed, HandOver::To(to));
    let next = leads(&mut nominations[2]).await?;
    assert_eq!(next.token(), to);
    assert!(next.token() > leadership.token());
    assert_eq!(asking.await??, HandOver::To(to));
    Ok(())
}

/// It is told to the client that asks, and to the leader, long before the time has passed.
async fn a_candidate_that_goes_ends_the_hand_over_at_once(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "hand-over-gone").await?;
    let mut nominations = Vec::new();
    for number in 0..3 {
        let election = client(&arena).await?.election(ELECTION);
        nominations.push(election.when_asked(WhenAsked::Stays).nominate()?);
        arena.wait_for_children(number + 1).await?;
    }
    let leadership = leads(&mut nominations[0]).await?;
    let candidate = arena.candidates().await?.remove(2);
    let (to, hours) = (candidate.token, 1000 * SOON);
    let at = Place::new("election", ELECTION, "hand over");
    let gone = HandOverError::CandidateGone { at, token: to, name: candidate.name };
    let election = arena.election();
    let asking = tokio::spawn(async move { election.hand_over(to, "ops", "", hours).await });
    soon("it is asked", leadership.step_down_requested()).await??;
    let handing = tokio::spawn({
        let leadership = leadership.clone();
        async move { leadership.hand_over(to, hours).await }
    });
    // The candidate, the two before it, and the mark of the hand-over.
    arena.wait_for_children(4).await?;
    let last = nominations.remove(2);
    soon("it is withdrawn", last.withdraw()).await??;
    assert_eq!(soon("the leader is told", handing).await??, Err(gone.clone()));
    assert_eq!(soon("the client that asks is told", asking).await??, Err(gone));
    arena.wait_for_children(2).await?;
    assert!(leadership.is_valid());
    Ok(())
}

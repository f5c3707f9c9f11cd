//! Elections that are operated, on real servers: a leader evicted, counted, asked to step down.

use core::time::Duration;

use election_tokio::election::{LostReason, StepDownRequest};
use election_tokio::lock::Removal;
use election_tokio::{ErrorCode, TransactionError};
use zk_test_kit::election::{Arena, ELECTION, leads, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_leader_is_evicted_by_its_token,
    epochs_are_counted_and_checked,
    a_leader_is_asked_to_step_down_and_does;
}

async fn a_leader_is_evicted_by_its_token(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "evict").await?;
    let mut first = arena.client().await?.election(ELECTION).nominate()?;
    let leadership = leads(&mut first).await?;
    let mut second = arena.client().await?.election(ELECTION).nominate()?;
    arena.wait_for_children(2).await?;
    let election = arena.election();
    assert_eq!(election.evict(leadership.token()).await?, Removal::Removed);
    assert_eq!(soon("it is told", leadership.lost()).await?, LostReason::Evicted);
    let next = leads(&mut second).await?;
    assert_eq!(election.evict(leadership.token()).await?, Removal::Gone);
    assert!(next.is_valid());
    Ok(())
}

/// Dense, one for each leader, and nothing of an earlier epoch is applied in a later one.
async fn epochs_are_counted_and_checked(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "epoch").await?;
    let mut earlier = None;
    for number in 0..3 {
        let mut nomination = arena.client().await?.election(ELECTION).nominate()?;
        let leadership = leads(&mut nomination).await?;
        let epoch = leadership.epoch().await?;
        assert_eq!(epoch.number(), number);
        assert_eq!(leadership.epoch().await?, epoch);
        assert_eq!(arena.election().epoch().await?, Some(epoch.clone()));
        let in_epoch = arena.admin.transaction().check(epoch.path(), epoch.version());
        in_epoch.clone().commit().await?;
        if let Some(earlier) = earlier.replace(in_epoch) {
            let refused = earlier.commit().await.expect_err("it is over");
            assert_eq!(refused.code(), Some(ErrorCode::BAD_VERSION));
        }
        arena.election().evict(leadership.token()).await?;
        soon("it is told", leadership.lost()).await?;
        soon("it withdraws", nomination.withdraw()).await??;
        let none = leadership.transaction().commit().await;
        assert_eq!(none, Err(TransactionError::NotHeld));
    }
    Ok(())
}

async fn a_leader_is_asked_to_step_down_and_does(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "asked").await?;
    let mut first = arena.client().await?.election(ELECTION).nominate()?;
    let leadership = leads(&mut first).await?;
    let mut second = arena.client().await?.election(ELECTION).nominate()?;
    arena.wait_for_children(2).await?;
    let token = leadership.token();
    let consenting = tokio::spawn(async move {
        let request = leadership.step_down_requested().await;
        let stepped_down = leadership.step_down().await;
        (request, stepped_down)
    });
    let within = Duration::from_secs(60);
    let asked = arena.election().request_step_down("ops", "new disks", within).await?;
    assert_eq!(asked, StepDownRequest::Made(token));
    let (request, stepped_down) = soon("it consents", consenting).await??;
    let request = request?;
    assert_eq!((request.by.as_str(), request.reason.as_str()), ("ops", "new disks"));
    stepped_down?;
    let next = leads(&mut second).await?;
    assert!(next.token() > token);
    // The request was for the one before.
    let unheard = next.step_down_requested();
    let unheard = tokio::time::timeout(Duration::from_millis(500), unheard).await;
    assert!(unheard.is_err(), "{unheard:?}");
    Ok(())
}

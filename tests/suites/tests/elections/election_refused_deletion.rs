//! Candidates whose deletion the server refuses for a while, since their client may not delete.

use election_tokio::acl::Permissions;
use zk_test_kit::election::{ELECTION, leads, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::restricted::{RestrictedNode, WITHOUT_DELETIONS};
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test]
    a_leader_that_may_not_delete_when_it_resigns_owes_the_deletion,
    a_dropped_nomination_that_may_not_delete_owes_the_deletion,
    a_lock_that_may_not_be_released_for_a_while_is_released_then;
}

/// The next one leads once the deletion is permitted again; the client that owes it lives on.
async fn a_leader_that_may_not_delete_when_it_resigns_owes_the_deletion(
    server: ServerKind,
) -> TestResult {
    let node = RestrictedNode::new(server, ELECTION, Permissions::ALL).await?;
    let (first, second) = (node.client().await?, node.client().await?);
    let mut leader = first.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let mut heir = second.election(ELECTION).nominate()?;
    node.wait_for_children(2).await?;
    node.permit(WITHOUT_DELETIONS).await?;
    let resigned = soon("it hears of the refusal", leadership.resign()).await?;
    assert!(resigned.is_err(), "{resigned:?}");
    node.permit(Permissions::ALL).await?;
    leads(&mut heir).await?;
    node.wait_for_children(1).await?;
    first.exists("/").await?;
    Ok(())
}

async fn a_dropped_nomination_that_may_not_delete_owes_the_deletion(
    server: ServerKind,
) -> TestResult {
    let node = RestrictedNode::new(server, ELECTION, Permissions::ALL).await?;
    let (first, second) = (node.client().await?, node.client().await?);
    let mut leader = first.election(ELECTION).nominate()?;
    leads(&mut leader).await?;
    let mut heir = second.election(ELECTION).nominate()?;
    node.wait_for_children(2).await?;
    node.permit(WITHOUT_DELETIONS).await?;
    drop(leader);
    // The client sends its requests in order.
    first.exists("/").await?;
    node.permit(Permissions::ALL).await?;
    leads(&mut heir).await?;
    node.wait_for_children(1).await?;
    first.exists("/").await?;
    Ok(())
}

async fn a_lock_that_may_not_be_released_for_a_while_is_released_then(
    server: ServerKind,
) -> TestResult {
    let node = RestrictedNode::new(server, ELECTION, Permissions::ALL).await?;
    let (first, second) = (node.client().await?, node.client().await?);
    let guard = soon("it locks", first.lock(ELECTION).lock()).await??;
    node.permit(WITHOUT_DELETIONS).await?;
    let released = soon("it hears of the refusal", guard.release()).await?;
    assert!(released.is_err(), "{released:?}");
    node.permit(Permissions::ALL).await?;
    let next = soon("the next one locks", second.lock(ELECTION).lock()).await??;
    assert!(next.is_valid());
    first.exists("/").await?;
    Ok(())
}

//! Members whose deletion the server refuses for a while, since their client may not delete.

use election_tokio::acl::Permissions;
use election_tokio::group::{MembershipError, MembershipState};
use zk_test_kit::election::soon;
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Cut;
use zk_test_kit::restricted::{RestrictedNode, WITHOUT_DELETIONS, begin_anew};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test]
    a_member_that_may_not_delete_when_it_leaves_is_gone_once_it_may,
    the_next_member_of_the_name_stays,
    a_member_whose_write_is_in_doubt_when_it_leaves_is_gone_once_it_may,
    a_dropped_member_that_may_not_delete_is_gone_once_it_may,
    a_client_that_owes_the_deletion_of_a_member_closes_at_once;
}

const GROUP: &str = "/workers";

/// The client lives on, and its next member may have the name.
async fn a_member_that_may_not_delete_when_it_leaves_is_gone_once_it_may(
    server: ServerKind,
) -> TestResult {
    let node = RestrictedNode::new(server, GROUP, Permissions::ALL).await?;
    let first = node.client().await?;
    let membership = soon("it joins", first.group(GROUP).join_as("x", "1")).await??;
    node.permit(WITHOUT_DELETIONS).await?;
    let left = soon("it hears of the refusal", membership.leave()).await?;
    assert!(matches!(left, Err(MembershipError::Failed { .. })), "{left:?}");
    node.wait_for_children(1).await?;
    node.permit(Permissions::ALL).await?;
    node.wait_for_children(0).await?;
    first.exists("/").await?;
    let again = soon("it joins again", first.group(GROUP).join_as("x", "2")).await??;
    assert!(matches!(again.state(), MembershipState::Joined { .. }), "{:?}", again.state());
    Ok(())
}

/// It takes the znode that is left for its own, since it has the same session.
async fn the_next_member_of_the_name_stays(server: ServerKind) -> TestResult {
    let node = RestrictedNode::new(server, GROUP, Permissions::ALL).await?;
    let (first, proxy) = node.counted_client().await?;
    let membership = soon("it joins", first.group(GROUP).join_as("x", "1")).await??;
    node.permit(WITHOUT_DELETIONS).await?;
    let left = soon("it hears of the refusal", membership.leave()).await?;
    assert!(left.is_err(), "{left:?}");
    let next = soon("it joins again", first.group(GROUP).join_as("x", "2")).await??;
    soon("its data is there", next.set_data("3")).await??;
    let joined = next.state();
    node.permit(Permissions::ALL).await?;
    begin_anew(&first, &proxy).await?;
    assert_eq!(next.state(), joined);
    node.wait_for_children(1).await
}

/// The reply to its write is lost, and the write has changed the version of the znode.
async fn a_member_whose_write_is_in_doubt_when_it_leaves_is_gone_once_it_may(
    server: ServerKind,
) -> TestResult {
    let node = RestrictedNode::new(server, GROUP, Permissions::ALL).await?;
    let (first, proxy) = node.counted_client().await?;
    let membership = soon("it joins", first.group(GROUP).join_as("x", "1")).await??;
    node.permit(WITHOUT_DELETIONS).await?;
    proxy.refuse();
    let cut = proxy.cut_when(Cut::instead_of_reply_to(Opcode::SET_DATA));
    tokio::select! {
        written = membership.set_data("2") => panic!("the reply is lost: {written:?}"),
        happened = cut.happened(SOON) => drop(happened?),
    }
    let leaves = soon("it hears of the refusal", membership.leave());
    let (left, accepts) = tokio::join!(leaves, async { proxy.accept() });
    accepts?;
    let left = left?;
    assert!(matches!(left, Err(MembershipError::Failed { .. })), "{left:?}");
    node.wait_for_children(1).await?;
    node.permit(Permissions::ALL).await?;
    node.wait_for_children(0).await
}

async fn a_dropped_member_that_may_not_delete_is_gone_once_it_may(
    server: ServerKind,
) -> TestResult {
    let node = RestrictedNode::new(server, GROUP, Permissions::ALL).await?;
    let first = node.client().await?;
    let membership = soon("it joins", first.group(GROUP).join("1")).await??;
    node.permit(WITHOUT_DELETIONS).await?;
    drop(membership);
    // The client sends its requests in order.
    first.exists("/").await?;
    node.permit(Permissions::ALL).await?;
    node.wait_for_children(0).await?;
    first.exists("/").await?;
    Ok(())
}

async fn a_client_that_owes_the_deletion_of_a_member_closes_at_once(
    server: ServerKind,
) -> TestResult {
    let node = RestrictedNode::new(server, GROUP, Permissions::ALL).await?;
    let first = node.client().await?;
    let membership = soon("it joins", first.group(GROUP).join("1")).await??;
    node.permit(WITHOUT_DELETIONS).await?;
    let left = soon("it hears of the refusal", membership.leave()).await?;
    assert!(left.is_err(), "{left:?}");
    soon("it closes", first.close()).await??;
    node.wait_for_children(0).await
}

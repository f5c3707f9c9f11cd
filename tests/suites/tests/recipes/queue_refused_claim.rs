//! Takers that may not delete for a while, so that the server refuses to delete their claims; and claims
//! that other takers have made in their place.

use election_tokio::acl::Permissions;
use election_tokio::queue::{ClaimError, ClaimLost, Claimed};
use election_tokio::{Client, Version};
use zk_test_kit::election::soon;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::restricted::{RestrictedNode, WITHOUT_DELETIONS, begin_anew, wait_behind};
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test]
    a_claim_that_may_not_be_given_back_is_given_back_once_it_may,
    a_claim_that_may_not_be_finished_is_given_back_once_it_may,
    a_dropped_claim_that_may_not_be_given_back_is_given_back_once_it_may,
    a_client_that_owes_a_claim_closes_at_once,
    the_claim_of_another_is_not_given_back,
    what_is_owed_is_not_the_claim_of_another;
}

const QUEUE: &str = "/jobs";

/// A queue, and a client that has claimed its item and may not delete the claim.
struct Ground {
    node: RestrictedNode,
    first: Client,
    proxy: Proxy,
    claimed: Claimed,
}

impl Ground {
    async fn new(server: ServerKind) -> Result<Self, TestFailure> {
        let node = RestrictedNode::new(server, QUEUE, Permissions::ALL).await?;
        node.owner.queue(QUEUE).put("wash").await?;
        let (first, proxy) = node.counted_client().await?;
        let claimed = soon("it claims", first.queue(QUEUE).claim()).await??;
        node.permit(WITHOUT_DELETIONS).await?;
        Ok(Self { node, first, proxy, claimed })
    }
}

/// Permits deletions: another client gets the item, while the first one lives on.
async fn goes_to_another(node: &RestrictedNode, first: &Client) -> TestResult {
    node.permit(Permissions::ALL).await?;
    let taker = node.client().await?;
    let item = soon("another takes the item", taker.queue(QUEUE).take()).await??;
    assert_eq!(&item.data[..], b"wash");
    first.exists("/").await?;
    Ok(())
}

async fn a_claim_that_may_not_be_given_back_is_given_back_once_it_may(
    server: ServerKind,
) -> TestResult {
    let Ground { node, first, claimed, proxy: _proxy } = Ground::new(server).await?;
    let given_back = soon("it hears of the refusal", claimed.give_back()).await?;
    assert!(
        matches!(given_back, Err(ClaimError { lost: ClaimLost::Failed(_), .. })),
        "{given_back:?}"
    );
    goes_to_another(&node, &first).await
}

async fn a_claim_that_may_not_be_finished_is_given_back_once_it_may(
    server: ServerKind,
) -> TestResult {
    let Ground { node, first, claimed, proxy: _proxy } = Ground::new(server).await?;
    let done = soon("it hears of the refusal", claimed.done()).await?;
    assert!(matches!(done, Err(ClaimError { lost: ClaimLost::Failed(_), .. })), "{done:?}");
    goes_to_another(&node, &first).await
}

async fn a_dropped_claim_that_may_not_be_given_back_is_given_back_once_it_may(
    server: ServerKind,
) -> TestResult {
    let Ground { node, first, claimed, proxy: _proxy } = Ground::new(server).await?;
    drop(claimed);
    // The look at the own child of the item, that at the claim, and the deletion, which is refused.
    wait_behind(&first, 3).await?;
    goes_to_another(&node, &first).await
}

async fn a_client_that_owes_a_claim_closes_at_once(server: ServerKind) -> TestResult {
    let Ground { node, first, claimed, proxy: _proxy } = Ground::new(server).await?;
    let given_back = soon("it hears of the refusal", claimed.give_back()).await?;
    assert!(given_back.is_err(), "{given_back:?}");
    soon("it closes", first.close()).await??;
    // The item alone: the claim goes with the session.
    node.wait_for_children(1).await
}

/// Deletes the claim, as an operator would, and lets another client claim the item.
async fn claimed_by_another(node: &RestrictedNode) -> Result<(String, Claimed), TestFailure> {
    let children = node.owner.get_children(QUEUE).await?;
    let claim = children.iter().find(|name| name.starts_with("claimed-")).expect("a claim");
    let claim = format!("{QUEUE}/{claim}");
    node.owner.delete(&claim, Version::ANY).await?;
    let other = node.client().await?;
    Ok((claim, soon("another claims", other.queue(QUEUE).claim()).await??))
}

/// Its claim stays, and nothing of the first one keeps it from being done.
async fn is_undisturbed(node: &RestrictedNode, claim: &str, other: Claimed) -> TestResult {
    assert!(node.owner.exists(claim).await?.is_some());
    soon("it is done", other.done()).await??;
    node.wait_for_children(0).await
}

async fn the_claim_of_another_is_not_given_back(server: ServerKind) -> TestResult {
    let Ground { node, first: _first, claimed, proxy: _proxy } = Ground::new(server).await?;
    node.permit(Permissions::ALL).await?;
    let (claim, other) = claimed_by_another(&node).await?;
    soon("it is given back", claimed.give_back()).await??;
    is_undisturbed(&node, &claim, other).await
}

async fn what_is_owed_is_not_the_claim_of_another(server: ServerKind) -> TestResult {
    let Ground { node, first, proxy, claimed } = Ground::new(server).await?;
    let given_back = soon("it hears of the refusal", claimed.give_back()).await?;
    assert!(given_back.is_err(), "{given_back:?}");
    let (claim, other) = claimed_by_another(&node).await?;
    node.permit(Permissions::ALL).await?;
    begin_anew(&first, &proxy).await?;
    is_undisturbed(&node, &claim, other).await
}

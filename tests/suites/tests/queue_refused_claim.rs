//! Claims whose deletion the server refuses for a while, since their client may not delete.
#![forbid(unsafe_code)]

use election_tokio::acl::Permissions;
use election_tokio::{ClaimLost, Claimed, Client};
use zk_test_kit::election::soon;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::restricted::{RestrictedNode, WITHOUT_DELETIONS};
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test]
    a_claim_that_may_not_be_given_back_is_given_back_once_it_may,
    a_claim_that_may_not_be_finished_is_given_back_once_it_may,
    a_dropped_claim_that_may_not_be_given_back_is_given_back_once_it_may,
    a_client_that_owes_a_claim_closes_at_once;
}

const QUEUE: &str = "/jobs";

/// A queue, and a client that has claimed its item and may not delete the claim.
struct Ground {
    node: RestrictedNode,
    first: Client,
    claimed: Claimed,
}

impl Ground {
    async fn new(server: ServerKind) -> Result<Self, TestFailure> {
        let node = RestrictedNode::new(server, QUEUE, Permissions::ALL).await?;
        node.owner.queue(QUEUE).put("wash").await?;
        let first = node.client().await?;
        let claimed = soon("it claims", first.queue(QUEUE).claim()).await??;
        node.permit(WITHOUT_DELETIONS).await?;
        Ok(Self { node, first, claimed })
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
    let Ground { node, first, claimed } = Ground::new(server).await?;
    let given_back = soon("it hears of the refusal", claimed.give_back()).await?;
    assert!(matches!(given_back, Err(ClaimLost::Failed(_))), "{given_back:?}");
    goes_to_another(&node, &first).await
}

async fn a_claim_that_may_not_be_finished_is_given_back_once_it_may(
    server: ServerKind,
) -> TestResult {
    let Ground { node, first, claimed } = Ground::new(server).await?;
    let done = soon("it hears of the refusal", claimed.done()).await?;
    assert!(matches!(done, Err(ClaimLost::Failed(_))), "{done:?}");
    goes_to_another(&node, &first).await
}

async fn a_dropped_claim_that_may_not_be_given_back_is_given_back_once_it_may(
    server: ServerKind,
) -> TestResult {
    let Ground { node, first, claimed } = Ground::new(server).await?;
    drop(claimed);
    // The client sends its requests in order.
    first.exists("/").await?;
    goes_to_another(&node, &first).await
}

async fn a_client_that_owes_a_claim_closes_at_once(server: ServerKind) -> TestResult {
    let Ground { node, first, claimed } = Ground::new(server).await?;
    let given_back = soon("it hears of the refusal", claimed.give_back()).await?;
    assert!(given_back.is_err(), "{given_back:?}");
    soon("it closes", first.close()).await??;
    // The item alone: the claim goes with the session.
    node.wait_for_children(1).await
}

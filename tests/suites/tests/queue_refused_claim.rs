//! Claims whose deletion the server refuses for a while, since their client may not delete.
#![forbid(unsafe_code)]

use core::time::Duration;

use election_tokio::{Acls, ClaimLost, Client, CreateMode, Version, acl::Permissions};
use zk_test_kit::election::{Arena, LASTING, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test]
    a_claim_that_may_not_be_given_back_is_given_back_once_it_may,
    a_claim_that_may_not_be_finished_is_given_back_once_it_may,
    a_dropped_claim_that_may_not_be_given_back_is_given_back_once_it_may,
    a_client_that_owes_a_claim_closes_at_once;
}

const QUEUE: &str = "/jobs";
/// How often clients look: longer than it takes to restore the access list.
const LOOK: Duration = Duration::from_secs(1);

/// A queue with one item, whose access list this client replaces.
struct Ground {
    arena: Arena,
    owner: Client,
}

impl Ground {
    async fn new(server: ServerKind) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, "refused").await?;
        let owner = Client::builder(&arena.servers()).auth("digest", b"owner:secret");
        let owner = owner.session_timeout(LASTING).connect_timeout(SOON).connect().await?;
        owner.create_with_acl(QUEUE, "", CreateMode::Persistent, &all()).await?;
        owner.queue(QUEUE).put("wash").await?;
        Ok(Self { arena, owner })
    }

    async fn client(&self) -> Result<Client, TestFailure> {
        let builder = Client::builder(&self.arena.servers()).session_timeout(LASTING);
        Ok(builder.look_interval(LOOK).connect_timeout(SOON).connect().await?)
    }

    async fn forbid_deletions(&self) -> TestResult {
        let list = Acls::creator_all().world(Permissions::READ | Permissions::CREATE);
        Ok(self.owner.set_acl(QUEUE, &list, Version::ANY).await.map(drop)?)
    }

    async fn permit_deletions(&self) -> TestResult {
        Ok(self.owner.set_acl(QUEUE, &all(), Version::ANY).await.map(drop)?)
    }

    /// Another client gets the item, while the first one lives on.
    async fn goes_to_another(&self, first: &Client) -> TestResult {
        let taker = self.client().await?;
        let item = soon("another takes the item", taker.queue(QUEUE).take()).await??;
        assert_eq!(&item.data[..], b"wash");
        first.exists("/").await?;
        Ok(())
    }
}

fn all() -> Acls {
    Acls::creator_all().world(Permissions::ALL)
}

async fn a_claim_that_may_not_be_given_back_is_given_back_once_it_may(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let first = ground.client().await?;
    let claimed = soon("it claims", first.queue(QUEUE).claim()).await??;
    ground.forbid_deletions().await?;
    let given_back = soon("it hears of the refusal", claimed.give_back()).await?;
    assert!(matches!(given_back, Err(ClaimLost::Failed(_))), "{given_back:?}");
    ground.permit_deletions().await?;
    ground.goes_to_another(&first).await
}

async fn a_claim_that_may_not_be_finished_is_given_back_once_it_may(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let first = ground.client().await?;
    let claimed = soon("it claims", first.queue(QUEUE).claim()).await??;
    ground.forbid_deletions().await?;
    let done = soon("it hears of the refusal", claimed.done()).await?;
    assert!(matches!(done, Err(ClaimLost::Failed(_))), "{done:?}");
    ground.permit_deletions().await?;
    ground.goes_to_another(&first).await
}

async fn a_dropped_claim_that_may_not_be_given_back_is_given_back_once_it_may(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let first = ground.client().await?;
    let claimed = soon("it claims", first.queue(QUEUE).claim()).await??;
    ground.forbid_deletions().await?;
    drop(claimed);
    // The client sends its requests in order.
    first.exists("/").await?;
    ground.permit_deletions().await?;
    ground.goes_to_another(&first).await
}

async fn a_client_that_owes_a_claim_closes_at_once(server: ServerKind) -> TestResult {
    let ground = Ground::new(server).await?;
    let first = ground.client().await?;
    let claimed = soon("it claims", first.queue(QUEUE).claim()).await??;
    ground.forbid_deletions().await?;
    let given_back = soon("it hears of the refusal", claimed.give_back()).await?;
    assert!(given_back.is_err(), "{given_back:?}");
    soon("it closes", first.close()).await??;
    let is_alone = async || {
        let children = ground.owner.get_children(QUEUE).await;
        children.is_ok_and(|children| children.iter().count() == 1)
    };
    eventually_async(SOON, "the claim goes with the session", is_alone).await?;
    Ok(())
}

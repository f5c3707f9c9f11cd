//! Double barriers whose participants lack a permission: a call ends with the server's refusal, and
//! leaves no entry for which the others would wait.

use election_tokio::Client;
use election_tokio::acl::Permissions;
use election_tokio::barrier::{DoubleBarrier, Entered};
use tokio::task::JoinSet;
use zk_test_kit::election::soon;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::restricted::{RestrictedNode, WITHOUT_DELETIONS};
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test]
    a_participant_that_may_not_open_a_round_is_told_so,
    a_participant_that_may_not_end_a_round_is_told_so,
    a_participant_that_may_not_list_the_others_leaves_no_entry,
    a_participant_that_may_not_delete_its_entry_deletes_it_once_it_may,
    a_client_that_owes_an_entry_closes_at_once;
}

const BARRIER: &str = "/barrier";
/// All but to write to the node, by which rounds are opened and ended.
const ENTER_AND_LEAVE: Permissions = Permissions::new(
    Permissions::READ.get() | Permissions::CREATE.get() | Permissions::DELETE.get(),
);

/// A barrier, and two participants that are strangers to its owner.
struct Ground {
    node: RestrictedNode,
    clients: [Client; 2],
}

impl Ground {
    async fn new(server: ServerKind, permissions: Permissions) -> Result<Self, TestFailure> {
        let node = RestrictedNode::new(server, BARRIER, permissions).await?;
        let clients = [node.client().await?, node.client().await?];
        Ok(Self { node, clients })
    }

    fn barriers(&self) -> [DoubleBarrier; 2] {
        self.clients.each_ref().map(|client| client.double_barrier(BARRIER, 2))
    }

    async fn entered(&self) -> Result<(Entered, Entered), TestFailure> {
        let [one, other] = self.barriers();
        let entered =
            soon("both enter", async { tokio::join!(one.enter(), other.enter()) }).await?;
        Ok((entered.0?, entered.1?))
    }

    /// Waits until no entry is left, and shows that both clients live on.
    async fn no_entry_is_left(&self) -> TestResult {
        self.node.wait_for_children_beside("ready", 0).await?;
        for client in &self.clients {
            client.exists("/").await?;
        }
        Ok(())
    }
}

async fn a_participant_that_may_not_open_a_round_is_told_so(server: ServerKind) -> TestResult {
    let ground = Ground::new(server, ENTER_AND_LEAVE).await?;
    let [one, other] = ground.barriers();
    let refused = soon("one of them is told", async {
        tokio::select! {
            entered = one.enter() => entered,
            entered = other.enter() => entered,
        }
    })
    .await?;
    assert!(refused.is_err(), "{refused:?}");
    ground.no_entry_is_left().await
}

async fn a_participant_that_may_not_end_a_round_is_told_so(server: ServerKind) -> TestResult {
    let ground = Ground::new(server, Permissions::ALL).await?;
    let (one, other) = ground.entered().await?;
    ground.node.permit(ENTER_AND_LEAVE).await?;
    let left = soon("both are told", async { tokio::join!(one.leave(), other.leave()) }).await?;
    assert!(left.0.is_err() && left.1.is_err(), "{left:?}");
    ground.no_entry_is_left().await
}

async fn a_participant_that_may_not_list_the_others_leaves_no_entry(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server, Permissions::ALL).await?;
    let (one, other) = ground.entered().await?;
    ground.node.permit(Permissions::CREATE | Permissions::DELETE).await?;
    let left = soon("both are told", async { tokio::join!(one.leave(), other.leave()) }).await?;
    assert!(left.0.is_err() && left.1.is_err(), "{left:?}");
    ground.no_entry_is_left().await
}

/// The lowest waits for the entry of the other one, which is told of the refusal at once.
async fn a_participant_that_may_not_delete_its_entry_deletes_it_once_it_may(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server, Permissions::ALL).await?;
    let (one, other) = ground.entered().await?;
    ground.node.permit(WITHOUT_DELETIONS).await?;
    let mut leaving = JoinSet::new();
    for entered in [one, other] {
        leaving.spawn(entered.leave());
    }
    let first = soon("one is told", leaving.join_next()).await?;
    assert!(matches!(first, Some(Ok(Err(_)))), "{first:?}");
    ground.node.permit(Permissions::ALL).await?;
    let last = soon("the other one leaves", leaving.join_next()).await?;
    assert!(matches!(last, Some(Ok(Ok(())))), "{last:?}");
    ground.no_entry_is_left().await
}

async fn a_client_that_owes_an_entry_closes_at_once(server: ServerKind) -> TestResult {
    let ground = Ground::new(server, Permissions::ALL).await?;
    let (one, other) = ground.entered().await?;
    ground.node.permit(WITHOUT_DELETIONS).await?;
    let mut leaving = JoinSet::new();
    for entered in [one, other] {
        leaving.spawn(entered.leave());
    }
    let first = soon("one is told", leaving.join_next()).await?;
    assert!(matches!(first, Some(Ok(Err(_)))), "{first:?}");
    for client in &ground.clients {
        soon("it closes", client.clone().close()).await??;
    }
    ground.node.wait_for_children_beside("ready", 0).await
}

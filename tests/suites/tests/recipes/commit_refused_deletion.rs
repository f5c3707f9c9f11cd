//! Clients that may not delete for a while, with a site in a two-phase commit: the server refuses to delete the
//! site that leaves.

use election_tokio::Client;
use election_tokio::acl::Permissions;
use election_tokio::commit::{CommitCoordinator, CommitParticipant, Decision};
use zk_test_kit::election::soon;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Cut, Proxy};
use zk_test_kit::restricted::{
    RestrictedNode, WITHOUT_DELETIONS, begin_anew, wait_behind, wait_for_refused_deletions,
};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_site_that_may_not_delete_when_it_leaves_is_gone_once_it_may,
    the_next_participant_for_the_site_stays,
    a_site_that_joins_at_once_after_it_was_dropped_is_there,
    a_client_that_owes_the_deletion_of_a_site_closes_at_once,
    a_site_that_fails_after_a_lost_reply_is_gone;
}

const TX: &str = "/transfer";

/// All rights but to list children.
const WITHOUT_LISTS: Permissions = Permissions::new(
    Permissions::CREATE.get() | Permissions::WRITE.get() | Permissions::DELETE.get(),
);

/// A transaction of one site, and a client that has joined for the site and may not delete since.
struct Ground {
    node: RestrictedNode,
    coordinator: CommitCoordinator,
    first: Client,
    proxy: Proxy,
    site: CommitParticipant,
}

impl Ground {
    async fn new(server: ServerKind) -> Result<Self, TestFailure> {
        let node = RestrictedNode::new(server, TX, Permissions::ALL).await?;
        let coordinator = node.owner.two_phase_commit(TX).begin("", ["a"]).await?;
        let (first, proxy) = node.counted_client().await?;
        let site = soon("it joins", first.two_phase_commit(TX).join("a")).await??;
        node.permit(WITHOUT_DELETIONS).await?;
        Ok(Self { node, coordinator, first, proxy, site })
    }
}

/// The coordinator hears that the site is gone, while its client lives on.
async fn a_site_that_may_not_delete_when_it_leaves_is_gone_once_it_may(
    server: ServerKind,
) -> TestResult {
    let Ground { node, coordinator, first, proxy, site } = Ground::new(server).await?;
    drop(site);
    wait_for_refused_deletions(&proxy, 1).await?;
    node.permit(Permissions::ALL).await?;
    assert_eq!(soon("it is gone", coordinator.decided()).await??, Decision::Abort);
    first.exists("/").await?;
    Ok(())
}

/// It takes the znode that is left for its own, since it has the same session.
async fn the_next_participant_for_the_site_stays(server: ServerKind) -> TestResult {
    let Ground { node, coordinator, first, proxy, site } = Ground::new(server).await?;
    drop(site);
    wait_for_refused_deletions(&proxy, 1).await?;
    let next = soon("it joins again", first.two_phase_commit(TX).join("a")).await??;
    node.permit(Permissions::ALL).await?;
    begin_anew(&first, &proxy).await?;
    let status = coordinator.status().await?;
    assert_eq!(status.gone().count(), 0, "{status}");
    assert_eq!(next.vote_commit().await?, None);
    assert_eq!(soon("a decision", coordinator.decided()).await??, Decision::Commit);
    Ok(())
}

/// The first one is about to delete the znode that the second one finds.
async fn a_site_that_joins_at_once_after_it_was_dropped_is_there(server: ServerKind) -> TestResult {
    let Ground { node, coordinator, first, site, proxy: _proxy } = Ground::new(server).await?;
    node.permit(Permissions::ALL).await?;
    let mut site = site;
    for _ in 0..20 {
        drop(site);
        site = soon("it joins again", first.two_phase_commit(TX).join("a")).await??;
        // What the dropped one has asked for is executed before that.
        wait_behind(&first, 4).await?;
        let status = coordinator.status().await?;
        assert_eq!(status.gone().count(), 0, "{status}");
    }
    Ok(())
}

async fn a_client_that_owes_the_deletion_of_a_site_closes_at_once(
    server: ServerKind,
) -> TestResult {
    let Ground { node, first, proxy, site, .. } = Ground::new(server).await?;
    drop(site);
    wait_for_refused_deletions(&proxy, 1).await?;
    soon("it closes", first.close()).await??;
    // The two that are not ephemeral: `open-` and `joined-`.
    node.wait_for_children(2).await
}

/// The reply to the join is lost, and then the client may not list any more.
async fn a_site_that_fails_after_a_lost_reply_is_gone(server: ServerKind) -> TestResult {
    let node = RestrictedNode::new(server, TX, Permissions::ALL).await?;
    let _coordinator = node.owner.two_phase_commit(TX).begin("", ["a"]).await?;
    let (first, proxy) = node.counted_client().await?;
    proxy.refuse();
    // Before it, a quorum commits a check.
    let planned = proxy.cut_when(Cut::instead_of_reply_to(Opcode::MULTI).skipping(1));
    let transaction = first.two_phase_commit(TX);
    let joining = tokio::spawn(async move { transaction.join("a").await.map(drop) });
    planned.wait(SOON)?;
    node.permit(WITHOUT_LISTS).await?;
    proxy.accept()?;
    let joined = soon("it hears of the refusal", joining).await??;
    assert!(joined.is_err(), "{joined:?}");
    node.wait_for_children(2).await?;
    node.permit(Permissions::ALL).await?;
    first.exists("/").await?;
    Ok(())
}

//! Members whose deletion the server refuses for a while, since their client may not delete.
#![forbid(unsafe_code)]

use core::time::Duration;

use election_tokio::{
    Acls, Client, CreateMode, MembershipError, MembershipState, Version, acl::Permissions,
};
use zk_test_kit::election::{Arena, LASTING, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test]
    a_member_that_may_not_delete_when_it_leaves_is_gone_once_it_may,
    the_next_member_of_the_name_stays,
    a_dropped_member_that_may_not_delete_is_gone_once_it_may,
    a_client_that_owes_the_deletion_of_a_member_closes_at_once;
}

const GROUP: &str = "/workers";
/// How often clients look: longer than it takes to restore the access list.
const LOOK: Duration = Duration::from_secs(1);

/// A group whose access list this client replaces.
struct Ground {
    arena: Arena,
    owner: Client,
}

impl Ground {
    async fn new(server: ServerKind) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, "refused").await?;
        let owner = Client::builder(&arena.servers()).auth("digest", b"owner:secret");
        let owner = owner.session_timeout(LASTING).connect_timeout(SOON).connect().await?;
        owner.create_with_acl(GROUP, "", CreateMode::Persistent, &all()).await?;
        Ok(Self { arena, owner })
    }

    async fn client(&self) -> Result<Client, TestFailure> {
        let builder = Client::builder(&self.arena.servers()).session_timeout(LASTING);
        Ok(builder.look_interval(LOOK).connect_timeout(SOON).connect().await?)
    }

    async fn forbid_deletions(&self) -> TestResult {
        let list = Acls::creator_all().world(Permissions::READ | Permissions::CREATE);
        Ok(self.owner.set_acl(GROUP, &list, Version::ANY).await.map(drop)?)
    }

    async fn permit_deletions(&self) -> TestResult {
        Ok(self.owner.set_acl(GROUP, &all(), Version::ANY).await.map(drop)?)
    }

    async fn has_members(&self, count: usize) -> TestResult {
        let are_there = async || {
            let children = self.owner.get_children(GROUP).await;
            children.is_ok_and(|children| children.iter().count() == count)
        };
        Ok(eventually_async(SOON, "so many are members", are_there).await?)
    }
}

fn all() -> Acls {
    Acls::creator_all().world(Permissions::ALL)
}

/// The client lives on, and its next member may have the name.
async fn a_member_that_may_not_delete_when_it_leaves_is_gone_once_it_may(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let first = ground.client().await?;
    let membership = soon("it joins", first.group(GROUP).join_as("x", "1")).await??;
    ground.forbid_deletions().await?;
    let left = soon("it hears of the refusal", membership.leave()).await?;
    assert!(matches!(left, Err(MembershipError::Failed(_))), "{left:?}");
    ground.has_members(1).await?;
    ground.permit_deletions().await?;
    ground.has_members(0).await?;
    first.exists("/").await?;
    let again = soon("it joins again", first.group(GROUP).join_as("x", "2")).await??;
    assert!(matches!(again.state(), MembershipState::Joined { .. }), "{:?}", again.state());
    Ok(())
}

/// It takes the znode that is left for its own, since it has the same session.
async fn the_next_member_of_the_name_stays(server: ServerKind) -> TestResult {
    let ground = Ground::new(server).await?;
    let first = ground.client().await?;
    let membership = soon("it joins", first.group(GROUP).join_as("x", "1")).await??;
    ground.forbid_deletions().await?;
    let left = soon("it hears of the refusal", membership.leave()).await?;
    assert!(left.is_err(), "{left:?}");
    let next = soon("it joins again", first.group(GROUP).join_as("x", "2")).await??;
    soon("its data is there", next.set_data("3")).await??;
    let joined = next.state();
    ground.permit_deletions().await?;
    tokio::time::sleep(LOOK * 3).await;
    assert_eq!(next.state(), joined);
    ground.has_members(1).await
}

async fn a_dropped_member_that_may_not_delete_is_gone_once_it_may(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let first = ground.client().await?;
    let membership = soon("it joins", first.group(GROUP).join("1")).await??;
    ground.forbid_deletions().await?;
    drop(membership);
    // The client sends its requests in order.
    first.exists("/").await?;
    ground.permit_deletions().await?;
    ground.has_members(0).await?;
    first.exists("/").await?;
    Ok(())
}

async fn a_client_that_owes_the_deletion_of_a_member_closes_at_once(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let first = ground.client().await?;
    let membership = soon("it joins", first.group(GROUP).join("1")).await??;
    ground.forbid_deletions().await?;
    let left = soon("it hears of the refusal", membership.leave()).await?;
    assert!(left.is_err(), "{left:?}");
    soon("it closes", first.close()).await??;
    ground.has_members(0).await
}

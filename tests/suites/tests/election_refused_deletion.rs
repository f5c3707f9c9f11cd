//! Candidates whose deletion the server refuses for a while, since their client may not delete.
#![forbid(unsafe_code)]

use core::time::Duration;

use election_tokio::{Acls, Client, CreateMode, Version, acl::Permissions};
use zk_test_kit::election::{Arena, ELECTION, LASTING, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test]
    a_leader_that_may_not_delete_when_it_resigns_owes_the_deletion,
    a_dropped_nomination_that_may_not_delete_owes_the_deletion,
    a_lock_that_may_not_be_released_for_a_while_is_released_then;
}

/// How often clients look: longer than it takes to restore the access list.
const LOOK: Duration = Duration::from_secs(1);

/// An election node whose access list this client replaces.
struct Ground {
    arena: Arena,
    owner: Client,
}

impl Ground {
    async fn new(server: ServerKind) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, "refused").await?;
        let owner = Client::builder(&arena.servers()).auth("digest", b"owner:secret");
        let owner = owner.session_timeout(LASTING).connect_timeout(SOON).connect().await?;
        owner.create_with_acl(ELECTION, "", CreateMode::Persistent, &all()).await?;
        Ok(Self { arena, owner })
    }

    async fn client(&self) -> Result<Client, TestFailure> {
        let builder = Client::builder(&self.arena.servers()).session_timeout(LASTING);
        Ok(builder.look_interval(LOOK).connect_timeout(SOON).connect().await?)
    }

    async fn forbid_deletions(&self) -> TestResult {
        let list = Acls::creator_all().world(Permissions::READ | Permissions::CREATE);
        Ok(self.owner.set_acl(ELECTION, &list, Version::ANY).await.map(drop)?)
    }

    async fn permit_deletions(&self) -> TestResult {
        Ok(self.owner.set_acl(ELECTION, &all(), Version::ANY).await.map(drop)?)
    }
}

fn all() -> Acls {
    Acls::creator_all().world(Permissions::ALL)
}

/// The next one leads once the deletion is permitted again; the client that owes it lives on.
async fn a_leader_that_may_not_delete_when_it_resigns_owes_the_deletion(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let (first, second) = (ground.client().await?, ground.client().await?);
    let mut leader = first.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let mut heir = second.election(ELECTION).nominate()?;
    ground.arena.wait_for_children(2).await?;
    ground.forbid_deletions().await?;
    let resigned = soon("it hears of the refusal", leadership.resign()).await?;
    assert!(resigned.is_err(), "{resigned:?}");
    ground.permit_deletions().await?;
    leads(&mut heir).await?;
    ground.arena.wait_for_children(1).await?;
    first.exists("/").await?;
    Ok(())
}

async fn a_dropped_nomination_that_may_not_delete_owes_the_deletion(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let (first, second) = (ground.client().await?, ground.client().await?);
    let mut leader = first.election(ELECTION).nominate()?;
    leads(&mut leader).await?;
    let mut heir = second.election(ELECTION).nominate()?;
    ground.arena.wait_for_children(2).await?;
    ground.forbid_deletions().await?;
    drop(leader);
    tokio::time::sleep(LOOK / 2).await;
    ground.permit_deletions().await?;
    leads(&mut heir).await?;
    ground.arena.wait_for_children(1).await?;
    first.exists("/").await?;
    Ok(())
}

async fn a_lock_that_may_not_be_released_for_a_while_is_released_then(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server).await?;
    let (first, second) = (ground.client().await?, ground.client().await?);
    let guard = soon("it locks", first.lock(ELECTION).lock()).await??;
    ground.forbid_deletions().await?;
    let released = soon("it hears of the refusal", guard.release()).await?;
    assert!(released.is_err(), "{released:?}");
    ground.permit_deletions().await?;
    let next = soon("the next one locks", second.lock(ELECTION).lock()).await??;
    assert!(next.is_valid());
    first.exists("/").await?;
    Ok(())
}

//! Followers that may not read their predecessor, or not any more: servers tell nothing of the end of
//! a znode to a watcher that may not read it, and take its watch away (ZOOKEEPER-4799).

use core::time::Duration;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::election::{CandidateName, EndReason, NominationError, Role};
use election_tokio::{Client, ClientBuilder, ErrorCode, Version};
use zk_test_kit::election::{Arena, ELECTION, LASTING, follows_this, leads, reaches, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test]
    a_follower_finds_that_its_predecessor_has_gone_unseen,
    a_follower_that_never_may_read_its_predecessor_is_told_so_or_elected;
}

/// How often a follower looks without being told.
const LOOK: Duration = Duration::from_secs(1);

fn looking(builder: ClientBuilder) -> ClientBuilder {
    builder.look_interval(LOOK)
}

async fn client(arena: &Arena) -> Result<Client, TestFailure> {
    let builder = Client::builder(&arena.servers()).session_timeout(LASTING);
    Ok(looking(builder).connect_timeout(SOON).connect().await?)
}

/// Leaves a candidate to its session alone.
async fn close(arena: &Arena, candidate: &CandidateName) -> TestResult {
    let path = format!("{ELECTION}/{candidate}");
    let other = Acls::new().digest_password(Permissions::ALL, "another", "secret");
    Ok(arena.admin.set_acl(&path, &other, Version::ANY).await.map(drop)?)
}

async fn a_follower_finds_that_its_predecessor_has_gone_unseen(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "unseen").await?;
    let leader = arena.client().await?;
    let mut nomination = leader.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;
    let mut follower = client(&arena).await?.election(ELECTION).nominate()?;
    follows_this(&follower, leadership.candidate()).await?;

    close(&arena, leadership.candidate()).await?;
    soon("the leader's session is closed", leader.close()).await??;
    let successor = leads(&mut follower).await?;
    assert!(successor.token() > leadership.token());
    Ok(())
}

async fn a_follower_that_never_may_read_its_predecessor_is_told_so_or_elected(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "unreadable").await?;
    let leader = arena.client().await?;
    let mut nomination = leader.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;
    close(&arena, leadership.candidate()).await?;
    let mut follower = client(&arena).await?.election(ELECTION).nominate()?;
    // The leader may not read its candidate either: its next heartbeat is refused, and then it gives
    // up, perhaps before the follower was seen to follow.
    let status = reaches(&follower, "the nominee follows, leads, or is told why not", |status| {
        let is_settled =
            matches!(status.role, Role::Following { .. } | Role::Leading { .. } | Role::Ended(_));
        is_settled.then(|| status.clone())
    })
    .await?;
    if let Role::Ended(reason) = status.role {
        let no_permission = EndReason::Failed(NominationError::Rejected(ErrorCode::NO_AUTH.get()));
        assert_eq!(reason, no_permission);
        // The leader's candidate may have gone, too.
        let is_gone = async || {
            let children = arena.children().await;
            children.is_ok_and(|children| !children.iter().any(|name| follower.id().owns(name)))
        };
        return Ok(eventually_async(SOON, "it leaves no candidate", is_gone).await?);
    }
    soon("the leader's session is closed", leader.close()).await??;
    let successor = leads(&mut follower).await?;
    assert!(successor.token() > leadership.token());
    Ok(())
}

//! One's own ephemeral znode, kept.

use core::time::Duration;

use election_tokio::group::{Membership, MembershipError, MembershipState};
use election_tokio::{Client, SessionId, Token, Version};
use zk_test_kit::connection::has_expired;
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    ones_own_znode_is_made_again_after_an_expiry_and_a_deletion;
}

const PATH: &str = "/deep/down/here";
/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

/// Waits until the znode is another one than that with this token.
async fn again(node: &Membership, before: Token) -> Result<Token, TestFailure> {
    let mut state = node.state();
    loop {
        match state {
            MembershipState::Joined { token } if token > before => return Ok(token),
            _ => state = soon("another state", node.changed_from(&state)).await?,
        }
    }
}

/// Returns the data and the owner.
async fn read(client: &Client) -> Result<(String, SessionId), TestFailure> {
    let (data, stat) = client.get_data(PATH).await?;
    Ok((String::from_utf8_lossy(&data).into_owned(), stat.ephemeral_owner))
}

async fn ones_own_znode_is_made_again_after_an_expiry_and_a_deletion(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "persistent").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), SHORT).await?;
    let node = soon("it is there", client.persistent_node(PATH, "one")).await??;
    let MembershipState::Joined { token: first } = node.state() else {
        unreachable!("{:?}", node.state());
    };
    let (data, owner) = read(&arena.admin).await?;
    assert_eq!((data.as_str(), Some(owner)), ("one", client.session_id()));
    node.set_data("two").await?;

    let mut connection = client.connection_updates();
    proxy.refuse();
    proxy.cut();
    soon("the session expires", connection.wait_for(has_expired)).await??;
    proxy.accept()?;
    let second = again(&node, first).await?;
    let (data, later) = read(&arena.admin).await?;
    assert_eq!((data.as_str(), Some(later)), ("two", client.session_id()));
    assert_ne!(later, owner);

    arena.admin.delete(PATH, Version::ANY).await?;
    again(&node, second).await?;
    assert_eq!(read(&arena.admin).await?.0, "two");

    soon("it is gone", node.leave()).await??;
    assert!(arena.admin.exists(PATH).await?.is_none());
    for path in ["/", "here", "/deep/"] {
        let refused = client.persistent_node(path, "").await.map(drop);
        assert!(matches!(refused, Err(MembershipError::InvalidPath { .. })), "{path}: {refused:?}");
    }
    Ok(())
}

//! Elections over the restart of the only server, which finds its data on its disk: Apache
//! ZooKeeper's only.

use core::time::Duration;

use election_tokio::ConnectionState;
use election_tokio::election::{LostReason, Nomination, Role};
use zk_test_kit::election::{
    Arena, ELECTION, connect, follows_this, is_suspended, leads, one_leads, reaches, soon,
};
use zk_test_kit::failure::TestResult;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::zookeeper::Options;

const SHORT: Duration = Duration::from_secs(6);

async fn is_apart(nomination: &Nomination) -> TestResult {
    reaches(nomination, "it has no connection", |status| {
        (status.role == Role::Connecting).then_some(())
    })
    .await?;
    Ok(())
}

/// The only server is restarted soon enough (CURATOR-246). The sessions live on, and so do all
/// candidates; the leader resumes, with its token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_outlives_the_restart_of_the_only_server() -> TestResult {
    let server = Options::new().start_server()?;
    let arena = Arena::on(server.addr(), "restart").await?;
    // A start of the server may take long. And one that is starting may leave a handshake without
    // an answer and the connection open (3.8.0 does): `election_absence.rs` has that.
    let patient = Duration::from_secs(60);
    let proxy = Proxy::to(server.addr())?;
    let client = connect(&arena.servers_by(&proxy), patient).await?;
    let mut leader = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let beside = connect(&arena.servers_by(&proxy), patient).await?;
    let mut follower = beside.election(ELECTION).nominate()?;
    follows_this(&follower, leadership.candidate()).await?;
    let session = leader.status().session;

    proxy.refuse();
    server.kill()?;
    is_suspended(&leader).await?;
    is_apart(&follower).await?;
    server.restart()?;
    proxy.accept()?;
    reaches(&leader, "the leader resumes", |status| {
        matches!(status.role, Role::Leading { token } if token == leadership.token()).then_some(())
    })
    .await?;
    assert_eq!(leader.status().session, session);
    assert!(leadership.is_valid());
    follows_this(&follower, leadership.candidate()).await?;
    soon("the leader has resigned", leadership.resign()).await??;
    leads(&mut follower).await?;
    Ok(())
}

/// The only server stays away until the sessions are over for their clients. The candidates of the
/// old sessions may outlive them on the server for a while; in the end there is one leader, by a
/// greater token, and one candidate for each nominee.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_long_outage_one_leads_by_a_greater_token() -> TestResult {
    let server = Options::new().start_server()?;
    let arena = Arena::on(server.addr(), "outage").await?;
    let client = connect(&arena.servers(), SHORT).await?;
    let mut first = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut first).await?;
    let beside = connect(&arena.servers(), SHORT).await?;
    let mut second = beside.election(ELECTION).nominate()?;
    follows_this(&second, leadership.candidate()).await?;

    server.kill()?;
    for client in [&client, &beside] {
        let mut connection = client.connection_updates();
        let over = connection.wait_for(|state| {
            matches!(state, ConnectionState::Expired { .. } | ConnectionState::Connecting { .. })
        });
        assert!(soon("the session is over", over).await?.is_ok());
    }
    let reason = soon("the loss is told", leadership.lost()).await?;
    assert_eq!(reason, LostReason::LeaseLapsed);
    server.restart()?;
    let new_leadership = one_leads(&mut first, &mut second).await?;
    assert!(new_leadership.token() > leadership.token());
    // The admin's session is of the same age, and a longer timeout.
    let mut connection = arena.admin.connection_updates();
    let connected = connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. }));
    assert!(soon("the admin is back", connected).await?.is_ok());
    arena.wait_for_children(2).await
}

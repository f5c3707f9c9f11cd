//! Elections while there is no server.

use core::time::Duration;

use election_tokio::election::{Departure, EndReason, LostReason, Nomination, Role};
use election_tokio::session::OnExpiry;
use election_tokio::{Client, ConnectError, ConnectionState};
use zk_test_kit::election::{
    Arena, ELECTION, LASTING, connect, follows_this, is_suspended, leads, reaches, soon,
};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{FrameKind, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    nominees_wait_for_a_first_server,
    a_nominee_that_never_stood_withdraws_without_a_server,
    without_a_server_nobody_leads_and_everybody_may_leave,
    a_silent_server_costs_a_leader_nothing;
}

const SHORT: Duration = Duration::from_secs(6);

async fn is_apart(nomination: &Nomination) -> TestResult {
    reaches(nomination, "it has no connection", |status| {
        (status.role == Role::Connecting).then_some(())
    })
    .await?;
    Ok(())
}

/// No server is there from the start. Connecting gives up in time and says why; a client that was
/// started anyway shows it, a nomination waits and is elected when a server comes (kazoo #83).
async fn nominees_wait_for_a_first_server(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    proxy.refuse();
    let servers = proxy.connect_string();
    let chroot = server.shared()?.fresh_chroot("first")?;
    let refused = Client::builder(&servers).connect_timeout(Duration::from_secs(3)).connect().await;
    let error = refused.map(|_| ()).expect_err("nobody listens");
    assert!(matches!(&error, ConnectError::NoServer { .. }), "{error}");
    assert!(error.to_string().contains(&servers), "{error}");

    let client = Client::builder(&format!("{servers}{chroot}")).session_timeout(LASTING).start()?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let deadline = Duration::from_millis(100);
    let waited = tokio::time::timeout(deadline, nomination.elected()).await;
    assert!(waited.is_err(), "there is no server");
    assert_eq!(nomination.status().role, Role::Connecting);
    let mut connection = client.connection_updates();
    let failed = connection.wait_for(|state| {
        matches!(state, ConnectionState::Connecting { failures, last_failure: Some(_) } if *failures > 0)
    });
    assert!(soon("a failed attempt is shown", failed).await?.is_ok());

    proxy.accept()?;
    leads(&mut nomination).await?;
    Ok(())
}

/// A nomination that never had a connection is withdrawn without one.
async fn a_nominee_that_never_stood_withdraws_without_a_server(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    proxy.refuse();
    let client = Client::builder(&proxy.connect_string()).start()?;
    let nomination = client.election(ELECTION).nominate()?;
    let withdrawn = soon("the nominee has withdrawn", nomination.withdraw()).await?;
    assert_eq!(withdrawn, Ok(Departure::NeverCreated));
    Ok(())
}

/// The server goes away for good. The leader is told no later than at its lease deadline, a nominee
/// made meanwhile and the follower are told nothing wrong; withdrawing ends with the session. A
/// client that ends with its session says so to every nominee.
async fn without_a_server_nobody_leads_and_everybody_may_leave(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let arena = Arena::on(server.addr(), "absence").await?;
    let client = connect(&arena.servers(), SHORT).await?;
    let mut leader = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let follower = client.election(ELECTION).nominate()?;
    follows_this(&follower, leadership.candidate()).await?;
    let ending = Client::builder(&arena.servers())
        .session_timeout(SHORT)
        .on_expiry(OnExpiry::Close)
        .connect()
        .await?;
    let mut ended = ending.election(ELECTION).nominate()?;
    zk_test_kit::election::follows(&ended).await?;

    server.kill()?;
    let late = client.election(ELECTION).nominate()?;
    is_suspended(&leader).await?;
    is_apart(&follower).await?;
    let reason = soon("the loss is told", leadership.lost()).await?;
    assert_eq!(reason, LostReason::LeaseLapsed);
    assert!(!leadership.is_valid());

    let ended = soon("the nomination ends", ended.elected()).await?;
    let ended = ended.expect_err("its client has ended");
    assert!(matches!(ended.reason, EndReason::ClientClosed(_)), "{ended:?}");
    for nomination in [follower, late, leader] {
        let withdrawn = soon("the nominee has withdrawn", nomination.withdraw()).await?;
        let departure = withdrawn.expect("there is nothing to wait for");
        assert_ne!(departure, Departure::Deleted);
    }
    Ok(())
}

/// A server accepts the connection and never answers the handshake. The client gives it up while
/// there is time to find a better one: the session lives on, and so does the leadership.
async fn a_silent_server_costs_a_leader_nothing(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "silent").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let client = arena.client_by(&proxy).await?;
    let mut leader = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;

    proxy.set_target(silent.local_addr()?);
    proxy.cut();
    is_suspended(&leader).await?;
    proxy.wait_for(SOON, "the handshake is sent", |counters| {
        counters.passed(FrameKind::ConnectRequest) >= 2
    })?;
    proxy.set_target(server.shared()?.addr());
    reaches(&leader, "the leader resumes", |status| {
        matches!(status.role, Role::Leading { token } if token == leadership.token()).then_some(())
    })
    .await?;
    assert!(leadership.is_valid());
    Ok(())
}

//! Clients of members that are cut off from their ensemble, and serve reads only.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;

use election_tokio::election::Role;
use election_tokio::ensemble::ServerVersion;
use election_tokio::session::ReadOnlyServers;
use election_tokio::watch::{EventType, WatchLost};
use election_tokio::{
    Client, ConnectError, ConnectionState, CreateMode, ErrorCode, ErrorKind, NoMoreUpdates,
    SessionId, TransactionError, Version,
};
use tokio::time::timeout;
use zk_test_kit::election::{ELECTION, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::proxy::Proxy;
use zk_test_kit::raw::RawClient;
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{Ensemble, Lost, Member, Mode, Options};

const SESSION: Duration = Duration::from_secs(6);

/// Older members let a session of the ensemble go on while they serve reads only.
const SINCE_SESSIONS_OF_ITS_OWN: ServerVersion = ServerVersion::new(3, 7, 0);

/// Returns the options of members that serve reads without a quorum. That takes sessions which a
/// member makes by itself (since ZooKeeper 3.7), and those become sessions of the ensemble with
/// their first ephemeral znode.
fn options() -> Options {
    Options::new()
        .system_property("readonlymode.enabled", "true")
        .config_line("localSessionsEnabled=true")
        .config_line("localSessionsUpgradingEnabled=true")
}

async fn client(servers: &str, read_only: ReadOnlyServers) -> Result<Client, ConnectError> {
    Client::builder(servers)
        .session_timeout(SESSION)
        .connect_timeout(SOON)
        .read_only_servers(read_only)
        .connect()
        .await
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadOnly,
    Full,
}

async fn until_connected(client: &Client, wanted: Access) -> Result<SessionId, TestFailure> {
    let mut connection = client.connection_updates();
    let connected = |state: &ConnectionState| match *state {
        ConnectionState::Connected { session, read_only, .. } => {
            let access = if read_only { Access::ReadOnly } else { Access::Full };
            (access == wanted).then_some(session)
        }
        _ => None,
    };
    let reached = timeout(SOON, connection.wait_for(|state| connected(state).is_some())).await??;
    Ok(connected(&reached).ok_or(NoMoreUpdates)?)
}

/// Waits until each member has this znode.
async fn wait_until_everywhere(ensemble: &Ensemble, path: &str) -> TestResult {
    for member in Member::ALL {
        let mut client = RawClient::connect(ensemble.member(member).addr(), SESSION)?;
        let there = async || client.exists(path).is_ok_and(|exists| exists);
        eventually_async(SOON, "the member has the znode", there).await?;
    }
    Ok(())
}

async fn wait_until_read_only(ensemble: &Ensemble, member: Member) -> TestResult {
    let server = ensemble.member(member);
    let read_only = async || server.mode().is_ok_and(|mode| mode == Mode::ReadOnly);
    Ok(eventually_async(SOON, "the member serves reads only", read_only).await?)
}

async fn assert_writes_are_refused(client: &Client) -> TestResult {
    let errors = [
        client.create("/b", "", CreateMode::Persistent).await.unwrap_err(),
        client.create("/b", "", CreateMode::Ephemeral).await.unwrap_err(),
        client.set_data("/a", "", Version::ANY).await.unwrap_err(),
        client.delete("/a", Version::ANY).await.unwrap_err(),
        client.sync("/a").await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::ReadOnlyServer);
        assert_eq!(error.code(), Some(ErrorCode::NOT_READ_ONLY));
        assert!(!error.may_have_happened());
    }
    let transaction = client.transaction().create("/b", "", CreateMode::Persistent);
    let error = transaction.commit().await.unwrap_err();
    let TransactionError::Request(error) = error else {
        return Err(error.into());
    };
    assert_eq!(error.kind(), ErrorKind::ReadOnlyServer);
    Ok(())
}

/// Reads while the quorum is gone, writes refused and no nominee elected; and all of it once the
/// quorum is back.
#[tokio::test]
async fn a_client_reads_without_a_quorum_and_writes_again_with_one() -> TestResult {
    let ensemble = options().start_ensemble()?;
    let client = client(&ensemble.connect_string(), ReadOnlyServers::Accept).await?;
    client.create("/a", "kept", CreateMode::Persistent).await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;
    let first = until_connected(&client, Access::Full).await?;
    wait_until_everywhere(&ensemble, "/a").await?;

    let leader = ensemble.wait_for_leader(SOON)?;
    let release = ensemble.member(leader).release()?;
    let [survivor, follower] = Member::ALL
        .into_iter()
        .filter(|&member| member != leader)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    ensemble.member(leader).kill()?;
    ensemble.member(follower).kill()?;
    soon("the leadership ends", leadership.lost()).await?;
    let makeshift = until_connected(&client, Access::ReadOnly).await?;
    assert_eq!(makeshift == first, release < SINCE_SESSIONS_OF_ITS_OWN, "{release}");
    let (data, _, watch) = client.get_data_and_watch("/a").await?;
    assert_eq!(data, b"kept".as_slice());
    assert_writes_are_refused(&client).await?;
    let idle = client.election("/another").nominate()?;
    assert_eq!(idle.status().role, Role::Connecting);
    assert!(matches!(nomination.status().role, Role::Connecting), "{:?}", nomination.status());
    assert!(!leadership.is_valid());
    wait_until_read_only(&ensemble, survivor).await?;

    ensemble.start_all()?;
    let second = until_connected(&client, Access::Full).await?;
    assert!(second != makeshift || release < SINCE_SESSIONS_OF_ITS_OWN, "{release}");
    client.create("/mine", "", CreateMode::Ephemeral).await?;
    client.set_data("/a", "changed", Version::ANY).await?;
    let watched = soon("the watch ends", watch).await?.map(|event| event.kind);
    // A session of the ensemble ends there while no other member hears of it.
    let lost = makeshift == first && second != first;
    let expected = if lost { Err(WatchLost) } else { Ok(EventType::NODE_DATA_CHANGED) };
    assert_eq!(watched, expected, "{release}");
    assert!(leads(&mut nomination).await?.is_valid());
    client.close().await?;
    Ok(())
}

/// A server that stays cut off is left for one that takes writes, as soon as one is in reach.
#[tokio::test]
async fn a_client_leaves_a_read_only_server_for_one_that_takes_writes() -> TestResult {
    let linked = options().start_linked_ensemble()?;
    let ensemble = linked.ensemble();
    let leader = ensemble.wait_for_leader(SOON)?;
    let [cut_off, other] = Member::ALL
        .into_iter()
        .filter(|&member| member != leader)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let ways =
        [cut_off, other, leader].map(|member| Proxy::to(ensemble.member(member).addr()).unwrap());
    let servers = ways.each_ref().map(Proxy::connect_string).join(",");
    let [_, to_other, to_leader] = &ways;
    linked.cut_off(cut_off, Lost::Both);
    wait_until_read_only(ensemble, cut_off).await?;
    to_other.refuse();
    to_leader.refuse();

    let refusing = Client::builder(&servers).connect_timeout(2 * SESSION).connect().await;
    assert!(matches!(refusing, Err(ConnectError::NoServer { .. })), "{refusing:?}");
    let accepting = client(&servers, ReadOnlyServers::Accept).await?;
    let makeshift = until_connected(&accepting, Access::ReadOnly).await?;
    assert!(accepting.exists("/").await?.is_some());
    to_leader.accept()?;
    let session = until_connected(&accepting, Access::Full).await?;
    assert_ne!(session, makeshift);
    assert_eq!(ensemble.member(cut_off).mode()?, Mode::ReadOnly, "it would have stayed there");
    accepting.create("/mine", "", CreateMode::Ephemeral).await?;
    let mut nomination = accepting.election(ELECTION).nominate()?;
    assert!(leads(&mut nomination).await?.is_valid());
    Ok(())
}

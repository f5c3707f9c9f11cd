//! The workspace's own client and elections, against the server in process.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use core::error::Error;
use core::future::Future;
use core::time::Duration;

use election_tokio::election::{Leadership, LostReason, Nomination, Role};
use election_tokio::watch::EventType;
use election_tokio::{Client, ConnectionState, CreateMode, ErrorCode, SessionId, Version};
use tokio::time::timeout;
use zk_embedded::Server;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// More than anything here takes on a busy machine.
const BOUND: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(10);

async fn soon<F: Future>(future: F) -> F::Output {
    timeout(BOUND, future).await.expect("within a minute")
}

async fn connect(server: &Server) -> Result<Client, Box<dyn Error + Send + Sync>> {
    let servers = server.addr().to_string();
    let builder = Client::builder(&servers).session_timeout(TIMEOUT);
    Ok(soon(builder.connect()).await?)
}

fn session_of(client: &Client) -> SessionId {
    match client.connection_updates().latest() {
        ConnectionState::Connected { session, .. } => session,
        other => panic!("connected, not {other:?}"),
    }
}

#[tokio::test]
async fn a_client_reads_what_it_wrote() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let client = connect(&server).await?;
    let created = client.create("/a", "1", CreateMode::Persistent).await?;
    assert_eq!(created.path, "/a");
    let (data, stat) = client.get_data("/a").await?;
    assert_eq!((&data[..], stat.version), (&b"1"[..], Version::new(0)));
    let (_, _, watch) = client.get_data_and_watch("/a").await?;
    client.set_data("/a", "22", Version::new(0)).await?;
    assert_eq!(soon(watch).await?.kind, EventType::NODE_DATA_CHANGED);
    let refused = client.set_data("/a", "3", Version::new(0)).await;
    let refused = refused.expect_err("the version is another one");
    assert_eq!(refused.code(), Some(ErrorCode::BAD_VERSION));
    let names = ["n-0000000000", "n-0000000001"];
    for name in names {
        let mode = CreateMode::EphemeralSequential;
        let created = client.create("/a/n-", "", mode).await?;
        assert_eq!(created.path, format!("/a/{name}"));
    }
    assert!(client.get_children("/a").await?.iter().eq(names));
    let both = client.transaction().check("/a", Version::new(1));
    both.create("/b", "x", CreateMode::Persistent).commit().await?;
    client.sync("/").await?;
    client.close().await?;
    // The ephemeral znodes went with the session, the others did not.
    let left = server.snapshot();
    let paths: Vec<&str> = left.znodes().map(|(path, _)| path).collect();
    let system = ["/zookeeper", "/zookeeper/config", "/zookeeper/quota"];
    assert_eq!(paths, [&["/", "/a", "/b"][..], &system].concat());
    assert_eq!(left.sessions().len(), 0);
    server.shutdown().await;
    Ok(())
}

/// Hand-over on resignation, and when the leader's session ends: without waiting for a timeout
/// (kubernetes/client-go #448).
#[tokio::test]
async fn leadership_goes_from_nominee_to_nominee() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let clients = [connect(&server).await?, connect(&server).await?, connect(&server).await?];
    let mut nominations = Vec::new();
    for client in &clients {
        let nomination = client.election("/election").nominate()?;
        let mut roles = nomination.updates();
        let placed = roles.wait_for(|status| {
            matches!(status.role, Role::Leading { .. } | Role::Following { .. })
        });
        soon(placed).await.expect("the nomination goes on");
        nominations.push(nomination);
    }
    let [mut first, mut second, mut third]: [_; 3] = nominations.try_into().expect("three");
    let first = soon(first.elected()).await?;
    let token = first.token();
    soon(first.resign()).await?;
    let second_leads = soon(second.elected()).await?;
    assert!(second_leads.token() > token);
    assert!(second_leads.is_valid());
    server.expire(session_of(&clients[1]))?;
    let third_leads = soon(third.elected()).await?;
    assert!(third_leads.token() > second_leads.token());
    soon(second_leads.lost()).await;
    assert!(!second_leads.is_valid());
    Ok(())
}

/// Returns a leader on a client of its own.
async fn leader(
    server: &Server,
) -> Result<(Client, Nomination, Leadership), Box<dyn Error + Send + Sync>> {
    let client = connect(server).await?;
    let mut nomination = client.election("/election").nominate()?;
    let leadership = soon(nomination.elected()).await?;
    Ok((client, nomination, leadership))
}

#[tokio::test]
async fn an_expired_leader_is_told_that_its_session_expired() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    for round in 0..20 {
        let (client, _nomination, leadership) = leader(&server).await?;
        server.expire(session_of(&client))?;
        assert_eq!(soon(leadership.lost()).await, LostReason::SessionExpired, "round {round}");
    }
    Ok(())
}

/// The event of its deleted candidate comes before the end of its connection.
#[tokio::test]
async fn a_leader_that_expires_while_connected_finds_its_candidate_deleted() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let (client, _nomination, leadership) = leader(&server).await?;
    // The leader watches its candidate once it leads: what is asked for later is answered later.
    client.exists("/election").await?;
    server.expire_connected(session_of(&client))?;
    assert_eq!(soon(leadership.lost()).await, LostReason::Evicted);
    Ok(())
}

#[tokio::test]
async fn a_leader_keeps_its_place_when_connections_drop() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let client = connect(&server).await?;
    let session = session_of(&client);
    let mut nomination = client.election("/election").nominate()?;
    let leadership = soon(nomination.elected()).await?;
    let mut connection = client.connection_updates();
    connection.latest_and_update();
    server.drop_connections();
    let suspended = connection.wait_for(|state| matches!(state, ConnectionState::Suspended { .. }));
    soon(suspended).await.expect("the client goes on");
    let connected = connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. }));
    soon(connected).await.expect("the client goes on");
    assert_eq!(session_of(&client), session);
    let mut roles = nomination.updates();
    let leading = roles.wait_for(|status| matches!(status.role, Role::Leading { .. }));
    soon(leading).await.expect("the nomination goes on");
    assert!(leadership.is_valid());
    Ok(())
}

#[tokio::test]
async fn a_paused_server_answers_when_it_goes_on() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let client = connect(&server).await?;
    server.pause();
    let asked = client.exists("/");
    tokio::pin!(asked);
    let early = timeout(Duration::from_millis(50), &mut asked).await;
    assert!(early.is_err(), "a paused server does not answer");
    server.resume();
    assert!(soon(asked).await?.is_some());
    Ok(())
}

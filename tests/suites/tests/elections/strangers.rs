//! The harm that a client without a permission can do to a leader on Apache ZooKeeper, since the password of a
//! session follows from its id, and the settings that prevent it. `SECURITY.md` rests on this.

use core::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::election::{LostReason, Nomination};
use election_tokio::{Client, ConnectionState, SessionId};
use zk_test_kit::election::{LASTING, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::raw::{RawClient, RawError, RawSession};
use zk_test_kit::sasl::{BOB, builder, options};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{Options, Server, unique_path};

const NO_AUTH: i32 = -102;
const SASL_IS_REQUIRED: i32 = -124;

/// The session timeout of leaders that must not lose their lease by waiting: while a leader is cut off,
/// a quarter of it is left at least, which is longer than all waits of a test take together, each [`SOON`] at most.
const OUTLASTS_EACH_WAIT: Duration = Duration::from_secs(600);

/// Serves no client without SASL, or so it says.
fn demanding() -> Result<Server, TestFailure> {
    let options = options(&[BOB])
        .max_session_timeout(OUTLASTS_EACH_WAIT)
        .config_line("sessionRequireClientSASLAuth=true");
    Ok(options.start_server()?)
}

fn stand(client: &Client) -> Result<(Nomination, String), TestFailure> {
    let path = unique_path("strangers");
    let election = client.election(&path).acls(Acls::creator_all());
    Ok((election.nominate()?, path))
}

fn session(client: &Client) -> SessionId {
    client.session_id().expect("it is connected")
}

/// Returns the owner of an ephemeral znode, from the `Stat` that `exists` gives.
fn owner(stranger: &mut RawClient, path: &str) -> Result<i64, TestFailure> {
    let mut body = u32::try_from(path.len())?.to_be_bytes().to_vec();
    body.extend(path.as_bytes());
    body.push(0);
    let stat = stranger.request(Opcode::EXISTS, &body)?;
    let owner = stat.get(44..52).expect("a stat");
    Ok(i64::from_be_bytes(owner.try_into()?))
}

/// Neither may it list the election, nor read the candidate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_closes_the_session_of_a_leader() -> TestResult {
    let server = Options::new().start_server()?;
    let proxy = Proxy::to(server.addr())?;
    let ann = Client::builder(&proxy.connect_string()).session_timeout(LASTING);
    let client = ann.auth("digest", b"ann:secret").connect().await?;
    let (mut nomination, path) = stand(&client)?;
    let leadership = leads(&mut nomination).await?;
    let (candidate, id) = (format!("{path}/{}", leadership.candidate()), session(&client));

    let mut stranger = RawClient::connect(server.addr(), LASTING)?;
    assert!(matches!(stranger.children(&path), Err(RawError::Refused { code: NO_AUTH, .. })));
    // Since 3.8.4 and 3.9.2 it takes the permission to read (ZOOKEEPER-4799); ids are in logs, too.
    if let Ok(owner) = owner(&mut stranger, &candidate) {
        assert_eq!(owner, id.get());
    }
    // So that the leader's client does not take its session back before the stranger has closed it.
    proxy.refuse();
    let taken = RawClient::resume(server.addr(), &RawSession::by_id_alone(id.get(), LASTING))?;
    taken.close()?;
    proxy.accept()?;
    assert_eq!(soon("the leader is told", leadership.lost()).await?, LostReason::SessionExpired);
    Ok(())
}

/// Its requests are refused; but it was let in, which costs the leader its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_sasl_is_required_a_stranger_takes_the_connection_and_no_more() -> TestResult {
    let server = demanding()?;
    let proxy = Proxy::to(server.addr())?;
    let client =
        builder(&proxy.connect_string(), BOB).session_timeout(OUTLASTS_EACH_WAIT).connect().await?;
    let (mut nomination, _) = stand(&client)?;
    let leadership = leads(&mut nomination).await?;
    let (id, mut connection) = (session(&client), client.connection_updates());

    // So that the leader's client does not take its session back before the stranger is answered.
    proxy.refuse();
    let mut taken =
        RawClient::resume(server.addr(), &RawSession::by_id_alone(id.get(), OUTLASTS_EACH_WAIT))?;
    let refused = taken.request(Opcode::CLOSE_SESSION, &[]);
    assert!(
        matches!(refused, Err(RawError::Refused { code: SASL_IS_REQUIRED, .. })),
        "{refused:?}"
    );
    let suspended = |state: &ConnectionState| matches!(state, ConnectionState::Suspended { .. });
    soon("the connection is lost", connection.wait_for(suspended)).await??;
    proxy.accept()?;
    let connected = |state: &ConnectionState| matches!(state, ConnectionState::Connected { .. });
    soon("it is made again", connection.wait_for(connected)).await??;
    assert_eq!(session(&client), id);
    assert!(leadership.is_valid());
    Ok(())
}

/// The handshake sets the session's timeout, and no identity is asked for before: while the leader is
/// cut off, a stranger has its session expire long before the lease ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_sasl_is_required_a_stranger_still_shortens_a_session() -> TestResult {
    let server = demanding()?;
    let proxy = Proxy::to(server.addr())?;
    let client =
        builder(&proxy.connect_string(), BOB).session_timeout(OUTLASTS_EACH_WAIT).connect().await?;
    let (mut nomination, path) = stand(&client)?;
    let leadership = leads(&mut nomination).await?;
    let (candidate, id) = (format!("{path}/{}", leadership.candidate()), session(&client));
    let admin = builder(&server.connect_string(), BOB).connect().await?;

    proxy.refuse();
    proxy.cut();
    let shortest = RawSession::by_id_alone(id.get(), Duration::from_millis(1));
    drop(RawClient::resume(server.addr(), &shortest)?);
    let gone = async || Ok::<_, TestFailure>(admin.exists(&candidate).await?.is_none());
    eventually_async(SOON, "the candidate is gone", async || gone().await.is_ok_and(|gone| gone))
        .await?;
    assert!(leadership.is_valid(), "and the former leader cannot know");
    Ok(())
}

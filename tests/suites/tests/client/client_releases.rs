//! The operations of a client on a server of an older release, and the errors of those that the
//! server does not know.
//!
//! The rest of the suite takes 3.6 for granted; this runs down to 3.4.

use election_tokio::ensemble::ServerVersion;
use election_tokio::watch::EventType;
use election_tokio::{
    Client, ConnectionState, CreateMode, Error, ErrorKind, OperationOutcome, SessionId,
    TransactionError, Version,
};
use zk_test_kit::election::{ELECTION, LASTING, connect, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    an_operation_is_there_or_named_with_its_release,
    what_came_with_3_4_goes_everywhere,
    one_shot_watches_go_everywhere,
    nominations_lead_everywhere;
}

async fn client(server: ServerKind, label: &str) -> Result<Client, TestFailure> {
    let server = server.shared()?;
    let chroot = server.fresh_chroot(label)?;
    connect(&format!("{}{chroot}", server.connect_string()), LASTING).await
}

/// Creates without `create2`.
async fn create(client: &Client, path: &str) -> Result<(), TransactionError> {
    let created = client.transaction().create(path, "", CreateMode::Persistent).commit().await?;
    assert_eq!(created, [OperationOutcome::Created(path.to_owned())]);
    Ok(())
}

/// Wants success of an operation from servers since this release, and its name from older ones.
///
/// What a server does not know costs the connection, and with it what was asked next.
async fn came_with(
    since: ServerVersion,
    release: ServerVersion,
    mut operation: impl AsyncFnMut() -> Result<(), Error>,
) -> TestResult {
    let mut outcome = Ok(());
    eventually_async(SOON, "the operation is answered", async || {
        outcome = operation().await.map_err(|error| error.kind());
        !matches!(outcome, Err(ErrorKind::ConnectionLoss | ErrorKind::NotConnected))
    })
    .await?;
    let expected = if release >= since { Ok(()) } else { Err(ErrorKind::Unsupported { since }) };
    assert_eq!(outcome, expected, "{release} and what came with {since}");
    Ok(())
}

fn session(client: &Client) -> Option<SessionId> {
    match client.connection_updates().latest() {
        ConnectionState::Connected { session, .. } => Some(session),
        _ => None,
    }
}

async fn an_operation_is_there_or_named_with_its_release(server: ServerKind) -> TestResult {
    let release = server.shared()?.release()?;
    let client = client(server, "since").await?;
    let before = session(&client);
    came_with(ServerVersion::new(3, 5, 1), release, async || {
        client.create("/container", "", CreateMode::Container).await.map(drop)
    })
    .await?;
    let since = ServerVersion::new(3, 6, 0);
    came_with(since, release, async || client.get_ephemerals("/").await.map(drop)).await?;
    came_with(since, release, async || client.get_all_children_number("/").await.map(drop)).await?;
    came_with(since, release, async || {
        client.multi_read().get_children("/").send().await.map(drop)
    })
    .await?;
    let since = ServerVersion::new(3, 7, 0);
    came_with(since, release, async || client.who_am_i().await.map(drop)).await?;
    eventually_async(SOON, "the session goes on", async || session(&client) == before).await?;
    assert!(before.is_some());
    Ok(())
}

async fn what_came_with_3_4_goes_everywhere(server: ServerKind) -> TestResult {
    let client = client(server, "everywhere").await?;
    let created = client.create("/a", "", CreateMode::Persistent).await?;
    assert_eq!((&*created.path, client.exists("/a").await?), ("/a", Some(created.stat)));
    let stat = client.set_data("/a", "one", Version::new(0)).await?;
    let (data, read) = client.get_data("/a").await?;
    assert_eq!((&*data, read), (&b"one"[..], stat));
    let error = client.set_data("/a", "two", Version::new(0)).await.expect_err("it is 1");
    assert_eq!(error.to_string(), "setData /a: BadVersion");

    let both = client.transaction().check("/a", Version::new(1));
    let both = both.create("/a/n-", "", CreateMode::EphemeralSequential).commit().await?;
    let path = "/a/n-0000000000".to_owned();
    assert_eq!(both, [OperationOutcome::Checked, OperationOutcome::Created(path)]);
    let refused = client.transaction().delete("/a/n-0000000000", Version::ANY);
    let refused =
        refused.check("/none", Version::ANY).commit().await.expect_err("there is no such znode");
    assert!(matches!(refused, TransactionError::Refused { index: 1, .. }), "{refused}");
    let names: Vec<_> = client.get_children("/a").await?.iter().map(str::to_owned).collect();
    assert_eq!(names, ["n-0000000000"]);

    client.sync("/a").await?;
    assert_eq!(client.get_acl("/a").await?.iter().count(), 1);
    assert_eq!(client.delete_tree("/a").await?, 2);
    assert_eq!(client.exists("/a").await?, None);
    soon("the session is closed", client.close()).await??;
    Ok(())
}

async fn one_shot_watches_go_everywhere(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let proxy = Proxy::to(server.addr())?;
    let chroot = server.fresh_chroot("watches")?;
    let client = connect(&format!("{}{chroot}", proxy.connect_string()), LASTING).await?;
    let beside = connect(&format!("{}{chroot}", server.connect_string()), LASTING).await?;
    create(&client, "/a").await?;
    let (_, _, data) = client.get_data_and_watch("/a").await?;
    let (_, children) = client.get_children_and_watch("/a").await?;
    let (none, existence) = client.exists_and_watch("/b").await?;
    assert_eq!(none, None);
    beside.set_data("/a", "one", Version::ANY).await?;
    assert_eq!(soon("the data", data).await??.kind, EventType::NODE_DATA_CHANGED);

    // The others are set again on the next connection, and one of them has something to report.
    proxy.refuse();
    proxy.cut();
    create(&beside, "/a/b").await?;
    proxy.accept()?;
    assert_eq!(soon("the children", children).await??.kind, EventType::NODE_CHILDREN_CHANGED);
    create(&beside, "/b").await?;
    assert_eq!(soon("the znode", existence).await??.kind, EventType::NODE_CREATED);
    Ok(())
}

/// Before 3.5 by `create`, which tells no metadata: the token comes from a look.
async fn nominations_lead_everywhere(server: ServerKind) -> TestResult {
    let client = client(server, "nomination").await?;
    let mut first = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut first).await?;
    let mut second = client.election(ELECTION).nominate()?;
    leadership.transaction().create("/led", "", CreateMode::Persistent).commit().await?;
    let token = leadership.token();
    soon("it resigns", leadership.resign()).await??;
    assert!(leads(&mut second).await?.token() > token);
    Ok(())
}

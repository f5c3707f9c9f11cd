//! Leases of sessions of which ZooKeeper remembers a shorter timeout than it grants: a server that
//! restarts, or a new leader of an ensemble, starts the clock of a session with the timeout that the
//! session was created with, and what later handshakes granted is forgotten.
//!
//! Each time the leader's client is cut off, and its heir's is not.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use alloc::sync::Arc;
use core::time::Duration;
use std::fs;

use election_tokio::election::{Leadership, Nomination, OnLoss};
use election_tokio::session::IfGone;
use election_tokio::{Client, ClientBuilder, ConnectionState, SessionId};
use tokio::sync::Mutex;
use zk_test_kit::election::{ELECTION, LASTING, connect, follows_this, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::{Claim, Watchers};
use zk_test_kit::proxy::Proxy;
use zk_test_kit::wait::SOON;
use zk_test_kit::zookeeper::{Ensemble, Member, Options, Server};

/// One at a time: servers are heavy.
static ALONE: Mutex<()> = Mutex::const_new(());

/// The timeout that the session is created with, and that the servers remember.
const FIRST: Duration = Duration::from_secs(3);

/// The timeout that the session is granted later.
const LATER: Duration = Duration::from_secs(20);

/// How long the heir may take: a start or an election among servers, and the timeout.
const PATIENCE: Duration = Duration::from_secs(90);

/// How often a session may die of a slow machine before anything was shown.
const TRIES: usize = 5;

/// A leader by way of a proxy, and its heir beside it.
struct Scene {
    way: Proxy,
    _old: Client,
    _nomination: Nomination,
    leadership: Arc<Leadership>,
    _new: Client,
    heir: Nomination,
}

impl Scene {
    async fn set(way: Proxy, old: Client, heirs_servers: &str) -> Result<Self, TestFailure> {
        let mut nomination = old.election(ELECTION).on_loss(OnLoss::End).nominate()?;
        let leadership = Arc::new(leads(&mut nomination).await?);
        let new = connect(heirs_servers, 2 * LASTING).await?;
        new.sync(ELECTION).await?;
        let heir = new.election(ELECTION).nominate()?;
        if leadership.is_valid() {
            follows_this(&heir, leadership.candidate()).await?;
        }
        Ok(Self { way, _old: old, _nomination: nomination, leadership, _new: new, heir })
    }

    /// Cuts the leader off, lets the servers forget, and waits for the heir: the leader has
    /// stopped by its own clock when the heir starts.
    async fn play(mut self, forget: impl FnOnce() -> TestResult) -> TestResult {
        let mut watchers = Watchers::new();
        watchers.watch("old", Arc::clone(&self.leadership));
        self.way.refuse();
        self.way.cut();
        forget()?;
        let successor = tokio::time::timeout(PATIENCE, self.heir.elected()).await??;
        let claims = [Claim::ask("new", &successor), Claim::ask("old", &self.leadership)];
        let successor = Arc::new(successor);
        watchers.watch("new", Arc::clone(&successor));
        soon("the old leadership is lost", self.leadership.lost()).await?;
        let mut history = watchers.finish();
        history.extend(claims.into_iter().flatten());
        let tenures = history.tenures()?;
        assert!(tenures.iter().any(|tenure| tenure.nominee == "new"), "{tenures:?}");
        Ok(())
    }
}

fn builder(way: &Proxy) -> ClientBuilder {
    Client::builder(&way.connect_string()).connect_timeout(SOON)
}

/// Returns a session that was created with the shorter timeout, and handed over to another client
/// that asks for the longer one.
async fn handed_over(way: &Proxy) -> Result<Client, TestFailure> {
    for _ in 0..TRIES {
        let first = builder(way).session_timeout(FIRST).connect().await?;
        let resuming = builder(way).resume(first.detach()?, IfGone::Fail).session_timeout(LATER);
        if let Ok(client) = resuming.connect().await {
            return Ok(client);
        }
    }
    panic!("no session of {FIRST:?} lasted until it was resumed, in {TRIES} tries");
}

fn follower(ensemble: &Ensemble) -> Result<Member, TestFailure> {
    let leader = ensemble.wait_for_leader(SOON)?;
    Ok(Member::ALL.into_iter().find(|member| *member != leader).expect("two are not the leader"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_hand_over_zookeepers_new_leader_remembers_the_first_timeout() -> TestResult {
    let _alone = ALONE.lock().await;
    let ensemble = Options::new().start_ensemble()?;
    let way = Proxy::to(ensemble.member(follower(&ensemble)?).addr())?;
    let old = handed_over(&way).await?;
    let scene = Scene::set(way, old, &ensemble.connect_string()).await?;
    let leader = ensemble.wait_for_leader(SOON)?;
    scene.play(|| Ok(ensemble.member(leader).kill()?)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_hand_over_a_restarted_server_remembers_the_first_timeout() -> TestResult {
    let _alone = ALONE.lock().await;
    let server = Options::new().start_server()?;
    let way = Proxy::to(server.addr())?;
    let old = handed_over(&way).await?;
    let scene = Scene::set(way, old, &server.connect_string()).await?;
    scene.play(|| Ok(server.restart()?)).await
}

/// Without any hand-over: the client asks for the longer timeout all the time, and the server's
/// bound, which an operator raises, is what kept it short at first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_its_bound_was_raised_a_restarted_server_remembers_the_first_timeout() -> TestResult {
    let _alone = ALONE.lock().await;
    for _ in 0..TRIES {
        let server = Options::new().max_session_timeout(FIRST).start_server()?;
        let way = Proxy::to(server.addr())?;
        let old = builder(&way).session_timeout(LATER).connect().await?;
        let (session, granted) = granted(&old, |_| true).await?;
        assert_eq!(granted, FIRST);
        raise_bound(&server)?;
        let (now, _) = self::granted(&old, |timeout| timeout == LATER).await?;
        if now != session {
            continue;
        }
        let scene = Scene::set(way, old, &server.connect_string()).await?;
        return scene.play(|| Ok(server.restart()?)).await;
    }
    panic!("no session of {FIRST:?} outlived the restart of its server, in {TRIES} tries");
}

fn raise_bound(server: &Server) -> TestResult {
    let path = server.folder().join("zoo.cfg");
    let [low, high] =
        [FIRST, LATER].map(|bound| format!("maxSessionTimeout={}", bound.as_millis()));
    let config = fs::read_to_string(&path)?;
    assert!(config.contains(&low), "{config}");
    fs::write(&path, config.replace(&low, &high))?;
    Ok(server.restart()?)
}

/// Waits until the client has a session with such a timeout.
async fn granted(
    client: &Client,
    wanted: impl Fn(Duration) -> bool,
) -> Result<(SessionId, Duration), TestFailure> {
    let mut connection = client.connection_updates();
    let state = connection.wait_for(
        |state| matches!(state, ConnectionState::Connected { timeout, .. } if wanted(*timeout)),
    );
    match soon("the client is connected", state).await? {
        Ok(ConnectionState::Connected { session, timeout, .. }) => Ok((session, timeout)),
        other => panic!("connected, and not {other:?}"),
    }
}

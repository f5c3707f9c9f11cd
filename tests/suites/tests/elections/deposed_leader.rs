//! A client's conduct at a deposed leader: a member that ZooKeeper's other two have left, that does
//! not know it yet, and that answers `sync` and lists without asking another member.
//!
//! The client's creation was done by the new leader, and the reply was lost.

use core::future::Future;
use core::time::Duration;

use election_tokio::election::Role;
use election_tokio::lease::LeaseGrade;
use election_tokio::{Client, ConnectionState, CreateMode, Error, ErrorKind};
use tokio::sync::Mutex;
use zk_test_kit::election::{ELECTION, connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::proxy::{Counters, Cut, FrameKind, Opcode, Proxy};
use zk_test_kit::wait::{SOON, eventually, eventually_async};
use zk_test_kit::zookeeper::{LinkedEnsemble, Member, Mode, Options};

/// One at a time: an ensemble is heavy.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Ticks of 200 ms: the deposed leader goes on serving for 20 s, unless it is let out of its
/// isolation.
const SYNC_LIMIT: u32 = 100;

/// Longer than a deposed leader serves.
const TIMEOUT: Duration = Duration::from_secs(40);

/// How often a machine may be too slow to reach the deposed leader while it serves.
const TRIES: usize = 3;

/// An ensemble with a leader and a deposed one, and a client that goes where its way leads.
struct Scene {
    ensemble: LinkedEnsemble,
    deposed: Member,
    leader: Member,
    way: Proxy,
    client: Client,
    /// A client of the new leader.
    admin: Client,
}

impl Scene {
    /// Leaves the client without a connection.
    async fn set() -> Result<Self, TestFailure> {
        let ensemble = Options::new().sync_limit(SYNC_LIMIT).start_linked_ensemble()?;
        let members = ensemble.ensemble();
        eventually(SOON, "two members follow the third", || {
            members.leader().is_some() && members.followers().len() == 2
        })?;
        let deposed = members.wait_for_leader(SOON)?;
        let way = Proxy::to(members.member(deposed).addr())?;
        // A `sync` would be answered by the new leader, and by that transaction the client would know
        // the deposed one to be behind.
        let client = Client::builder(&way.connect_string())
            .session_timeout(TIMEOUT)
            .lease_grade(LeaseGrade::Contact)
            .connect_timeout(SOON)
            .connect()
            .await?;
        client.create(ELECTION, "", CreateMode::Persistent).await?;
        way.refuse();
        way.cut();
        ensemble.desert(deposed);
        let mut leader = None;
        eventually(SOON, "the others have a new leader", || {
            let mut others = Member::ALL.into_iter().filter(|member| *member != deposed);
            leader = others
                .find(|other| members.member(*other).mode().is_ok_and(|mode| mode == Mode::Leader));
            leader.is_some()
        })?;
        let leader = leader.expect("it was found");
        let admin = connect(&members.member(leader).connect_string(), TIMEOUT).await?;
        way.set_target(members.member(leader).addr());
        Ok(Self { ensemble, deposed, leader, way, client, admin })
    }

    /// Lets the client in to the new leader, by one connection, which is cut instead of the reply to
    /// the first creation.
    async fn lose_the_reply<F: Future>(&self, creation: F) -> Result<F::Output, TestFailure> {
        let accepted = self.way.counters().accepted;
        let [create, create2] = [Opcode::CREATE, Opcode::CREATE2]
            .map(|opcode| self.way.cut_when(Cut::instead_of_reply_to(opcode)));
        self.way.accept()?;
        self.way.wait_for(SOON, "the client calls", |now| now.accepted > accepted)?;
        self.way.refuse();
        let output = soon("the creation is sent", creation).await?;
        eventually_async(SOON, "the reply is lost", async || {
            [&create, &create2].into_iter().any(|cut| cut.cut_connection().is_some())
        })
        .await?;
        create.cancel();
        create2.cancel();
        // A second connection may have been let in before the door was shut.
        self.way.cut();
        Ok(output)
    }

    /// Lets the client in to the deposed leader, if that takes it; gives the writes that were sent
    /// before.
    async fn go_to_the_deposed(&self) -> Result<Option<u64>, TestFailure> {
        self.way.set_target(self.ensemble.ensemble().member(self.deposed).addr());
        let answers = |counters: &Counters| counters.passed(FrameKind::ConnectResponse);
        let (before, sent) = (answers(&self.way.counters()), writes(&self.way.counters()));
        self.way.accept()?;
        let mut over = false;
        eventually_async(SOON, "the deposed leader answers, or is none any more", async || {
            let mode = self.ensemble.ensemble().member(self.deposed).mode();
            over = !mode.is_ok_and(|mode| mode == Mode::Leader);
            over || answers(&self.way.counters()) > before
        })
        .await?;
        Ok((answers(&self.way.counters()) > before).then_some(sent))
    }

    /// Waits until it is done, or a write waits for a quorum, which is what would show that
    /// something is absent; in that case lets the deposed leader find the others, upon which the
    /// client goes to the new one.
    async fn until_decided(&self, sent: u64, done: impl Fn() -> bool) -> TestResult {
        eventually_async(SOON, "the client has decided, or asks a quorum", async || {
            done() || writes(&self.way.counters()) > sent
        })
        .await?;
        if !done() {
            self.way.set_target(self.ensemble.ensemble().member(self.leader).addr());
            self.ensemble.reunite(self.deposed);
        }
        Ok(())
    }
}

fn writes(counters: &Counters) -> u64 {
    let writes = [Opcode::CREATE, Opcode::CREATE2, Opcode::DELETE, Opcode::SET_DATA, Opcode::MULTI];
    writes.map(|opcode| counters.requests(opcode)).into_iter().sum()
}

async fn is_connected(client: &Client) -> TestResult {
    let mut connection = client.connection_updates();
    let connected = connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. }));
    assert!(soon("the client is connected", connected).await?.is_ok());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_withdraws_there_leaves_no_candidate() -> TestResult {
    let _alone = ALONE.lock().await;
    for _ in 0..TRIES {
        let scene = Scene::set().await?;
        let nomination = scene.client.election(ELECTION).nominate()?;
        scene.lose_the_reply(async {}).await?;
        assert_eq!(scene.admin.get_children(ELECTION).await?.iter().count(), 1, "it was done");
        let mut status = nomination.updates();
        let withdrawal = tokio::spawn(nomination.withdraw());
        let leaving = status.wait_for(|status| status.role == Role::Leaving);
        assert!(soon("the nominee is told to leave", leaving).await?.is_ok());
        let Some(sent) = scene.go_to_the_deposed().await? else {
            continue;
        };
        scene.until_decided(sent, || withdrawal.is_finished()).await?;
        let departure = soon("the nominee has withdrawn", withdrawal).await???;
        let left: Vec<_> =
            scene.admin.get_children(ELECTION).await?.iter().map(str::to_owned).collect();
        assert!(left.is_empty(), "{departure:?}, and there stands {left:?}");
        return Ok(());
    }
    panic!("the deposed leader never took the client, in {TRIES} tries");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_deletes_its_ephemerals_there_leaves_none() -> TestResult {
    const ORPHAN: &str = "/orphan";
    let _alone = ALONE.lock().await;
    for _ in 0..TRIES {
        let scene = Scene::set().await?;
        let client = scene.client.clone();
        let creation = async {
            is_connected(&client).await?;
            Ok::<_, TestFailure>(client.create(ORPHAN, "", CreateMode::Ephemeral).await)
        };
        let created = scene.lose_the_reply(creation).await??;
        assert_eq!(created.map_err(|error| error.kind()), Err(ErrorKind::ConnectionLoss));
        assert!(scene.admin.exists(ORPHAN).await?.is_some(), "it was done");
        let Some(sent) = scene.go_to_the_deposed().await? else {
            continue;
        };
        let deletion = tokio::spawn(delete_ephemerals(scene.client.clone()));
        scene.until_decided(sent, || deletion.is_finished()).await?;
        let deleted = soon("the deletion is over", deletion).await???;
        let left = scene.admin.exists(ORPHAN).await?;
        assert_eq!(left, None, "{deleted:?} were deleted, and there it stands");
        return Ok(());
    }
    panic!("the deposed leader never took the client, in {TRIES} tries");
}

/// Deletes the session's ephemeral znodes; tries until it succeeds.
async fn delete_ephemerals(client: Client) -> Result<Vec<String>, Error> {
    let mut connection = client.connection_updates();
    loop {
        // Of a client that is closed instead, the deletion tells.
        drop(connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. })).await);
        match client.delete_ephemerals("/", |_| true).await {
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionLoss | ErrorKind::NotConnected) => {}
            deleted => return deleted,
        }
    }
}

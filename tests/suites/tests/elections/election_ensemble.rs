//! Elections on an ensemble of three that loses members, ZooKeeper's own leader too.

use alloc::sync::Arc;
use core::time::Duration;

use election_tokio::election::{Leadership, Nomination, Role};
use election_tokio::{Client, ErrorKind, Token, TransactionError};
use tokio::sync::Mutex;
use zk_test_kit::election::{ELECTION, connect, follows, follows_this, leads, reaches, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::Watchers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{Ensemble, Member, Options};

/// A session outlasts the time that an ensemble takes to elect its leader on a busy machine.
const LASTING: Duration = Duration::from_secs(40);

/// One at a time: an ensemble is heavy.
static ALONE: Mutex<()> = Mutex::const_new(());

/// An ensemble, and for one client a way to each of its members.
struct Bench {
    ensemble: Ensemble,
    ways: [(Member, Proxy); 3],
}

impl Bench {
    fn new() -> Result<Self, TestFailure> {
        let ensemble = Options::new().start_ensemble()?;
        let way = |member| Ok((member, Proxy::to(ensemble.member(member).addr())?));
        let [first, second, third] = Member::ALL.map(way);
        let ways: [std::io::Result<_>; 3] = [first, second, third];
        let [first, second, third] = ways;
        Ok(Self { ways: [first?, second?, third?], ensemble })
    }

    fn servers_by_ways(&self) -> String {
        let ways = self.ways.each_ref();
        ways.map(|(_, proxy)| proxy.connect_string()).join(",")
    }

    /// Returns the member that the client is connected to.
    fn connected(&self) -> Option<Member> {
        let mut ways = self.ways.iter();
        ways.find_map(|(member, proxy)| (!proxy.connections().is_empty()).then_some(*member))
    }

    /// Cuts the client off, or lets it in again everywhere but at `left_out`.
    fn cut_off(&self) {
        for (_, proxy) in &self.ways {
            proxy.refuse();
            proxy.cut();
        }
    }

    fn let_in_except(&self, left_out: Member) -> TestResult {
        for (member, proxy) in &self.ways {
            if *member != left_out {
                proxy.accept()?;
            }
        }
        Ok(())
    }
}

async fn resumes(nomination: &Nomination, token: Token) -> TestResult {
    reaches(nomination, "the leader resumes", |status| {
        matches!(status.role, Role::Leading { token: resumed } if resumed == token).then_some(())
    })
    .await?;
    Ok(())
}

/// The member that a leader is connected to dies. The leader goes on at another one, with its
/// token, and hands over when it resigns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_moves_when_its_member_dies() -> TestResult {
    let _alone = ALONE.lock().await;
    let bench = Bench::new()?;
    let client = connect(&bench.servers_by_ways(), LASTING).await?;
    let mut leader = client.election(ELECTION).nominate()?;
    let leadership = Arc::new(leads(&mut leader).await?);
    let beside = connect(&bench.ensemble.connect_string(), LASTING).await?;
    let mut follower = beside.election(ELECTION).nominate()?;
    follows_this(&follower, leadership.candidate()).await?;
    let mut watchers = Watchers::new();
    watchers.watch("leader", Arc::clone(&leadership));

    let died = bench.connected().expect("the leader is connected");
    bench.ensemble.member(died).kill()?;
    eventually_async(SOON, "the leader has moved", async || {
        bench.connected().is_some_and(|member| member != died)
    })
    .await?;
    resumes(&leader, leadership.token()).await?;
    assert!(leadership.is_valid());
    let (own, predecessor) = follows(&follower).await?;
    assert_eq!(&predecessor, leadership.candidate());

    soon("the leader has resigned", leader.withdraw()).await??;
    let successor = Arc::new(leads(&mut follower).await?);
    watchers.watch("follower", Arc::clone(&successor));
    assert_eq!(successor.candidate(), &own);
    let tenures = watchers.finish().tenures()?;
    assert!(tenures.iter().any(|tenure| tenure.nominee == "leader"));
    Ok(())
}

/// A follower is cut off, its predecessor goes, and it comes back by another member, which may lag:
/// it leads, and nothing of it is doubled (CURATOR-264).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_comes_back_elsewhere_finds_its_predecessor_gone() -> TestResult {
    let _alone = ALONE.lock().await;
    let bench = Bench::new()?;
    let beside = connect(&bench.ensemble.connect_string(), LASTING).await?;
    let client = connect(&bench.servers_by_ways(), LASTING).await?;
    let mut last: Option<Token> = None;
    for _ in 0..3 {
        let mut leader = beside.election(ELECTION).nominate()?;
        let leadership = leads(&mut leader).await?;
        assert!(Some(leadership.token()) > last);
        let mut follower = client.election(ELECTION).nominate()?;
        follows_this(&follower, leadership.candidate()).await?;
        let member = bench.connected().expect("the follower is connected");
        bench.cut_off();
        reaches(&follower, "it has no connection", |status| {
            (status.role == Role::Connecting).then_some(())
        })
        .await?;
        soon("the leader has resigned", leadership.resign()).await??;
        bench.let_in_except(member)?;
        let successor = leads(&mut follower).await?;
        assert_ne!(bench.connected(), Some(member));
        assert!(successor.is_valid());
        last = Some(successor.token());
        let candidates = beside.election(ELECTION);
        beside.sync(ELECTION).await?;
        assert_eq!(candidates.candidates().await?.len(), 1);
        soon("the successor has resigned", successor.resign()).await??;
        beside.sync(ELECTION).await?;
    }
    Ok(())
}

/// A leader confirms by way of any member, and of none once there is no quorum: it has not lost its
/// leadership then, but no member vouches for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirming_takes_a_quorum() -> TestResult {
    // No lease is to end while this runs.
    const TIMEOUT: Duration = Duration::from_secs(60);
    let _alone = ALONE.lock().await;
    let ensemble = Options::new().start_ensemble()?;
    let zookeeper_leader = ensemble.wait_for_leader(SOON)?;
    let mut leaders = Vec::new();
    for member in Member::ALL {
        let client = connect(&ensemble.member(member).connect_string(), TIMEOUT).await?;
        let mut nomination = client.election(&format!("/elections/{member:?}")).nominate()?;
        let leadership = leads(&mut nomination).await?;
        soon("the leadership is confirmed", leadership.confirm()).await??;
        leaders.push((leadership, nomination, client));
    }
    for member in Member::ALL.into_iter().filter(|member| *member != zookeeper_leader) {
        ensemble.member(member).kill()?;
    }
    for (leadership, ..) in &leaders {
        match soon("the confirmation ends", leadership.confirm()).await? {
            Err(TransactionError::Request(error)) => assert!(
                matches!(error.kind(), ErrorKind::ConnectionLoss | ErrorKind::NotConnected),
                "{error}"
            ),
            other => panic!("nothing can be known, and yet: {other:?}"),
        }
        assert!(leadership.is_valid());
    }
    Ok(())
}

const ELECTIONS: usize = 100;

fn stand_everywhere(client: &Client) -> Result<Vec<Nomination>, TestFailure> {
    let mut nominations = Vec::new();
    for number in 0..ELECTIONS {
        nominations.push(client.election(&format!("/elections/{number}")).nominate()?);
    }
    Ok(nominations)
}

async fn all_lead(nominations: &mut [Nomination]) -> Result<Vec<Leadership>, TestFailure> {
    let mut leaderships = Vec::new();
    for nomination in nominations {
        leaderships.push(leads(nomination).await?);
    }
    Ok(leaderships)
}

/// ZooKeeper's own leader dies, and all connections with it. Of 100 elections on one session each
/// keeps its leader, with the same token. When that client goes too, each gets the other one
/// (CURATOR-104).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_outlive_the_leader_of_the_ensemble() -> TestResult {
    let _alone = ALONE.lock().await;
    let ensemble = Options::new().start_ensemble()?;
    let first = connect(&ensemble.connect_string(), LASTING).await?;
    let mut leaders = stand_everywhere(&first)?;
    let leaderships = all_lead(&mut leaders).await?;
    let second = connect(&ensemble.connect_string(), LASTING).await?;
    let mut followers = stand_everywhere(&second)?;
    for follower in &followers {
        follows(follower).await?;
    }

    let zookeeper_leader = ensemble.wait_for_leader(SOON)?;
    ensemble.member(zookeeper_leader).kill()?;
    assert_ne!(ensemble.wait_for_leader(SOON)?, zookeeper_leader);
    for client in [&first, &second] {
        eventually_async(SOON, "the client is connected again", async || {
            client.sync("/elections").await.is_ok()
        })
        .await?;
    }
    for (leader, leadership) in leaders.iter().zip(&leaderships) {
        resumes(leader, leadership.token()).await?;
        assert!(leadership.is_valid());
    }
    for (follower, leadership) in followers.iter().zip(&leaderships) {
        follows_this(follower, leadership.candidate()).await?;
    }

    soon("the session is closed", first.close()).await??;
    let successors = all_lead(&mut followers).await?;
    for (successor, leadership) in successors.iter().zip(&leaderships) {
        assert!(successor.token() > leadership.token());
        assert!(successor.is_valid() && !leadership.is_valid());
    }
    Ok(())
}

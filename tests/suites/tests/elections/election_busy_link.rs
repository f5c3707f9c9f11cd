//! Leaders on a connection that is busy with other things.

use core::time::Duration;

use election_tokio::CreateMode;
use election_tokio::election::{Leadership, Role};
use futures_util::future::try_join_all;
use tokio::sync::Mutex;
use tokio::time::Instant;
use zk_test_kit::election::{Arena, ELECTION, connect, leads, reaches};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Opcode, Proxy};
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_crowd_in_one_election_asks_for_few_lists;
}

/// One at a time: these tests are the load.
static ALONE: Mutex<()> = Mutex::const_new(());

/// A round trip beside the replies has to stay well below a fifteenth of it.
const LONG: Duration = Duration::from_secs(20);

const OTHER: &str = "/other-election";

/// Does the work, and asserts that the leadership was never lost.
async fn leading<T>(
    leadership: &Leadership,
    work: impl Future<Output = Result<T, TestFailure>>,
) -> Result<T, TestFailure> {
    tokio::select! {
        biased;
        reason = leadership.lost() => panic!("the leadership is lost: {reason:?}"),
        done = work => done,
    }
}

/// Nothing overtakes on a connection: a heartbeat waits for the replies that were asked for before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_keeps_its_lease_beside_up_to_a_hundred_mebibytes_of_replies() -> TestResult {
    const LARGE: usize = 1_000_000;
    const MOST: usize = 105;
    let _alone = ALONE.lock().await;
    let arena = Arena::new(ServerKind::Apache, "replies").await?;
    let client = connect(&arena.servers(), LONG).await?;
    let paths: Vec<_> = (0..10).map(|number| format!("/large-{number}")).collect();
    for path in &paths {
        arena.admin.create(path, vec![b'x'; LARGE], CreateMode::Persistent).await?;
    }
    let mut nomination = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;
    // By then, the proof that came before the reads has run out.
    let end = Instant::now() + LONG;
    // As many at once as a heartbeat may wait for: on a quick machine a hundred mebibytes.
    let mut at_once = 8;
    leading(&leadership, async {
        while Instant::now() < end {
            let began = Instant::now();
            let paths = paths.iter().cycle().take(at_once);
            let replies = try_join_all(paths.map(|path| client.get_data(path))).await?;
            assert!(replies.iter().all(|(data, _)| data.len() == LARGE));
            at_once = match began.elapsed() {
                quick if quick < LONG / 60 => (at_once * 2).min(MOST),
                slow if slow > LONG / 15 => (at_once / 2).max(1),
                _ => at_once,
            };
        }
        Ok(())
    })
    .await
}

/// Lists come as replies: few of them are on their way at once, however many elections there are. Here
/// they have 24 MB, again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_keeps_its_lease_beside_a_hundred_mebibytes_of_lists() -> TestResult {
    const NAME: usize = 950_000;
    const ELECTIONS: usize = 25;
    let _alone = ALONE.lock().await;
    let arena = Arena::new(ServerKind::Apache, "lists").await?;
    let elections: Vec<_> = (0..ELECTIONS).map(|number| format!("/election-{number}")).collect();
    for path in &elections {
        arena.admin.create(path, "", CreateMode::Persistent).await?;
        let child = format!("{path}/{}", "x".repeat(NAME));
        arena.admin.create(&child, "", CreateMode::Persistent).await?;
    }
    let client = connect(&arena.servers(), LONG).await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;
    let end = Instant::now() + LONG;
    leading(&leadership, async {
        while Instant::now() < end {
            let nominations = elections.iter().map(|path| client.election(path).nominate());
            for mut nomination in nominations.collect::<Result<Vec<_>, _>>()? {
                leads(&mut nomination).await?;
            }
        }
        Ok(())
    })
    .await
}

/// A list that is on its way serves all nominees of the client in its election: a thousand that stand
/// at once do not ask for a thousand lists of a thousand candidates, behind which heartbeats wait.
async fn a_crowd_in_one_election_asks_for_few_lists(server: ServerKind) -> TestResult {
    const CROWD: u64 = 1_000;
    let _alone = ALONE.lock().await;
    let arena = Arena::new(server, "crowd").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), LONG).await?;
    let mut nomination = client.election(OTHER).nominate()?;
    let leadership = leads(&mut nomination).await?;
    leading(&leadership, async {
        let crowd = (0..CROWD).map(|_| client.election(ELECTION).nominate());
        let crowd: Vec<_> = crowd.collect::<Result<_, _>>()?;
        for nomination in &crowd {
            reaches(nomination, "it has a place", |status| {
                matches!(status.role, Role::Leading { .. } | Role::Following { .. }).then_some(())
            })
            .await?;
        }
        Ok(())
    })
    .await?;
    let counters = proxy.counters();
    let lists = [Opcode::GET_CHILDREN, Opcode::GET_CHILDREN2].map(|list| counters.requests(list));
    let lists: u64 = lists.into_iter().sum();
    println!("{lists} lists for {CROWD} nominees");
    assert!(20 * lists <= CROWD, "{lists} lists for {CROWD} nominees");
    Ok(())
}

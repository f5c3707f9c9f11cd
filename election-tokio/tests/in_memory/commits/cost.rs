//! The requests of a two-phase commit to a server.

use election_tokio::CreateMode;
use election_tokio::commit::Decision;
use zk_jute::OpCode;

use super::{begun, joined, soon, tx, waits};
use crate::server::{Server, settle, wait};

/// Clients that have a session send these requests where the ancestors exist.
#[tokio::test(start_paused = true)]
async fn what_a_two_phase_commit_costs() {
    const LOOK: OpCode = OpCode::EXISTS;
    const LIST: OpCode = OpCode::GET_CHILDREN;
    const WATCHED: OpCode = OpCode::GET_CHILDREN2;
    const WRITE: OpCode = OpCode::MULTI;
    let server = Server::new();
    let client = server.client().await;
    client.create("/deep", "", CreateMode::Persistent).await.unwrap();
    let mut before = server.requested().len();
    let mut asked = || {
        let mut asked = server.requested().split_off(before);
        before += asked.len();
        asked.retain(|sent| *sent != OpCode::REMOVE_WATCHES);
        asked
    };
    let coordinator = begun(&client).await;
    assert_eq!(asked(), [WRITE], "begun");
    let (a, b) = joined(&client).await;
    assert_eq!(asked(), [WRITE, LIST, WRITE].repeat(2), "a quorum's commit, a list, the site");
    a.vote_commit().await.unwrap();
    assert_eq!(asked(), [LIST, WRITE], "the vote");
    let mut learning = Box::pin(a.decision());
    assert!(waits(&mut learning).await);
    assert_eq!(asked(), [LOOK], "a site that is told");
    let mut deciding = Box::pin(coordinator.decided());
    assert!(waits(&mut deciding).await);
    assert_eq!(asked(), [WATCHED], "the coordinator");
    b.vote_commit().await.unwrap();
    assert_eq!(tokio::join!(deciding, learning), (Ok(Decision::Commit), Ok(Decision::Commit)));
    assert_eq!(asked(), [LIST, WRITE, WATCHED, WRITE, LIST], "a vote, the decision, and its news");
    a.acknowledge().await.unwrap();
    b.acknowledge().await.unwrap();
    soon(coordinator.finish()).await.unwrap();
    settle().await;
    let mut ends = asked();
    ends.sort_unstable();
    let mut expected = [LIST, WRITE, WRITE, LOOK, LOOK].repeat(2);
    expected.extend([WATCHED, WRITE]);
    expected.sort_unstable();
    assert_eq!(ends, expected, "a list and the acknowledgement, a commit and two looks to leave");
}

/// Returns the number of requests from the first vote to the last news, for sites that vote one after the other; each
/// is told, or watches.
async fn requests_for(count: usize, each_watches: bool) -> usize {
    let server = Server::new();
    let client = server.client().await;
    let names: Vec<String> = (0..count).map(|number| format!("s{number}")).collect();
    let coordinator = tx(&client).begin("", &names).await.unwrap();
    let mut sites = Vec::new();
    for name in &names {
        let own = server.client().await;
        sites.push(tx(&own).join(name).await.unwrap());
    }
    let before = server.requested().len();
    let mut parties = tokio::task::JoinSet::new();
    if !each_watches {
        let coordinator = coordinator.clone();
        parties.spawn(async move { soon(coordinator.decided()).await });
    }
    for (before, site) in (0..).zip(sites) {
        parties.spawn(async move {
            wait(before).await;
            site.vote_commit().await?;
            let decided = if each_watches { site.decide().await } else { site.decision().await };
            wait(60).await;
            decided
        });
    }
    wait(30).await;
    let asked = server.requested().split_off(before);
    while let Some(decided) = parties.join_next().await {
        assert_eq!(decided.unwrap(), Ok(Decision::Commit));
    }
    asked
        .into_iter()
        .filter(|sent| *sent != OpCode::REMOVE_WATCHES && *sent != OpCode::PING)
        .count()
}

#[tokio::test(start_paused = true)]
async fn the_cost_of_a_two_phase_commit_is_linear_if_one_party_watches() {
    for count in [4, 8, 16] {
        assert_eq!(requests_for(count, false).await, 5 * count + 2, "{count} sites are told");
        let each = requests_for(count, true).await;
        // Some of them decide at the same time, and all but one are refused.
        let least = 3 * count + count * (count - 1) / 2;
        assert!((least..=least + 3 * count).contains(&each), "{count} sites watch: {each}");
    }
}

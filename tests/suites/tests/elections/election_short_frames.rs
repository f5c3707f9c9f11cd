//! Servers that take shorter requests than their clients were told. They close the connection over a
//! longer one, and say nothing.

use election_tokio::CreateMode;
use election_tokio::election::{Blocker, Nomination, Obstacle};
use election_tokio::health::NomineeHealth;
use zk_test_kit::election::{Arena, leads, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::{ServerKind, Settings};
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_candidate_that_no_server_takes_costs_no_other_election_its_leader,
    watches_that_no_server_takes_at_once_are_set_again_in_parts;
}

const MAX_FRAME: u32 = 10_000;

fn settings() -> Settings {
    Settings { max_frame: MAX_FRAME, ..Settings::default() }
}

/// The create costs a few connections, and is held back then: the nominee waits, and is blocked. The leader of
/// another election on the same client leads on.
async fn a_candidate_that_no_server_takes_costs_no_other_election_its_leader(
    server: ServerKind,
) -> TestResult {
    let server = server.start_with(&settings())?;
    let arena = Arena::on(server.addr(), "short").await?;
    let client = arena.client().await?;
    let mut leader = client.election("/other").nominate()?;
    let leadership = leads(&mut leader).await?;
    let data = vec![b'x'; 2 * usize::try_from(MAX_FRAME)?];
    let nominee = arena.client().await?.election("/own").data(data.clone()).nominate()?;
    eventually_async(SOON, "its request is held back", async || is_held_back(&nominee)).await?;
    let nominee = client.election("/own").data(data).nominate()?;
    eventually_async(SOON, "its request is held back", async || is_held_back(&nominee)).await?;
    soon("the leader leads on", async {
        while leadership.confirm().await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await?;
    assert!(leadership.is_valid(), "{:?}", leader.status());
    Ok(())
}

fn is_held_back(nominee: &Nomination) -> bool {
    let health = nominee.probe().health().nominee;
    matches!(health, NomineeHealth::Blocked { by: Blocker::Obstacle(Obstacle::HeldBack), .. })
}

async fn watches_that_no_server_takes_at_once_are_set_again_in_parts(
    server: ServerKind,
) -> TestResult {
    let server = server.start_with(&settings())?;
    let arena = Arena::on(server.addr(), "short-watches").await?;
    let proxy = Proxy::to(server.addr())?;
    let client = arena.client_by(&proxy).await?;
    let path = |number: usize| format!("/the-path-of-a-watch-{number}");
    let mut watches = Vec::new();
    for number in 0..1_000 {
        watches.push(client.exists_and_watch(&path(number)).await?.1);
    }
    proxy.cut();
    for (number, watch) in watches.into_iter().enumerate().step_by(333) {
        arena.admin.create(&path(number), "", CreateMode::Persistent).await?;
        let changed = soon("the watch fires", watch).await?;
        assert!(changed.is_ok(), "{changed:?}");
    }
    Ok(())
}

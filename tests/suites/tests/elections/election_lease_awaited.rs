//! A link that is too slow for a lease: the nominee that is next says what it waits for.

use core::time::Duration;

use election_tokio::Client;
use election_tokio::election::Role;
use zk_test_kit::election::{Arena, ELECTION, leads, reaches};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_nominee_on_a_slow_link_says_that_it_waits_for_the_lease;
}

const TIMEOUT: Duration = Duration::from_secs(4);

/// A round trip of 600 ms, which is more than a seventh of the timeout. Once it is short again, the
/// nominee leads.
async fn a_nominee_on_a_slow_link_says_that_it_waits_for_the_lease(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "slow").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    proxy.delay(Duration::from_millis(300));
    let builder = Client::builder(&arena.servers_by(&proxy)).session_timeout(TIMEOUT);
    let client = builder.connect_timeout(SOON).connect().await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let mut history = nomination.updates();
    let role = reaches(&nomination, "the nominee says that it waits for the lease", |status| {
        matches!(status.role, Role::AwaitingLease { .. }).then(|| status.role.clone())
    })
    .await?;
    println!("{role:?}");
    let announced = history.wait_for(|status| matches!(status.role, Role::Leading { .. }));
    let announced = tokio::time::timeout(2 * TIMEOUT, announced).await;
    assert!(announced.is_err(), "{announced:?}");

    proxy.delay(Duration::ZERO);
    leads(&mut nomination).await?;
    Ok(())
}

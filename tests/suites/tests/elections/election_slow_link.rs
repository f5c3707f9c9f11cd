//! Links that are nearly too slow for a lease.

use core::time::Duration;

use election_tokio::election::Role;
use election_tokio::{Client, Token};
use futures_util::future::try_join_all;
use zk_test_kit::election::Arena;
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_leader_at_the_bound_does_not_come_and_go;
}

const TIMEOUT: Duration = Duration::from_secs(8);

/// Which parts of the timeout a round trip takes: about the most that a lease bears.
const PARTS: [f64; 6] = [15.5, 16.5, 18.0, 20.0, 21.5, 23.0];

/// Leaders by way of links that are about as slow as a lease bears. Each may be announced or not; but
/// it is not announced for moments, again and again, in between of which others would lead. Once is
/// the machine's.
async fn a_leader_at_the_bound_does_not_come_and_go(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "bound").await?;
    try_join_all(PARTS.map(|part| does_not_come_and_go(server, &arena, part))).await?;
    Ok(())
}

async fn does_not_come_and_go(server: ServerKind, arena: &Arena, part: f64) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let each_way = TIMEOUT.div_f64(2.0 * part);
    proxy.delay(each_way);
    let builder = Client::builder(&arena.servers_by(&proxy)).session_timeout(TIMEOUT);
    let client = builder.connect_timeout(SOON).connect().await?;
    let nomination = client.election(&format!("/election-{part}")).nominate()?;
    let mut status = nomination.updates();
    let mut tokens: Vec<Token> = Vec::new();
    let seen = tokio::time::timeout(3 * TIMEOUT, async {
        while let Some(status) = status.next().await {
            match status.role {
                Role::Leading { token } if tokens.last() != Some(&token) => tokens.push(token),
                _ => {}
            }
        }
    });
    assert!(seen.await.is_err(), "the nomination has ended: {:?}", nomination.status());
    println!("a round trip of {:?}: {} leaderships", 2 * each_way, tokens.len());
    assert!(tokens.len() <= 2, "a round trip of {:?}: {tokens:?} by turns", 2 * each_way);
    Ok(())
}

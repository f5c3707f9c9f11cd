//! Elections over TLS.

use core::time::Duration;

use election_tokio::Client;
use election_tokio::election::LostReason;
use election_tokio::lease::LeaseGrade;
use zk_test_kit::election::{follows, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::proxy::{Directions, Proxy};
use zk_test_kit::wait::SOON;
use zk_test_kit::zookeeper::unique_path;

use crate::client_tls::stage::{
    builder, certified, client_certificate, demanding_server, secure_addr,
};

async fn nominee(proxy: &Proxy, name: &str) -> Result<Client, TestFailure> {
    let tls = certified(&client_certificate(name));
    let builder = builder(proxy.addr(), tls).session_timeout(Duration::from_secs(4));
    Ok(builder.lease_grade(LeaseGrade::Quorum).connect_timeout(SOON).connect().await?)
}

/// The leader falls silent: it stops leading by itself, and the next one leads with a greater token.
/// Then that one resigns, and the first, healed, leads again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_fail_over_and_resign() -> TestResult {
    let server = secure_addr(demanding_server());
    let proxies = [Proxy::opaque_to(server)?, Proxy::opaque_to(server)?];
    let election = unique_path("tls-election");
    let one = nominee(&proxies[0], "one").await?;
    let mut first = one.election(&election).nominate()?;
    let leadership = leads(&mut first).await?;
    let two = nominee(&proxies[1], "two").await?;
    let mut second = two.election(&election).nominate()?;
    follows(&second).await?;

    proxies[0].black_hole(Directions::Both);
    let reason = soon("the silent leader stops", leadership.lost()).await?;
    assert!(matches!(reason, LostReason::LeaseLapsed | LostReason::SessionExpired), "{reason:?}");
    let next = leads(&mut second).await?;
    assert!(next.token() > leadership.token());
    assert!(!leadership.is_valid());

    proxies[0].heal_by_cutting();
    follows(&first).await?;
    soon("the second resigns", second.withdraw()).await??;
    let last = leads(&mut first).await?;
    assert!(last.token() > next.token());
    Ok(())
}

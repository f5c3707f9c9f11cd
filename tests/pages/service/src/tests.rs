//! The service on the embedded server, without a socket, with the clock paused.

use std::time::Duration;

use axum::http::StatusCode;
use election_tokio::Client;
use election_tokio::election::{Follow, LostReason, Role};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use crate::ledger::{Ledger, LedgerError};
use crate::memory::Memory;
use crate::web::Web;
use crate::{ELECTION, Failure, run};

async fn client(memory: &Memory) -> Result<Client, Failure> {
    Ok(Client::builder("memory").connector(memory.clone()).connect().await?)
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_session_expires_leads_again_and_its_old_token_is_refused()
-> Result<(), Failure> {
    let memory = Memory::new();
    let ledger = Ledger::open(":memory:")?;
    let nomination = client(&memory).await?.election(ELECTION).data("a").nominate()?;
    let mut status = nomination.updates();
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(run(nomination, ledger.clone(), stopped));

    let led = status.wait_for(|now| matches!(now.role, Role::Leading { .. })).await?;
    let Role::Leading { token: old } = led.role else { unreachable!() };
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(ledger.take_over(old.get())?, 3); // a report a second

    memory.expires(led.session.ok_or("a session")?);
    let leads_again = |role: &Role| matches!(role, Role::Leading { token } if *token > old);
    status.wait_for(|now| leads_again(&now.role)).await?;
    sleep(Duration::from_secs(1)).await; // it takes over
    assert!(matches!(ledger.write(old.get()), Err(LedgerError::Fenced)));

    // Told to end, it ends at once, and not when its grace is over.
    let since = Instant::now();
    drop(stop);
    run.await??;
    assert!(since.elapsed() < Duration::from_secs(2));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn no_copy_says_which_one_leads_while_it_has_no_connection() -> Result<(), Failure> {
    let memory = Memory::new();
    let client = client(&memory).await?;
    let election = client.election(ELECTION).data("a");
    let mut nomination = election.nominate()?;
    let mut observer = election.observe(Follow::Leader)?;
    let leadership = nomination.elected().await?;
    let _ = observer.wait_for(|seen| seen.leader().is_some()).await?;
    let metrics = PrometheusBuilder::new().build_recorder().handle();
    let web = Web::new(&client, nomination.probe(), observer, metrics);
    assert_eq!(web.leader(), (StatusCode::OK, format!("a token {}\n", leadership.token())));
    assert_eq!(web.readyz().0, StatusCode::OK);

    memory.goes_down();
    let lost = timeout(Duration::from_secs(10), leadership.lost()).await?;
    assert_eq!(lost, LostReason::LeaseLapsed);
    assert_eq!(web.leader().0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(web.readyz().0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(web.healthz().0, StatusCode::OK); // a restart brings no server back
    Ok(())
}

//! Makes reports on one machine at a time.

mod ledger;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod tests;
mod web;

use std::error::Error;
use std::time::Duration;
use std::{env, io};

use axum::serve;
use election_tokio::Client;
use election_tokio::election::{Cancelled, Follow, Leadership, Nomination, RunOptions};
use election_tokio::metrics::describe_metrics;
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tracing::info;

use crate::ledger::Ledger;
use crate::web::Web;

type Failure = Box<dyn Error + Send + Sync>;

const ELECTION: &str = "/reports/leader";
/// The service manager's grace: more than these three together.
const GRACE: Duration = Duration::from_secs(10);
const RESIGNATION: Duration = Duration::from_secs(5);
const CLOSE: Duration = Duration::from_secs(5);
/// The bounds of the histograms, as zkelect has them: without, there are quantiles, which do not add up.
const SECONDS: [f64; 12] =
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 600.0, 86_400.0];

#[tokio::main]
async fn main() -> Result<(), Failure> {
    tracing_subscriber::fmt().init();
    // Before the client, which counts from its beginning.
    let metrics = PrometheusBuilder::new().set_buckets(&SECONDS)?.install_recorder()?;
    describe_metrics();
    let ledger = Ledger::open(&env::var("DATABASE")?)?;

    // Does not wait for a server: probes are answered from the beginning.
    let client = Client::builder(&env::var("ZOOKEEPER")?).start()?;
    let election = client.election(ELECTION).data(env::var("NAME")?);
    let nomination = election.nominate()?;
    let observer = election.observe(Follow::Leader)?;
    let web = Web::new(&client, nomination.probe(), observer, metrics.clone());
    let listener = TcpListener::bind(env::var("HTTP")?).await?;
    info!("serves http://{}/", listener.local_addr()?);
    tokio::spawn(serve(listener, web.router()).into_future());
    tokio::spawn(async move {
        loop {
            sleep(Duration::from_secs(5)).await;
            metrics.run_upkeep();
        }
    });

    let outcome = run(nomination, ledger, shutdown()?).await;
    // Also after a failure: what is left of the session goes now, and not a session timeout later.
    let _ = timeout(CLOSE, client.close()).await;
    outcome
}

/// Stands for election until the shutdown, and works while it leads.
async fn run(nomination: Nomination, ledger: Ledger, shutdown: impl Future) -> Result<(), Failure> {
    let options = RunOptions::new().grace(GRACE).resignation(RESIGNATION);
    let work = move |leadership, cancelled| work(leadership, cancelled, ledger.clone());
    let report = nomination.run_with(options, shutdown, work).await?;
    info!("{:?} after {} terms: {:?}", report.end, report.terms.count(), report.resignation);
    report.terms.into_value().unwrap_or(Ok(()))
}

/// Writes a report a second, until the run cancels it.
async fn work(leadership: Leadership, cancelled: Cancelled, ledger: Ledger) -> Result<(), Failure> {
    let token = leadership.token().get();
    let begun = ledger.clone();
    let last = spawn_blocking(move || begun.take_over(token)).await??;
    info!("leads with token {token}, after report {last}");
    while !cancelled.is_cancelled() {
        let ledger = ledger.clone();
        // The thread goes on where the work is dropped. The fence refuses its later writes.
        spawn_blocking(move || ledger.write(token)).await??;
        let _ = timeout(Duration::from_secs(1), cancelled.wait()).await;
    }
    Ok(())
}

/// Waits for `SIGTERM`, or Ctrl-C.
fn shutdown() -> io::Result<impl Future> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

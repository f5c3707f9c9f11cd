//! Jobs that run once in a period, among clients.

use core::time::Duration;

use election_tokio::lock::LockLost;
use election_tokio::once::{Admission, Once, OnceError, OnceRun, RunState, TakeAgain};
use tokio::task::JoinSet;
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    of_many_clients_that_begin_a_job_one_runs_it,
    a_run_that_is_cut_off_is_over_before_the_next_one_begins;
}

const JOB: &str = "/jobs/nightly";

/// None of these tests takes as long.
const PERIOD: Duration = Duration::from_secs(20 * 3600);

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

/// Returns the run, if it is due.
fn run(admission: Admission) -> Option<OnceRun> {
    match admission {
        Admission::Run(run) => Some(run),
        _ => None,
    }
}

async fn of_many_clients_that_begin_a_job_one_runs_it(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "once").await?;
    let mut contenders = JoinSet::new();
    for index in 0..8 {
        let client = arena.client().await?;
        let job = client.once(JOB, PERIOD).by(format!("host-{index}"));
        contenders.spawn(async move {
            // Half of them do not wait.
            let admission = if index % 2 == 0 { job.begin().await } else { job.try_begin().await };
            match admission? {
                Admission::Run(run) => {
                    assert!(run.lock().is_valid());
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    run.succeeded().await?;
                    Ok(Some(format!("host-{index}")))
                }
                Admission::NotDue(not_due) => {
                    assert_eq!(not_due.last.state, RunState::Succeeded);
                    assert_eq!(not_due.until.duration_since(not_due.last.began).ok(), Some(PERIOD));
                    Ok(None)
                }
                _ => Ok::<_, OnceError>(None),
            }
        });
    }
    let mut runners = Vec::new();
    while let Some(ended) = soon("all have an answer", contenders.join_next()).await? {
        runners.extend(ended??);
    }
    let last = arena.admin.once(JOB, PERIOD).last().await?;
    assert_eq!(runners, last.into_iter().map(|last| last.by).collect::<Vec<_>>());
    assert_eq!(runners.len(), 1, "{runners:?}");
    Ok(())
}

async fn a_run_that_is_cut_off_is_over_before_the_next_one_begins(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "once").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let job = |client: &election_tokio::Client, by: &str| -> Once {
        client.once(JOB, PERIOD).by(by).take_again(TakeAgain::Interrupted)
    };
    let first = run(soon("it is due", job(&cut_off, "first").begin()).await??);
    let first = first.expect("it has never run");
    proxy.refuse();
    proxy.cut();
    let other = arena.client().await?;
    let next = run(soon("it is due", job(&other, "next").begin()).await??);
    let next = next.expect("the first was interrupted");
    assert!(!first.lock().is_valid(), "two run");
    let late = soon("an answer", first.succeeded()).await?;
    let is_lost = matches!(&late, Err(OnceError::Lost { lost: LockLost::LeaseLapsed, .. }));
    assert!(is_lost, "{late:?}");
    soon("it has ended", next.succeeded()).await??;
    let last = arena.admin.once(JOB, PERIOD).last().await?.expect("a run");
    assert_eq!((last.state, last.by.as_str()), (RunState::Succeeded, "next"));
    Ok(())
}

//! An ensemble of three under rolling restarts, with a frozen member, without its quorum and with
//! it again, while clients write, read, watch and stand for election on it. See
//! `zk_tests::endurance` for what has to hold.
#![forbid(unsafe_code)]

use core::ops::ControlFlow;
use core::time::Duration;
use std::env;
use std::time::Instant;

use zk_tests::endurance::archive::Diverged;
use zk_tests::endurance::faults::Fault;
use zk_tests::endurance::workload::Patience;
use zk_tests::endurance::{Summary, run};
use zk_tests::failure::TestResult;

/// How long the long form lasts, in seconds, unless `ENDURANCE_SECONDS` says so.
const LONG: u64 = 600;

/// How many ensembles are tried until the members of one agree in the end: some releases lose
/// transactions of members that are killed (see `Diverged`).
const ENSEMBLES: usize = 3;

/// Each kind of fault once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_nothing_comes_twice() -> TestResult {
    let seed = number("ENDURANCE_SEED")?.unwrap_or_else(|| fastrand::u64(..));
    println!("ENDURANCE_SEED={seed}");
    let each_once = || timed(|_, faults| faults == Fault::ALL.len());
    let mut outcome = run(seed, each_once()).await;
    for _ in 1..ENSEMBLES {
        match outcome {
            Err(failure) if failure.is::<Diverged>() => {
                println!("{failure:?}: that is none of a client's doing, so once more");
                outcome = run(seed, each_once()).await;
            }
            _ => break,
        }
    }
    let summary = outcome?;
    println!("{summary}");
    assert_struck(&summary);
    Ok(())
}

/// One round after another, for some minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: ENDURANCE_SECONDS, 600 by default"]
async fn nothing_is_lost_for_minutes() -> TestResult {
    let seed = number("ENDURANCE_SEED")?.unwrap_or_else(|| fastrand::u64(..));
    let seconds = number("ENDURANCE_SECONDS")?.unwrap_or(LONG);
    println!("ENDURANCE_SEED={seed} ENDURANCE_SECONDS={seconds}");
    let long_enough = move |elapsed: Duration, faults: usize| {
        faults.is_multiple_of(Fault::ALL.len()) && elapsed >= Duration::from_secs(seconds)
    };
    let summary = run(seed, timed(long_enough)).await?;
    println!("{summary}");
    assert_struck(&summary);
    Ok(())
}

/// Tells of each fault that is over, and ends when it is enough.
fn timed(
    mut enough: impl FnMut(Duration, usize) -> bool,
) -> impl FnMut(Fault, usize) -> ControlFlow<()> {
    let begin = Instant::now();
    move |fault, faults| {
        println!("{:>6.1} s: {fault:?} is over", begin.elapsed().as_secs_f64());
        if enough(begin.elapsed(), faults) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The faults were there: a run in which nothing happened proves nothing.
fn assert_struck(summary: &Summary) {
    let rounds = u64::try_from(summary.faults / Fault::ALL.len()).expect("few");
    for client in &summary.connections {
        // Whoever has one of three members killed under it in turn has to move.
        assert!(client.reconnects >= rounds, "{client:?}");
        match client.patience {
            // The quorum was lost for longer than that.
            Patience::Brief => assert!(client.expiries >= rounds, "{client:?}"),
            // On a machine so slow that servers take that long to start, or to elect a leader, it
            // may be for longer.
            Patience::Lasting if summary.longest_outage < client.patience.session_timeout() => {
                assert_eq!(client.expiries, 0, "{client:?}; {summary}");
            }
            Patience::Lasting => {}
        }
    }
    assert!(summary.acknowledged >= 200 && summary.events >= 50, "{summary}");
    assert!(summary.unknown > 0 && summary.watches_lost > 0, "{summary}");
    assert!(summary.changes_told >= 50 && summary.gaps > 0 && summary.views_lost > 0, "{summary}");
    assert!(summary.leaders >= 2, "{summary}");
}

fn number(variable: &str) -> Result<Option<u64>, core::num::ParseIntError> {
    env::var(variable).ok().map(|value| value.parse()).transpose()
}

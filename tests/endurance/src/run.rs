//! A whole run: its work, its faults, and its result.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::ops::ControlFlow;
use core::time::Duration;
use std::path::Path;

use election_tokio::Client;
use election_tokio::session::SilentServers;
use fastrand::Rng;
use zk_test_kit::election::LASTING;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::{Contradiction, History, Tenure};
use zk_test_kit::wait::SOON;
use zk_test_kit::zookeeper::{Ensemble, Member, Options};

use super::archive::{self, Archive};
use super::faults::{Fault, schedule};
use super::histories::{self, NotLinearizable};
use super::laws::writes::Outcome;
use super::laws::{holds, orders, reads, seals, views, vigils, writes};
use super::verdict::{self, Verdict};
use super::workload::Crew;
use super::{Record, Summary, trees};

/// A law was broken.
#[derive(Debug, thiserror::Error)]
pub enum BrokenLaw {
    /// That of what stays written.
    #[error(transparent)]
    Writes(#[from] writes::Violation),
    /// That of the order of transactions.
    #[error(transparent)]
    Orders(#[from] orders::Violation),
    /// That of what reads see.
    #[error(transparent)]
    Reads(#[from] reads::Violation),
    /// That of one-shot watches.
    #[error(transparent)]
    Vigils(#[from] vigils::Violation),
    /// That of watches that stay.
    #[error(transparent)]
    Views(#[from] views::Violation),
    /// That of guarded writes.
    #[error(transparent)]
    Seals(#[from] seals::Violation),
    /// That of locks.
    #[error(transparent)]
    Holds(#[from] holds::Violation),
    /// That of leaders.
    #[error(transparent)]
    Leaders(#[from] Contradiction),
    /// By the second verdict.
    #[error(transparent)]
    History(#[from] NotLinearizable),
}

/// Runs an ensemble with all workers at work. Faults strike, in the order that the seed decides,
/// until `after` ends the run; it hears of each fault that is over, and their number. The run
/// weighs a breach against the members' logs, and keeps them in the folder `kept` then.
///
/// # Errors
///
/// A fault: a law is broken, members differ or something is left behind, and no known defect of the
/// release explains it; or something did not get on in time.
pub async fn run(
    seed: u64,
    kept: &Path,
    after: impl FnMut(Fault, usize) -> ControlFlow<()> + Send + 'static,
) -> Result<Verdict, TestFailure> {
    let ensemble = Arc::new(Options::new().start_ensemble()?);
    let release = ensemble.member(Member::First).release()?;
    let mut record = Record::default();
    match work_and_judge(seed, &ensemble, after, &mut record).await {
        Ok(summary) => Ok(Verdict::Held(Box::new(summary))),
        Err(failure) => {
            let logs = Member::ALL.map(|member| (member, ensemble.member(member).log()));
            verdict::keep(&logs, kept)?;
            let inconclusive = verdict::weigh(&failure, &record, release, &logs, kept)?;
            Ok(Verdict::Inconclusive(Box::new(inconclusive)))
        }
    }
}

async fn work_and_judge(
    seed: u64,
    ensemble: &Arc<Ensemble>,
    after: impl FnMut(Fault, usize) -> ControlFlow<()> + Send + 'static,
    record: &mut Record,
) -> Result<Summary, TestFailure> {
    let (noted, history, mut summary) = work(seed, ensemble, after).await?;
    *record = noted;
    judge(ensemble, record, &history, &mut summary).await?;
    Ok(summary)
}

/// Runs the clients' work, under faults.
async fn work(
    seed: u64,
    ensemble: &Arc<Ensemble>,
    mut after: impl FnMut(Fault, usize) -> ControlFlow<()> + Send + 'static,
) -> Result<(Record, History, Summary), TestFailure> {
    let crew = Crew::hire(&ensemble.connect_string()).await?;
    let struck = Arc::clone(ensemble);
    let (crew, faults, outage) = tokio::task::spawn_blocking(move || {
        let faults = strike_all(seed, &struck, &crew, &mut after);
        // The failure itself may not change threads.
        faults
            .map(|(faults, outage)| (crew, faults, outage))
            .map_err(|failure| Stuck(format!("{failure:?}")))
    })
    .await??;
    let (record, history, connections) = crew.dismiss().await?;
    let mut summary = Summary::of(&record, connections);
    summary.faults = faults;
    summary.longest_outage = outage;
    Ok((record, history, summary))
}

/// Holds the ensemble and what the clients were told against each other.
async fn judge(
    ensemble: &Ensemble,
    record: &Record,
    history: &History,
    summary: &mut Summary,
) -> TestResult {
    trees::members_agree(ensemble).await?;
    // All are to serve now. On a busy machine one may be silent for long: what is in flight to it is not to be lost.
    let builder = Client::builder(&ensemble.connect_string()).session_timeout(LASTING);
    let builder = builder.silent_servers(SilentServers::Endure).connect_timeout(SOON);
    let beside = builder.connect().await?;
    let archive = Archive::read(&beside).await?;
    summary.unknown_found = unknown_found(record, &archive);
    let tenures = check(record, history, &archive)?;
    summary.leaders = tenures.len();
    summary.history = histories::history(record, &tenures, &archive);
    summary.judged = histories::check(&summary.history).map_err(BrokenLaw::from)?;
    archive::clear(&beside).await?;
    beside.close().await?;
    archive::wait_until_forgotten(ensemble).await
}

fn strike_all(
    seed: u64,
    ensemble: &Ensemble,
    crew: &Crew,
    after: &mut impl FnMut(Fault, usize) -> ControlFlow<()>,
) -> Result<(usize, Duration), TestFailure> {
    let mut rng = Rng::with_seed(seed);
    crew.wait_for_progress("at first")?;
    let (mut faults, mut outage) = (0, Duration::ZERO);
    for fault in schedule(rng.fork()) {
        outage = outage.max(fault.strike(ensemble, crew, &mut rng)?);
        faults += 1;
        if after(fault, faults).is_break() {
            break;
        }
    }
    Ok((faults, outage))
}

/// A part of the run did not get on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Stuck(String);

/// Holds all laws, and returns the leaderships.
fn check(record: &Record, history: &History, archive: &Archive) -> Result<Vec<Tenure>, BrokenLaw> {
    writes::check(&record.attempts, &archive.found)?;
    orders::check(&record.committed)?;
    reads::check(&record.sightings)?;
    vigils::check(&record.vigils)?;
    views::check(&record.views)?;
    seals::check(&archive.seals)?;
    archive.seals_of_locks.iter().try_for_each(|seals| seals::check(seals))?;
    holds::check(&record.holds)?;
    Ok(history.tenures()?)
}

fn unknown_found(record: &Record, archive: &Archive) -> usize {
    let found: BTreeSet<_> = archive.found.iter().map(|(entry, _)| *entry).collect();
    let unknown = record.attempts.iter().filter(|attempt| attempt.outcome == Outcome::Unknown);
    unknown.filter(|attempt| found.contains(&attempt.entry)).count()
}

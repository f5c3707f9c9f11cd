//! A provoked loss, which uses no code of this workspace's client. It shows whether the installed
//! release has the defect, and whether [`evidence`](super::evidence) sees it.
//!
//! A follower that was away confirms transactions before they are on its disk (ZOOKEEPER-4785), and
//! applies them. If its leader dies before the thread that writes has caught up, that thread does not
//! end with its server (ZOOKEEPER-4712): it fails on the lost connection, and drops the rest. The
//! follower goes on, with a hole on its disk, and reads that hole into its tree when it starts again.

use core::time::Duration;
use std::path::Path;
use std::time::Instant;

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::raw::{CreateMode, RawClient, RawError};
use zk_test_kit::wait::{NotInTime, eventually};
use zk_test_kit::zookeeper::{Ensemble, Member, Options};

use super::Record;
use super::trees;
use super::verdict::{self, Inconclusive};
use super::workload::ITEMS;

/// The writes that the follower misses: seconds of work for a thread that writes one at a time.
const MISSED: u32 = 3_000;
const PATIENCE: Duration = Duration::from_secs(60);
const NODE_EXISTS: i32 = -110;
const SESSION: Duration = Duration::from_secs(10);

/// Lets a follower miss something, kills the leader while the follower catches up, and the follower
/// later; then compares the members. `None` if all of them hold the same.
///
/// # Errors
///
/// Members differ, and no known defect of the release explains it; or something did not get on.
pub async fn provoke_a_loss(kept: &Path) -> Result<Option<Inconclusive>, TestFailure> {
    // Each write is on disk before the next one, so that writing takes longer than applying.
    let options = Options::new().config_line("forceSync=yes");
    let ensemble = options.system_property("zookeeper.maxBatchSize", "1").start_ensemble()?;
    let release = ensemble.member(Member::First).release()?;
    strike(&ensemble)?;
    match trees::members_agree(&ensemble).await {
        Ok(()) => Ok(None),
        Err(failure) => {
            let logs = Member::ALL.map(|member| (member, ensemble.member(member).log()));
            verdict::keep(&logs, kept)?;
            verdict::weigh(&failure, &Record::default(), release, &logs, kept).map(Some)
        }
    }
}

fn strike(ensemble: &Ensemble) -> TestResult {
    whole(ensemble)?;
    let begin = Instant::now();
    let leader = ensemble.wait_for_leader(PATIENCE)?;
    let away = ensemble.followers().into_iter().next();
    let away = away.ok_or_else(|| NotInTime::new("a member follows", PATIENCE))?;
    let mut client = RawClient::connect(ensemble.member(leader).addr(), SESSION)?;
    client.create(ITEMS, CreateMode::Persistent)?;
    client.create(&item(0), CreateMode::Persistent)?;
    ensemble.member(away).kill()?;
    for number in 1..MISSED {
        client.create(&item(number), CreateMode::Persistent)?;
    }
    println!("{:>6.1} s: {away:?} missed {MISSED} znodes", begin.elapsed().as_secs_f64());
    ensemble.member(away).restart()?;
    ensemble.member(leader).kill()?;
    let next = ensemble.wait_for_leader(PATIENCE)?;
    println!("{:>6.1} s: {leader:?} was killed, {next:?} leads", begin.elapsed().as_secs_f64());
    eventually(PATIENCE, "writes are served again", || write_more(ensemble).is_ok())?;
    ensemble.member(leader).restart()?;
    whole(ensemble)?;
    ensemble.member(away).restart()?;
    whole(ensemble)?;
    println!("{:>6.1} s: {away:?} was killed, all serve", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The new leader may have to be elected twice, and may have written some of this before.
fn write_more(ensemble: &Ensemble) -> TestResult {
    let leader = ensemble.wait_for_leader(PATIENCE)?;
    let mut client = RawClient::connect(ensemble.member(leader).addr(), SESSION)?;
    for number in MISSED..MISSED + 10 {
        match client.create(&item(number), CreateMode::Persistent) {
            Ok(_) | Err(RawError::Refused { code: NODE_EXISTS, .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn item(number: u32) -> String {
    format!("{ITEMS}/item-{number:010}")
}

fn whole(ensemble: &Ensemble) -> Result<(), NotInTime> {
    eventually(PATIENCE, "the ensemble is whole", || {
        ensemble.leader().is_some() && ensemble.followers().len() == 2
    })
}

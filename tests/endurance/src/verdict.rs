//! The verdict on a run: whether a fault is ours or ZooKeeper's.
//!
//! Some releases of ZooKeeper lose transactions. A run on such a release that breaks a law, or in which
//! members differ, is *inconclusive*, neither red nor green, if two conditions hold: the members' logs
//! show that transactions were lost there, and the breach is one that lost transactions cause. Every
//! other breach is red.

use core::fmt;
use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use zk_test_kit::failure::TestFailure;
use zk_test_kit::history::{self, Contradiction};
use zk_test_kit::zookeeper::{Member, ServerVersion};

use super::archive::{LeftBehind, Torn};
use super::evidence::{Effect, Finding, findings, log_name};
use super::laws::{holds, reads, seals, views, vigils, writes};
use super::{BrokenLaw, Diverged, Record, Summary};

/// How many findings are shown.
const SHOWN: usize = 5;

/// The verdict on a run.
#[derive(Debug)]
pub enum Verdict {
    /// Every law held: green.
    Held(Box<Summary>),
    /// The servers themselves lost transactions: neither green nor red.
    Inconclusive(Box<Inconclusive>),
}

/// The findings, and the conclusion that they take the weight from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inconclusive {
    release: ServerVersion,
    /// The conclusion without the finding.
    otherwise: String,
    findings: Vec<Finding>,
    kept: PathBuf,
}

/// Something is broken, and no known defect of the servers explains it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{failure}\n  and no known defect of ZooKeeper {release} explains it: {why}; the members' logs are in {}",
    kept.display()
)]
pub struct Fault {
    failure: String,
    release: ServerVersion,
    why: &'static str,
    kept: PathBuf,
}

/// The servers' fault that would explain a breach.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Suspicion {
    /// A member that is not as the others has a hole.
    HoleOf(Vec<Member>),
    /// Transactions were lost, at this time (since 1970) or later.
    LossSince(Duration),
}

/// Weighs a failure against the logs.
///
/// # Errors
///
/// [`Fault`]: the failure stands.
pub(super) fn weigh(
    failure: &TestFailure,
    record: &Record,
    release: ServerVersion,
    logs: &[(Member, String)],
    kept: &Path,
) -> Result<Inconclusive, TestFailure> {
    let fault = |why| {
        let (failure, kept) = (format!("{failure:?}"), kept.to_owned());
        Err(Fault { failure, release, why, kept }.into())
    };
    let broken = failure.downcast_ref::<BrokenLaw>().is_some()
        || failure.downcast_ref::<Diverged>().is_some()
        || failure.downcast_ref::<Torn>().is_some()
        || failure.downcast_ref::<LeftBehind>().is_some();
    if !broken {
        return fault("nothing is known to be broken");
    }
    let Some(suspicion) = suspicion(failure, record) else {
        return fault("a loss of transactions does not do this");
    };
    let mut findings = findings(release, logs);
    findings.retain(|finding| suspicion.is_met_by(finding));
    if findings.is_empty() {
        return fault("the members' logs show no loss that would do this");
    }
    let (otherwise, kept) = (format!("{failure:?}"), kept.to_owned());
    Ok(Inconclusive { release, otherwise, findings, kept })
}

/// Keeps the members' logs in a folder.
pub(super) fn keep(logs: &[(Member, String)], folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    logs.iter().try_for_each(|(member, log)| fs::write(folder.join(log_name(*member)), log))
}

fn suspicion(failure: &TestFailure, record: &Record) -> Option<Suspicion> {
    if let Some(diverged) = failure.downcast_ref::<Diverged>() {
        return Some(Suspicion::HoleOf(diverged.odd().to_vec()));
    }
    match failure.downcast_ref::<BrokenLaw>() {
        Some(broken) => broken.loss_since(record).map(Suspicion::LossSince),
        // Of what is written in one transaction, or deleted in one, a part is missing.
        None => Some(Suspicion::LossSince(Duration::ZERO)),
    }
}

impl Suspicion {
    fn is_met_by(&self, finding: &Finding) -> bool {
        match self {
            Self::HoleOf(members) => {
                matches!(finding.effect, Effect::Hole(member) if members.contains(&member))
            }
            Self::LossSince(since) => finding.seen_at() >= *since,
        }
    }
}

impl BrokenLaw {
    /// Returns the time since which transactions must have been lost to break the law; `None` if a
    /// loss does not break it.
    fn loss_since(&self, record: &Record) -> Option<Duration> {
        let some_time = match self {
            Self::Writes(writes::Violation::Lost(entry)) => {
                let mut attempts = record.attempts.iter();
                let attempt = attempts.find(|attempt| attempt.entry == *entry)?;
                return Some(since_1970(attempt.asked_at));
            }
            // The views of a session go back, or one version is made twice.
            Self::Reads(
                reads::Violation::Divergent { .. } | reads::Violation::BackInTime { .. },
            )
            // The session or the znode of a leader, or of a holder, is lost, or the end of one.
            | Self::Seals(seals::Violation::OutOfOrder { .. })
            | Self::Leaders(Contradiction::TwoLeaders { .. })
            | Self::Holds(holds::Violation::TwoHolders { .. }) => true,
            Self::Vigils(violation) => matches!(
                violation.breach,
                vigils::Breach::Overtaken | vigils::Breach::Late { .. } | vigils::Breach::Missed
            ),
            Self::Views(violation) => matches!(
                violation.breach,
                views::Breach::Untold | views::Breach::Spurious | views::Breach::OutOfOrder
            ),
            // An entry was not lost if it is there although it was refused, is there twice or elsewhere, or has a
            // token or a zxid that is not its own.
            Self::Writes(_)
            | Self::Orders(_)
            | Self::Seals(_)
            | Self::Leaders(_)
            | Self::Holds(_)
            | Self::History(_) => false,
        };
        some_time.then_some(Duration::ZERO)
    }
}

/// Converts a reading of the monotonic clock into a time of day, by the clocks as they are now.
fn since_1970(monotonic: Duration) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(history::now().saturating_sub(monotonic))
}

impl fmt::Display for Inconclusive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { release, otherwise, findings, kept } = self;
        write!(
            formatter,
            "inconclusive: ZooKeeper {release} lost transactions by itself. Without that, this would be red: \
             {otherwise}\n  The members' logs, in {}:",
            kept.display()
        )?;
        findings.iter().take(SHOWN).try_for_each(|finding| write!(formatter, "\n  {finding}"))?;
        match findings.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "\n  and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::samples;
    use super::super::laws::orders;
    use super::super::laws::writes::{Attempt, Entry, Outcome};
    use super::*;

    const ENTRY: Entry = Entry { writer: 3, number: 7 };

    fn record(asked_at: Duration) -> Record {
        let attempt = Attempt {
            entry: ENTRY,
            asked_at,
            answered_at: asked_at,
            outcome: Outcome::Done("/a".to_owned()),
        };
        Record { attempts: vec![attempt], ..Record::default() }
    }

    fn weighed(failure: impl Into<TestFailure>, log: &str) -> Result<Inconclusive, String> {
        let logs = [(Member::First, log.to_owned())];
        let record = record(history::now());
        weigh(&failure.into(), &record, samples::RELEASE, &logs, Path::new("logs"))
            .map_err(|failure| format!("{failure:?}"))
    }

    fn back_in_time() -> BrokenLaw {
        let seen = reads::Snapshot { version: 1, zxid: 1, digest: 0 };
        let (path, newer) = ("/a".to_owned(), seen);
        reads::Violation::BackInTime { session: 1, path, seen, after: 2, newer }.into()
    }

    #[test]
    fn a_breach_that_a_loss_makes_is_inconclusive_with_the_lines_that_show_the_loss() {
        let inconclusive = weighed(back_in_time(), samples::ROLLBACK).expect("inconclusive");
        let text = inconclusive.to_string();
        assert!(text.starts_with("inconclusive: ZooKeeper 3.8.0"), "{text}");
        assert!(text.contains("after zxid 2"), "{text}");
        assert!(text.contains("first.log:"), "{text}");
        assert!(text.contains("ZOOKEEPER-4394"), "{text}");
        assert!(text.contains("- LEADING"), "{text}");
    }

    #[test]
    fn without_a_loss_it_is_red() {
        let fault = weighed(back_in_time(), samples::DROPPED_AND_WHOLE).expect_err("red");
        assert!(fault.starts_with("session 0x1 saw /a"), "{fault}");
        assert!(fault.contains("show no loss"), "{fault}");
    }

    #[test]
    fn a_breach_that_no_loss_makes_is_red() {
        let write =
            orders::Committed { asked_at: Duration::ZERO, answered_at: Duration::ZERO, zxid: 1 };
        let law = BrokenLaw::from(orders::Violation { earlier: write, later: write });
        let fault = weighed(law, samples::ROLLBACK).expect_err("red");
        assert!(fault.contains("does not do this"), "{fault}");
        let law = BrokenLaw::from(writes::Violation::NotDone(ENTRY));
        weighed(law, samples::ROLLBACK).expect_err("red");
    }

    #[test]
    fn a_loss_before_a_write_does_not_explain_that_it_is_lost() {
        let lost = || BrokenLaw::from(writes::Violation::Lost(ENTRY));
        // The sample was taken before the write.
        let fault = weighed(lost(), samples::ROLLBACK).expect_err("red");
        assert!(fault.contains("show no loss"), "{fault}");
        let later = samples::ROLLBACK.replace("2020-", "9020-");
        weighed(lost(), &later).expect("inconclusive");
    }

    #[test]
    fn what_is_no_breach_stays_what_it_is() {
        let stuck = zk_test_kit::wait::NotInTime::new("pigs fly", Duration::ZERO);
        let failure = weighed(stuck, samples::ROLLBACK).expect_err("red");
        assert!(failure.starts_with("still not so after 0ns: pigs fly"), "{failure}");
        assert!(failure.contains("nothing is known to be broken"), "{failure}");
    }
}

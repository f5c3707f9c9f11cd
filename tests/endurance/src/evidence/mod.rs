//! Evidence of ZooKeeper's own known losses, from the logs of an ensemble's members.
//!
//! A log line that goes with a defect is not enough: the exception of ZOOKEEPER-4394, for example,
//! occurs at every other return of a member under load, and mostly does no harm. A [`Finding`] is a
//! defect of the release together with its effect, as the servers log it:
//!
//! - a *rollback*: a member confirmed what it was sent, then did not have it, and then a leader was
//!   elected that does not have it either;
//! - a *hole*: what a member drops or writes out of order, and after it a tree that is not the leader's
//!   (ZooKeeper compares digests since 3.6) or a transaction that is skipped; or a snapshot that is
//!   gone.
//!
//! A digest that differs while a log is read again that holds some transactions twice is no hole:
//! what was applied before is applied again, and in the end the tree is what it was.

mod defects;
mod holes;
mod line;
mod rollbacks;
#[cfg(test)]
pub(super) mod samples;

use core::fmt;
use core::time::Duration;

pub use self::defects::Defect;
pub use self::line::{Line, Sign};
use zk_test_kit::zookeeper::{Member, ServerVersion};

/// How much of a line is shown.
const SHOWN: usize = 240;

/// A known defect of the release, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub defect: Defect,
    /// The effect of the defect.
    pub effect: Effect,
    /// The lines that show it, in the order in which they were written.
    pub lines: Vec<Line>,
}

/// The effect of a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A member lacks transactions that the others have, or has what they gave up.
    Hole(Member),
    /// A leader was elected without transactions that were committed before: no member has them.
    Rollback,
}

impl Finding {
    /// Returns the time at which the effect was seen.
    pub fn seen_at(&self) -> Duration {
        self.lines.iter().map(|line| line.at).max().unwrap_or_default()
    }
}

/// Returns the findings in the logs of all members, for the defects that the release has.
pub fn findings(release: ServerVersion, logs: &[(Member, String)]) -> Vec<Finding> {
    let members: Vec<_> = logs.iter().map(|(member, log)| line::lines(*member, log)).collect();
    let mut findings = rollbacks::find(release, &members);
    findings.extend(holes::find(release, &members));
    findings.sort_by_key(Finding::seen_at);
    findings
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.effect {
            Effect::Hole(member) => write!(formatter, "{}: a hole in {member:?}", self.defect)?,
            Effect::Rollback => write!(formatter, "{}: committed writes are gone", self.defect)?,
        }
        self.lines.iter().try_for_each(|line| write!(formatter, "\n    {line}"))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.text.trim().chars().take(SHOWN).collect();
        write!(formatter, "{}:{}: {shown}", log_name(self.member), self.number)
    }
}

/// Returns the name of the file that keeps a member's log.
pub fn log_name(member: Member) -> String {
    format!("{member:?}.log").to_lowercase()
}

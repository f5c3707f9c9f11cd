//! Leaders that lack committed transactions.

use core::time::Duration;

use zk_test_kit::zookeeper::ServerVersion;

use super::{Defect, Effect, Finding, Line, Sign};

/// A member that confirmed that it has what it was sent, and then did not have it.
struct Forgotten {
    /// Its last transaction when it confirmed.
    confirmed: i64,
    defect: Defect,
    lines: Vec<Line>,
}

/// A member that was elected, and the last transaction that it had.
struct Elected<'a> {
    stood: &'a Line,
    leads: &'a Line,
    has: i64,
}

/// Finds, for each leader without a committed transaction, the first member that forgot it.
pub(super) fn find(release: ServerVersion, members: &[Vec<Line>]) -> Vec<Finding> {
    let forgotten: Vec<_> = members.iter().flat_map(|lines| forgotten(release, lines)).collect();
    let elected = members.iter().flat_map(|lines| elected(lines));
    elected
        .filter_map(|elected| {
            let before = |at: Duration| at <= elected.leads.at;
            let forgotten = forgotten.iter().find(|forgotten| {
                let last = forgotten.lines.last();
                elected.has < forgotten.confirmed && last.is_some_and(|last| before(last.at))
            })?;
            let mut lines = forgotten.lines.clone();
            if lines.last() != Some(elected.stood) {
                lines.push(elected.stood.clone());
            }
            lines.push(elected.leads.clone());
            Some(Finding { defect: forgotten.defect, effect: Effect::Rollback, lines })
        })
        .collect()
}

fn elected(lines: &[Line]) -> Vec<Elected<'_>> {
    let mut elected = Vec::new();
    let mut stands = None;
    for line in lines {
        match line.sign {
            Sign::Stands(has) => stands = Some((line, has)),
            Sign::Leads => {
                elected.extend(stands.map(|(stood, has)| Elected { stood, leads: line, has }));
            }
            _ => {}
        }
    }
    elected
}

/// How a member lost what it had confirmed.
#[derive(Clone, Copy)]
enum How<'a> {
    Dropped(&'a Line),
    Ended(&'a Line),
}

fn forgotten(release: ServerVersion, lines: &[Line]) -> Vec<Forgotten> {
    let mut forgotten = Vec::new();
    let mut sent: Option<(&Line, i64)> = None;
    let mut confirmed: Option<([&Line; 2], i64)> = None;
    let mut how = None;
    for line in lines {
        match line.sign {
            Sign::Diff(zxid) => sent = Some((line, zxid)),
            // The leader's next messages start from a state that is known.
            Sign::Snapshot(_) | Sign::Truncated(_) => (sent, confirmed, how) = (None, None, None),
            Sign::Confirmed => {
                if let Some((diff, zxid)) = sent.take() {
                    (confirmed, how) = (Some(([diff, line], zxid)), None);
                }
            }
            Sign::Dropped => how = Some(How::Dropped(line)),
            Sign::Started => {
                sent = None;
                how = how.or(Some(How::Ended(line)));
            }
            Sign::Stands(has) => {
                let lacks = confirmed.filter(|(_, zxid)| has < *zxid);
                let defect = how.and_then(|how| how.defect(release));
                if let (Some((before, zxid)), Some(defect), Some(how)) = (lacks, defect, how) {
                    let lines = [before[0], before[1], how.line(), line].map(Line::clone);
                    forgotten.push(Forgotten { confirmed: zxid, defect, lines: lines.to_vec() });
                }
            }
            _ => {}
        }
    }
    forgotten
}

impl<'a> How<'a> {
    const fn line(self) -> &'a Line {
        match self {
            Self::Dropped(line) | Self::Ended(line) => line,
        }
    }

    /// Returns the defect by which a member of this release forgets in this way.
    fn defect(self, release: ServerVersion) -> Option<Defect> {
        let candidates: &[Defect] = match self {
            Self::Dropped(_) => &[Defect::DroppedOnCommit],
            Self::Ended(_) => &[Defect::ConfirmedBeforeServing, Defect::ConfirmedBeforeWritten],
        };
        candidates.iter().copied().find(|defect| defect.affects(release))
    }
}

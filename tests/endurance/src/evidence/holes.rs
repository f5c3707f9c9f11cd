//! Members with a tree that differs from the others'.

use zk_test_kit::zookeeper::ServerVersion;

use super::{Defect, Effect, Finding, Line, Sign};

/// Returns the first hole of each member, by each defect.
pub(super) fn find(release: ServerVersion, members: &[Vec<Line>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for lines in members {
        findings.extend(snapshot_gone(lines));
        findings.extend(skipped(members, lines));
        // A transaction that is dropped is sent and written again, so the first of these explains
        // the second.
        let causes = [
            (Defect::DroppedOnCommit, Sign::Dropped),
            (Defect::WriterGoesOn, Sign::WriterDied),
            (Defect::WriterGoesOn, Sign::WrittenLate),
        ];
        let mut causes = causes.into_iter().filter(|(defect, _)| defect.affects(release));
        findings.extend(causes.find_map(|(defect, cause)| mismatch(lines, defect, cause)));
    }
    findings.retain(|finding| finding.defect.affects(release));
    findings
}

fn hole(defect: Defect, lines: &[&Line]) -> Option<Finding> {
    let member = lines.first()?.member;
    let lines = lines.iter().map(|line| (*line).clone()).collect();
    Some(Finding { defect, effect: Effect::Hole(member), lines })
}

/// Finds a cause, and then a digest that differs.
fn mismatch(lines: &[Line], defect: Defect, cause: Sign) -> Option<Finding> {
    let mut diff = None;
    let mut causes: Option<(Option<&Line>, &Line)> = None;
    // The last transaction that was read again: before it, digests differ and nothing is lost.
    let mut read_late = i64::MIN;
    for line in lines {
        match line.sign {
            Sign::Started => (diff, read_late) = (None, i64::MIN),
            Sign::Diff(_) => diff = Some(line),
            // The leader's tree in place of its own.
            Sign::Snapshot(_) => (diff, causes) = (None, None),
            Sign::ReadLate(zxid) => read_late = read_late.max(zxid),
            Sign::Mismatch(zxid) if zxid > read_late => {
                if let Some((diff, cause)) = causes {
                    let shown: Vec<_> = diff.into_iter().chain([cause, line]).collect();
                    return hole(defect, &shown);
                }
            }
            sign if sign == cause => causes = causes.or(Some((diff, line))),
            _ => {}
        }
    }
    None
}

/// Finds a snapshot that was never confirmed, the transactions behind it, and the end of the
/// process that held it.
fn snapshot_gone(lines: &[Line]) -> Option<Finding> {
    let mut pending: Option<&Line> = None;
    let mut diff: Option<&Line> = None;
    let mut exposed: Option<[&Line; 3]> = None;
    for line in lines {
        match line.sign {
            Sign::Snapshot(_) => (pending, diff, exposed) = (Some(line), None, None),
            Sign::Diff(_) => diff = Some(line),
            Sign::Confirmed => match (pending, diff) {
                (Some(snapshot), Some(diff)) => {
                    exposed = exposed.or(Some([snapshot, diff, line]));
                }
                // The snapshot was written before it was confirmed.
                (Some(_), None) => pending = None,
                (None, _) => {}
            },
            Sign::Started => {
                if let Some([snapshot, diff, confirmed]) = exposed {
                    return hole(Defect::SnapshotNotWritten, &[snapshot, diff, confirmed, line]);
                }
                (pending, diff) = (None, None);
            }
            _ => {}
        }
    }
    None
}

/// Finds a transaction that is not the next one, of one epoch: the first of a connection is never expected, nor is
/// that of a new epoch.
fn skipped(members: &[Vec<Line>], lines: &[Line]) -> Option<Finding> {
    let skipped = lines.iter().find(|line| match line.sign {
        Sign::Skipped { got, due } => due != 1 && got > due && got >> 32 == due >> 32,
        _ => false,
    })?;
    let diff = lines.iter().filter(|line| matches!(line.sign, Sign::Diff(_)));
    let diff = diff.take_while(|line| line.number < skipped.number).last();
    let shown: Vec<_> = diff.into_iter().chain([skipped]).collect();
    let late = members.iter().flatten().find(|line| line.sign == Sign::WrittenLate);
    match late.filter(|late| late.at <= skipped.at) {
        Some(late) => {
            let mut finding = hole(Defect::WriterGoesOn, &shown)?;
            finding.lines.insert(0, late.clone());
            Some(finding)
        }
        None => hole(Defect::HoleIsPassedOn, &shown),
    }
}

//! Excerpts of servers' logs, and the findings in them.
//!
//! `dropped-and-whole.log` and `forgotten.log` are what Debian's 3.8.0 wrote while one of three members
//! was killed again and again under some thousand writes a second; no member lacked anything in the
//! end. `writer-died.log` is that of the first member in the run of
//! [`provoke_a_loss`](super::super::provoke_a_loss) that left it with 1,684 of 3,010 znodes less. The
//! others are made of such lines, and of what the sources of ZooKeeper's releases log, where this
//! harness has not met the defect.

use super::*;

pub(crate) const RELEASE: ServerVersion = ServerVersion::new(3, 8, 0);

/// A member drops what it was sent (ZOOKEEPER-4394), is sent it again, and reads it twice when it
/// starts again: digests differ meanwhile, and nothing is lost.
pub(crate) const DROPPED_AND_WHOLE: &str = include_str!("samples/dropped-and-whole.log");
/// It drops what it was sent, and is elected without it.
pub(crate) const ROLLBACK: &str = include_str!("samples/rollback.log");
/// It drops what it was sent, and then its tree is not the leader's.
const HOLE: &str = include_str!("samples/hole.log");
/// The thread that writes dies twice with what it has not written, when the member stops following
/// (ZOOKEEPER-4712); the next start reads what there is.
const WRITER_DIED: &str = include_str!("samples/writer-died.log");
/// A member that is killed lacks what it has confirmed (ZOOKEEPER-4785, ZOOKEEPER-3911).
const FORGOTTEN: &str = include_str!("samples/forgotten.log");
/// Another one is elected that lacks it too.
const ELECTED_WITHOUT: &str = include_str!("samples/elected-without.log");
/// ZOOKEEPER-3642.
const SNAPSHOT_GONE: &str = include_str!("samples/snapshot-gone.log");
/// ZOOKEEPER-4925.
const SKIPPED: &str = include_str!("samples/skipped.log");

fn found_by(release: ServerVersion, logs: &[&str]) -> Vec<(Defect, Effect)> {
    let logs: Vec<_> = Member::ALL
        .into_iter()
        .zip(logs)
        .map(|(member, log)| (member, (*log).to_owned()))
        .collect();
    let findings = findings(release, &logs);
    findings.iter().map(|finding| (finding.defect, finding.effect)).collect()
}

fn found(logs: &[&str]) -> Vec<(Defect, Effect)> {
    found_by(RELEASE, logs)
}

const FIRST: Effect = Effect::Hole(Member::First);

#[test]
fn what_is_dropped_and_sent_again_is_no_loss() {
    assert_eq!(found(&[DROPPED_AND_WHOLE]), []);
}

#[test]
fn a_leader_that_dropped_what_it_confirmed_is_found() {
    assert_eq!(found(&[ROLLBACK]), [(Defect::DroppedOnCommit, Effect::Rollback)]);
    // A release that has the defect no more; and one that had it not yet.
    assert_eq!(found_by(ServerVersion::new(3, 9, 3), &[ROLLBACK]), []);
    assert_eq!(found_by(ServerVersion::new(3, 5, 9), &[ROLLBACK]), []);
    // Elected with all that was confirmed.
    let caught_up = ROLLBACK.replace("proposed zxid=0x100000160", "proposed zxid=0x100001564");
    assert_eq!(found(&[&caught_up]), []);
}

#[test]
fn a_tree_that_is_another_after_a_drop_is_found() {
    assert_eq!(found(&[HOLE]), [(Defect::DroppedOnCommit, FIRST)]);
    // Without the drop, the death of the thread that writes explains it; without that, a late write
    // does; and without all of them, nothing does.
    let without = |words: &[&str]| {
        let lines = HOLE.lines().filter(|line| !words.iter().any(|word| line.contains(word)));
        found(&[&lines.collect::<Vec<_>>().join("\n")])
    };
    assert_eq!(without(&["syncWithLeader"]), [(Defect::WriterGoesOn, FIRST)]);
    assert_eq!(without(&["syncWithLeader", " is <= "]), [(Defect::WriterGoesOn, FIRST)]);
    assert_eq!(without(&["syncWithLeader", "Severe"]), [(Defect::WriterGoesOn, FIRST)]);
    assert_eq!(without(&["syncWithLeader", " is <= ", "Severe"]), []);
}

#[test]
fn a_hole_on_disk_is_found_when_it_is_read() {
    assert_eq!(found(&[WRITER_DIED]), [(Defect::WriterGoesOn, FIRST)]);
    assert_eq!(found_by(ServerVersion::new(3, 9, 3), &[WRITER_DIED]), []);
    // Before it is read, the tree is whole.
    let before: Vec<_> =
        WRITER_DIED.lines().take_while(|line| !line.contains("Digests are")).collect();
    assert_eq!(found(&[&before.join("\n")]), []);
}

#[test]
fn the_lines_are_named_by_file_and_number() {
    let logs = [(Member::First, HOLE.to_owned())];
    let findings = findings(RELEASE, &logs);
    let text = findings.iter().map(ToString::to_string).collect::<String>();
    assert!(text.starts_with("ZOOKEEPER-4394 (3023): a hole in First\n"), "{text}");
    let shown: Vec<_> = text.lines().skip(1).map(str::trim).collect();
    assert_eq!(shown.len(), 3, "{text}");
    assert!(shown[0].starts_with("first.log:3: 2020-01-01T06:53:23.619 "), "{text}");
    assert!(shown[1].contains("\"pif\" is null"), "{text}");
    assert!(shown[2].ends_with("Value:4294974041"), "{text}");
}

#[test]
fn a_killed_member_that_forgets_is_found_once_a_leader_lacks_it() {
    assert_eq!(found(&[FORGOTTEN]), []);
    let logs = [FORGOTTEN, ELECTED_WITHOUT];
    assert_eq!(found(&logs), [(Defect::ConfirmedBeforeWritten, Effect::Rollback)]);
    let before_3911 = ServerVersion::new(3, 6, 2);
    assert_eq!(found_by(before_3911, &logs), [(Defect::ConfirmedBeforeServing, Effect::Rollback)]);
    for fixed in [ServerVersion::new(3, 8, 5), ServerVersion::new(3, 9, 2)] {
        assert_eq!(found_by(fixed, &logs), []);
    }
    // The leader had been elected before, or has it.
    let before = ELECTED_WITHOUT.replace("T06:53", "T05:53");
    assert_eq!(found(&[FORGOTTEN, &before]), []);
    let has = ELECTED_WITHOUT.replace("0x100009a01", "0x10000a735");
    assert_eq!(found(&[FORGOTTEN, &has]), []);
}

#[test]
fn a_snapshot_that_was_not_written_is_found() {
    let release = ServerVersion::new(3, 5, 9);
    assert_eq!(found_by(release, &[SNAPSHOT_GONE]), [(Defect::SnapshotNotWritten, FIRST)]);
    assert_eq!(found(&[SNAPSHOT_GONE]), []);
    let snapshot = SNAPSHOT_GONE.lines().nth(1).expect("the snapshot");
    let confirmed = SNAPSHOT_GONE.lines().nth(6).expect("its confirmation");
    let written = SNAPSHOT_GONE.replace(snapshot, &format!("{snapshot}\n{confirmed}"));
    assert_eq!(found_by(release, &[&written]), []);
}

#[test]
fn a_transaction_that_is_skipped_is_found() {
    let release = ServerVersion::new(3, 9, 3);
    assert_eq!(found_by(release, &[SKIPPED]), [(Defect::HoleIsPassedOn, FIRST)]);
    for other in [RELEASE, ServerVersion::new(3, 9, 4)] {
        assert_eq!(found_by(other, &[SKIPPED]), []);
    }
    // The first one of a connection, and that of a new epoch, are announced in the same words.
    let lines = SKIPPED.lines().filter(|line| !line.contains("0x10000000f"));
    assert_eq!(found_by(release, &[&lines.collect::<Vec<_>>().join("\n")]), []);
}

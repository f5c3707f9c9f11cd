//! Recognises what is contended for at a node by the names of its children.

use clap::ValueEnum as _;
use election_tokio::format::{Child, Format, IdInName};
use election_tokio::{Client, NomineeId};

use crate::args::{FormatName, Kind};

/// The children of a semaphore's node: `locks` has the contenders for the turn to take a permit,
/// `leases` the permits.
pub(super) const LOCKS: &str = "locks";
pub(super) const LEASES: &str = "leases";

/// Returns what is contended for at a node; `None` if that is not known, or the node may not be read.
pub(crate) async fn kind_at(client: &Client, node: &str) -> Option<Kind> {
    let children = client.get_children(node).await.ok()?;
    let names: Vec<String> = children.iter().map(str::to_owned).collect();
    recognised(&names).map(FormatName::kind)
}

/// Returns the format that made most of the names; if none did, the format that most of them could
/// be of.
pub(crate) fn recognised(names: &[String]) -> Option<FormatName> {
    recognised_by_number(names).or_else(|| {
        let is_semaphore = names.iter().all(|name| name == LOCKS || name == LEASES);
        (is_semaphore && !names.is_empty()).then_some(FormatName::CuratorSemaphore)
    })
}

fn recognised_by_number(names: &[String]) -> Option<FormatName> {
    let count = |is_one: &dyn Fn(&str) -> bool| names.iter().filter(|name| is_one(name)).count();
    let of_queues =
        FormatName::value_variants().iter().filter(|name| name.kind() != Kind::Semaphore);
    let ranked = of_queues.map(|name| {
        let format = name.format();
        let made = count(&|child| is_made_in(format, child));
        let read = count(&|child| is_read_in(format, child));
        ((made, read), *name)
    });
    // Of several with the same rank, the first.
    let best = ranked.rev().max_by_key(|(rank, _)| *rank)?;
    (best.0 != (0, 0)).then_some(best.1)
}

/// Returns whether contenders of this format make such a name. The whole name counts, since many
/// formats read the end of each other's names.
fn is_made_in(format: Format, name: &str) -> bool {
    let Some(before) = before_number(format, name) else {
        return false;
    };
    let layout = format.layout();
    layout.labels.iter().any(|label| {
        let id = before
            .strip_suffix(label.text)
            .and_then(|rest| rest.strip_suffix(layout.separator))
            .and_then(|rest| rest.strip_prefix(layout.start));
        id.is_some_and(|id| is_id(layout.id, id))
    })
}

/// Returns whether contenders of this format accept the name as theirs, by a word before its
/// number.
fn is_read_in(format: Format, name: &str) -> bool {
    let Some(before) = before_number(format, name) else {
        return false;
    };
    let words = format.layout().labels.iter().map(|label| label.text);
    words
        .filter(|word| word.contains(|c: char| c.is_ascii_alphabetic()))
        .any(|word| before.ends_with(word))
}

/// Returns the part of a contender's name before the number.
fn before_number(format: Format, name: &str) -> Option<&str> {
    let is_contender = matches!(format.child(name), Child::Contender { .. });
    is_contender.then(|| name.trim_end_matches(|c: char| c.is_ascii_digit()))
}

fn is_id(kind: IdInName, text: &str) -> bool {
    match kind {
        IdInName::Uuid => text.len() == 36 && text.parse::<NomineeId>().is_ok(),
        IdInName::Hex => text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        IdInName::SessionDecimal => text.parse::<i64>().is_ok(),
        IdInName::None => text.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "abababab-abab-abab-abab-abababababab";
    const HEX: &str = "abababababababababababababababab";

    fn of(names: &[&str]) -> Option<FormatName> {
        recognised(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn each_format_is_recognised_by_one_name() {
        let cases = [
            (format!("_c_{UUID}-latch-"), FormatName::CuratorLatch),
            (format!("_c_{UUID}-__WRIT__"), FormatName::CuratorReadWrite),
            (format!("_c_{UUID}-__READ__"), FormatName::CuratorReadWrite),
            (format!("_c_{UUID}-lock-"), FormatName::CuratorLock),
            (format!("{HEX}__lock__"), FormatName::Kazoo),
            (format!("{HEX}__rlock__"), FormatName::Kazoo),
            (format!("_c_{HEX}-lock-"), FormatName::GoZookeeper),
            ("n_".to_owned(), FormatName::LeaderElectionSupport),
            ("le_".to_owned(), FormatName::GoLeaderElection),
            (format!("_c_{HEX}-p_"), FormatName::ZkElection),
            ("x-72057594037927936-".to_owned(), FormatName::ZookeeperWriteLock),
        ];
        for (prefix, expected) in cases {
            let name = format!("{prefix}0000000007");
            assert_eq!(of(&[&name]), Some(expected), "{name}");
        }
    }

    #[test]
    fn the_most_decide_and_what_was_made_counts_more_than_what_can_be_read() {
        let lock = |number| format!("_c_{UUID}-lock-000000000{number}");
        let latch = format!("_c_{UUID}-latch-0000000000");
        assert_eq!(of(&[&latch, &lock(1), &lock(2)]), Some(FormatName::CuratorLock));
        assert_eq!(of(&["a-latch-0000000000"]), Some(FormatName::CuratorLatch));
        let read = ["a-latch-0000000001", "b-latch-0000000002", &lock(3)];
        assert_eq!(of(&read), Some(FormatName::CuratorLock));
    }

    #[test]
    fn a_semaphore_is_recognised_by_what_its_znodes_are_below() {
        assert_eq!(of(&["leases", "locks"]), Some(FormatName::CuratorSemaphore));
        assert_eq!(of(&["locks"]), Some(FormatName::CuratorSemaphore));
        assert_eq!(of(&["leader", "locks"]), None);
        let lock = format!("_c_{UUID}-lock-0000000001");
        assert_eq!(of(&["locks", &lock]), Some(FormatName::CuratorLock));
    }

    #[test]
    fn what_no_contender_made_has_no_format() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["config", "a-1", "node-0000000001", "\u{202e}"]), None);
    }
}

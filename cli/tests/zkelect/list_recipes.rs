//! `zkelect list` of queues and barriers.

use serde_json::Value;

use crate::lock::{HOLDING, stand};
use crate::queue::put;
use crate::served::Served;
use crate::support::{BARRIER, Folder, Plan, QUEUE, Run, output, text};
use crate::terminal::is_fit;

fn list(servers: &str, options: &[&str]) -> (String, String) {
    let list = output(&[&["list", "--servers", servers], options].concat());
    assert_eq!(list.status.code(), Some(0), "{}", text(&list.stderr));
    assert!(is_fit(&text(&list.stdout)), "{:?}", text(&list.stdout));
    (text(&list.stdout), text(&list.stderr))
}

/// Returns the first words of each line, without the title and the header.
fn words(table: &str, count: usize) -> Vec<Vec<&str>> {
    let lines = table.lines().skip(2);
    lines.map(|line| line.split_whitespace().take(count).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_shown_with_those_that_claim_them() {
    let server = Served::start("list-queue", &[]);
    let servers = server.address();
    let folder = Folder::new("list-queue-run");
    put(servers, "wash");
    put(servers, "dry");
    let run = Run::claim(&folder, &Plan { servers, id: "a", options: &[], script: HOLDING });
    run.wait_for_log("up a");
    let (table, _) = list(servers, &[QUEUE]);
    assert!(table.starts_with("queue, in the format guide\n#  ROLE"), "{table}");
    let expected: [&[&str]; 2] =
        [&["1", "claimed", "a", "queue-0000000000"], &["2", "item", "-", "queue-0000000001"]];
    assert_eq!(words(&table, 4), expected);
    let (json, _) = list(servers, &["--json", QUEUE]);
    let rows: Vec<Value> = serde_json::from_str(&json).expect("a JSON array");
    assert_eq!((&rows[0]["data"], &rows[0]["id"]), (&"wash".into(), &"a".into()));
    assert_eq!((&rows[1]["data"], &rows[1]["format"]), (&"dry".into(), &"guide".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn participants_are_shown_inside_or_waiting() {
    let server = Served::start("list-barrier", &[]);
    let servers = server.address();
    let folder = Folder::new("list-barrier-runs");
    let enter = |id| Run::enter(&folder, &Plan { servers, id, options: &[], script: HOLDING });
    let first = enter("a");
    stand(servers, BARRIER, 1).await;
    let (table, _) = list(servers, &[BARRIER]);
    assert!(table.starts_with("double barrier: no round is under way\nROLE"), "{table}");
    assert_eq!(words(&table, 2), [["waits", "a"]]);
    let second = enter("b");
    first.wait_for_log("up a");
    second.wait_for_log("up b");
    let (table, _) = list(servers, &[BARRIER]);
    assert!(table.starts_with("double barrier: a round is under way\n"), "{table}");
    let mut rows = words(&table, 2);
    rows.sort_unstable();
    assert_eq!(rows, [["inside", "a"], ["inside", "b"]]);
}

#[test]
fn a_barrier_that_is_set_is_told_of() {
    let server = Served::start("list-set", &[]);
    let servers = server.address();
    let (_, said) = list(servers, &[BARRIER]);
    assert!(said.contains("no contender is at /barrier"), "{said}");
    let set = output(&["barrier", "set", "--servers", servers, BARRIER]);
    assert_eq!(set.status.code(), Some(0));
    let (_, said) = list(servers, &[BARRIER]);
    assert!(said.contains("/barrier, which exists: a barrier there is set"), "{said}");
}

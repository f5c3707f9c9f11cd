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
fn what_is_empty_is_shown_for_what_it_is() {
    let server = Served::start("list-empty", &[]);
    let servers = server.address();
    let run = |arguments: &[&str]| {
        let (subcommand, rest) = arguments.split_at(1);
        let done = output(&[subcommand, &["--servers", servers], rest].concat());
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {}", text(&done.stderr));
    };
    let is_said = |path: &str, expected: &str| {
        let (table, said) = list(servers, &[path]);
        assert_eq!(said, format!("zkelect: {expected}\n"));
        assert_eq!(list(servers, &["--json", path]).0, "[]\n");
        table
    };
    let barrier = output(&["barrier", "set", "--servers", servers, BARRIER]);
    assert_eq!(barrier.status.code(), Some(0));
    put(servers, "wash");
    let taken = output(&["queue", "take", "--servers", servers, QUEUE]);
    assert_eq!(text(&taken.stdout), "wash");
    run(&["lock", "/free", "--", "true"]);
    run(&["lock", "/app/locks/free", "--", "true"]);
    run(&["semaphore", "-n", "2", "/semaphore", "--", "true"]);
    run(&["end", "--election", "/over"]);

    let is_emptied = "the node has no child any more; a free lock, an emptied queue or an election \
                      without a candidate looks like that";
    for (path, why) in [
        ("/absent", "the node does not exist"),
        (BARRIER, "the node exists and has never had a child; a barrier there is set"),
        (QUEUE, is_emptied),
        ("/free", is_emptied),
        ("/over", "the election was ended, and `zkelect reopen` lets candidates stand again"),
        ("/app", "its one child is no contender and no item; the path may lead to a parent"),
        ("/", "none of its 7 children is a contender or an item; the path may lead to a parent"),
    ] {
        assert_eq!(is_said(path, &format!("nothing is listed at {path}: {why}")), "", "{path}");
    }
    let table = is_said(
        "/semaphore",
        "nothing is listed at /semaphore: all permits of the semaphore are free",
    );
    assert!(table.starts_with("semaphore, in the format curator-semaphore\n#  ROLE"), "{table}");

    let (_, said) = list(servers, &["--election", "/over"]);
    assert!(said.contains("no candidate stands at /over: the election was ended"), "{said}");
    let (_, said) = list(servers, &["--format", "curator-lock", "/absent"]);
    assert!(said.contains("no contender is at /absent: the node does not exist"), "{said}");
}

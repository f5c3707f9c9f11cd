//! Text of other clients, as zkelect shows it on a terminal.

use election_tokio::{Client, CreateMode};
use serde_json::Value;

use crate::served::Served;
use crate::support::{BEATING, Folder, Plan, QUEUE, Run, output, output_of, text};
use crate::watch::Terminal;

/// Turns the direction of the text, hides a character, breaks the line for some terminals, and
/// begins a sequence of eight-bit controls.
const FOREIGN: &str = "a\u{202e}\u{200b}\u{2028}b";
const SHOWN: &str = r"a\u{202e}\u{200b}\u{2028}b";

pub(crate) fn is_fit(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || (' '..='~').contains(&c) || c == '…')
}

#[tokio::test]
async fn names_and_data_of_others_are_escaped() {
    let server = Served::start("foreign", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create("/leader", "", CreateMode::Persistent).await.expect("it is created");
    let name = format!("/leader/{FOREIGN}-latch-0000000000");
    let data = format!("{FOREIGN}\u{9b}2J");
    client.create(&name, data.clone(), CreateMode::Ephemeral).await.expect("it is created");

    let folder = Folder::new("foreign-run");
    let plan = Plan { servers: server.address(), id: "a", options: &["-vv"], script: BEATING };
    let run = Run::start(&folder, &plan);
    let following = run.wait_for("following", 1);
    assert_eq!(following["predecessor"], format!("{FOREIGN}-latch-0000000000"));
    run.wait_until_said(&format!("follows {SHOWN}-latch"));
    assert!(is_fit(&run.said()), "{:?}", run.said());
    let events = std::fs::read_to_string(folder.file("a.events")).expect("events");
    assert!(is_fit(&events), "{events:?}");

    let arguments = ["list", "--servers", server.address(), "--election", "/leader"];
    let table = text(&output(&arguments).stdout);
    assert!(table.contains(&format!("{SHOWN}-latch-0000000000")), "{table:?}");
    assert!(is_fit(&table), "{table:?}");

    let json = output(&[&arguments[..], &["--json"]].concat()).stdout;
    assert!(is_fit(&text(&json)), "{:?}", text(&json));
    let rows: Vec<Value> = serde_json::from_slice(&json).expect("a JSON array");
    assert_eq!(rows[0]["znode"], format!("{FOREIGN}-latch-0000000000"));
}

#[tokio::test]
async fn long_data_is_cut_in_the_table_and_whole_in_json() {
    let server = Served::start("long", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create("/leader", "", CreateMode::Persistent).await.expect("it is created");
    let data = "x".repeat(70_000);
    for (number, data) in ["short", &data].into_iter().enumerate() {
        let name = format!("/leader/c-latch-000000000{number}");
        client.create(&name, data.to_owned(), CreateMode::Ephemeral).await.expect("it is created");
    }
    let arguments = ["list", "--servers", server.address(), "--election", "/leader"];
    let list = output(&arguments);
    assert_eq!(list.status.code(), Some(0), "{}", text(&list.stderr));
    let table = text(&list.stdout);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines.iter().all(|line| line.chars().count() < 250), "{table}");
    assert!(lines[2].ends_with("x…"), "{table}");

    let json = output(&[&arguments[..], &["--json"]].concat()).stdout;
    let rows: Vec<Value> = serde_json::from_slice(&json).expect("a JSON array");
    assert_eq!(rows[1]["data"], data);
}

/// In a pipe an item stays as it was put.
#[test]
fn an_item_of_a_queue_is_escaped_on_a_terminal_alone() {
    let server = Served::start("queue-terminal", &[]);
    let line = |action| ["queue", action, "--servers", server.address(), QUEUE];
    let data = b"one\x1b]0;title\x07\ntwo\xff";
    assert_eq!(output_of(&line("put"), data).status.code(), Some(0));
    assert_eq!(output(&line("peek")).stdout, data);
    for action in ["peek", "take"] {
        let shown = Terminal::start(&line(action), &[]).ended();
        assert_eq!(shown, "one\\u{1b}]0;title\\u{7}\r\ntwo\\xff", "{action}");
    }
}

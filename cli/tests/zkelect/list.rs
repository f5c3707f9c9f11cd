//! `zkelect list`.

use election_tokio::{Client, CreateMode};
use serde_json::Value;

use crate::served::Served;
use crate::support::{BEATING, Folder, Plan, Run, output, servers, text};

#[tokio::test]
async fn candidates_are_listed_in_order_with_the_leader_first() {
    let servers = servers("list");
    let folder = Folder::new("list");
    let plan = |id| Plan { servers: &servers, id, options: &[], script: BEATING };
    let leader = Run::start(&folder, &plan("first one"));
    let elected = leader.wait_for("elected", 1);
    let follower = Run::start(&folder, &plan("second"));
    let following = follower.wait_for("following", 1);
    let client = Client::builder(&servers).connect().await.expect("a session");
    let mut nomination =
        client.election("/leader").data(&b"\xff\x00"[..]).nominate().expect("a nomination");
    let mut status = nomination.updates();
    let follows = status
        .wait_for(|status| matches!(status.role, election_tokio::election::Role::Following { .. }));
    tokio::select! {
        _ = nomination.elected() => panic!("there is a leader"),
        standing = follows => drop(standing.expect("it stands")),
    }

    let arguments = ["list", "--servers", &servers, "--election", "/leader"];
    let json = output(&[&arguments[..], &["--json"]].concat());
    assert_eq!(json.status.code(), Some(0), "{}", text(&json.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&json.stdout).expect("a JSON array");
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["id"], "first one");
    assert_eq!(rows[0]["znode"], elected["candidate"]);
    assert_eq!(rows[0]["token"], elected["token"]);
    assert_eq!(rows[1]["data"], "second");
    assert_eq!(rows[1]["znode"], following["candidate"]);
    assert_eq!((&rows[2]["data_hex"], &rows[2]["id"]), (&"ff00".into(), &Value::Null));

    let table = text(&output(&arguments).stdout);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("ROLE"), "{table}");
    assert!(lines[1].starts_with("leader    first one"), "{table}");
    assert!(lines[2].starts_with("follower  second"), "{table}");
    assert!(lines[3].ends_with("hex:ff00"), "{table}");
}

/// One client connects, and closes its session.
#[test]
fn a_list_is_no_cause_for_warnings() {
    let servers = servers("list-verbose");
    let none = output(&["list", "-v", "--servers", &servers, "--election", "/none"]);
    let stderr = text(&none.stderr);
    assert_eq!(none.status.code(), Some(0), "{stderr}");
    assert_eq!(stderr.matches("session ended").count(), 1, "{stderr}");
    assert!(!stderr.contains("WARN"), "{stderr}");
}

/// An election that was never held has no candidates, and that is no error.
#[test]
fn an_election_that_does_not_exist_has_no_candidates() {
    let servers = servers("list-none");
    let none = output(&["list", "--servers", &servers, "--election", "/none", "--json"]);
    assert_eq!(none.status.code(), Some(0));
    assert_eq!(text(&none.stdout), "[]\n");
    assert!(text(&none.stderr).contains("no candidate stands at /none"));
}

/// Each was made by a participant that may create znodes, and no nominee.
#[tokio::test]
async fn what_blocks_an_election_is_shown_as_that() {
    let servers = servers("list-blocked");
    let client = Client::builder(&servers).connect().await.expect("a session");
    client.create("/leader", "", CreateMode::Persistent).await.expect("it is created");
    let long = format!("{}-latch-0000000001", "x".repeat(100));
    for (name, mode) in [
        ("a-latch-0000000000", CreateMode::Persistent),
        (&long, CreateMode::Ephemeral),
        ("c-latch-0000000002", CreateMode::Ephemeral),
    ] {
        client.create(&format!("/leader/{name}"), "", mode).await.expect("it is created");
    }
    let arguments = ["list", "--servers", &servers, "--election", "/leader"];
    let table = text(&output(&arguments).stdout);
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[1].starts_with("blocks: not ephemeral        -   a-latch-0000000000  "),
        "{table}"
    );
    assert!(lines[2].starts_with("blocks: name above 64 bytes  -   xxxx"), "{table}");
    assert!(lines[3].starts_with("follower  "), "{table}");

    let json = output(&[&arguments[..], &["--json"]].concat());
    let rows: Vec<Value> = serde_json::from_slice(&json.stdout).expect("a JSON array");
    let blocks: Vec<&Value> = rows.iter().map(|row| &row["blocks"]).collect();
    assert_eq!(blocks, [&"not ephemeral".into(), &"name above 64 bytes".into(), &Value::Null]);
    assert_eq!(rows[1]["znode"], long);
}

/// More than the data that a client keeps of all candidates together.
#[tokio::test]
async fn however_much_participants_write_candidates_are_listed() {
    const COUNT: usize = 70;
    let server = Served::start("list-large", &[]);
    let servers = server.address();
    let client = Client::builder(servers).connect().await.expect("a session");
    client.create("/leader", "", CreateMode::Persistent).await.expect("it is created");
    for _ in 0..COUNT {
        let data = "x".repeat(1_000_000);
        let mode = CreateMode::PersistentSequential;
        client.create("/leader/n-latch-", data, mode).await.expect("it is created");
    }
    let arguments = ["list", "--servers", servers, "--election", "/leader"];
    let table = output(&arguments);
    assert_eq!(table.status.code(), Some(0), "{}", text(&table.stderr));
    assert_eq!(text(&table.stdout).lines().count(), 1 + COUNT);

    let json = output(&[&arguments[..], &["--json"]].concat());
    let rows: Vec<Value> = serde_json::from_slice(&json.stdout).expect("a JSON array");
    assert_eq!(rows.len(), COUNT);
    assert!(
        rows.iter().all(|row| row["data"].as_str().is_some_and(|data| data.len() == 1_000_000))
    );
}

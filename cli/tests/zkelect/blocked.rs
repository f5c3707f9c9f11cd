//! Obstacles that a participant with the right to create znodes can put in the way of an election.

use election_tokio::{Client, CreateMode, Version};

use serde_json::Value;

use crate::process::Process;
use crate::run_http::{get, wait_for_code};
use crate::served::Served;
use crate::support::{BEATING, ELECTION, Folder, LOCK, Plan, Run, output, text};

/// Nothing else would tell that this takes a human.
#[tokio::test]
async fn a_candidate_that_is_not_ephemeral_is_warned_of_and_waited_for() {
    let server = Served::start("blocked", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create("/leader", "", CreateMode::Persistent).await.expect("it is created");
    let path = "/leader/a-latch-0000000000";
    client.create(path, "", CreateMode::Persistent).await.expect("it is created");
    let folder = Folder::new("blocked-run");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: BEATING };
    let run = Run::start(&folder, &plan);
    run.wait_until_said("blocked: the candidate ahead is not ephemeral");
    run.wait_until_said("a-latch-0000000000");
    client.delete(path, Version::ANY).await.expect("it is deleted");
    run.wait_for("elected", 1);
}

/// kazoo's election leads, and a nominee of the default format waits, as on the way from one to the other. No view
/// takes the one that waits for the leader.
#[tokio::test(flavor = "multi_thread")]
async fn a_nominee_that_another_format_blocks_is_no_leader_to_anybody() {
    let server = Served::start("blocked-views", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create(ELECTION, "", CreateMode::Persistent).await.expect("it is created");
    let name = "abababababababababababababababab__lock__0000000000";
    let path = format!("{ELECTION}/{name}");
    client.create(&path, "kazoo", CreateMode::Ephemeral).await.expect("it is created");
    let folder = Folder::new("blocked-views-run");
    let options = &["--http=127.0.0.1:0"];
    let plan = Plan { servers: server.address(), id: "a", options, script: BEATING };
    let run = Run::start(&folder, &plan);
    let event = run.wait_for("blocked", 1);
    assert!(event["by"].as_str().is_some_and(|by| by.contains("another format")), "{event}");
    let candidate = event["candidate"].as_str().expect("a name").to_owned();
    let election = &["--servers", server.address(), "--election", ELECTION];

    let list = output(&[&["list", "--json"], election.as_slice()].concat());
    let rows: Vec<Value> = serde_json::from_slice(&list.stdout).expect("JSON");
    let role = |znode: &str| {
        let row = rows.iter().find(|row| row["znode"] == znode);
        row.unwrap_or_else(|| panic!("no {znode}: {rows:?}"))
    };
    assert_eq!(role(&candidate)["role"], "blocked", "{rows:?}");
    assert!(role(&candidate)["blocked_by"].as_str().is_some_and(|by| by.contains(name)));
    assert!(text(&list.stderr).contains("does not lead: blocked by"), "{}", text(&list.stderr));

    let token = role(&candidate)["token"].to_string();
    let verified = output(&[&["verify", "--json"], election.as_slice(), &[&token]].concat());
    assert_eq!(verified.status.code(), Some(1), "{}", text(&verified.stderr));
    let verdict: Value = serde_json::from_slice(&verified.stdout).expect("JSON");
    assert_eq!(verdict["verdict"], "blocked", "{verdict}");

    let watch = Process::start(&[&["watch", "--json"], election.as_slice()].concat());
    let seen = loop {
        let line = watch.next_json();
        if line["event"] != "candidates" && line["event"] != "vacant" {
            break line;
        }
    };
    assert_eq!((&seen["event"], &seen["znode"]), (&"blocked".into(), &candidate.clone().into()));
    assert!(seen["blocked_by"].as_str().is_some_and(|by| by.contains(name)), "{seen}");

    let ready = wait_for_code(&run, "/readyz", 200);
    assert!(ready.body.contains("stands, blocked by"), "{}", ready.body);
    let leader = get(&run, "/leader");
    assert_eq!(leader.code, 503, "{}", leader.body);
    assert_eq!(get(&run, "/leading").code, 503);
    assert_eq!(run.names(), ["blocked"]);

    client.delete(&path, Version::ANY).await.expect("it is deleted");
    let elected = run.wait_for("elected", 1);
    assert_eq!(elected["token"].to_string(), token);
    let verified = output(&[&["verify"], election.as_slice(), &[&token]].concat());
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
    wait_for_code(&run, "/leader", 200);
    let list = output(&[&["list", "--json"], election.as_slice()].concat());
    let rows: Vec<Value> = serde_json::from_slice(&list.stdout).expect("JSON");
    assert_eq!(rows.first().map(|row| &row["role"]), Some(&"leader".into()), "{rows:?}");
}

/// A contender for a lock reports, without `-v`, an obstacle that only a human can remove, as a
/// nominee does.
#[tokio::test]
async fn a_contender_that_is_not_ephemeral_is_warned_of_and_waited_for() {
    let server = Served::start("blocked-lock", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create(LOCK, "", CreateMode::Persistent).await.expect("it is created");
    let path = format!("{LOCK}/a-__READ__0000000000");
    client.create(&path, "", CreateMode::Persistent).await.expect("it is created");
    let folder = Folder::new("blocked-lock-run");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: BEATING };
    let run = Run::lock(&folder, &plan);
    run.wait_until_said("blocked: the contender ahead is not ephemeral");
    run.wait_until_said("a-__READ__0000000000");
    client.delete(&path, Version::ANY).await.expect("it is deleted");
    run.wait_for("acquired", 1);
}

/// Neither sees the other, but zkelect looks: it ends at once, and says which format to give.
#[tokio::test]
async fn a_contender_of_another_format_ends_a_lock() {
    let server = Served::start("blocked-foreign", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create(LOCK, "", CreateMode::Persistent).await.expect("it is created");
    let path = format!("{LOCK}/abababababababababababababababab__lock__0000000000");
    client.create(&path, "", CreateMode::Ephemeral).await.expect("it is created");
    let folder = Folder::new("blocked-foreign-run");
    for (id, options) in [("waits", &[][..]), ("tries", &["--try"])] {
        let plan = Plan { servers: server.address(), id, options, script: BEATING };
        let mut run = Run::lock(&folder, &plan);
        assert_eq!(run.ended().code(), Some(78), "{}", run.said());
        for said in ["another format than", "__lock__0000000000", "--format kazoo"] {
            assert!(run.said().contains(said), "{said}: {}", run.said());
        }
    }
    let children = client.get_children(LOCK).await.expect("it lists");
    assert_eq!(children.iter().count(), 1, "{children:?}");
    let options = ["--format", "kazoo", "--try"];
    let plan = Plan { servers: server.address(), id: "same", options: &options, script: BEATING };
    assert_eq!(Run::lock(&folder, &plan).ended().code(), Some(1), "it is held");

    // No format of a lock.
    let path = format!("{LOCK}-elected");
    let mut nomination = client.election(&path).nominate().expect("it stands");
    nomination.elected().await.expect("it leads");
    let ended = output(&["lock", "--servers", server.address(), &path, "--", "true"]);
    assert_eq!(ended.status.code(), Some(78), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("an election is held there"), "{}", text(&ended.stderr));
}

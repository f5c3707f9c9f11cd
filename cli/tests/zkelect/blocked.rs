//! Obstacles that a participant with the right to create znodes can put in the way of an election.

use election_tokio::{Client, CreateMode, Version};

use crate::served::Served;
use crate::support::{BEATING, Folder, LOCK, Plan, Run};

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

/// Neither sees the other, but zkelect looks.
#[tokio::test]
async fn a_contender_of_another_format_is_warned_of_and_waited_for() {
    let server = Served::start("blocked-foreign", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create(LOCK, "", CreateMode::Persistent).await.expect("it is created");
    let path = format!("{LOCK}/abababababababababababababababab__lock__0000000000");
    client.create(&path, "", CreateMode::Ephemeral).await.expect("it is created");
    let folder = Folder::new("blocked-foreign-run");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: BEATING };
    let run = Run::lock(&folder, &plan);
    run.wait_until_said("of another format");
    assert_eq!(run.names(), Vec::<String>::new());
    client.delete(&path, Version::ANY).await.expect("it is deleted");
    run.wait_for("acquired", 1);
}

//! What a participant that may create znodes can put in the way of an election.

use election_tokio::{Client, CreateMode, Version};

use crate::served::Served;
use crate::support::{BEATING, Folder, Plan, Run};

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

//! `zkelect revoke`: holders of a lock that give it up, or do not.

use serde_json::Value;

use crate::lock::{HOLDING, contend};
use crate::support::{ELECTION, Folder, LOCK, Plan, Run, output, servers, text, token};

fn revoke(servers: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let done = output(&[&["revoke", "--servers", servers], options].concat());
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_heeds_a_request_releases_and_the_next_one_holds() {
    let servers = servers("revoke-heeded");
    let folder = Folder::new("revoke-heeded-runs");
    let plan = |id, options| Plan { servers: &servers, id, options, script: HOLDING };
    let (code, _, said) = revoke(&servers, &[LOCK]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no contender holds /lock"), "{said}");

    let mut first = Run::lock(&folder, &plan("a", &["--revocable"]));
    first.wait_for_log("up a");
    let second = Run::lock(&folder, &plan("b", &[]));
    contend(&servers, 2).await;
    let number = token(&first.wait_for("acquired", 1));
    let (code, printed, said) = revoke(&servers, &[LOCK]);
    assert_eq!((code, printed), (Some(0), format!("a (token {number}) released\n")), "{said}");
    assert!(said.contains(&format!("a (token {number}) is asked to release")), "{said}");
    assert_eq!(first.ended().code(), Some(75), "{}", first.said());
    second.wait_for_log("up b");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_does_not_heed_a_request_is_removed_only_with_break() {
    let servers = servers("revoke-unheeded");
    let folder = Folder::new("revoke-unheeded-runs");
    let plan = |id| Plan { servers: &servers, id, options: &[], script: HOLDING };
    let mut first = Run::lock(&folder, &plan("a"));
    first.wait_for_log("up a");
    let second = Run::lock(&folder, &plan("b"));
    contend(&servers, 2).await;
    let number = token(&first.wait_for("acquired", 1));

    let (code, printed, said) = revoke(&servers, &["--json", "--within", "0.2", LOCK]);
    assert_eq!(code, Some(1));
    let told: Value = serde_json::from_str(&printed).expect("an object");
    assert_eq!((&told["outcome"], &told["holding"][0]["id"]), (&"still_there".into(), &"a".into()));
    assert!(said.contains(&format!("a (token {number}) is still at /lock after 200ms")), "{said}");
    assert!(said.contains("with --break"), "{said}");
    assert_eq!(first.names(), ["acquired"]);
    // Without time it asks, and does not wait.
    let (code, _, said) = revoke(&servers, &["--within", "0", LOCK]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("(token {number}) is asked to release")), "{said}");

    let number = number.to_string();
    let options = ["--within", "0", "--break", "--token", &number, LOCK];
    let (code, printed, said) = revoke(&servers, &options);
    // The request has taken the place of its name.
    assert_eq!((code, printed.ends_with(" was removed\n")), (Some(0), true), "{printed}{said}");
    assert!(printed.contains(&format!("(token {number})")), "{printed}");
    assert_eq!(first.ended().code(), Some(75), "{}", first.said());
    second.wait_for_log("up b");
    let (code, _, said) = revoke(&servers, &[LOCK, "a"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no such contender is at /lock"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn evict_points_to_the_command_for_locks() {
    let servers = servers("revoke-evict");
    let folder = Folder::new("revoke-evict-runs");
    let plan = Plan { servers: &servers, id: "a", options: &[], script: HOLDING };
    let holder = Run::lock(&folder, &plan);
    holder.wait_for_log("up a");
    let evicted = output(&["evict", "--servers", &servers, "--election", LOCK]);
    assert_eq!(evicted.status.code(), Some(1));
    let said = text(&evicted.stderr);
    assert!(said.contains("a lock is at /lock: `zkelect revoke` asks its holders"), "{said}");
    assert_eq!(holder.names(), ["acquired"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn revoke_points_to_the_commands_for_elections() {
    let servers = servers("revoke-election");
    let folder = Folder::new("revoke-election-runs");
    let plan = Plan { servers: &servers, id: "a", options: &[], script: HOLDING };
    let leader = Run::start(&folder, &plan);
    leader.wait_for_log("up a");
    for who in [&[][..], &["a"]] {
        let (code, printed, said) = revoke(&servers, &[&[ELECTION], who].concat());
        assert_eq!((code, printed.as_str()), (Some(1), ""), "{said}");
        let hint = format!("an election is at {ELECTION}: `zkelect step-down` asks its leader");
        assert!(said.contains(&hint), "{said}");
    }
    assert_eq!(leader.names(), ["elected"]);
}

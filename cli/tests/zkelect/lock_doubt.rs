//! The connection is lost while COMMAND runs by a lock, or before.

use core::time::Duration;

use election_tokio::{Client, Version};
use rustix::process::Signal;
use zk_test_kit::proxy::{Directions, Proxy};

use crate::lock::{HOLDING, contend};
use crate::served::Served;
use crate::support::{BEATING, Folder, LOCK, Plan, Run, at, beats, now};

fn through_a_proxy(server: &Served) -> Proxy {
    Proxy::to(server.address().parse().expect("an address")).expect("a proxy")
}

/// Writes when it got `SIGTERM`.
const LISTENING: &str = r#"trap 'echo "told $(date +%s%N)" >>"$LOG"; exit' TERM; echo up >>"$LOG"
    while :; do sleep 0.02; done"#;

/// The connection lasts, and each answer comes: too late to renew the lease.
#[test]
fn a_command_is_told_before_a_lease_runs_out_that_late_answers_do_not_renew() {
    let server = Served::start("lock-late", &["--tick-time", "600ms"]);
    let proxy = through_a_proxy(&server);
    let folder = Folder::new("lock-late-run");
    let servers = proxy.connect_string();
    let options = &["--session-timeout", "12s", "--grace", "1s"];
    let mut run =
        Run::lock(&folder, &Plan { servers: &servers, id: "a", options, script: LISTENING });
    run.wait_for_log("up");
    proxy.delay(Duration::from_millis(1800));
    run.wait_for_log("told ");
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    assert!(run.said().contains("too late to renew the lease"), "{}", run.said());
    assert!(!run.said().contains("is killed"), "{}", run.said());
}

/// As before; COMMAND does not heed the signal.
#[test]
fn a_kill_by_the_deadline_is_reported_as_one() {
    let server = Served::start("lock-late-stubborn", &["--tick-time", "300ms"]);
    let proxy = through_a_proxy(&server);
    let folder = Folder::new("lock-late-stubborn-run");
    let servers = proxy.connect_string();
    let options = &["--session-timeout", "6s", "--grace", "60s"];
    let script = format!("trap '' TERM; {BEATING}");
    let mut run =
        Run::lock(&folder, &Plan { servers: &servers, id: "a", options, script: &script });
    run.wait_for_log("beat");
    proxy.delay(Duration::from_millis(900));
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    assert!(run.said().contains("COMMAND is killed: the lease deadline"), "{}", run.said());
}

#[test]
fn a_command_is_told_at_once_and_not_started_again() {
    let server = Served::start("lock-doubt", &[]);
    let proxy = through_a_proxy(&server);
    let folder = Folder::new("lock-doubt-run");
    let servers = proxy.connect_string();
    let options = &["--session-timeout", "20s"];
    let script = r#"trap 'echo "told $(date +%s%N)" >>"$LOG"; exit' TERM; echo up >>"$LOG"
        while :; do sleep 0.02; done"#;
    let mut run = Run::lock(&folder, &Plan { servers: &servers, id: "a", options, script });
    run.wait_for_log("up");
    proxy.cut();
    let told: u64 = run.wait_for_log("told ").parse().expect("a time");
    let suspended = run.wait_for("suspended", 1);
    let valid_for = Duration::from_millis(suspended["valid_for_ms"].as_u64().expect("a number"));
    assert!(Duration::from_nanos(told) < at(&suspended) + valid_for);
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    assert_eq!(run.log().iter().filter(|line| *line == "up").count(), 1);
    assert_eq!(run.names().last().map(String::as_str), Some("ended"));
}

/// No server answers, and no connection ends.
#[test]
fn a_stubborn_command_is_killed_by_the_lease_deadline() {
    let server = Served::start("lock-swallowed", &["--tick-time", "300ms"]);
    let proxy = through_a_proxy(&server);
    let folder = Folder::new("lock-swallowed-run");
    let servers = proxy.connect_string();
    let options = &["--session-timeout", "6s", "--grace", "60s"];
    let script = format!("trap '' TERM; {BEATING}");
    let plan = Plan { servers: &servers, id: "a", options, script: &script };
    let mut run = Run::lock(&folder, &plan);
    run.wait_for_log("beat");
    let swallowed_at = now();
    proxy.black_hole(Directions::Both);
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    let last = beats(&run.log()).last().expect("it worked").1;
    assert!(last < swallowed_at + Duration::from_secs(6));
    assert!(run.said().contains("no server confirmed the departure"), "{}", run.said());
}

#[tokio::test]
async fn a_wait_outlasts_a_lost_connection() {
    let server = Served::start("lock-wait-doubt", &[]);
    let proxy = through_a_proxy(&server);
    let folder = Folder::new("lock-wait-doubt-runs");
    let plan = |servers, id| Plan { servers, id, options: &[], script: HOLDING };
    let mut holder = Run::lock(&folder, &plan(server.address(), "a"));
    holder.wait_for_log("up a");
    let servers = proxy.connect_string();
    let waiter = Run::lock(&folder, &plan(&servers, "b"));
    contend(server.address(), 2).await;
    proxy.refuse();
    proxy.cut();
    waiter.wait_until_said("no ZooKeeper server in reach");
    proxy.accept().expect("the port is free");
    holder.signal(Signal::TERM);
    assert_eq!(holder.ended().code(), Some(3), "{}", holder.said());
    waiter.wait_for_log("up b");
    assert_eq!(waiter.names(), ["acquired"]);
}

/// An operator deletes the holder's znode.
#[tokio::test]
async fn a_lock_that_is_broken_stops_the_command() {
    let server = Served::start("lock-broken", &[]);
    let folder = Folder::new("lock-broken-run");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: HOLDING };
    let mut run = Run::lock(&folder, &plan);
    run.wait_for_log("up a");
    let acquired = run.wait_for("acquired", 1);
    let znode = acquired["znode"].as_str().expect("a name");
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.delete(&format!("{LOCK}/{znode}"), Version::ANY).await.expect("it is deleted");
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    assert_eq!(run.log(), ["up a", "told a"]);
    assert_eq!(run.names(), ["acquired", "lost", "ended"]);
    let lost = run.wait_for("lost", 1);
    assert_eq!(lost["reason"], "another client deleted the holder's znode");
}

#[tokio::test]
async fn a_request_for_the_lock_stops_the_command_only_where_it_is_revocable() {
    let server = Served::start("lock-revocable", &[]);
    let folder = Folder::new("lock-revocable-runs");
    let client = Client::builder(server.address()).connect().await.expect("a session");
    let lock = client.write_lock(LOCK);
    let plan = |id, options| Plan { servers: server.address(), id, options, script: HOLDING };
    let mut deaf = Run::lock(&folder, &plan("a", &[]));
    deaf.wait_for_log("up a");
    lock.request_revoke_of_holders().await.expect("it is asked for");
    let mut heeding = Run::lock(&folder, &plan("b", &["--revocable"]));
    contend(server.address(), 2).await;
    assert_eq!(deaf.names(), ["acquired"]);
    deaf.signal(Signal::TERM);
    assert_eq!(deaf.ended().code(), Some(3), "{}", deaf.said());

    heeding.wait_for_log("up b");
    lock.request_revoke_of_holders().await.expect("it is asked for");
    assert_eq!(heeding.ended().code(), Some(75), "{}", heeding.said());
    assert_eq!(heeding.names(), ["acquired", "revoke_requested", "released", "ended"]);
    assert_eq!(heeding.log(), ["up a", "told a", "up b", "told b"]);
}

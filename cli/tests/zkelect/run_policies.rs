//! The signals that COMMAND gets when leadership is in doubt, asked for or lost, by the policies of the command line.

use core::time::Duration;

use election_tokio::election::StepDownRequest;
use election_tokio::{Client, Version};
use rustix::process::Signal;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Directions;
use zk_test_kit::wait::{SOON, eventually};

use crate::support::{
    BEATING, ELECTION, Folder, Plan, Run, assert_one_at_a_time, at, beats, observed, servers,
    token, wait_for_replies,
};

/// Says when it began and when it is told to end.
const POLITE: &str = r#"trap 'echo "told $(date +%s%N)" >>"$LOG"; exit' TERM
    echo "up $ZKELECT_ID" >>"$LOG"; while :; do sleep 0.02; done"#;

const UNTIL_DEADLINE: [&str; 2] = ["--while-suspended", "until-deadline"];

#[test]
fn a_command_goes_on_while_suspended_if_that_is_the_policy() {
    let (folder, servers) = (Folder::new("goes-on"), servers("goes-on"));
    let (proxy, by_proxy) = observed(&servers);
    let options = [UNTIL_DEADLINE, ["--session-timeout", "20s"]].concat();
    let plan = Plan { servers: &by_proxy, id: "a", options: &options, script: BEATING };
    let locks = Folder::new("goes-on-lock");
    let (run, lock) = (Run::start(&folder, &plan), Run::lock(&locks, &plan));
    run.wait_for_log("beat");
    lock.wait_for("acquired", 1);
    proxy.refuse();
    proxy.cut();
    let suspended = run.wait_for("suspended", 1);
    let beats_before = beats(&run.log()).len();
    eventually(SOON, "it goes on", || beats(&run.log()).len() > beats_before + 5).expect("it does");
    proxy.accept().expect("the port is free");
    let resumed = run.wait_for("resumed", 1);
    assert_eq!(token(&resumed), token(&suspended));
    lock.wait_for("resumed", 1);
    assert!(!run.said().contains("COMMAND has to end"), "{}", run.said());
    assert!(!lock.said().contains("COMMAND has to end"), "{}", lock.said());
    run.signal(Signal::TERM);
    run.wait_for("ended", 1);
}

#[test]
fn a_command_that_goes_on_has_its_grace_before_the_lease_deadline() {
    let (folder, servers) = (Folder::new("last-call"), servers("last-call"));
    let (proxy, by_proxy) = observed(&servers);
    let options = [UNTIL_DEADLINE, ["--session-timeout", "12s"], ["--grace", "3s"]].concat();
    let plan = Plan { servers: &by_proxy, id: "a", options: &options, script: POLITE };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("up");
    proxy.refuse();
    proxy.cut();
    let suspended = run.wait_for("suspended", 1);
    let valid_for = Duration::from_millis(suspended["valid_for_ms"].as_u64().expect("a number"));
    let told = Duration::from_nanos(run.wait_for_log("told ").parse().expect("a time"));
    // Of what was left, COMMAND has gone on for half at least.
    assert!(told + Duration::from_millis(200) > at(&suspended) + valid_for / 2, "{told:?}");
    assert!(told < at(&suspended) + valid_for, "{told:?}");
}

#[test]
fn a_stubborn_command_that_goes_on_is_killed_by_the_lease_deadline() {
    let (folder, servers) = (Folder::new("goes-on-stubborn"), servers("goes-on-stubborn"));
    let (proxy, by_proxy) = observed(&servers);
    let options = [UNTIL_DEADLINE, ["--session-timeout", "6s"], ["--grace", "60s"]].concat();
    let stubborn = format!("trap '' TERM\n{BEATING}");
    let plan = Plan { servers: &by_proxy, id: "a", options: &options, script: &stubborn };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    proxy.refuse();
    proxy.cut();
    let suspended = run.wait_for("suspended", 1);
    run.wait_for("lost", 1);
    let valid_for = Duration::from_millis(suspended["valid_for_ms"].as_u64().expect("a number"));
    let last = beats(&run.log()).last().expect("it worked").1;
    assert!(last < at(&suspended) + valid_for, "{last:?}");
}

#[test]
fn a_nominee_ends_with_its_session_if_that_is_the_policy() {
    let (folder, servers) = (Folder::new("expiry"), servers("expiry"));
    let (proxy, by_proxy) = observed(&servers);
    let options = ["--on-expiry", "end", "--session-timeout", "6s"];
    let plan = Plan { servers: &by_proxy, id: "a", options: &options, script: BEATING };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    let other = Plan { servers: &servers, id: "b", options: &[], script: BEATING };
    let other = Run::start(&folder, &other);
    other.wait_for("following", 1);
    proxy.black_hole(Directions::Both);
    other.wait_for("elected", 1);
    proxy.heal_by_cutting();
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    assert!(run.said().contains("session expired"), "{}", run.said());
    assert_one_at_a_time(&run.log());
}

async fn ask(client: &Client, reason: &str) {
    let election = client.election(ELECTION);
    let asked = election.request_step_down("ops", reason, Duration::from_secs(60)).await;
    assert!(matches!(asked, Ok(StepDownRequest::Made(_))), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_asked_steps_down_and_stands_again() {
    let (folder, servers) = (Folder::new("step-down"), servers("step-down"));
    // No candidate goes with its session.
    let options = ["--session-timeout", "60s"];
    let plan = |id| Plan { servers: &servers, id, options: &options, script: POLITE };
    let first = Run::start(&folder, &plan("a"));
    first.wait_for_log("up a");
    let second = Run::start(&folder, &plan("b"));
    second.wait_for("following", 1);
    let client = Client::builder(&servers).connect().await.expect("a session");

    ask(&client, "new disks").await;
    let requested = first.wait_for("step_down_requested", 1);
    assert_eq!((&requested["by"], &requested["reason"]), (&"ops".into(), &"new disks".into()));
    first.wait_for("following", 1);
    first.wait_for_log("told ");
    second.wait_for_log("up b");
    let expected = ["elected", "step_down_requested", "stepped_down", "following"];
    assert_eq!(first.names(), expected);
    assert!(at(&first.wait_for("stepped_down", 1)) <= at(&second.wait_for("elected", 1)));

    ask(&client, "back").await;
    first.wait_for_logs("up a", 2);
    assert!(token(&first.wait_for("elected", 2)) > token(&second.wait_for("elected", 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_without_others_leads_again_after_it_was_asked() {
    let (folder, servers) = (Folder::new("step-alone"), servers("step-alone"));
    let plan = Plan { servers: &servers, id: "a", options: &[], script: BEATING };
    let run = Run::start(&folder, &plan);
    let elected = run.wait_for("elected", 1);
    let client = Client::builder(&servers).connect().await.expect("a session");
    ask(&client, "try").await;
    let again = run.wait_for("elected", 2);
    assert!(token(&again) > token(&elected));
    run.wait_for_log(&format!("beat {}", token(&again)));
    assert_one_at_a_time(&run.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_once_a_leader_that_is_asked_ends() {
    let (folder, servers) = (Folder::new("step-once"), servers("step-once"));
    let plan = Plan { servers: &servers, id: "a", options: &["--once"], script: POLITE };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("up");
    let client = Client::builder(&servers).connect().await.expect("a session");
    ask(&client, "off").await;
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    assert!(client.election(ELECTION).candidates().await.expect("they are read").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_can_be_told_to_ignore_requests() {
    let (folder, servers) = (Folder::new("ignore"), servers("ignore"));
    let (proxy, by_proxy) = observed(&servers);
    let options = ["--ignore-step-down", "--lease-grade", "contact", "--session-timeout", "8s"];
    let plan = Plan { servers: &by_proxy, id: "a", options: &options, script: BEATING };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    let client = Client::builder(&servers).connect().await.expect("a session");
    ask(&client, "in vain").await;
    let pings = proxy.counters().replies(Opcode::PING);
    wait_for_replies(&proxy, &[Opcode::PING], pings + 2);
    assert_eq!(run.names(), ["elected"]);
}

#[test]
fn a_lock_delay_follows_upon_a_leader_that_did_not_say_that_it_ended() {
    let (folder, servers) = (Folder::new("lock-delay"), servers("lock-delay"));
    let options = ["--lock-delay", "5s", "--session-timeout", "6s"];
    let plan = |id| Plan { servers: &servers, id, options: &options, script: BEATING };
    let mut first = Run::start(&folder, &plan("a"));
    first.wait_for_log("beat");
    let second = Run::start(&folder, &plan("b"));
    second.wait_for("following", 1);
    let third = Run::start(&folder, &plan("c"));
    third.wait_for("following", 1);
    first.signal(Signal::TERM);
    first.ended();
    second.wait_for("elected", 1);
    assert_eq!(second.count("awaiting_lock_delay"), 0, "{:?}", second.names());

    second.signal(Signal::KILL);
    let awaiting = third.wait_for("awaiting_lock_delay", 1);
    let remaining = awaiting["remaining_ms"].as_u64().expect("a number");
    assert!((1..=5000).contains(&remaining), "{remaining}");
    let elected = third.wait_for("elected", 1);
    let waited = at(&elected).saturating_sub(at(&awaiting));
    // The first event may be written late.
    assert!(waited + Duration::from_secs(1) > Duration::from_millis(remaining), "{waited:?}");
    assert_one_at_a_time(&third.log());
}

/// A nominee that stood again, and was elected, would lead without a COMMAND.
#[tokio::test]
async fn with_once_an_eviction_ends_the_nomination_before_the_command_has_ended() {
    let (folder, servers) = (Folder::new("once-evicted"), servers("once-evicted"));
    let script = r#"trap 'until [ -e "$LOG.go" ]; do sleep 0.02; done; exit' TERM
        echo up >>"$LOG"; while :; do sleep 0.02; done"#;
    let options = &["--once", "--session-timeout", "20s", "--grace", "60s"];
    let mut run = Run::start(&folder, &Plan { servers: &servers, id: "a", options, script });
    run.wait_for_log("up");
    let elected = run.wait_for("elected", 1);
    let client = Client::builder(&servers).connect().await.expect("a session");
    let candidate = elected["candidate"].as_str().expect("a name");
    let path = format!("{ELECTION}/{candidate}");
    client.delete(&path, Version::ANY).await.expect("it is deleted");
    run.wait_for("ended", 1);
    assert_eq!(run.names(), ["elected", "lost", "ended"]);
    let stand = client.election(ELECTION).candidates().await.expect("a list");
    assert!(stand.is_empty(), "{stand:?}");
    std::fs::write(folder.file("log.go"), "").expect("a file");
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
}

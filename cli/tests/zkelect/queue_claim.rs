//! `zkelect queue claim`.

use election_tokio::{Client, Version};
use rustix::process::Signal;
use zk_test_kit::wait::{SOON, eventually};

use crate::lock::{HOLDING, stand};
use crate::queue::put;
use crate::served::Served;
use crate::support::{Folder, Plan, QUEUE, Run, output_of, servers, text};

fn plan<'a>(servers: &'a str, id: &'a str, script: &'a str) -> Plan<'a> {
    let options = &["--session-timeout", "4s", "--grace", "1s", "--wait=20s"];
    Plan { servers, id, options, script }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_goes_once_the_command_has_done_it() {
    let served = Served::start("claim", &[]);
    for (label, servers) in [("own", served.address().to_owned()), ("real", servers("claim"))] {
        let folder = Folder::new(&format!("claim-{label}"));
        put(&servers, "wash");
        let script = r#"echo "env $ZKELECT_ID $ZKELECT_QUEUE $ZKELECT_ITEM $(cat)" >>"$LOG""#;
        let mut failing = Run::claim(&folder, &plan(&servers, "a", &format!("{script}; exit 3")));
        assert_eq!(failing.ended().code(), Some(3), "{}", failing.said());
        assert_eq!(failing.names(), ["acquired", "released", "ended"]);
        assert_eq!(failing.wait_for("ended", 1)["reason"], "given back");
        stand(&servers, QUEUE, 1).await;
        let mut done = Run::claim(&folder, &plan(&servers, "b", script));
        assert_eq!(done.ended().code(), Some(0), "{}", done.said());
        assert_eq!(done.wait_for("ended", 1)["reason"], "done");
        let expected = ["a", "b"].map(|id| format!("env {id} /queue queue-0000000000 wash"));
        assert_eq!(done.log(), expected);
        stand(&servers, QUEUE, 0).await;
        let empty = Plan { options: &["-E", "42"], ..plan(&servers, "c", "exit 0") };
        let mut in_vain = Run::claim(&folder, &empty);
        assert_eq!(in_vain.ended().code(), Some(42), "{}", in_vain.said());
    }
}

/// More than a pipe holds.
#[test]
fn a_command_need_not_read_the_item() {
    let server = Served::start("claim-unread", &[]);
    let folder = Folder::new("claim-unread-run");
    let line = ["queue", "put", "--servers", server.address(), QUEUE];
    assert_eq!(output_of(&line, &vec![b'z'; 500_000]).status.code(), Some(0));
    let script = r#"head -c 3 >>"$LOG"; echo >>"$LOG""#;
    let mut run = Run::claim(&folder, &plan(server.address(), "a", script));
    assert_eq!(run.ended().code(), Some(0), "{}", run.said());
    assert_eq!(run.log(), ["zzz"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_is_given_back_by_one_that_is_told_to_end() {
    let server = Served::start("claim-told", &[]);
    let folder = Folder::new("claim-told-runs");
    put(server.address(), "wash");
    // Also where COMMAND makes a success of it.
    let script = HOLDING.replace("exit 3", "exit 0");
    let mut told = Run::claim(&folder, &plan(server.address(), "a", &script));
    told.wait_for_log("up a");
    // The item, and the sign of the claim.
    stand(server.address(), QUEUE, 2).await;
    told.signal(Signal::TERM);
    assert_eq!(told.ended().code(), Some(0), "{}", told.said());
    assert_eq!(told.wait_for("ended", 1)["reason"], "given back");
    stand(server.address(), QUEUE, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_items_of_takers_that_are_killed_and_stopped_go_to_the_next() {
    let server = Served::start("claim-killed", &["--tick-time", "200ms"]);
    for signal in [Signal::KILL, Signal::STOP] {
        let folder = Folder::new("claim-killed-runs");
        put(server.address(), "wash");
        let mut gone = Run::claim(&folder, &plan(server.address(), "a", HOLDING));
        gone.wait_for_log("up a");
        let mut next = Run::claim(&folder, &plan(server.address(), "b", "cat >>\"$LOG\""));
        gone.signal(signal);
        assert_eq!(next.ended().code(), Some(0), "{}", next.said());
        stand(server.address(), QUEUE, 0).await;
        if signal == Signal::STOP {
            gone.signal(Signal::CONT);
            assert_eq!(gone.ended().code(), Some(75), "{}", gone.said());
            assert!(!gone.log().contains(&"told a".to_owned()), "its guard has killed it");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_an_operator_has_deleted_is_not_done() {
    let server = Served::start("claim-deleted", &[]);
    let folder = Folder::new("claim-deleted-run");
    put(server.address(), "wash");
    let script = r#"echo up >>"$LOG"; until grep -q go "$LOG"; do sleep 0.02; done"#;
    let mut run = Run::claim(&folder, &plan(server.address(), "a", script));
    run.wait_for_log("up");
    let client = Client::builder(server.address()).connect().await.expect("a session");
    let item = format!("{QUEUE}/queue-0000000000");
    for pin in client.get_children(&item).await.expect("it is listed").iter() {
        client.delete(&format!("{item}/{pin}"), Version::ANY).await.expect("it is deleted");
    }
    let claim = format!("{QUEUE}/claimed-queue-0000000000");
    client.delete(&claim, Version::ANY).await.expect("it is deleted");
    std::fs::write(folder.file("log"), "go\n").expect("it is written");
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    assert_eq!(run.names(), ["acquired", "lost", "ended"]);
    stand(server.address(), QUEUE, 1).await;
}

/// One of the workers does each item, once.
#[tokio::test(flavor = "multi_thread")]
async fn takers_share_the_work() {
    let server = Served::start("claim-shared", &[]);
    let folder = Folder::new("claim-shared-runs");
    for number in 0..6 {
        put(server.address(), &number.to_string());
    }
    let script = r#"echo "item $(cat)" >>"$LOG""#;
    let ids: Vec<String> = (0..6).map(|number| format!("t{number}")).collect();
    let mut runs: Vec<Run> =
        ids.iter().map(|id| Run::claim(&folder, &plan(server.address(), id, script))).collect();
    for run in &mut runs {
        assert_eq!(run.ended().code(), Some(0), "{}", run.said());
    }
    let mut log = runs[0].log();
    log.sort_unstable();
    assert_eq!(log, (0..6).map(|number| format!("item {number}")).collect::<Vec<_>>());
    stand(server.address(), QUEUE, 0).await;
}

#[test]
fn items_of_another_format_are_told_of() {
    let server = Served::start("claim-format", &[]);
    let folder = Folder::new("claim-format-run");
    let line = ["queue", "put", "--servers", server.address(), "--priority=1", QUEUE];
    assert_eq!(output_of(&line, b"x").status.code(), Some(0));
    let mut run = Run::claim(&folder, &plan(server.address(), "a", "exit 0"));
    assert_eq!(run.ended().code(), Some(78), "{}", run.said());
    let said = || run.said().contains("give --format");
    eventually(SOON, "it is told", said).expect("it is told");
    assert!(text(run.said().as_bytes()).contains("guide-priority"), "{}", run.said());
}

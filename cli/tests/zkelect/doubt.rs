//! The connection is lost while COMMAND runs.

use core::time::Duration;

use zk_test_kit::proxy::{Directions, Proxy};
use zk_test_kit::zookeeper::shared;

use crate::support::{BEATING, Folder, Plan, Run, at, beats, now, token};

fn proxy() -> Proxy {
    Proxy::to(shared().expect("a server").addr()).expect("a proxy")
}

fn through(proxy: &Proxy, label: &str) -> String {
    let server = shared().expect("a server");
    let chroot = server.fresh_chroot(label).expect("a chroot");
    format!("{}{chroot}", proxy.connect_string())
}

/// Heeds no signal that can be ignored.
const STUBBORN: &str = r#"trap '' TERM
    while :; do echo "beat $ZKELECT_TOKEN $(date +%s%N)" >>"$LOG"; sleep 0.02; done"#;

#[test]
fn a_command_is_told_at_once_when_the_connection_is_lost() {
    let proxy = proxy();
    let folder = Folder::new("told");
    let plan = Plan {
        servers: &through(&proxy, "told"),
        id: "a",
        options: &["--session-timeout", "20s"],
        script: r#"trap 'echo "told $(date +%s%N)" >>"$LOG"; exit' TERM; echo up >>"$LOG"
            while :; do sleep 0.02; done"#,
    };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("up");
    proxy.refuse();
    proxy.cut();
    let suspended = run.wait_for("suspended", 1);
    let told = run.wait_for_log("told ").parse().expect("a time");
    let valid_until = at(&suspended)
        + Duration::from_millis(suspended["valid_for_ms"].as_u64().expect("a number"));
    assert!(Duration::from_nanos(told) < valid_until);

    // The doubt is cleared: the same leadership goes on, with a new run of the command.
    proxy.accept().expect("the port is free");
    let resumed = run.wait_for("resumed", 1);
    assert_eq!(token(&resumed), token(&suspended));
    run.wait_for_logs("up", 2);
    assert_eq!(run.names(), ["elected", "suspended", "resumed"]);
}

#[test]
fn a_stubborn_command_is_killed_by_the_lease_deadline() {
    let proxy = proxy();
    let folder = Folder::new("stubborn");
    let plan = Plan {
        servers: &through(&proxy, "stubborn"),
        id: "a",
        options: &["--session-timeout", "6s", "--grace", "60s"],
        script: STUBBORN,
    };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    proxy.refuse();
    proxy.cut();
    let suspended = run.wait_for("suspended", 1);
    run.wait_for("lost", 1);
    let valid_until = at(&suspended)
        + Duration::from_millis(suspended["valid_for_ms"].as_u64().expect("a number"));
    let last = beats(&run.log()).last().expect("it worked").1;
    assert!(last < valid_until, "{last:?} is not before {valid_until:?}");

    proxy.accept().expect("the port is free");
    let elected = run.wait_for("elected", 2);
    assert!(token(&elected) > token(&suspended));
    run.wait_for_log(&format!("beat {}", token(&elected)));
}

/// No server answers, and no connection ends.
#[test]
fn a_command_is_stopped_when_the_network_swallows_everything() {
    let proxy = proxy();
    let folder = Folder::new("swallowed");
    let plan = Plan {
        servers: &through(&proxy, "swallowed"),
        id: "a",
        options: &["--session-timeout", "6s", "--once"],
        script: BEATING,
    };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    let swallowed_at = now();
    proxy.black_hole(Directions::Both);
    let status = run.ended();
    assert_eq!(status.code(), Some(75), "{}", run.said());
    let last = beats(&run.log()).last().expect("it worked").1;
    assert!(last < swallowed_at + Duration::from_secs(6));
    assert!(run.said().contains("no server confirmed the departure"));
}

#[test]
fn with_once_it_ends_when_leadership_is_in_doubt() {
    let proxy = proxy();
    let folder = Folder::new("once");
    let plan = Plan {
        servers: &through(&proxy, "once"),
        id: "a",
        options: &["--session-timeout", "20s", "--once"],
        script: BEATING,
    };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    proxy.cut();
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    let names = run.names();
    assert_eq!(names.first().map(String::as_str), Some("elected"));
    assert_eq!(names.get(1).map(String::as_str), Some("suspended"));
    assert_eq!(names.last().map(String::as_str), Some("ended"));
}

/// The connection lasts, and each answer comes: too late to renew the lease. Once answers are fast again, COMMAND is
/// started once more, and not in what was left of the lease.
#[test]
fn a_command_is_told_before_a_lease_runs_out_that_late_answers_do_not_renew() {
    let proxy = proxy();
    let folder = Folder::new("late");
    let plan = Plan {
        servers: &through(&proxy, "late"),
        id: "a",
        options: &["--session-timeout", "12s", "--grace", "1s"],
        script: r#"trap 'echo told >>"$LOG"; exit' TERM; echo up >>"$LOG"
            while :; do sleep 0.02; done"#,
    };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("up");
    proxy.delay(Duration::from_millis(1800));
    run.wait_for_log("told");
    run.wait_for("lost", 1);
    assert_eq!(run.log(), ["up", "told"]);
    assert!(run.said().contains("too late to renew the lease"), "{}", run.said());
    proxy.delay(Duration::ZERO);
    run.wait_for_logs("up", 2);
    assert_eq!(run.log(), ["up", "told", "up"]);
}

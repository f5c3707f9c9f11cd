//! COMMAND becomes another user: its processes refuse signals.
//!
//! To have one takes root: the tests pass without having tested anything otherwise.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::{Signal, getuid};

use crate::served::Served;
use crate::support::{BEATING, Errors, Folder, Mortals, Plan, Run, is_alive};

const NOBODY: [&str; 7] =
    ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];

/// Makes a folder with a program that makes root of its caller, as `sudo` without a question; `None` without the
/// means for it.
fn folder(label: &str) -> Option<Folder> {
    if !getuid().is_root() {
        return None;
    }
    let folder = Folder::new(label);
    fs::set_permissions(folder.file(""), Permissions::from_mode(0o777)).expect("it is ours");
    let program = folder.file("become");
    fs::copy("/usr/bin/setpriv", &program).expect("a copy");
    fs::set_permissions(&program, Permissions::from_mode(0o4755)).expect("it is ours");
    Some(folder)
}

/// Becomes root, logs its process id, and works on.
fn becoming(folder: &Folder, then: &str) -> String {
    let program = folder.file("become");
    format!(
        r#""{}" --reuid 0 --regid 0 --clear-groups -- sh -c 'echo "up $$" >>"$LOG"; exec sleep 300'
        {then}"#,
        program.display()
    )
}

#[test]
fn a_command_cannot_become_another_user() {
    let Some(folder) = folder("becomes") else { return };
    let server = Served::start("becomes-server", &[]);
    let script = becoming(&folder, r#"echo "code $?" >>"$LOG"; while :; do sleep 0.02; done"#);
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: &script };
    let mut run = Run::start_by(&folder, &plan, &NOBODY, Errors::ToFile);
    assert_ne!(run.wait_for_log("code "), "0");
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(128 + 15), "{}", run.said());
}

/// It may, where zkelect may signal every process.
#[test]
fn a_command_of_root_may_become_another_user_and_is_stopped_all_the_same() {
    let Some(folder) = folder("drops") else { return };
    let server = Served::start("drops-server", &[]);
    let script = r#"exec setpriv --reuid 65534 --regid 65534 --clear-groups -- \
        sh -c 'trap "" TERM; echo "up $$" >>"$LOG"; while :; do sleep 0.02; done'"#;
    let options = ["--grace", "200ms"];
    let plan = Plan { servers: server.address(), id: "a", options: &options, script };
    fs::write(folder.file("log"), "").expect("a log");
    fs::set_permissions(folder.file("log"), Permissions::from_mode(0o666)).expect("it is ours");
    let mut run = Run::start(&folder, &plan);
    let command = run.wait_for_log("up ");
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(128 + 9), "{}", run.said());
    assert!(!is_alive(&command));
}

#[test]
fn where_it_is_allowed_to_a_refused_signal_is_told_and_a_second_one_ends_zkelect() {
    let Some(folder) = folder("refuses") else { return };
    let server = Served::start("refuses-server", &[]);
    let script = becoming(&folder, "");
    let options = ["--allow-new-privileges", "--grace", "200ms", "--session-timeout", "40s"];
    let plan = Plan { servers: server.address(), id: "a", options: &options, script: &script };
    let mut run = Run::start_by(&folder, &plan, &NOBODY, Errors::ToFile);
    let pid = run.wait_for_log("up ");
    let _left = Mortals(vec![pid.clone()]);
    run.signal(Signal::TERM);
    run.wait_until_said(&format!("process {pid} of COMMAND cannot be stopped"));
    // It keeps the lead, so that no other machine works at the same time.
    assert_eq!(run.names(), ["elected"]);
    run.signal(Signal::TERM);
    run.wait_for("ended", 1);
    run.wait_until_said("waits for the end of what is left");
    assert!(is_alive(&pid));
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(71), "{}", run.said());
    assert_eq!(run.names(), ["elected", "resigned", "ended"]);
}

#[test]
fn zkelect_does_not_stand_again_while_something_is_left() {
    let Some(folder) = folder("again") else { return };
    let server = Served::start("again-server", &["--tick-time", "500ms"]);
    let script = becoming(&folder, "");
    let options = ["--allow-new-privileges", "--session-timeout", "2s", "--grace", "200ms"];
    let plan = Plan { servers: server.address(), id: "a", options: &options, script: &script };
    let mut run = Run::start_by(&folder, &plan, &NOBODY, Errors::ToFile);
    let pid = run.wait_for_log("up ");
    let left = Mortals(vec![pid.clone()]);
    drop(server);
    run.wait_until_said(&format!("processes [{pid}] of COMMAND work on, and nothing is held"));
    run.wait_for("ended", 1);
    run.wait_until_said("waits for the end of what is left");
    assert!(is_alive(&pid));
    drop(left);
    assert_eq!(run.ended().code(), Some(71), "{}", run.said());
    assert_eq!(run.count("elected"), 1);
}

/// A command that the guard cannot stop works on: the next leader has to wait for it, although the first one gave the
/// lead up.
#[test]
fn a_leader_that_leaves_its_command_behind_does_not_spare_the_next_one_the_lock_delay() {
    let Some(folder) = folder("left-behind") else { return };
    let server = Served::start("left-behind-server", &[]);
    let script = becoming(&folder, "");
    let delay = ["--lock-delay", "4s"];
    let options = [&delay[..], &["--allow-new-privileges", "--grace", "200ms"]].concat();
    let plan = Plan { servers: server.address(), id: "a", options: &options, script: &script };
    let mut run = Run::start_by(&folder, &plan, &NOBODY, Errors::ToFile);
    let pid = run.wait_for_log("up ");
    let _left = Mortals(vec![pid.clone()]);
    let plan = Plan { servers: server.address(), id: "b", options: &delay, script: BEATING };
    let next = Run::start(&folder, &plan);
    next.wait_for("following", 1);
    run.signal(Signal::TERM);
    run.wait_until_said(&format!("process {pid} of COMMAND cannot be stopped"));
    run.signal(Signal::TERM);
    run.wait_for("ended", 1);
    next.wait_for("elected", 1);
    assert_eq!(next.names(), ["following", "awaiting_lock_delay", "elected"]);
    run.wait_until_said("waits for the end of what is left");
    run.signal(Signal::TERM);
    run.ended();
    assert_eq!(run.names(), ["elected", "resigned", "ended"]);
}

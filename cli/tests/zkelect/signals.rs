//! Signals to `zkelect`.

use std::io::Write as _;
use std::process::Stdio;

use rustix::process::Signal;
use zk_test_kit::wait::{SOON, eventually};

use crate::served::Served;
use crate::support::{BEATING, Errors, Folder, Plan, Run, beats, command, finished, text};

#[test]
fn a_hangup_that_was_ignored_at_the_start_stays_ignored() {
    let server = Served::start("nohup", &[]);
    let folder = Folder::new("nohup-run");
    let script = format!(r#"kill -HUP $$; echo "survived" >>"$LOG"; {BEATING}"#);
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: &script };
    let nohup = ["sh", "-c", r#"trap "" HUP; exec "$@""#, "sh"];
    let mut run = Run::start_by(&folder, &plan, &nohup, Errors::ToFile);
    run.wait_for_log("survived");
    run.signal(Signal::HUP);
    let before = beats(&run.log()).len();
    let goes_on = || beats(&run.log()).len() > before + 20;
    eventually(SOON, "COMMAND goes on", goes_on).expect("it goes on");
    assert_eq!(run.names(), ["elected"]);
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(128 + 15), "{}", run.said());
}

#[test]
fn a_hangup_ends_it_otherwise() {
    let server = Served::start("hup", &[]);
    let folder = Folder::new("hup-run");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: BEATING };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    run.signal(Signal::HUP);
    assert_eq!(run.ended().code(), Some(128 + 1), "{}", run.said());
}

#[test]
fn sigquit_is_passed_on_and_ends_it_in_order() {
    let server = Served::start("quit", &[]);
    let folder = Folder::new("quit-run");
    let plan = Plan {
        servers: server.address(),
        id: "a",
        options: &[],
        script: r#"trap 'exit 6' QUIT; echo up >>"$LOG"; while :; do sleep 0.02; done"#,
    };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("up");
    run.signal(Signal::QUIT);
    assert_eq!(run.ended().code(), Some(6), "{}", run.said());
    assert_eq!(run.names(), ["elected", "resigned", "ended"]);
}

#[test]
fn user_signals_are_passed_on_and_end_nothing() {
    let server = Served::start("usr", &[]);
    let folder = Folder::new("usr-run");
    let plan = |id| Plan {
        servers: server.address(),
        id,
        options: &[],
        script: r#"trap 'echo one >>"$LOG"' USR1; trap 'echo two >>"$LOG"' USR2
            echo up >>"$LOG"; while :; do sleep 0.02; done"#,
    };
    let mut run = Run::start(&folder, &plan("a"));
    run.wait_for_log("up");
    run.signal(Signal::USR1);
    run.wait_for_log("one");
    run.signal(Signal::USR2);
    run.wait_for_log("two");
    assert_eq!(run.names(), ["elected"]);
    // One that waits has no COMMAND to pass it on to, and is not killed by it.
    let mut follower = Run::start(&folder, &plan("b"));
    follower.wait_for("following", 1);
    follower.signal(Signal::USR1);
    follower.wait_until_said("no COMMAND to pass signal 10 on to");
    for run in [&mut run, &mut follower] {
        run.signal(Signal::TERM);
        assert_eq!(run.ended().code(), Some(128 + 15), "{}", run.said());
    }
}

/// On a terminal, as a person would.
#[test]
fn a_second_ctrl_c_ends_the_grace() {
    let server = Served::start("ctrl-c", &[]);
    let folder = Folder::new("ctrl-c-run");
    let log = folder.file("log");
    let line = format!(
        "exec {} run --servers {} --election /leader --grace 60s --session-timeout 40s -- \
         sh -c 'trap \"echo told >>$LOG\" INT; echo up >>$LOG; while :; do sleep 0.02; done'",
        env!("CARGO_BIN_EXE_zkelect"),
        server.address()
    );
    let mut child = command(&["script"])
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("LOG", &log)
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("script runs");
    let logged = |what| std::fs::read_to_string(&log).is_ok_and(|log| log.contains(what));
    let mut keyboard = child.stdin.take().expect("it is piped");
    let mut press_ctrl_c = || {
        keyboard.write_all(b"\x03").and_then(|()| keyboard.flush()).expect("it is read");
    };
    let came_up = eventually(SOON, "COMMAND works", || logged("up"));
    press_ctrl_c();
    let told = eventually(SOON, "COMMAND is told", || logged("told"));
    press_ctrl_c();
    let output = finished(child);
    let said = text(&output.stdout);
    came_up.and(told).unwrap_or_else(|error| panic!("{error}\n{said}"));
    assert_eq!(output.status.code(), Some(128 + 9), "{said}");
    assert!(said.contains("signal 2 again: COMMAND is killed"), "{said}");
}

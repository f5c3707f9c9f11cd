//! COMMAND and its end.

use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::served::Served;
use crate::support::{Errors, Folder, Plan, Run, is_alive, output, servers, text};

#[test]
fn the_command_reads_standard_input_where_it_is_let() {
    let server = Served::start("stdin", &[]);
    let folder = Folder::new("stdin-run");
    let pipe = ["sh", "-c", r#"printf 'one\ntwo\n' | "$@""#, "sh"];
    let plan = |id, options| Plan {
        servers: server.address(),
        id,
        options,
        script: r#"cat >>"$LOG"; echo end >>"$LOG""#,
    };
    for (id, options, read) in [
        ("a", &["--once", "--stdin"][..], &["one", "two", "end"][..]),
        ("b", &["--once"], &["end"]),
    ] {
        let _ = std::fs::remove_file(folder.file("log"));
        let mut run = Run::start_by(&folder, &plan(id, options), &pipe, Errors::ToFile);
        assert_eq!(run.ended().code(), Some(0), "{}", run.said());
        assert_eq!(run.log(), read);
    }
}

#[test]
fn a_terminal_is_no_standard_input_for_the_command() {
    let line = format!(
        "exec {} run --servers 127.0.0.1:1 --election /e --once --stdin -- cat",
        env!("CARGO_BIN_EXE_zkelect")
    );
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null())
        .output()
        .expect("script runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stdout).contains("standard input is a terminal"), "{output:?}");
}

fn run_to_end(label: &str, options: &[&str], script: &str) -> (Option<i32>, Run, Folder) {
    let folder = Folder::new(label);
    let plan = Plan { servers: &servers(label), id: "a", options, script };
    let mut run = Run::start(&folder, &plan);
    (run.ended().code(), run, folder)
}

#[test]
fn the_commands_exit_code_is_passed_on_after_the_resignation() {
    let (code, run, _folder) = run_to_end("code", &[], "exit 7");
    assert_eq!(code, Some(7));
    assert_eq!(run.names(), ["elected", "resigned", "ended"]);
}

#[test]
fn a_signal_that_ended_the_command_shows_in_the_exit_code() {
    let (code, ..) = run_to_end("signal", &[], "kill -USR1 $$");
    assert_eq!(code, Some(128 + 10));
}

#[test]
fn the_command_knows_its_token_and_who_it_is() {
    let script =
        r#"echo "env $ZKELECT_TOKEN $ZKELECT_ID $ZKELECT_ELECTION $ZKELECT_CANDIDATE" >>"$LOG""#;
    let (code, run, _folder) = run_to_end("environment", &[], script);
    assert_eq!(code, Some(0));
    let elected = run.wait_for("elected", 1);
    let expected = format!(
        "env {} a /leader {}",
        elected["token"],
        elected["candidate"].as_str().expect("a name")
    );
    assert_eq!(run.log(), [expected]);
    assert_eq!((&elected["election"], &elected["id"]), (&"/leader".into(), &"a".into()));
    let valid_for = elected["valid_for_ms"].as_u64().expect("a number");
    assert!((1..=10_000).contains(&valid_for), "{valid_for}");
}

#[test]
fn what_the_command_leaves_running_is_stopped_before_the_resignation() {
    let script = r#"
        (trap 'echo "child told" >>"$LOG"; exit' TERM; echo ready >>"$LOG"
         while :; do sleep 0.02; done) &
        setsid sh -c 'echo "far $$" >>"$LOG"; exec sleep 1000' &
        until grep -q ready "$LOG" && grep -q far "$LOG"; do sleep 0.02; done
        exit 5"#;
    let (code, run, _folder) = run_to_end("leftovers", &[], script);
    assert_eq!(code, Some(5));
    assert!(run.log().contains(&"child told".to_owned()), "{:?}", run.log());
    assert!(!is_alive(&run.wait_for_log("far ")));
}

#[test]
fn a_command_that_does_not_heed_the_signal_is_killed_after_the_grace() {
    let folder = Folder::new("grace");
    let plan = Plan {
        servers: &servers("grace"),
        id: "a",
        options: &["--grace", "200ms", "--session-timeout", "60s"],
        script: r#"trap '' TERM; echo up >>"$LOG"; while :; do sleep 0.02; done"#,
    };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("up");
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(128 + 9));
    assert_eq!(run.names(), ["elected", "resigned", "ended"]);
}

/// More milliseconds than 64 bits hold.
#[test]
fn a_grace_may_be_as_long_as_can_be_written() {
    let folder = Folder::new("long-grace");
    let plan = Plan {
        servers: &servers("long-grace"),
        id: "a",
        options: &["--once", "--grace", "18446744073709551615s"],
        script: "exit 7",
    };
    let mut run = Run::start(&folder, &plan);
    assert_eq!(run.ended().code(), Some(7), "{}", run.said());
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    let servers = servers("not-found");
    let arguments = ["run", "--servers", &servers, "--election", "/leader", "--events", "-"];
    let output = output(&[&arguments[..], &["--", "no-such-command"]].concat());
    assert_eq!(output.status.code(), Some(127));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("no-such-command cannot be started"), "{stderr}");
    assert!(text(&output.stdout).contains(r#""event":"resigned""#), "{output:?}");
}

#[test]
fn a_command_that_cannot_be_executed_is_named() {
    let servers = servers("not-executable");
    let output = output(&["run", "--servers", &servers, "--election", "/e", "--", "/etc/passwd"]);
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("/etc/passwd cannot be started"));
}

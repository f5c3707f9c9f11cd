//! Standard error and events that are not read: nothing waits for them.

use std::fs::OpenOptions;
use std::io::{self, PipeReader, Write};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::served::Served;
use crate::support::{BEATING, Errors, Folder, Plan, Run};

/// As much as a pipe takes.
static FULL: [u8; 65_536] = [b'.'; 65_536];

fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = io::pipe().expect("a pipe");
    writer.write_all(&FULL).expect("there is room");
    (reader, writer.into())
}

#[test]
fn a_standard_error_that_is_not_read_keeps_no_command_from_its_start_or_its_end() {
    let server = Served::start("unread", &[]);
    let folder = Folder::new("unread-run");
    let (reader, writer) = full_pipe();
    let plan = Plan { servers: server.address(), id: "a", options: &["-vv"], script: BEATING };
    let mut run = Run::start_by(&folder, &plan, &[], Errors::To(writer));
    run.wait_for_log("beat");
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(128 + 15));
    assert_eq!(run.names(), ["elected", "resigned", "ended"]);
    drop(reader);
}

#[test]
fn a_standard_error_that_is_not_read_delays_no_stop_when_leadership_is_in_doubt() {
    let server = Served::start("unread-doubt", &[]);
    let folder = Folder::new("unread-doubt-run");
    let (reader, writer) = full_pipe();
    let plan = Plan {
        servers: server.address(),
        id: "a",
        options: &["--session-timeout", "40s", "--once"],
        // Shells tell of what is ended there, and would wait for that themselves.
        script: r#"exec 2>/dev/null; trap 'echo told >>"$LOG"; exit 0' TERM; echo up >>"$LOG"
            while :; do sleep 0.02; done"#,
    };
    let mut run = Run::start_by(&folder, &plan, &[], Errors::To(writer));
    run.wait_for_log("up");
    drop(server);
    run.wait_for_log("told");
    assert_eq!(run.ended().code(), Some(75));
    drop(reader);
}

#[test]
fn events_that_are_not_read_hold_nothing_up_and_their_number_is_told() {
    let server = Served::start("unread-events", &[]);
    let folder = Folder::new("unread-events-run");
    let events = folder.file("a.events");
    let made = Command::new("mkfifo").arg(&events).status().expect("mkfifo runs");
    assert!(made.success());
    // Open for reading too, so that no open waits for a reader.
    let mut fifo = OpenOptions::new().read(true).write(true).open(&events).expect("a FIFO");
    fifo.write_all(&FULL).expect("there is room");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: BEATING };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(128 + 15));
    assert!(run.said().contains("3 events were not written"), "{}", run.said());
}

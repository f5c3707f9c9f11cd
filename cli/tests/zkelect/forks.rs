//! A COMMAND whose processes fork without end, each into a session of its own.

use std::fs;

use rustix::process::{Pid, Signal};
use zk_tests::wait::{SOON, eventually};

use crate::served::Served;
use crate::support::{Folder, Mortals, Plan, Run};

/// Each process lives for less than a millisecond. Ends by itself after a minute, should nothing
/// else end it.
const CHAINS: &str = r#"
    for chain in 1 2 3; do
        perl -e 'use POSIX; my $end = time + 60;
            while (time < $end) { my $pid = fork; defined $pid or exit; exit if $pid; setsid; }' \
            "$LOG" &
    done
    echo up >>"$LOG"
    trap 'exit 3' TERM
    while :; do sleep 0.02; done"#;

/// The processes that were given this path.
fn named(path: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|process| process.file_name().into_string().ok())
        .filter(|pid| pid.parse().ok().and_then(Pid::from_raw).is_some() && *pid != own)
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
                line.split(|byte| *byte == 0).any(|argument| argument == path.as_bytes())
            })
        })
        .collect()
}

fn are_ended(signal: Signal, code: Option<i32>) {
    let server = Served::start("forks", &[]);
    let folder = Folder::new("forks-run");
    let log = folder.file("log");
    let log = log.to_str().expect("UTF-8");
    let plan = Plan {
        servers: server.address(),
        id: "a",
        options: &["--session-timeout", "40s", "--grace", "300ms"],
        script: CHAINS,
    };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("up");
    eventually(SOON, "the chains go on", || !named(log).is_empty()).expect("they go on");
    run.signal(signal);
    assert_eq!(run.ended().code(), code, "{}", run.said());
    let none = || (0..5).all(|_| named(log).is_empty());
    let ended = eventually(SOON, "nothing is left", none);
    let _left = Mortals(named(log));
    ended.expect("all is gone");
}

#[test]
fn chains_of_forks_are_ended_before_zkelect_ends() {
    are_ended(Signal::TERM, Some(3));
}

#[test]
fn chains_of_forks_are_ended_when_zkelect_is_killed() {
    are_ended(Signal::KILL, None);
}

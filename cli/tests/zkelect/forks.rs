//! COMMAND forks without end, each process into a session of its own.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::{Signal, kill_process};
use zk_test_kit::wait::{SOON, eventually};

use crate::served::Served;
use crate::support::{Folder, Plan, Run, guard_of};

/// Each process lives for less than a millisecond, and leaves a dot. Ends by itself after a minute,
/// should nothing else end it.
const CHAINS: &str = r#"
    for chain in 1 2 3; do
        perl -e 'use POSIX; my $end = time() + 60;
            while (time() < $end) {
                my $pid = fork; defined $pid or exit; exit if $pid; setsid;
                open(my $dots, ">>", $ARGV[0]) or exit; syswrite($dots, "."); close($dots);
            }' "$LOG.dots" &
    done
    trap 'exit 3' TERM
    while :; do sleep 0.02; done"#;

/// Starts `zkelect` with a COMMAND that forks, and lets `end` end it.
fn are_ended(label: &str, end: impl FnOnce(&Run), code: Option<i32>) {
    let server = Served::start(label, &[]);
    let folder = Folder::new(&format!("{label}-run"));
    let plan = Plan {
        servers: server.address(),
        id: "a",
        options: &["--session-timeout", "40s", "--grace", "300ms"],
        script: CHAINS,
    };
    let mut run = Run::start(&folder, &plan);
    let dots = || fs::metadata(folder.file("log.dots")).map_or(0, |dots| dots.len());
    eventually(SOON, "the chains go on", || dots() > 300).expect("they go on");
    // Each lives for less than a millisecond, so that one look seldom meets any.
    let shown = || (0..50).any(|_| !none_is_given(&folder.file("log.dots")));
    eventually(SOON, "they are found among the processes", shown).expect("they are found");
    end(&run);
    assert_eq!(run.ended().code(), code, "{}", run.said());
    let have_stopped = || {
        let before = dots();
        none_is_given(&folder.file("log.dots")) && dots() == before
    };
    if code.is_some() {
        // The lead has been given up: nothing may go on.
        assert!(have_stopped(), "{}", run.said());
    } else {
        eventually(SOON, "the chains stop", have_stopped).expect("they stop");
    }
}

/// Whether no process has this file among its arguments. Processes are listed by their ids, and each
/// child has a greater one than its parent: a chain that goes on is met, sooner or later.
fn none_is_given(file: &Path) -> bool {
    let file = file.as_os_str().as_bytes();
    let processes = fs::read_dir("/proc").expect("the kernel lists processes");
    let mut arguments =
        processes.flatten().filter_map(|one| fs::read(one.path().join("cmdline")).ok());
    !arguments.any(|line| line.split(|byte| *byte == 0).any(|argument| argument == file))
}

#[test]
fn chains_of_forks_are_ended_before_zkelect_ends() {
    are_ended("forks-term", |run| run.signal(Signal::TERM), Some(3));
}

#[test]
fn chains_of_forks_are_ended_when_zkelect_is_killed() {
    are_ended("forks-kill", |run| run.signal(Signal::KILL), None);
}

#[test]
fn chains_of_forks_are_ended_when_the_guard_is_killed() {
    let kill_guard = |run: &Run| kill_process(guard_of(run), Signal::KILL).expect("it runs");
    are_ended("forks-guard", kill_guard, Some(128 + 9));
}

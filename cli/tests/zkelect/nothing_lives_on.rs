//! Whatever is killed, COMMAND does not live on.

use rustix::process::{Signal, kill_process};

use crate::support::{Folder, Mortals, Plan, Run, guard_of, servers, wait_for_end};

/// The command, a child in its process group, and one that left the group.
const THREE: &str = r#"
    trap '' TERM
    sh -c 'trap "" TERM; echo "child $$" >>"$LOG"; while :; do sleep 0.02; done' &
    setsid sh -c 'trap "" TERM; echo "far $$" >>"$LOG"; while :; do sleep 0.02; done' &
    echo "command $$" >>"$LOG"
    while :; do sleep 0.02; done"#;

fn start(label: &str) -> (Folder, Run, Mortals) {
    let folder = Folder::new(label);
    let plan = Plan {
        servers: &servers(label),
        id: "a",
        options: &["--session-timeout", "60s", "--grace", "60s"],
        script: THREE,
    };
    let run = Run::start(&folder, &plan);
    let pids = ["command ", "child ", "far "].map(|name| run.wait_for_log(name));
    (folder, run, Mortals(pids.into()))
}

#[test]
fn when_zkelect_is_killed_all_that_it_ran_is_gone() {
    let (_folder, run, pids) = start("killed");
    run.signal(Signal::KILL);
    for pid in &pids.0 {
        wait_for_end(pid);
    }
}

#[test]
fn when_the_guard_is_killed_all_that_it_ran_is_gone_and_zkelect_resigns() {
    let (_folder, mut run, pids) = start("guard");
    kill_process(guard_of(&run), Signal::KILL).expect("it runs");
    assert_eq!(run.ended().code(), Some(128 + 9), "{}", run.said());
    for pid in &pids.0 {
        wait_for_end(pid);
    }
}

/// As by `kill -9` of everything that is called so.
#[test]
fn when_zkelect_and_the_guard_are_killed_at_once_the_command_is_gone() {
    let (_folder, run, pids) = start("both");
    let guard = guard_of(&run);
    // Stopped, neither can act on the other's end.
    for pid in [run.pid(), guard] {
        kill_process(pid, Signal::STOP).expect("it runs");
    }
    kill_process(guard, Signal::KILL).expect("it runs");
    kill_process(run.pid(), Signal::KILL).expect("it runs");
    // A process that the command had started lives on, as the README says.
    wait_for_end(&pids.0[0]);
}

/// Service managers send it to all processes of a service: only `zkelect` decides.
#[test]
fn a_guard_that_is_told_to_end_waits_for_zkelect() {
    let folder = Folder::new("all-told");
    let plan = Plan {
        servers: &servers("all-told"),
        id: "a",
        options: &["--session-timeout", "60s", "--grace", "60s"],
        script: r#"trap 'echo told >>"$LOG"' TERM; echo "command $$" >>"$LOG"
            until grep -q finish "$LOG"; do sleep 0.02; done; exit 4"#,
    };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("command");
    let guard = guard_of(&run);
    kill_process(guard, Signal::TERM).expect("it runs");
    run.signal(Signal::TERM);
    run.wait_for_log("told");
    std::fs::write(folder.file("log"), "finish\n").expect("a log");
    assert_eq!(run.ended().code(), Some(4), "{}", run.said());
}

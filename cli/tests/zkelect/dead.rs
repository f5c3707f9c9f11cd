//! A `zkelect` that dies leaves no session behind: its guard closes the session, once nothing of COMMAND is
//! left.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Folder, Mortals, Plan, Run, guard_of, is_alive, servers, wait_for_end};

/// By far longer than a test waits.
const PATIENT: &[&str] = &["--session-timeout", "40s", "--grace", "40s"];
const TIMEOUT: Duration = Duration::from_secs(40);

/// A command that ignores what asks it to end, with a process that has left its group.
const STUBBORN: &str = r#"
    trap '' TERM
    setsid sh -c 'trap "" TERM; echo "far $$" >>"$LOG"; while :; do sleep 0.02; done' &
    echo "command $$" >>"$LOG"
    while :; do sleep 0.02; done"#;

fn plan<'a>(servers: &'a str, id: &'a str, script: &'a str) -> Plan<'a> {
    Plan { servers, id, options: PATIENT, script }
}

/// Kills each holder in turn, at a moment of its own. The next one begins once all that the holder ran is gone,
/// and long before its session would have timed out.
fn killed_in_turn(label: &str, held: &str, start: fn(&Folder, &Plan<'_>) -> Run) {
    let folder = Folder::new(label);
    let servers = servers(label);
    let ids = ["a", "b", "c", "d"];
    let runs = ids.map(|id| start(&folder, &plan(&servers, id, STUBBORN)));
    let mut before = Mortals(Vec::new());
    for turn in 0..ids.len() {
        let since = Instant::now();
        let command = runs[0].wait_for_logs("command ", turn + 1).remove(turn);
        assert!(turn == 0 || since.elapsed() < TIMEOUT / 2, "{:?}", since.elapsed());
        for pid in &before.0 {
            assert!(!is_alive(pid), "process {pid} of the holder before lives on");
        }
        let far = runs[0].wait_for_logs("far ", turn + 1).remove(turn);
        before = Mortals(vec![command, far]);
        let lives = |run: &&Run| is_alive(&run.pid().as_raw_pid().to_string());
        let holder = runs.iter().filter(lives).find(|run| run.count(held) == 1);
        let holder = holder.expect("one of them holds");
        sleep(Duration::from_millis(7 * u64::try_from(turn).expect("few")));
        holder.signal(Signal::KILL);
    }
    for pid in &before.0 {
        wait_for_end(pid);
    }
}

#[test]
fn leaders_that_are_killed_are_replaced_at_once() {
    killed_in_turn("dead-run", "elected", Run::start);
}

#[test]
fn holders_of_a_lock_that_are_killed_are_replaced_at_once() {
    killed_in_turn("dead-lock", "acquired", Run::lock);
}

/// Its processes may be another user's, so nothing shows that they are gone.
#[test]
fn the_session_stays_where_command_may_become_another_user() {
    let folder = Folder::new("dead-privileges");
    let servers = servers("dead-privileges");
    let options = [PATIENT, &["--allow-new-privileges"]].concat();
    let first = Plan { servers: &servers, id: "a", options: &options, script: STUBBORN };
    let first = Run::start(&folder, &first);
    let command = first.wait_for_log("command ");
    let guard = guard_of(&first).as_raw_pid().to_string();
    let second = Run::start(&folder, &plan(&servers, "b", STUBBORN));
    second.wait_for("following", 1);
    first.signal(Signal::KILL);
    wait_for_end(&command);
    wait_for_end(&guard);
    // The guard has ended, so it closes nothing any more.
    assert!(!first.said().contains("is closed"), "{}", first.said());
    assert_eq!(second.count("elected"), 0, "{}", first.said());
}

/// A process that has the ticket can end the session: it is in no argument, no environment, no output.
#[test]
fn the_ticket_is_in_memory_alone() {
    let folder = Folder::new("dead-ticket");
    let run = Run::start(&folder, &plan(&servers("dead-ticket"), "a", STUBBORN));
    let command = run.wait_for_log("command ");
    for pid in [guard_of(&run).as_raw_pid().to_string(), command] {
        for file in ["cmdline", "environ"] {
            let content = fs::read(format!("/proc/{pid}/{file}")).expect("it runs");
            assert!(!String::from_utf8_lossy(&content).contains("zks2."), "{file} of {pid}");
        }
    }
    run.signal(Signal::KILL);
    run.wait_until_said("is closed");
    assert!(!run.said().contains("zks2."), "{}", run.said());
}

//! A `zkelect` that dies leaves no session behind: its guard closes the session, once nothing of COMMAND is
//! left.

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use zk_test_kit::wait::SOON;

use crate::support::{
    Folder, Mortals, Plan, Run, assert_one_at_a_time, guard_of, is_alive, now, servers,
    wait_for_end,
};

/// By far longer than a test waits.
const PATIENT: &[&str] = &["--session-timeout", "40s", "--grace", "40s"];
const TIMEOUT: Duration = Duration::from_secs(40);

/// A command that ignores what asks it to end, with a process that has left its group. Both work all the time.
const STUBBORN: &str = r#"
    trap '' TERM
    beat() { echo "beat $ZKELECT_TOKEN $(date +%s%N)" >>"$LOG"; }
    setsid sh -c 'trap "" TERM; echo "far $$" >>"$LOG"; while :; do sleep 0.02; done' &
    echo "command $$ $(date +%s%N)" >>"$LOG"
    while :; do beat; sleep 0.02; done"#;

fn plan<'a>(servers: &'a str, id: &'a str, script: &'a str) -> Plan<'a> {
    Plan { servers, id, options: PATIENT, script }
}

/// A COMMAND: its process, and when it began.
struct Begun {
    pid: String,
    at: Duration,
}

impl Begun {
    /// Waits for so many, and returns the last one.
    fn last_of(run: &Run, count: usize) -> Self {
        let line = run.wait_for_logs("command ", count).remove(count - 1);
        let (pid, at) = line.split_once(' ').expect("a process and a time");
        Self { pid: pid.to_owned(), at: Duration::from_nanos(at.parse().expect("a time")) }
    }
}

/// Kills holders in turn, each at a moment of its own, of which `at_once` hold at the same time. The next one begins
/// once all that a holder ran is gone, and long before its session would have timed out. Prints the longest gap.
fn killed_in_turn(label: &str, at_once: usize, held: &str, start: fn(&Folder, &Plan<'_>) -> Run) {
    let folder = Folder::new(label);
    let servers = servers(label);
    let ids = ["a", "b", "c", "d", "e", "f"];
    let mut runs: Vec<_> =
        ids.iter().map(|id| start(&folder, &plan(&servers, id, STUBBORN))).collect();
    let mut mortals = Mortals(Vec::new());
    let mut begun = 0;
    let mut gaps = Vec::new();
    for turn in 0..ids.len() - at_once {
        while begun < at_once + turn {
            begun += 1;
            mortals.0.push(Begun::last_of(&runs[0], begun).pid);
        }
        let far = runs[0].wait_for_logs("far ", begun);
        mortals
            .0
            .extend(far.into_iter().filter(|pid| !mortals.0.contains(pid)).collect::<Vec<_>>());
        let moment = RandomState::new().build_hasher().finish() % 200_000;
        sleep(Duration::from_micros(moment));
        let holder = runs.iter().position(|run| run.count(held) == 1).expect("one of them holds");
        let (before, deadline) = (running(&mortals), Instant::now() + SOON);
        let holder = runs.remove(holder);
        holder.signal(Signal::KILL);
        let gone = loop {
            // COMMAND and the process beside it.
            if before.iter().filter(|pid| !is_alive(pid)).count() == 2 {
                break now();
            }
            assert!(Instant::now() < deadline, "they live on: {}", holder.said());
            sleep(Duration::from_millis(1));
        };
        begun += 1;
        let next = Begun::last_of(&runs[0], begun);
        mortals.0.push(next.pid);
        let gap = next.at.saturating_sub(gone);
        assert!(gap < TIMEOUT / 4, "{gap:?}");
        gaps.push(gap);
        let running = running(&mortals).len();
        assert!(running <= 2 * at_once, "{running} processes work");
        if at_once == 1 {
            assert_one_at_a_time(&runs[0].log());
        }
    }
    eprintln!("{label}: the next COMMAND began {gaps:?} after the end of the last one");
}

fn running(mortals: &Mortals) -> Vec<String> {
    mortals.0.iter().filter(|pid| is_alive(pid)).cloned().collect()
}

#[test]
fn leaders_that_are_killed_are_replaced_at_once() {
    killed_in_turn("dead-run", 1, "elected", Run::start);
}

#[test]
fn holders_of_a_lock_that_are_killed_are_replaced_at_once() {
    killed_in_turn("dead-lock", 1, "acquired", Run::lock);
}

#[test]
fn holders_of_permits_that_are_killed_are_replaced_at_once() {
    killed_in_turn("dead-semaphore", 2, "acquired", Run::semaphore);
}

/// Its processes may be another user's, so nothing shows that they are gone.
#[test]
fn the_session_stays_where_command_may_become_another_user() {
    let folder = Folder::new("dead-privileges");
    let servers = servers("dead-privileges");
    let options = [PATIENT, &["--allow-new-privileges"]].concat();
    let first = Plan { servers: &servers, id: "a", options: &options, script: STUBBORN };
    let first = Run::start(&folder, &first);
    let command = Begun::last_of(&first, 1).pid;
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
    let command = Begun::last_of(&run, 1).pid;
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

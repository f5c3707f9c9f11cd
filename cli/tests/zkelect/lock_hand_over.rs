//! A lock goes from one `zkelect lock` to the next.

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use zk_test_kit::wait::{SOON, eventually};

use crate::lock::contend;
use crate::served::Served;
use crate::support::{
    BEATING, Folder, Mortals, Plan, Run, assert_one_at_a_time, at, beats, guard_of, token,
    wait_for_end,
};

fn plan<'a>(servers: &'a str, id: &'a str) -> Plan<'a> {
    let options = &["--session-timeout", "6s", "--grace", "1s"];
    Plan { servers, id, options, script: BEATING }
}

fn server(label: &str) -> Served {
    Served::start(label, &["--tick-time", "300ms"])
}

/// Waits until one of `runs` holds with a greater token, and works.
fn next_holder(runs: &[Run], previous: i64) -> (usize, Value) {
    let mut found = None;
    eventually(SOON, "the next one holds", || {
        found = runs.iter().enumerate().find_map(|(index, run)| {
            let acquired = run.event("acquired")?;
            (token(&acquired) > previous).then_some((index, acquired))
        });
        found.is_some()
    })
    .expect("a hand-over");
    let (index, acquired) = found.expect("it was found");
    runs[index].wait_for_log(&format!("beat {}", token(&acquired)));
    (index, acquired)
}

fn last_beat(run: &Run, held_with: i64) -> core::time::Duration {
    let mut beats = beats(&run.log()).into_iter();
    beats.rfind(|(token, _)| *token == held_with).expect("it worked").1
}

#[tokio::test]
async fn the_lock_of_a_holder_that_is_killed_goes_to_the_next() {
    let server = server("lock-sigkill");
    let folder = Folder::new("lock-sigkill-runs");
    let mut runs: Vec<Run> =
        ["a", "b", "c"].map(|id| Run::lock(&folder, &plan(server.address(), id))).into();
    contend(server.address(), 3).await;
    let mut last_token = 0;
    while runs.len() > 1 {
        let (index, acquired) = next_holder(&runs, last_token);
        last_token = token(&acquired);
        let holder = runs.remove(index);
        holder.signal(Signal::KILL);
        let (_, next) = next_holder(&runs, last_token);
        assert!(last_beat(&holder, last_token) < at(&next), "{next}");
    }
    assert_one_at_a_time(&runs[0].log());
}

/// Its guard ends COMMAND by the lease deadline; once it goes on, it ends, and COMMAND is not run again.
#[tokio::test]
async fn the_lock_of_a_holder_that_is_stopped_goes_to_the_next() {
    let server = server("lock-sigstop");
    let folder = Folder::new("lock-sigstop-runs");
    let mut runs: Vec<Run> =
        ["a", "b"].map(|id| Run::lock(&folder, &plan(server.address(), id))).into();
    contend(server.address(), 2).await;
    let (index, acquired) = next_holder(&runs, 0);
    let mut holder = runs.remove(index);
    holder.signal(Signal::STOP);
    let (_, next) = next_holder(&runs, token(&acquired));
    assert!(last_beat(&holder, token(&acquired)) < at(&next), "{next}");
    holder.signal(Signal::CONT);
    assert_eq!(holder.ended().code(), Some(75), "{}", holder.said());
    assert_eq!(holder.count("acquired"), 1);
    assert_eq!(holder.count("lost"), 1, "{:?}", holder.names());
    assert_one_at_a_time(&runs[0].log());
}

#[tokio::test]
async fn a_waiter_holds_at_once_after_a_holder_that_ends() {
    let server = Served::start("lock-ends", &[]);
    let folder = Folder::new("lock-ends-runs");
    // A session timeout that no test waits for.
    let plan = |id| Plan {
        servers: server.address(),
        id,
        options: &["--session-timeout", "40s"],
        script: BEATING,
    };
    let mut holder = Run::lock(&folder, &plan("a"));
    let acquired = holder.wait_for("acquired", 1);
    let waiter = Run::lock(&folder, &plan("b"));
    contend(server.address(), 2).await;
    holder.signal(Signal::TERM);
    assert_eq!(holder.ended().code(), Some(128 + 15), "{}", holder.said());
    let next = waiter.wait_for("acquired", 1);
    assert!(token(&next) > token(&acquired));
    assert!(at(&holder.wait_for("released", 1)) <= at(&next));
    assert_one_at_a_time(&waiter.log());
}

/// The command, a child in its process group, and one that left the group.
const THREE: &str = r#"
    trap '' TERM
    sh -c 'trap "" TERM; echo "child $$" >>"$LOG"; while :; do sleep 0.02; done' &
    setsid sh -c 'trap "" TERM; echo "far $$" >>"$LOG"; while :; do sleep 0.02; done' &
    echo "command $$" >>"$LOG"
    while :; do sleep 0.02; done"#;

#[test]
fn whatever_is_killed_nothing_of_the_command_lives_on() {
    for guard_first in [false, true] {
        let server = Served::start("lock-lives-on", &[]);
        let folder = Folder::new("lock-lives-on-run");
        let options = &["--session-timeout", "40s", "--grace", "60s"];
        let plan = Plan { servers: server.address(), id: "a", options, script: THREE };
        let mut run = Run::lock(&folder, &plan);
        let pids =
            Mortals(["command ", "child ", "far "].map(|name| run.wait_for_log(name)).into());
        if guard_first {
            kill_process(guard_of(&run), Signal::KILL).expect("it runs");
            assert_eq!(run.ended().code(), Some(128 + 9), "{}", run.said());
        } else {
            run.signal(Signal::KILL);
        }
        for pid in &pids.0 {
            wait_for_end(pid);
        }
    }
}

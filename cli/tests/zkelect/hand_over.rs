//! The lead goes from one `zkelect run` to the next.

use rustix::process::Signal;
use serde_json::Value;
use zk_test_kit::wait::{SOON, eventually};

use crate::support::{BEATING, Folder, Plan, Run, assert_one_at_a_time, at, beats, servers, token};

const IDS: [&str; 3] = ["a", "b", "c"];

fn three(folder: &Folder, servers: &str) -> Vec<Run> {
    let runs: Vec<Run> = IDS
        .into_iter()
        .map(|id| {
            let plan = Plan {
                servers,
                id,
                options: &["--session-timeout", "6s", "--grace", "1s"],
                script: BEATING,
            };
            Run::start(folder, &plan)
        })
        .collect();
    let settled = || {
        let count = |name| runs.iter().filter(|run| run.count(name) > 0).count();
        count("elected") == 1 && count("following") == 2
    };
    eventually(SOON, "one leads and two follow", settled).expect("they settle");
    runs
}

/// Waits until one of `runs` has been elected with a greater token, and works.
fn next_leader(runs: &[Run], previous: i64) -> (usize, Value) {
    let mut found = None;
    eventually(SOON, "the next one is elected", || {
        found = runs.iter().enumerate().find_map(|(index, run)| {
            let elected = run.event("elected")?;
            (token(&elected) > previous).then_some((index, elected))
        });
        found.is_some()
    })
    .expect("a take-over");
    let (index, elected) = found.expect("it was found");
    runs[index].wait_for_log(&format!("beat {}", token(&elected)));
    (index, elected)
}

/// Z1: the leader's process is killed, until only one is left.
#[test]
fn three_processes_hand_the_lead_over_under_sigkill() {
    let folder = Folder::new("sigkill");
    let mut runs = three(&folder, &servers("sigkill"));
    let mut last_token = 0;
    while runs.len() > 1 {
        let (index, elected) = next_leader(&runs, last_token);
        last_token = token(&elected);
        let leader = runs.remove(index);
        leader.signal(Signal::KILL);
        let (_, successor) = next_leader(&runs, last_token);
        let last_beat = beats(&leader.log())
            .into_iter()
            .rfind(|(token, _)| *token == last_token)
            .expect("it worked");
        assert!(last_beat.1 < at(&successor), "{last_beat:?} {successor}");
    }
    assert_one_at_a_time(&runs[0].log());
}

/// Z2: the leader's process is stopped for longer than its session lives, and goes on.
#[test]
fn three_processes_hand_the_lead_over_under_sigstop() {
    let folder = Folder::new("sigstop");
    let runs = three(&folder, &servers("sigstop"));
    let mut last_token = 0;
    for _ in 0..2 {
        let (index, elected) = next_leader(&runs, last_token);
        last_token = token(&elected);
        let leader = &runs[index];
        leader.signal(Signal::STOP);
        let (successor, elected_after) = next_leader(&runs, last_token);
        assert_ne!(successor, index);
        // The paused leader could not tell its guard, which ended the command by the lease
        // deadline.
        let last_beat = beats(&leader.log())
            .into_iter()
            .rfind(|(token, _)| *token == last_token)
            .expect("it worked");
        assert!(last_beat.1 < at(&elected_after), "{last_beat:?}");
        let lost_before = leader.count("lost");
        leader.signal(Signal::CONT);
        let lost = leader.wait_for("lost", lost_before + 1);
        assert_eq!(token(&lost), last_token);
        leader.wait_for("following", 1);
    }
    assert_one_at_a_time(&runs[0].log());
    for run in &runs {
        let names = run.names();
        assert!(names.windows(2).all(|pair| pair != ["elected", "elected"]), "{names:?}");
    }
}

#[test]
fn a_follower_takes_over_at_once_from_a_leader_that_is_told_to_end() {
    let folder = Folder::new("sigterm");
    let servers = servers("sigterm");
    // A session timeout that is too long to wait for.
    let plan = |id| Plan {
        servers: &servers,
        id,
        options: &["--session-timeout", "60s"],
        script: r#"trap 'echo "told" >>"$LOG"; exit 3' TERM; echo "up $ZKELECT_ID" >>"$LOG"
            while :; do sleep 0.02; done"#,
    };
    let mut leader = Run::start(&folder, &plan("a"));
    leader.wait_for_log("up a");
    let follower = Run::start(&folder, &plan("b"));
    let following = follower.wait_for("following", 1);
    let elected = leader.wait_for("elected", 1);
    assert_eq!(following["predecessor"], elected["candidate"]);
    leader.signal(Signal::TERM);
    assert_eq!(leader.ended().code(), Some(3), "the command's code");
    let elected_after = follower.wait_for("elected", 1);
    follower.wait_for_log("up b");
    assert_eq!(leader.names(), ["elected", "resigned", "ended"]);
    assert!(leader.log().contains(&"told".to_owned()));
    let resigned = leader.wait_for("resigned", 1);
    assert!(at(&resigned) <= at(&elected_after));
    assert!(token(&elected_after) > token(&elected));
}

#[test]
fn a_follower_that_is_told_to_end_withdraws() {
    let folder = Folder::new("withdraw");
    let servers = servers("withdraw");
    let plan = |id| Plan { servers: &servers, id, options: &[], script: BEATING };
    let leader = Run::start(&folder, &plan("a"));
    leader.wait_for("elected", 1);
    let mut follower = Run::start(&folder, &plan("b"));
    follower.wait_for("following", 1);
    follower.signal(Signal::INT);
    assert_eq!(follower.ended().code(), Some(130));
    assert_eq!(follower.names(), ["following", "ended"]);
    assert_eq!(leader.names(), ["elected"]);
}

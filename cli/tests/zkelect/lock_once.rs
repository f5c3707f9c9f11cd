//! `zkelect lock --once-per`: of several machines that start a job, one runs it in a period.

use std::process::Output;

use rustix::process::Signal;
use serde_json::Value;

use crate::served::Served;
use crate::support::{Folder, LOCK, Plan, Run, output, servers, text};

/// Notes that it runs, and ends when it is let to.
const WORKING: &str = r#"echo "up $ZKELECT_ID" >>"$LOG"
    until grep -q "^end $ZKELECT_ID" "$LOG"; do sleep 0.02; done"#;

/// Notes that it runs, and works for longer than it takes to look.
const BRIEF: &str = r#"echo "up $ZKELECT_ID" >>"$LOG"; sleep 0.3"#;

fn job(folder: &Folder, servers: &str, id: &str, options: &[&str], script: &str) -> Run {
    let options = [&["--once-per", "20h"], options].concat();
    Run::lock(folder, &Plan { servers, id, options: &options, script })
}

/// Runs a job of this code to its end.
fn run_with(servers: &str, id: &str, options: &[&str], code: &str) -> Output {
    let line = ["lock", LOCK, "--servers", servers, "--id", id, "--once-per", "20h"];
    output(&[&line, options, &["--", "sh", "-c", code]].concat())
}

/// Ten machines start their jobs at once, of which some wait for others and some do not.
fn one_of_ten_runs(servers: &str) {
    let folder = Folder::new("once-together");
    let names: Vec<String> = (0..10).map(|index| format!("host-{index}")).collect();
    let options = |index: usize| if index.is_multiple_of(2) { &["--try"][..] } else { &[] };
    let start = |(index, id): (usize, &String)| job(&folder, servers, id, options(index), BRIEF);
    let mut runs: Vec<Run> = names.iter().enumerate().map(start).collect();
    let codes: Vec<_> = runs.iter_mut().map(|run| run.ended().code().expect("a code")).collect();
    let log = runs[0].log();
    let [up] = log.as_slice() else {
        panic!("not one has run: {log:?}");
    };
    let runner = up.strip_prefix("up ").expect("a name");
    for ((index, id), (run, code)) in names.iter().enumerate().zip(runs.iter().zip(codes)) {
        let context = format!("{id}: {code}\n{}", run.said());
        match code {
            0 => assert_eq!(id, runner, "{context}"),
            1 => assert!(index.is_multiple_of(2), "{context}"),
            3 => {
                assert_eq!(run.names(), ["not_due", "ended"], "{context}");
                let not_due = run.event("not_due").expect("it is there");
                assert_eq!(not_due["by"], runner, "{context}");
                assert_eq!(not_due["run"], "succeeded", "{context}");
                let time = |field: &str| {
                    let time = not_due[field].as_str().expect("a time");
                    humantime::parse_rfc3339(time).expect("RFC 3339")
                };
                let period = time("due").duration_since(time("began"));
                assert_eq!(period.expect("later").as_secs(), 20 * 3600, "{context}");
            }
            _ => panic!("{context}"),
        }
    }
    // Minutes apart: the job has run.
    let late = run_with(servers, "late", &["--try"], "exit 9");
    assert_eq!(late.status.code(), Some(3), "{}", text(&late.stderr));
    assert!(text(&late.stderr).contains(&format!("{runner} has run it")));
}

#[test]
fn of_ten_machines_that_start_a_job_together_one_runs_it() {
    one_of_ten_runs(&servers("once-together"));
    one_of_ten_runs(Served::start("once-together", &[]).address());
}

/// Its record says that it has begun, and no process is left that could say how it ended.
fn a_killed_run_is_taken_again_by_choice(servers: &str) {
    let folder = Folder::new("once-killed");
    let mut killed = job(&folder, servers, "killed", &[], WORKING);
    killed.wait_for_log("up killed");
    killed.signal(Signal::KILL);
    killed.ended();
    let other = run_with(servers, "never", &[], "exit 9");
    assert_eq!(other.status.code(), Some(3), "{}", text(&other.stderr));
    assert!(text(&other.stderr).contains("killed has run it at "), "{}", text(&other.stderr));
    assert!(text(&other.stderr).contains("(begun)"), "{}", text(&other.stderr));
    let next = run_with(servers, "next", &["--again", "interrupted"], "exit 0");
    assert_eq!(next.status.code(), Some(0), "{}", text(&next.stderr));
    let last = run_with(servers, "last", &["--again", "failed"], "exit 9");
    assert_eq!(last.status.code(), Some(3), "it has succeeded: {}", text(&last.stderr));
}

#[test]
fn a_job_whose_zkelect_is_killed_is_taken_again_only_by_choice() {
    a_killed_run_is_taken_again_by_choice(&servers("once-killed"));
    a_killed_run_is_taken_again_by_choice(Served::start("once-killed", &[]).address());
}

fn a_failed_run_is_taken_again_by_choice(servers: &str) {
    let failed = run_with(servers, "a", &[], "exit 9");
    assert_eq!(failed.status.code(), Some(9), "{}", text(&failed.stderr));
    for again in [&[][..], &["--again", "never"], &["--again", "interrupted"]] {
        let other = run_with(servers, "b", again, "exit 8");
        assert_eq!(other.status.code(), Some(3), "{again:?}: {}", text(&other.stderr));
        assert!(text(&other.stderr).contains("(failed)"), "{}", text(&other.stderr));
    }
    let by_signal = run_with(servers, "c", &["--again", "failed"], "kill -KILL $$");
    assert_eq!(by_signal.status.code(), Some(137), "{}", text(&by_signal.stderr));
    let taken = run_with(servers, "d", &["--again", "failed"], "exit 0");
    assert_eq!(taken.status.code(), Some(0), "{}", text(&taken.stderr));
    let done = run_with(servers, "e", &["--again", "failed"], "exit 8");
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
}

#[test]
fn a_job_that_failed_is_taken_again_only_by_choice() {
    a_failed_run_is_taken_again_by_choice(&servers("once-failed"));
    a_failed_run_is_taken_again_by_choice(Served::start("once-failed", &[]).address());
}

/// A signal ends zkelect, and COMMAND with it: the run was interrupted.
#[test]
fn a_job_that_a_signal_ends_counts_as_interrupted() {
    let server = Served::start("once-signal", &[]);
    let folder = Folder::new("once-signal-run");
    let mut run = job(&folder, server.address(), "told", &[], WORKING);
    run.wait_for_log("up told");
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(143), "{}", run.said());
    assert_eq!(run.names(), ["acquired", "released", "ended"]);
    let next = run_with(server.address(), "next", &["--try"], "exit 0");
    assert!(text(&next.stderr).contains("(begun)"), "{}", text(&next.stderr));
}

/// cron(8) sends by mail what is printed.
#[test]
fn a_quiet_job_prints_nothing_and_succeeds_where_it_has_not_to_run() {
    let server = Served::start("once-quiet", &[]);
    let folder = Folder::new("once-quiet-run");
    let mut working = job(&folder, server.address(), "a", &["--quiet"], WORKING);
    working.wait_for_log("up a");
    let quiet = ["--try", "--quiet"];
    let busy = run_with(server.address(), "b", &quiet, "exit 9");
    assert_eq!((busy.status.code(), text(&busy.stderr)), (Some(0), String::new()));
    std::fs::write(folder.file("log"), "end a\n").expect("it is written");
    assert_eq!(working.ended().code(), Some(0));
    assert_eq!(working.said(), "", "it says nothing where all is well");
    let not_due = run_with(server.address(), "c", &quiet, "exit 9");
    assert_eq!((not_due.status.code(), text(&not_due.stderr)), (Some(0), String::new()));
    let refused = run_with("127.0.0.1:1", "d", &["--wait", "300ms", "--quiet"], "exit 9");
    assert_eq!(refused.status.code(), Some(69));
    assert!(text(&refused.stderr).contains("no answer"), "{}", text(&refused.stderr));
}

#[test]
fn a_lock_without_a_period_is_quiet_too() {
    let server = Served::start("lock-quiet", &[]);
    let folder = Folder::new("lock-quiet-run");
    let plan = |id, options| Plan { servers: server.address(), id, options, script: WORKING };
    let mut holder = Run::lock(&folder, &plan("a", &["--quiet"]));
    holder.wait_for_log("up a");
    let mut busy = Run::lock(&folder, &plan("b", &["--quiet", "--try"]));
    assert_eq!((busy.ended().code(), busy.said()), (Some(0), String::new()));
    assert_eq!(holder.log(), ["up a"]);
    std::fs::write(folder.file("log"), "end a\n").expect("it is written");
    assert_eq!((holder.ended().code(), holder.said()), (Some(0), String::new()));
}

#[test]
fn a_record_of_another_program_is_refused() {
    let server = Served::start("once-foreign", &[]);
    let record = format!("{LOCK}.once");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = election_tokio::Client::builder(server.address()).connect().await;
        let client = client.expect("a session");
        let mode = election_tokio::CreateMode::Persistent;
        client.create(&record, "precious", mode).await.expect("it is created");
        client.close().await.expect("it is closed");
    });
    let refused = run_with(server.address(), "a", &["--events", "-"], "exit 9");
    assert_eq!(refused.status.code(), Some(78), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("/lock.once is not the record of a run"));
    let event: Value = serde_json::from_slice(&refused.stdout).expect("one event");
    assert_eq!(event["event"], "ended");
}

#[test]
fn what_cannot_be_had_once_is_refused_before_anything_is_done() {
    for (options, said) in [
        (&["--once-per", "1h", "--shared"][..], "cannot be used with"),
        (&["--again", "failed"], "--once-per"),
        (&["--once-per", "soon"], "write a time such as 30s"),
        (&["--quiet", "-E", "7"], "cannot be used with"),
        (
            &["--once-per", "1h", "--format", "zookeeper-write-lock"],
            "use a format with ids in its names",
        ),
    ] {
        let line = ["lock", LOCK, "--servers=127.0.0.1:1"];
        let output = output(&[&line, options, &["--", "true"]].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {stderr}");
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
}

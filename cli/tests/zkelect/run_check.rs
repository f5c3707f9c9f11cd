//! `zkelect run --check`: only a nominee that is well stands and leads.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use zk_test_kit::wait::{SOON, eventually};

use crate::run_http::{get, wait_for_code};
use crate::support::{
    BEATING, ELECTION, Folder, Mortals, Plan, Run, assert_one_at_a_time, at, output, servers, text,
    touch, wait_for_end,
};

/// A check every 100 ms, with a bound that a busy machine keeps. No candidate goes with its session.
const OPTIONS: [&str; 6] =
    ["--check-every", "100ms", "--check-timeout", "30s", "--session-timeout", "60s"];

fn ill(folder: &Folder, id: &str) -> std::path::PathBuf {
    folder.file(&format!("ill-{id}"))
}

/// Returns a check that fails while the file of its nominee is there.
fn by_file(folder: &Folder) -> String {
    format!("test ! -e '{}'-$ZKELECT_ID", folder.file("ill").display())
}

fn lines(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_leader_that_is_unwell_stops_its_command_and_stands_again_once_it_is_well() {
    let (folder, servers) = (Folder::new("unwell"), servers("unwell"));
    let check = by_file(&folder);
    let options = [&OPTIONS[..], &["--check", &check, "--http=127.0.0.1:0"]].concat();
    let plan = |id| Plan { servers: &servers, id, options: &options, script: BEATING };
    let first = Run::start(&folder, &plan("a"));
    first.wait_for_log("beat");
    wait_for_code(&first, "/readyz", 200);
    let second = Run::start(&folder, &plan("b"));
    second.wait_for("following", 1);
    touch(&ill(&folder, "a")).expect("a file");
    let unwell = first.wait_for("unwell", 1);
    assert_eq!(unwell["reason"], "the check ended with code 1");
    second.wait_for("elected", 1);
    let unready = wait_for_code(&first, "/readyz", 503);
    assert!(unready.body.contains("is not well, and does not stand"), "{}", unready.body);
    assert_eq!(get(&first, "/healthz").code, 200, "a restart is of no use");
    let expected = ["well", "elected", "unwell", "stepped_down"];
    assert_eq!(first.names(), expected);
    assert!(at(&first.wait_for("stepped_down", 1)) <= at(&second.wait_for("elected", 1)));
    // The log tells of each check that failed before the one that decided.
    assert_eq!(first.said().matches("a check failed: the check ended with code 1").count(), 2);

    touch(&ill(&folder, "b")).expect("a file");
    second.wait_for("stepped_down", 1);
    assert_eq!(first.count("elected"), 1, "the only nominee is unwell, so none leads");
    fs::remove_file(ill(&folder, "a")).expect("it is there");
    first.wait_for("well", 2);
    first.wait_for("elected", 2);
    let names = first.names();
    assert_eq!(names.get(expected.len()).map(String::as_str), Some("well"), "{names:?}");
    wait_for_code(&first, "/readyz", 200);
    assert_one_at_a_time(&first.log());
}

#[test]
fn a_nominee_that_is_unwell_from_the_first_does_not_stand() {
    let (folder, servers) = (Folder::new("never-well"), servers("never-well"));
    let check = by_file(&folder);
    touch(&ill(&folder, "a")).expect("a file");
    let options = [&OPTIONS[..], &["--check", &check, "--wait", "1s"]].concat();
    let plan = Plan { servers: &servers, id: "a", options: &options, script: BEATING };
    let mut run = Run::start(&folder, &plan);
    assert_eq!(run.ended().code(), Some(69), "{}", run.said());
    assert_eq!(run.names(), ["unwell", "ended"]);
    assert!(run.log().is_empty());
    let listed = output(&["list", "--servers", &servers, "--election", ELECTION]);
    assert!(text(&listed.stderr).contains("does not exist"), "{listed:?}");
}

/// Each check that hangs is killed at its time, with all that it has started, before the next one begins.
#[test]
fn a_check_that_hangs_is_killed_and_has_failed() {
    let (folder, servers) = (Folder::new("hangs"), servers("hangs"));
    let (pids, overlaps) = (folder.file("pids"), folder.file("overlaps"));
    let (pids_text, overlaps_text) = (pids.display(), overlaps.display());
    let check = format!(
        "for pid in $(cat '{pids_text}' 2>&-); do kill -0 $pid 2>&- && echo $pid >>'{overlaps_text}'; done
         trap '' TERM
         sleep 1000 & echo $! >>'{pids_text}'
         setsid sleep 1000 & echo $! >>'{pids_text}'
         echo $$ >>'{pids_text}'; wait"
    );
    let options = ["--check", &check, "--check-every", "50ms", "--check-timeout", "1s"];
    let plan = Plan { servers: &servers, id: "a", options: &options, script: BEATING };
    let mut run = Run::start(&folder, &plan);
    let unwell = run.wait_for("unwell", 1);
    assert_eq!(unwell["reason"], "the check did not end within 1s");
    eventually(SOON, "four checks were made", || lines(&pids).len() >= 12).expect("they were");
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(128 + 15), "{}", run.said());
    let pids = lines(&pids);
    let _mortals = Mortals(pids.clone());
    for pid in &pids {
        wait_for_end(pid);
    }
    assert_eq!(lines(&overlaps), Vec::<String>::new(), "no check begins while another one lives");
}

#[test]
fn nothing_of_a_check_lives_on_when_zkelect_is_killed() {
    let (folder, servers) = (Folder::new("check-killed"), servers("check-killed"));
    let pids = folder.file("pids");
    let check = format!("setsid sleep 1000 & echo $! $$ >>'{}'; wait", pids.display());
    let options = ["--check", &check, "--check-timeout", "1h"];
    let plan = Plan { servers: &servers, id: "a", options: &options, script: BEATING };
    let run = Run::start(&folder, &plan);
    eventually(SOON, "a check is under way", || !lines(&pids).is_empty()).expect("it is");
    let pids: Vec<String> = lines(&pids)[0].split(' ').map(str::to_owned).collect();
    let _mortals = Mortals(pids.clone());
    run.signal(Signal::KILL);
    for pid in &pids {
        wait_for_end(pid);
    }
}

/// The first check decides that nothing can be checked; a command that goes later has failed.
#[test]
fn a_check_that_cannot_be_started_says_what_to_do() {
    let (folder, servers) = (Folder::new("no-check"), servers("no-check"));
    let file = folder.file("not-executable");
    touch(&file).expect("a file");
    let file = file.to_str().expect("it is text");
    for (check, code) in [("no-such-program", 127), (file, 126)] {
        let options = ["--check", check];
        let plan = Plan { servers: &servers, id: "a", options: &options, script: BEATING };
        let mut run = Run::start(&folder, &plan);
        assert_eq!(run.ended().code(), Some(code), "{}", run.said());
        let said = run.said();
        let expected = format!("the check cannot be started: sh ended with {code} for {check:?}");
        assert!(said.contains(&expected) && said.contains("give --check a command line"), "{said}");
        assert!(run.log().is_empty(), "COMMAND does not run");
    }
    let program = folder.file("program");
    fs::write(&program, "#!/bin/sh\n").expect("a file");
    let options = [&OPTIONS[..], &["--check", "sh \"$LOG.check\""]].concat();
    fs::rename(&program, folder.file("log.check")).expect("it is renamed");
    let plan = Plan { servers: &servers, id: "b", options: &options, script: BEATING };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    fs::remove_file(folder.file("log.check")).expect("it is there");
    run.wait_for("stepped_down", 1);
    fs::write(folder.file("log.check"), "#!/bin/sh\n").expect("a file");
    run.wait_for("elected", 2);
}

/// What kills the guard of a check kills neither COMMAND nor zkelect, and leaves nothing of the check.
#[test]
fn a_check_whose_guard_is_killed_has_failed_and_command_goes_on() {
    let (folder, servers) = (Folder::new("check-guard"), servers("check-guard"));
    let [slow, pids, guard] = ["slow", "pids", "guard"].map(|name| folder.file(name));
    let check = format!(
        "test -e '{}' || exit 0; echo $PPID >'{}'; setsid sleep 1000 & echo $! >>'{}'; wait",
        slow.display(),
        guard.display(),
        pids.display()
    );
    let options = [&OPTIONS[..], &["--check", &check]].concat();
    let plan = Plan { servers: &servers, id: "a", options: &options, script: BEATING };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    touch(&slow).expect("a file");
    eventually(SOON, "a check is under way", || !lines(&pids).is_empty()).expect("it is");
    fs::remove_file(&slow).expect("it is there");
    let pids = lines(&pids);
    let _mortals = Mortals(pids.clone());
    // A check that was under way before COMMAND began has the older guard of the two.
    let guard = lines(&guard).concat();
    let guard = guard.parse().ok().and_then(Pid::from_raw).expect("a process");
    kill_process(guard, Signal::KILL).expect("it runs");
    run.wait_until_said("a check failed: the guard of the check has gone");
    for pid in &pids {
        wait_for_end(pid);
    }
    let beats = run.log().len();
    eventually(SOON, "COMMAND goes on", || run.log().len() > beats + 5).expect("it does");
    assert_eq!(run.names(), ["well", "elected"]);
}

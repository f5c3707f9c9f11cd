//! `zkelect demo`.

use std::fs::{self, File};
use std::process::Stdio;

use election_tokio::Client;
use rustix::process::{Pid, Signal, kill_process};
use zk_test_kit::wait::{SOON, eventually};

use crate::served::Served;
use crate::support::{Folder, finished, servers, text, zkelect};

/// Runs two resignations and two crashes; returns the output.
fn demo(options: &[&str]) -> String {
    let child = zkelect()
        .args(["demo", "--rounds", "4", "--nominees", "3"])
        .args(["--session-timeout", "4s", "--pause", "0s"])
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let output = finished(child);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    stdout
}

fn assert_take_overs(stdout: &str) {
    assert_eq!(stdout.matches(" resigns\n").count(), 2, "{stdout}");
    assert_eq!(stdout.matches(" crashes\n").count(), 2, "{stdout}");
    let times = |kind: &str| -> Vec<String> {
        let line = stdout.lines().find(|line| line.starts_with(kind));
        let line = line.unwrap_or_else(|| panic!("no {kind}: {stdout}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(times("resignation")[1], "2");
    let crash = times("crash");
    assert_eq!(crash[1], "2");
    // A session that was used at the moment of the crash lives on for its timeout.
    let worst: f64 = crash[4].parse().expect("milliseconds");
    assert!(worst > 300.0, "{stdout}");
    assert!(stdout.contains("the session timeout (4s)"), "{stdout}");
    assert!(stdout.is_ascii() && !stdout.contains('\x1b'), "{stdout}");
}

#[test]
fn the_demo_needs_no_other_server() {
    let stdout = demo(&[]);
    assert_take_overs(&stdout);
    let first = stdout.lines().next().unwrap_or_default();
    assert!(first.contains("the embedded ZooKeeper server, in this process"), "{stdout}");
    assert!(stdout.contains("The server was the embedded one"), "{stdout}");
}

#[test]
fn the_demo_runs_on_servers_that_it_is_given() {
    let servers = servers("demo");
    let stdout = demo(&["--servers", &servers]);
    assert_take_overs(&stdout);
    let first = stdout.lines().next().unwrap_or_default();
    assert!(first.contains(&servers), "{stdout}");
    assert!(!stdout.contains("embedded"), "{stdout}");
}

/// The demo reports the session timeout that the servers granted, not the one that it asked for.
#[test]
fn the_demo_tells_the_session_timeout_that_was_granted() {
    let server = Served::start("demo-granted", &["--tick-time", "100ms"]);
    let output = zkelect()
        .args(["demo", "--servers", server.address(), "--rounds", "1", "--pause", "0s"])
        .args(["--session-timeout", "1h"])
        .output()
        .expect("it starts");
    let stdout = text(&output.stdout);
    assert!(stdout.contains("the session timeout (2s)"), "{stdout}");
}

#[tokio::test]
async fn a_demo_that_is_told_to_end_leaves_nothing_behind() {
    told_to_end("demo-told", " leads with ").await;
}

/// The candidate of a crashed nominee still stands: its session has yet to expire.
#[tokio::test]
async fn a_demo_that_is_told_to_end_after_a_crash_leaves_nothing_behind() {
    told_to_end("demo-crashed", " crashes\n").await;
}

/// Ends a demo once it has printed this.
async fn told_to_end(label: &str, said: &str) {
    let server = Served::start(label, &[]);
    let folder = Folder::new(&format!("{label}-output"));
    let printed = folder.file("stdout");
    let child = zkelect()
        .args(["demo", "--servers", server.address(), "--rounds", "10000"])
        .stdout(File::create(&printed).expect("a file"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let is_said = || fs::read_to_string(&printed).is_ok_and(|text| text.contains(said));
    let waited = eventually(SOON, "it comes to that", is_said);
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let output = finished(child);
    waited.expect("it comes to that");
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let client = Client::builder(server.address()).connect().await.expect("a session");
    let left = client.get_children("/").await.expect("names");
    assert!(left.iter().eq(["zookeeper"]), "{left:?}");
}

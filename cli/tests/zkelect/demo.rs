//! `zkelect demo`.

use std::process::Stdio;

use crate::support::{finished, output, servers, text, zkelect};

#[test]
fn the_demo_ends_by_itself_with_the_take_over_times() {
    let servers = servers("demo");
    let child = zkelect()
        .args(["demo", "--servers", &servers, "--rounds", "4", "--nominees", "3"])
        .args(["--session-timeout", "1s", "--pause", "0s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let output = finished(child);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", text(&output.stderr));
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
    assert!(stdout.is_ascii() && !stdout.contains('\x1b'), "{stdout}");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn without_a_server_the_demo_says_how_to_start_one() {
    let output = output(&["demo"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("zkelect demo --servers 127.0.0.1:2181"), "{stderr}");
}

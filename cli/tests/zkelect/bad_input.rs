//! Bad input and faults: each is told, with what to do next.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use election_tokio::acl::Acls;
use election_tokio::{Client, CreateMode};
use rustix::process::Signal;

use crate::served::Served;
use crate::support::{BEATING, Folder, Plan, Run, output, servers, text, touch};

/// Runs `list` and checks its exit code and what it says.
fn list_fails(servers: &str, election: &str, code: i32, said: &[&str]) {
    let arguments = ["list", "--servers", servers, "--election", election, "--timeout", "5s"];
    let output = output(&arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for said in said {
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_done() {
    list_fails("zk:port", "/e", 2, &["--servers"]);
    list_fails("zk/../app", "/e", 2, &["chroot", "HOST:PORT"]);
    list_fails(
        "zk",
        "leader",
        2,
        &["election path \"leader\"", "begin with a slash", "/services/reports/leader"],
    );
    list_fails("zk", "/a//b", 2, &["empty part"]);
}

#[test]
fn a_path_in_the_wrong_place_is_refused_with_its_place() {
    let goes_to_election = [
        ("run", vec!["run", "/e", "--", "true"]),
        ("run", vec!["run", "--events", "/f", "/e", "--once", "--", "true", "/x"]),
        ("watch", vec!["watch", "/e"]),
        ("verify", vec!["verify", "/e", "5"]),
        ("hand-over", vec!["hand-over", "/e", "web-2"]),
        ("evict", vec!["evict", "/e"]),
        ("step-down", vec!["step-down", "/e"]),
        ("check", vec!["check", "/e"]),
    ];
    for (subcommand, line) in goes_to_election {
        let tip = format!("`zkelect {subcommand}` takes the election's path as `--election /e`");
        is_refused_with(&line, &tip);
    }
    let goes_by_itself = [
        ("lock", vec!["lock", "--election", "/e", "--", "true"]),
        ("lock", vec!["lock", "--election=/e", "--", "true"]),
        ("semaphore", vec!["semaphore", "-n", "2", "--election", "/e", "--", "true"]),
        ("slots run", vec!["slots", "run", "--election", "/e", "--count", "4", "--", "true"]),
        ("queue put", vec!["queue", "put", "--election", "/e", "item"]),
    ];
    for (subcommand, line) in goes_by_itself {
        let tip =
            format!("`zkelect {subcommand}` takes the path by itself, without `--election`: /e\n");
        is_refused_with(&line, &tip);
    }
    // Neither is about a path.
    for line in [vec!["run", "--tls-ca", "/ca", "--", "true"], vec!["lock", "--elect", "/e"]] {
        let stderr = text(&output(&line).stderr);
        assert!(!stderr.contains("takes the"), "{stderr}");
    }
}

fn is_refused_with(line: &[&str], tip: &str) {
    let output = output(line);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.matches("tip:").count(), 1, "{line:?}: {stderr}");
    assert!(stderr.contains(tip), "{tip:?} is not in: {stderr}");
}

#[test]
fn run_refuses_an_invalid_path_without_a_server() {
    let output = output(&["run", "--servers=127.0.0.1:1", "--election=e/", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn a_server_out_of_reach_is_named() {
    list_fails("127.0.0.1:1", "/e", 69, &["127.0.0.1:1", "refused", "check --servers"]);
}

#[test]
fn an_unknown_host_is_named() {
    list_fails("no-such-host.invalid", "/e", 69, &["no-such-host.invalid:2181", "check --servers"]);
}

#[test]
fn a_server_that_speaks_something_else_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    // Ends with the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 64];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    list_fails(&address, "/e", 69, &[&address, "began with \"HTTP\"", "check --servers"]);
}

#[test]
fn a_chroot_that_does_not_exist_is_named() {
    let servers = format!("{}/missing", servers("chroot"));
    list_fails(&servers, "/e", 78, &["/missing does not exist", "create"]);
    let run = output(&["run", "--servers", &servers, "--election", "/e", "--", "true"]);
    assert_eq!(run.status.code(), Some(78), "{}", text(&run.stderr));
}

#[tokio::test]
async fn a_lack_of_permission_is_told() {
    let servers = servers("permission");
    let client = Client::builder(&servers).connect().await.expect("a session");
    client
        .create_with_acl("/closed", "", CreateMode::Persistent, &Acls::read_only())
        .await
        .expect("it is created");
    let run = output(&["run", "--servers", &servers, "--election", "/closed", "--", "true"]);
    let stderr = text(&run.stderr);
    assert_eq!(run.status.code(), Some(77), "{stderr}");
    assert!(stderr.contains("NoAuth") && stderr.contains("ACL"), "{stderr}");
}

#[tokio::test]
async fn a_parent_that_forbids_creation_is_named() {
    let server = Served::start("forbidden", &[]);
    let servers = server.address();
    let client = Client::builder(servers).connect().await.expect("a session");
    client
        .create_with_acl("/closed", "", CreateMode::Persistent, &Acls::read_only())
        .await
        .expect("it is created");
    for (election, missing) in [("/closed/leader", "/closed/leader"), ("/closed/a/b", "/closed/a")]
    {
        let run = output(&["run", "--servers", servers, "--election", election, "--", "true"]);
        let stderr = text(&run.stderr);
        assert_eq!(run.status.code(), Some(77), "{stderr}");
        let said =
            format!("{missing} does not exist, and the access list (ACL) of /closed forbids");
        assert!(stderr.contains(&said), "{stderr}");
    }
}

#[test]
fn a_wait_ends_when_it_was_told_to() {
    let server = Served::start("wait", &[]);
    let folder = Folder::new("wait-run");
    let plan =
        |id| Plan { servers: server.address(), id, options: &["--wait", "5s"], script: BEATING };
    let leader = Run::start(&folder, &plan("a"));
    leader.wait_for("elected", 1);
    let mut follower = Run::start(&folder, &plan("b"));
    assert_eq!(follower.ended().code(), Some(69), "{}", follower.said());
    assert!(follower.said().contains("not elected within 5s"), "{}", follower.said());
    assert_eq!(follower.names(), ["following", "ended"]);
    // The bound is for the wait, not for the lead.
    assert_eq!(leader.names(), ["elected"]);

    let nowhere = ["run", "--servers=127.0.0.1:1", "--election=/e", "--wait=300ms", "--", "true"];
    assert_eq!(output(&nowhere).status.code(), Some(69));
}

/// A kernel that shows no processes cannot tell which of them are COMMAND's.
#[test]
fn without_proc_it_says_what_is_missing() {
    let without_proc = |line: &[&str]| {
        Command::new("unshare")
            .args(["--mount", "--map-root-user", "sh", "-c"])
            .args([r#"mount -t tmpfs none /proc && exec "$@""#, "sh"])
            .args(line)
            .output()
            .expect("unshare runs")
    };
    if !without_proc(&["true"]).status.success() {
        // This user may not have a view of its own.
        return;
    }
    let zkelect = env!("CARGO_BIN_EXE_zkelect");
    let line = [zkelect, "run", "--servers=127.0.0.1:1", "--election=/e", "--", "true"];
    let run = without_proc(&line);
    assert_eq!(run.status.code(), Some(71), "{}", text(&run.stderr));
    assert!(text(&run.stderr).contains("/proc, which is not mounted"), "{}", text(&run.stderr));
}

#[test]
fn no_internal_subcommand_is_suggested() {
    let output = output(&["elect"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("elect") && !stderr.contains("exec"), "{stderr}");
}

#[test]
fn a_session_timeout_that_the_server_changes_is_told() {
    let folder = Folder::new("timeout");
    let plan = Plan {
        servers: &servers("timeout"),
        id: "a",
        options: &["--session-timeout", "5m"],
        script: "exit 0",
    };
    let mut run = Run::start(&folder, &plan);
    assert_eq!(run.ended().code(), Some(0));
    assert!(run.said().contains("from 5m to 1m"), "{}", run.said());
    let elected = run.wait_for("elected", 1);
    assert!(elected["valid_for_ms"].as_u64().is_some_and(|ms| ms <= 60_000), "{elected}");
}

/// The wait for a first server is visible, and can be ended (kazoo #83).
#[test]
fn run_says_that_no_server_is_in_reach_and_tries_on() {
    let folder = Folder::new("nowhere");
    let plan = Plan { servers: "127.0.0.1:1", id: "a", options: &[], script: BEATING };
    let mut run = Run::start(&folder, &plan);
    run.wait_until_said("no ZooKeeper server in reach (attempt 2)");
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(143));
}

#[test]
fn an_events_file_that_cannot_be_opened_is_named() {
    let folder = Folder::new("events");
    let file = folder.file("file");
    touch(&file).expect("a file");
    let below_a_file = file.join("events");
    let below_a_file = below_a_file.to_str().expect("UTF-8");
    let arguments =
        ["run", "--servers=zk", "--election=/e", "--events", below_a_file, "--", "true"];
    let output = output(&arguments);
    assert_eq!(output.status.code(), Some(73));
    assert!(text(&output.stderr).contains(below_a_file));
}

#[test]
fn the_guard_is_not_for_people() {
    let output = output(&["guard", "--grace-ms", "1", "--", "true"]);
    assert_eq!(output.status.code(), Some(70));
}

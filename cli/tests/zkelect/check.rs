//! `zkelect check`.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Output;
use std::thread;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::{Client, CreateMode, Version};
use serde_json::Value;
use zk_test_kit::zookeeper::shared;

use crate::served::Served;
use crate::support::{is_of_release, output, servers, text};

fn check(servers: &str, options: &[&str]) -> Output {
    output(&[&["check", "--servers", servers, "--timeout", "15s"], options].concat())
}

/// Asserts the exit code, and returns the findings of `--json`.
fn findings(servers: &str, options: &[&str], code: i32) -> Vec<Value> {
    let checked = check(servers, &[&["--json"], options].concat());
    assert_eq!(checked.status.code(), Some(code), "{checked:?}");
    serde_json::from_slice(&checked.stdout).expect("a JSON array")
}

/// Returns the finding of a step.
fn of<'a>(findings: &'a [Value], step: &str) -> &'a Value {
    let found = findings.iter().find(|finding| finding["step"] == step);
    found.unwrap_or_else(|| panic!("no {step}: {findings:?}"))
}

fn assert_is(finding: &Value, verdict: &str, says: &str, advice: &str) {
    assert_eq!(finding["verdict"], verdict, "{finding}");
    let contains = |field: &str, wanted: &str| {
        let text = finding[field].as_str().unwrap_or_default();
        assert!(text.contains(wanted), "{wanted:?} is not in: {finding}");
    };
    contains("says", says);
    contains("advice", advice);
}

async fn client(servers: &str) -> Client {
    Client::builder(servers).connect().await.expect("a session")
}

/// Returns all znodes from the root of the client on.
async fn tree(client: &Client) -> Vec<String> {
    let (mut all, mut left) = (Vec::new(), vec![String::new()]);
    while let Some(path) = left.pop() {
        let listed = if path.is_empty() { "/" } else { path.as_str() };
        if let Ok(children) = client.get_children(listed).await {
            left.extend(children.iter().map(|name| format!("{path}/{name}")));
        }
        all.push(path);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_well_and_nothing_is_left_behind() {
    let served = Served::start("check", &[]);
    for servers in [served.address().to_owned(), servers("check")] {
        let client = client(&servers).await;
        let before = tree(&client).await;
        let found = findings(&servers, &["--election", "/app/leader"], 0);
        for step in ["resolve", "connect", "session", "version", "write"] {
            assert_is(of(&found, step), "ok", "", "");
        }
        assert_is(of(&found, "session"), "ok", "granted with a timeout of 10s", "");
        assert_is(of(&found, "list"), "ok", "does not exist yet", "");
        assert_is(of(&found, "stand"), "ok", "created and deleted", "");
        assert_eq!(tree(&client).await, before);

        client.create("/app", "", CreateMode::Persistent).await.expect("it is created");
        let mut nomination = client.election("/app/leader").nominate().expect("a nomination");
        nomination.elected().await.expect("it is elected");
        let before = tree(&client).await;
        let (_, root) = client.get_data("/app/leader").await.expect("it is there");
        let checked = check(&servers, &["--election", "/app/leader"]);
        let told = text(&checked.stdout);
        assert_eq!(checked.status.code(), Some(0), "{told}");
        let is_well = |line: &str| line.starts_with("ok ") || is_of_release(line);
        assert!(told.lines().all(is_well), "{told}");
        assert!(
            told.contains("ok       list: /app/leader exists, with 1 znodes below it\n"),
            "{told}"
        );
        assert!(told.contains("ok       marks: "), "{told}");
        assert!(!told.contains('\x1b'), "{told:?}");
        assert_eq!(tree(&client).await, before);
        // Its children have not changed, even for a moment.
        let (_, after) = client.get_data("/app/leader").await.expect("it is there");
        assert_eq!(after.pzxid, root.pzxid);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forbidden_is_named_with_the_permission_that_is_missing() {
    let served = Served::start("check-acl", &[]);
    for servers in [served.address().to_owned(), servers("check-acl")] {
        let client = client(&servers).await;
        let with = async |path: &str, permissions| {
            let acls = Acls::default().world(permissions | Permissions::ADMIN);
            let mode = CreateMode::Persistent;
            client.create_with_acl(path, "", mode, &acls).await.expect("it is created");
        };
        with("/read-only", Permissions::READ).await;
        let found = findings(&servers, &["--election", "/read-only/leader"], 1);
        assert_is(
            of(&found, "stand"),
            "failed",
            "of /read-only forbids to create",
            "CREATE on /read-only",
        );
        assert_is(
            of(&found, "marks"),
            "warning",
            "of /read-only forbids notes",
            "requests to step down",
        );
        with("/create-only", Permissions::READ | Permissions::CREATE).await;
        let found = findings(&servers, &["--election", "/create-only"], 1);
        assert_is(of(&found, "stand"), "failed", "forbids to delete", "DELETE on /create-only");
        assert_is(of(&found, "marks"), "ok", "", "");
        with("/unread", Permissions::CREATE | Permissions::DELETE).await;
        let found = findings(&servers, &["--election", "/unread"], 1);
        assert_is(of(&found, "list"), "failed", "of /unread forbids to list", "READ on /unread");

        with("/blocked", Permissions::ALL).await;
        let name = "/blocked/x-latch-0000000000";
        let created = client.create(name, "", CreateMode::Persistent).await.expect("it is created");
        let found = findings(&servers, &["--election", "/blocked"], 1);
        let advice = format!("zkelect evict --token {}", created.stat.czxid.get());
        assert_is(of(&found, "blocked"), "failed", "goes with no session", &advice);
        client.delete(name, Version::ANY).await.expect("it is deleted");
        findings(&servers, &["--election", "/blocked"], 0);
    }
}

/// Servers forbid to look at a znode that may not be read (since ZooKeeper 3.8.4 and 3.9.2). Such a
/// chroot can be used, and without one all of the steps are made.
#[tokio::test(flavor = "multi_thread")]
async fn a_chroot_that_may_not_be_read_is_there() {
    let served = Served::start("check-unread", &[]);
    let client = client(served.address()).await;
    let unread = Permissions::CREATE | Permissions::DELETE | Permissions::ADMIN;
    let acls = Acls::default().world(unread);
    let created = client.create_with_acl("/app", "", CreateMode::Persistent, &acls).await;
    created.expect("it is created");
    client.set_acl("/", &acls, Version::ANY).await.expect("its access list is set");
    for chroot in ["", "/app"] {
        let servers = format!("{}{chroot}", served.address());
        let found = findings(&servers, &["--election", "/leader"], 0);
        for step in ["write", "list", "stand"] {
            assert_is(of(&found, step), "ok", "", "");
        }
        let options = ["--election", "/leader", "--wait", "30s", "--", "true"];
        let ran = output(&[&["run", "--servers", &servers], &options[..]].concat());
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    }
}

#[test]
fn servers_that_are_not_there_are_told_apart() {
    let server = Served::start("check-servers", &[]);
    // It says to all what ZooKeeper says to a four-letter word that is not allowed.
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let no_zookeeper = other.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in other.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut stream = stream;
                let _ =
                    stream.write_all(b"srvr is not executed because it is not in the whitelist.\n");
                let _ = stream.read(&mut [0; 1024]);
            });
        }
    });
    let all = format!("{},127.0.0.1:1,nowhere.invalid:2181,{no_zookeeper}", server.address());
    let found = findings(&all, &[], 1);
    let of_server = |server: &str, step: &str| {
        let found = found.iter().find(|it| it["server"] == server && it["step"] == step);
        found.unwrap_or_else(|| panic!("no {step} of {server}: {found:?}"))
    };
    assert_is(of_server(server.address(), "session"), "ok", "granted", "");
    assert_is(of_server(server.address(), "write"), "ok", "committed in", "");
    assert_is(of_server("127.0.0.1:1", "connect"), "failed", "", "nothing listens there");
    assert_is(
        of_server("nowhere.invalid:2181", "resolve"),
        "failed",
        "",
        "check the name nowhere.invalid",
    );
    assert_is(of_server(&no_zookeeper, "connect"), "ok", "", "");
    assert_is(of_server(&no_zookeeper, "session"), "failed", "no server granted a session", "");
    assert_is(of_server(&no_zookeeper, "version"), "skipped", "4lw.commands.whitelist", "");
    let alone = found.iter().find(|it| it["step"] == "ensemble").expect("a finding");
    assert_is(alone, "failed", "stand alone", "members of one ensemble");
}

#[test]
fn what_the_server_changes_or_does_not_tell_is_said() {
    let server = shared().expect("a server");
    let found = findings(&server.connect_string(), &["--session-timeout", "5m"], 0);
    assert_is(
        of(&found, "session"),
        "warning",
        "timeout of 1m, in place of 5m",
        "--session-timeout",
    );
    let nowhere = format!("{}/nowhere", server.connect_string());
    let found = findings(&nowhere, &["--election", "/leader"], 1);
    assert_is(of(&found, "chroot"), "failed", "/nowhere does not exist", "create /nowhere");
    assert!(found.iter().all(|it| it["step"] != "stand" && it["step"] != "write"), "{found:?}");
}

#[test]
fn a_path_that_cannot_be_one_is_refused() {
    let refused = check("127.0.0.1:1", &["--election", "leader"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused.stderr).contains("absolute path"), "{refused:?}");
}

//! `zkelect members`.

use std::io::{BufRead as _, BufReader};
use std::process::{Output, Stdio};

use election_tokio::{Client, CreateMode, Version};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::wait::{SOON, eventually};

use crate::process::Process;
use crate::served::Served;
use crate::support::{
    finished, is_alive, observed, output, servers, spawned, text, wait_for_replies,
};
use crate::terminal::is_fit;

const GROUP: &str = "/app/workers";

fn line<'a>(servers: &'a str, action: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["members", action, "--servers", servers], options, &[GROUP]].concat()
}

fn members(servers: &str, action: &str, options: &[&str]) -> Output {
    output(&line(servers, action, options))
}

fn assert_fails(output: &Output, code: i32, said: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for said in said {
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
}

/// Returns the rows of `list --json`.
fn rows(servers: &str) -> Vec<Value> {
    let list = members(servers, "list", &["--json"]);
    assert_eq!(list.status.code(), Some(0), "{}", text(&list.stderr));
    serde_json::from_slice(&list.stdout).expect("a JSON array")
}

/// Returns the names that `list --json` shows.
fn names(servers: &str) -> Vec<String> {
    let rows = rows(servers);
    rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
}

/// Waits until it is a member, and tells by which name.
fn join(servers: &str, options: &[&str]) -> (Process, String) {
    let member = Process::start(&line(servers, "join", options));
    let name = member.next();
    (member, name)
}

/// Returns the event and the name of the next line of JSON.
fn next_event(watch: &Process) -> (String, Option<String>) {
    let line = watch.next_json();
    let text = |field: &str| line[field].as_str().map(str::to_owned);
    assert!(text("at").is_some(), "{line}");
    (text("event").expect("an event"), text("name"))
}

fn event(event: &str, name: &str) -> (String, Option<String>) {
    (event.to_owned(), Some(name.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_told_to_end_leaves_nothing() {
    let served = Served::start("members", &[]);
    for servers in [served.address().to_owned(), servers("members")] {
        let client = Client::builder(&servers).connect().await.expect("a session");
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            let (named, name) = join(&servers, &["--name", "db-1", "--data", "-x"]);
            assert_eq!(name, "db-1");
            let (random, other) = join(&servers, &[]);
            let mut expected = vec![name, other];
            expected.sort_unstable();
            assert_eq!(names(&servers), expected);
            let (data, stat) = client.get_data("/app/workers/db-1").await.expect("it is read");
            assert_eq!(data.as_ref(), b"-x");
            assert_ne!(stat.ephemeral_owner.to_string(), "0x0");
            for member in [named, random] {
                member.signal(signal);
                let ended = member.ended();
                assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
            }
            let left = client.get_children(GROUP).await.expect("it is listed");
            assert_eq!(left.iter().count(), 0);
        }
    }
}

#[test]
fn a_member_tells_its_name_as_json() {
    let server = Served::start("members-json", &[]);
    let (_member, told) = join(server.address(), &["--name", "db-1", "--json"]);
    assert_eq!(told, r#"{"path":"/app/workers","name":"db-1"}"#);
}

#[test]
fn a_member_that_is_killed_is_gone_after_its_session() {
    let served = Served::start("members-killed", &["--tick-time", "200ms"]);
    for servers in [served.address().to_owned(), servers("members-killed")] {
        let options = ["--name", "db-1", "--session-timeout", "4s"];
        let (member, _) = join(&servers, &options);
        member.signal(Signal::KILL);
        drop(member.ended());
        // Until then it has the name.
        let (again, _) = join(&servers, &[&options[..], &["--wait", "1m"]].concat());
        assert_eq!(names(&servers), ["db-1"]);
        again.signal(Signal::KILL);
        drop(again.ended());
        eventually(SOON, "it is gone", || names(&servers).is_empty()).expect("it is gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_come_change_and_go_are_told_of() {
    let served = Served::start("members-watch", &[]);
    for servers in [served.address().to_owned(), servers("members-watch")] {
        let client = Client::builder(&servers).connect().await.expect("a session");
        let (first, _) = join(&servers, &["--name", "a", "--data", "one"]);
        let watch = Process::start(&line(&servers, "watch", &["--json"]));
        let in_words = Process::start(&line(&servers, "watch", &[]));
        assert_eq!([in_words.next(), in_words.next()], ["present a one", "watching"]);
        assert_eq!(next_event(&watch), event("present", "a"));
        assert_eq!(next_event(&watch), ("watching".to_owned(), None));
        // Each is read by both before the next, or changes are put together.
        let (second, _) = join(&servers, &["--name", "c", "--data", "zero"]);
        assert_eq!(next_event(&watch), event("joined", "c"));
        assert_eq!(in_words.next(), "joined c zero");
        // A `zkelect members join` would write its own data again.
        let other = client.create("/app/workers/b", "two", CreateMode::Ephemeral).await;
        other.expect("it is created");
        assert_eq!(next_event(&watch), event("joined", "b"));
        assert_eq!(in_words.next(), "joined b two");
        client.set_data("/app/workers/b", "three", Version::ANY).await.expect("it is written");
        assert_eq!(next_event(&watch), event("changed", "b"));
        assert_eq!(in_words.next(), "changed b three");
        first.signal(Signal::TERM);
        assert_eq!(next_event(&watch), event("left", "a"));
        assert_eq!(in_words.next(), "left a");
        for ended in [watch, in_words, second] {
            ended.signal(Signal::TERM);
            let ended = ended.ended();
            assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
        }
    }
}

#[test]
fn a_watch_that_is_not_read_can_be_ended() {
    let server = Served::start("members-unread", &[]);
    let servers = server.address();
    let data = "x".repeat(100_000);
    let (_member, _) = join(servers, &["--data", &data]);
    // The line of JSON is longer than a pipe holds.
    let (proxy, by_proxy) = observed(servers);
    let watch = spawned(&line(&by_proxy, "watch", &["--json"]), Stdio::null());
    wait_for_replies(&proxy, &[Opcode::GET_DATA], 1);
    kill_process(Pid::from_child(&watch), Signal::TERM).expect("it runs");
    let waited = Pid::from_child(&watch).as_raw_pid().to_string();
    eventually(SOON, "it ends", || !is_alive(&waited)).expect("it ends");
    assert_eq!(finished(watch).status.code(), Some(0));
}

#[test]
fn a_watch_whose_reader_has_gone_ends() {
    let server = Served::start("members-reader", &[]);
    let servers = server.address();
    let mut watch = spawned(&line(servers, "watch", &[]), Stdio::null());
    let mut stdout = BufReader::new(watch.stdout.take().expect("it is piped"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("a line");
    assert_eq!(first, "watching\n");
    drop(stdout);
    let (_member, _) = join(servers, &[]);
    assert_eq!(finished(watch).status.code(), Some(0));
}

#[test]
fn a_lost_connection_is_a_gap_and_ends_no_membership() {
    let server = Served::start("members-gap", &[]);
    let proxy = Proxy::to(server.address().parse().expect("an address")).expect("a proxy");
    let through = proxy.connect_string();
    let watch = Process::start(&line(&through, "watch", &["--json"]));
    assert_eq!(next_event(&watch), ("watching".to_owned(), None));
    let (member, _) = join(&through, &["--name", "a"]);
    assert_eq!(next_event(&watch), event("joined", "a"));
    proxy.refuse();
    proxy.cut();
    let (_other, _) = join(server.address(), &["--name", "b"]);
    proxy.accept().expect("it listens");
    assert_eq!(next_event(&watch), ("gap".to_owned(), None));
    assert_eq!(next_event(&watch), event("joined", "b"));
    assert_eq!(names(server.address()), ["a", "b"]);
    // No server can confirm that it has left.
    proxy.refuse();
    proxy.cut();
    member.signal(Signal::TERM);
    assert_fails(&member.ended(), 69, &["no server confirmed the departure"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_taken_is_refused() {
    let server = Served::start("members-taken", &[]);
    let servers = server.address();
    let (_member, _) = join(servers, &["--name", "db-1"]);
    for wait in [&[][..], &["--wait", "0s"]] {
        let taken = members(servers, "join", &[&["--name", "db-1"], wait].concat());
        assert_fails(&taken, 1, &["the name is taken", "another --name", "--wait"]);
    }
    let taken = members(servers, "join", &["--name", "db-1", "--wait", "4s"]);
    assert_fails(&taken, 1, &["db-1 is taken still"]);
    let client = Client::builder(servers).connect().await.expect("a session");
    let persistent = client.create("/app/workers/x", "", CreateMode::Persistent).await;
    persistent.expect("it is created");
    let taken = members(servers, "join", &["--name", "x"]);
    assert_fails(&taken, 1, &["not ephemeral", "delete it"]);
    assert_eq!(names(servers), ["db-1", "x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_whose_znode_is_deleted_is_told() {
    let server = Served::start("members-evicted", &[]);
    let (member, _) = join(server.address(), &["--name", "db-1"]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.delete("/app/workers/db-1", Version::ANY).await.expect("it is deleted");
    let said = ["another client deleted the znode", "find out which", "to join again"];
    assert_fails(&member.ended(), 75, &said);
    assert!(names(server.address()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_fit_for_a_terminal() {
    let served = Served::start("members-list", &[]);
    for servers in [served.address().to_owned(), servers("members-list")] {
        // Neither the node nor a member is there.
        let client = Client::builder(&servers).connect().await.expect("a session");
        for _ in 0..2 {
            let empty = members(&servers, "list", &[]);
            assert_fails(&empty, 0, &["/app/workers has no members"]);
            assert_eq!(text(&empty.stdout), "NAME  SESSION  TOKEN  DATA\n");
            assert!(rows(&servers).is_empty());
            if client.exists(GROUP).await.expect("it is asked").is_none() {
                client.create("/app", "", CreateMode::Persistent).await.expect("it is created");
                client.create(GROUP, "", CreateMode::Persistent).await.expect("it is created");
            }
        }
        let long = "z".repeat(200);
        for (name, data) in [("b", "\u{1b}[2J"), ("a", "x\u{202e}y"), ("c", &long)] {
            let path = format!("{GROUP}/{name}");
            client.create(&path, data.to_owned(), CreateMode::Ephemeral).await.expect("created");
        }
        let list = members(&servers, "list", &[]);
        let table = text(&list.stdout);
        assert!(is_fit(&table), "{table:?}");
        let cells: Vec<Vec<&str>> =
            table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        let cut = format!("{}…", "z".repeat(63));
        let shown: Vec<_> = cells.iter().map(|cells| (cells[0], cells[3])).collect();
        assert_eq!(shown, [("a", r"x\u{202e}y"), ("b", "hex:1b5b324a"), ("c", &cut)]);
        let rows = rows(&servers);
        assert_eq!(rows[0]["data"], "x\u{202e}y");
        assert_eq!(rows[1]["data_hex"], "1b5b324a");
        assert_eq!((&rows[2]["data"], &rows[2]["session"]), (&long.into(), &cells[2][1].into()));
        let watch = Process::start(&line(&servers, "watch", &["--json"]));
        let first = watch.next();
        assert!(is_fit(&first) && first.contains(r"x\u202ey"), "{first:?}");
    }
}

#[test]
fn what_cannot_be_done_is_told_with_what_to_do() {
    for action in ["join", "list", "watch"] {
        let relative = output(&["members", action, "--servers=127.0.0.1:1", "workers"]);
        assert_fails(&relative, 2, &["such as /app/workers"]);
    }
    let server = Served::start("members-refused", &[]);
    let slash = members(server.address(), "join", &["--name", "a/b"]);
    assert_fails(&slash, 2, &["--name without a slash"]);
    let list = members("127.0.0.1:1", "list", &["--timeout", "300ms"]);
    assert_fails(&list, 69, &["check --servers"]);
    let join = members("127.0.0.1:1", "join", &["--wait", "300ms"]);
    assert_fails(&join, 69, &["check --servers"]);
}

/// kazoo's parties pass over what is not their own.
#[test]
fn a_party_is_one_of_kazoo() {
    let server = Served::start("members-party", &[]);
    let (_plain, plain) = join(server.address(), &["--name", "plain"]);
    let (_party, party) = join(server.address(), &["--format", "party", "--data", "db-1"]);
    assert!(party.ends_with("__party__"), "{party}");
    let list = members(server.address(), "list", &["--format", "party"]);
    let table = text(&list.stdout);
    assert!(table.contains(&party) && !table.contains(&plain), "{table}");
}

//! `zkelect slots`.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};
use std::time::Instant;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::{Client, Version};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::task::spawn_blocking;
use zk_test_kit::wait::{SOON, eventually};

use crate::support::{Folder, observed, output, servers, text, token, zkelect};

const SLOTS: &str = "/app/shards";

/// Says again and again for which slot it works, and with which token.
const BEATING: &str =
    r#"while :; do echo "$ZKELECT_SLOT $ZKELECT_TOKEN $ZKELECT_ID" >>"$LOG"; sleep 0.02; done"#;

struct Member(Child);

impl Member {
    fn start(servers: &str, name: &str, log: &str) -> Self {
        let line = ["slots", "run", "--servers", servers, "--name", name, "--count", "6"];
        let rest = ["--session-timeout", "4s", "--grace", "1s", SLOTS, "--", "sh", "-c", BEATING];
        let mut command = zkelect();
        command.args(line).args(rest).env("LOG", log).stdin(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("zkelect starts"))
    }

    fn told(&mut self) -> Option<i32> {
        let pid = Pid::from_child(&self.0);
        kill_process(pid, Signal::TERM).expect("it is there");
        self.0.wait().expect("it ends").code()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn rows(servers: &str) -> Vec<Value> {
    let list = output(&["slots", "list", "--servers", servers, "--json", SLOTS]);
    assert_eq!(list.status.code(), Some(0), "{}", text(&list.stderr));
    serde_json::from_slice(&list.stdout).expect("a JSON array")
}

/// Waits until each of these members holds as many slots, as the plan says.
fn shared(servers: &str, expected: &[(&str, usize)]) {
    let mut last = Vec::new();
    let is_shared = || {
        last = rows(servers);
        let mut held: BTreeMap<&str, usize> = BTreeMap::new();
        for row in &last {
            let holder = row["holder"].as_str();
            if holder != row["planned"].as_str() {
                return false;
            }
            *held.entry(holder.unwrap_or_default()).or_default() += 1;
        }
        held == expected.iter().copied().collect()
    };
    let waited = eventually(SOON, "the slots are shared out", is_shared);
    assert!(waited.is_ok(), "{expected:?}: {last:?}");
}

fn change(servers: &str, action: &str, member: &str) -> Option<i32> {
    let output = output(&["slots", action, "--servers", servers, SLOTS, member]);
    output.status.code()
}

/// A member is killed, another is drained: no COMMAND works for a slot after a later one has begun.
#[test]
fn slots_of_a_member_that_is_killed_are_worked_on_by_the_others() {
    let servers = servers("slots");
    let folder = Folder::new("slots");
    let log = folder.file("log");
    let log = log.to_str().expect("it is text");
    let mut a = Member::start(&servers, "a", log);
    let mut b = Member::start(&servers, "b", log);
    let mut c = Member::start(&servers, "c", log);
    shared(&servers, &[("a", 2), ("b", 2), ("c", 2)]);
    b.0.kill().expect("it is killed");
    shared(&servers, &[("a", 3), ("c", 3)]);
    assert_eq!(change(&servers, "drain", "a"), Some(0));
    shared(&servers, &[("c", 6)]);
    assert_eq!(change(&servers, "admit", "a"), Some(0));
    shared(&servers, &[("a", 3), ("c", 3)]);
    assert_eq!((a.told(), c.told()), (Some(143), Some(143)));
    assert!(rows(&servers).iter().all(|row| row["holder"].is_null()), "{:?}", rows(&servers));

    let beats = fs::read_to_string(log).expect("they have worked");
    let mut greatest: BTreeMap<&str, i64> = BTreeMap::new();
    for beat in beats.lines() {
        let [slot, token, _] = beat.split(' ').collect::<Vec<_>>()[..] else { panic!("{beat}") };
        let token = token.parse().expect("a number");
        let before = greatest.insert(slot, token).unwrap_or_default();
        assert!(before <= token, "{beat}: token {before} has worked before");
    }
    assert_eq!(greatest.len(), 6);
}

/// A COMMAND takes a while to end, and logs that it has.
const ORDERLY: &str = r#"
    trap 'sleep 0.5; echo "ended $ZKELECT_SLOT" >>"$LOG"; exit 0' TERM
    echo "begun $ZKELECT_SLOT" >>"$LOG"
    while :; do sleep 0.02; done"#;

/// The lock of one slot is lost, and the member may not contend for it again. The other slot is held until its COMMAND has
/// ended in order.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_fails_ends_its_commands_before_it_gives_their_slots_up() {
    let servers = servers("slots-failing");
    let folder = Folder::new("slots-failing");
    let log = folder.file("log");
    let line = ["slots", "run", "--servers", &servers, "--name", "a", "--count", "2"];
    let mut command = zkelect();
    command.args(line).args(["--grace", "10s", SLOTS, "--", "sh", "-c", ORDERLY]).env("LOG", &log);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut member = Member(command.spawn().expect("zkelect starts"));
    let logged = |start: &str| {
        let log = fs::read_to_string(&log).unwrap_or_default();
        log.lines().filter(|line| line.starts_with(start)).count()
    };
    eventually(SOON, "both COMMANDs run", || logged("begun ") == 2).expect("they run");

    let client = Client::builder(&servers).connect().await.expect("a session");
    let (lost, held) = (format!("{SLOTS}/slots/1"), format!("{SLOTS}/slots/0"));
    let acls = Acls::new().world(Permissions::READ | Permissions::DELETE);
    client.set_acl(&lost, &acls, Version::ANY).await.expect("the access list is set");
    let contenders = client.get_children(&lost).await.expect("they are read");
    let contender = format!("{lost}/{}", contenders.iter().next().expect("one contends"));
    client.delete(&contender, Version::ANY).await.expect("it is deleted");
    let deadline = Instant::now() + SOON;
    while logged("ended 0") == 0 {
        let holders = client.get_children(&held).await.expect("they are read");
        // Between the two reads COMMAND may have ended.
        assert!(holders.iter().count() == 1 || logged("ended 0") == 1, "COMMAND works unguarded");
        assert!(Instant::now() < deadline, "COMMAND was not ended in order");
    }
    let ended = spawn_blocking(move || member.0.wait()).await.expect("no panic");
    assert_eq!(ended.expect("it ends").code(), Some(77));
}

#[test]
fn what_cannot_be_shared_out_is_refused_before_anything_is_sent() {
    let servers = ["--servers", "127.0.0.1:1"];
    for (options, said) in [
        (
            &["--slot", "a", "--slot", "a", "--name", "m", SLOTS][..],
            "the slot a is in the list twice",
        ),
        (&["--slot", "a/b", "--name", "m", SLOTS], "\"a/b\" is no name"),
        (&["--count", "1", "--name", "a b", SLOTS], "\"a b\" is no name"),
        (&["--count", "1", "--name", "m", "app"], "invalid path of slots"),
        (
            &["--count", "2", "--name", "m", "--apart", "0,2", SLOTS],
            "the slot 2 is to be apart from others, and is not in the list",
        ),
    ] {
        let ended = output(&[&["slots", "run"], &servers[..], options, &["--", "true"]].concat());
        assert_eq!(ended.status.code(), Some(2), "{}", text(&ended.stderr));
        assert!(text(&ended.stderr).contains(said), "{said:?}: {}", text(&ended.stderr));
    }
}

/// One slot moves to another member, the other one's connection is cut, its lock is broken, and then the member leaves.
#[tokio::test(flavor = "multi_thread")]
async fn events_tell_what_becomes_of_each_slot() {
    let (proxy, servers) = observed(&servers("slots-events"));
    let folder = Folder::new("slots-events");
    let file = folder.file("events");
    let start = |name: &str, events: &str| {
        let line = ["slots", "run", "--servers", &servers, "--name", name, "--count", "2"];
        let mut command = zkelect();
        command.args(line).args(["--events", events, SLOTS, "--", "sleep", "1000"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Member(command.spawn().expect("zkelect starts"))
    };
    let mut a = start("a", file.to_str().expect("it is text"));
    let events = || -> Vec<Value> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect()
    };
    let wait_for = |name: &str, count: usize| {
        let is_there = || events().iter().filter(|event| event["event"] == name).count() >= count;
        let waited = eventually(SOON, "the event is there", is_there);
        assert!(waited.is_ok(), "{name}: {:#?}", events());
    };
    wait_for("acquired", 2);
    let mut b = start("b", "-");
    wait_for("released", 1);
    proxy.cut();
    wait_for("resumed", 1);

    let kept = events().iter().find(|event| event["event"] == "resumed").cloned();
    let kept = kept.expect("it is there");
    let client = Client::builder(&servers).connect().await.expect("a session");
    let field = |event: &Value, name: &str| event[name].as_str().expect("a text").to_owned();
    let contender = format!("{SLOTS}/slots/{}/{}", field(&kept, "slot"), field(&kept, "znode"));
    client.delete(&contender, Version::ANY).await.expect("it is deleted");
    wait_for("lost", 1);
    wait_for("acquired", 3);
    assert_eq!((a.told(), b.told()), (Some(143), Some(143)));

    let events = events();
    for event in &events {
        assert_eq!((&event["slots"], &event["id"]), (&SLOTS.into(), &"a".into()), "{event}");
    }
    let of = |slot: &str| -> Vec<String> {
        let of = events.iter().filter(|event| event["slot"] == slot);
        of.map(|event| field(event, "event")).collect()
    };
    // On a busy machine a lease may be in doubt more often than a connection is cut.
    let without_doubts = |slot: &str| -> Vec<String> {
        let of = of(slot).into_iter();
        of.filter(|name| !["suspended", "resumed"].contains(&name.as_str())).collect()
    };
    let kept = field(&kept, "slot");
    let moved = if kept == "0" { "1" } else { "0" };
    assert_eq!(without_doubts(moved), ["acquired", "give_up_requested", "released"]);
    let stayed = without_doubts(&kept);
    assert_eq!(stayed[..3], ["acquired", "lost", "acquired"], "{stayed:?}");
    assert_eq!(stayed.last().map(String::as_str), Some("released"), "{stayed:?}");
    for pair in of(&kept).windows(2).filter(|pair| pair[1] == "resumed") {
        assert_eq!(pair[0], "suspended");
    }
    let last = events.last().expect("there are some");
    assert_eq!((&last["event"], &last["reason"]), (&"ended".into(), &"left".into()));
    let tokens: Vec<_> = events.iter().filter(|event| event["slot"] == *kept).map(token).collect();
    assert!(tokens.is_sorted() && tokens.first() < tokens.last(), "{tokens:?}");
}

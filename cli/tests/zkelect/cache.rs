//! `zkelect cache`.

use election_tokio::{Client, CreateMode, Version};
use rustix::process::Signal;
use serde_json::Value;
use zk_test_kit::proxy::Proxy;

use crate::process::Process;
use crate::served::Served;
use crate::support::{observed, output, servers, text};

const TREE: &str = "/app/config";

/// Returns the events up to the next `current`, with their paths, in the order of these, and that one's zxid.
fn until_current(cache: &Process) -> (Vec<(String, String)>, i64) {
    let mut changes: Vec<(String, String)> = Vec::new();
    loop {
        let line = cache.next_json();
        let field = |name: &str| line[name].as_str().map(str::to_owned);
        assert!(field("at").is_some(), "{line}");
        match field("event").expect("an event").as_str() {
            "current" => {
                changes.sort_by(|(_, one), (_, other)| one.cmp(other));
                return (changes, line["zxid"].as_i64().expect("a number"));
            }
            event => changes.push((event.to_owned(), field("path").expect("a path"))),
        }
    }
}

/// Returns the next `count` events with a path; what is current meanwhile does not matter.
fn next(cache: &Process, count: usize) -> Vec<(String, String)> {
    let mut changes: Vec<(String, String)> = Vec::new();
    while changes.len() < count {
        changes.extend(until_current(cache).0);
    }
    changes.sort_by(|(_, one), (_, other)| one.cmp(other));
    changes
}

fn events(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(event, path)| ((*event).to_owned(), format!("{TREE}{path}"))).collect()
}

async fn a_tree_is_printed(servers: &str, proxy: &Proxy, by_proxy: &str) {
    let client = Client::builder(servers).connect().await.expect("a session");
    let path = |below: &str| format!("{TREE}{below}");
    for (below, data) in [("", ""), ("/a", "1"), ("/a/deep", "x"), ("/b", "\u{1b}")] {
        client
            .create_with_parents(&path(below), data, CreateMode::Persistent, &open())
            .await
            .expect("it is created");
    }
    let cache = Process::start(&["cache", "--servers", by_proxy, "--json", TREE]);
    let (at_first, zxid) = until_current(&cache);
    let all = [("created", ""), ("created", "/a"), ("created", "/a/deep"), ("created", "/b")];
    assert_eq!(at_first, events(&all));

    client.set_data(&path("/a"), "2", Version::ANY).await.expect("it is written");
    let changed = loop {
        let line = cache.next_json();
        if line["event"] != "current" {
            break line;
        }
    };
    let fields = ["event", "path", "version", "data"].map(|name| changed[name].clone());
    assert_eq!(fields, ["changed".into(), path("/a").into(), 1.into(), Value::from("2")]);
    assert!(changed["zxid"].as_i64() > Some(zxid), "{changed}");
    assert!(changed.get("session").is_none(), "{changed}");

    // What happens while it is cut off is printed afterwards.
    proxy.refuse();
    proxy.cut();
    client.delete(&path("/a/deep"), Version::ANY).await.expect("it is deleted");
    client.create(&path("/c"), "", CreateMode::Ephemeral).await.expect("it is created");
    proxy.accept().expect("it listens again");
    assert_eq!(next(&cache, 2), events(&[("deleted", "/a/deep"), ("created", "/c")]));

    cache.signal(Signal::TERM);
    let ended = cache.ended();
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    let cache = Process::start(&["cache", "--servers", servers, "--depth", "1", TREE]);
    let mut lines: Vec<String> = (0..4).map(|_| cache.next()).collect();
    lines.sort_unstable();
    let expected = ["", "/a 2", "/b hex:1b", "/c"].map(|line| format!("created {TREE}{line}"));
    assert_eq!(lines, expected);
    let cache = Process::start(&["cache", "--servers", servers, "--no-data", "--depth", "0", TREE]);
    assert_eq!(cache.next(), format!("created {TREE}"));
    client.close().await.expect("it is closed");
}

fn open() -> election_tokio::acl::Acls {
    election_tokio::acl::Acls::open()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_is_printed_and_then_each_change_also_after_a_gap() {
    let served = Served::start("cache", &[]);
    for servers in [servers("cache"), served.address().to_owned()] {
        let (proxy, by_proxy) = observed(&servers);
        a_tree_is_printed(&servers, &proxy, &by_proxy).await;
    }
}

#[test]
fn a_path_that_is_none_is_refused_before_anything_is_sent() {
    let ended = output(&["cache", "--servers", "127.0.0.1:1", "app"]);
    assert_eq!(ended.status.code(), Some(2), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("invalid path \"app\""), "{}", text(&ended.stderr));
}

//! Four letters in place of a handshake.

use zk_jute::records::AddWatchMode;
use zk_jute::records::AddWatchRequest;

use crate::requests::{create_as, get_data};
use crate::world::{World, world};

/// Returns the answer; the server closes the connection behind it.
fn ask(world: &mut World, letters: &str) -> String {
    let mut connection = world.open();
    connection.send(world, letters.as_bytes());
    assert!(connection.is_closed, "{letters}");
    String::from_utf8(connection.rest()).expect("text")
}

#[test]
fn words_are_answered_in_plain_text() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create_as("/e", zk_jute::records::CreateMode::EPHEMERAL));
    client.request(&mut world, &get_data("/e", true));
    let (path, mode) = ("/", AddWatchMode::PERSISTENT);
    client.request(&mut world, &AddWatchRequest { path, mode });
    assert_eq!(ask(&mut world, "ruok"), "imok");
    assert_eq!(ask(&mut world, "isro"), "rw");
    assert!(ask(&mut world, "envi").starts_with("Environment:\nzookeeper.version=3.9.5-"));
    let srvr = ask(&mut world, "srvr");
    let lines: Vec<&str> = srvr.lines().collect();
    assert!(lines[0].starts_with("Zookeeper version: 3.9.5-"), "{srvr}");
    let expected = ["Outstanding: 0", "Zxid: 0x2", "Mode: standalone", "Node count: 5"];
    assert_eq!(lines[5..], expected, "{srvr}");
    let mntr = ask(&mut world, "mntr");
    for line in [
        "zk_server_state\tstandalone",
        "zk_znode_count\t5",
        "zk_watch_count\t3",
        "zk_ephemerals_count\t1",
        "zk_global_sessions\t1",
    ] {
        assert!(mntr.lines().any(|other| other == line), "{line} in {mntr}");
    }
    let wchs = "1 connections watching 2 paths\nTotal watches:3\n";
    assert_eq!(ask(&mut world, "wchs"), wchs);
    let (path, mode) = ("/e", AddWatchMode::PERSISTENT_RECURSIVE);
    client.request(&mut world, &AddWatchRequest { path, mode });
    let wchs = "1 connections watching 2 paths\nTotal watches:3\n";
    assert_eq!(ask(&mut world, "wchs"), wchs, "one path of one connection counts once");
    let session = format!("sid=0x{:x},to=10000)", client.session().get());
    let cons = ask(&mut world, "cons");
    assert!(cons.starts_with(" /127.0.0.1:50000[1](queued=0,recved="), "{cons}");
    assert!(cons.lines().any(|line| line.ends_with(&session)), "{cons}");
    world.server.drop_connections();
    let wchs = "0 connections watching 0 paths\nTotal watches:0\n";
    assert_eq!(ask(&mut world, "wchs"), wchs);
}

#[test]
fn words_that_are_not_answered_say_so() {
    let mut world = world();
    for letters in ["conf", "dump", "stat", "wchc"] {
        let text = format!("{letters} is not executed because it is not in the whitelist.\n");
        assert_eq!(ask(&mut world, letters), text);
    }
    // No word: a length, and too large a one.
    assert_eq!(ask(&mut world, "what"), "");
}

/// Later they are a length again.
#[test]
fn words_are_for_the_beginning_of_a_connection() {
    let mut world = world();
    let mut client = world.client();
    client.connection.send(&mut world, b"ruok");
    assert!(client.connection.is_closed);
    assert_eq!(client.connection.rest(), b"");
}

#[test]
fn a_word_may_come_letter_by_letter() {
    let mut world = world();
    let mut connection = world.open();
    for letter in [b"r", b"u", b"o", b"k"] {
        assert!(!connection.is_closed);
        connection.send(&mut world, letter);
    }
    assert_eq!(connection.rest(), b"imok");
}

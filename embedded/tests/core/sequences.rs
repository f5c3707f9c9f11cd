//! The end of the numbers behind sequential names.

use zk_embedded::{Config, CounterEnd, FirstZnodes, InvalidPath};
use zk_jute::records::{CreateMode, CreateResponse, EventType, MultiOp, MultiRequest, SetWatches};
use zk_jute::{Decode, ErrorCode, Vector, Zxid};

use crate::requests::{create_as, delete};
use crate::world::{Client, World};

const PARENT: &str = "/election/a";

fn world(end: CounterEnd, created: i32) -> World {
    let mut config = Config::default();
    config.counter_end = end;
    config.first_znodes.add(PARENT, created).expect("a path");
    World::new(&config)
}

/// Returns the number behind the next name with this prefix, if there is one.
fn next(world: &mut World, client: &mut Client, prefix: &str) -> Result<String, ErrorCode> {
    let path = format!("{PARENT}/{prefix}");
    let request = create_as(&path, CreateMode::EPHEMERAL_SEQUENTIAL);
    let (header, body) = client.request(world, &request);
    if header.error != ErrorCode::OK {
        return Err(header.error);
    }
    let response = CreateResponse::decode_exact(&body).expect("a path");
    Ok(response.path.strip_prefix(&path).expect("the prefix").to_owned())
}

#[test]
fn a_server_begins_with_what_it_was_told() {
    let mut first = FirstZnodes::default();
    for path in ["", "/", "a", "/a/", "/zookeeper", "/zookeeper/quota"] {
        assert_eq!(first.add(path, 0), Err(InvalidPath), "{path}");
    }
    let mut world = world(CounterEnd::Sticks, 41);
    assert_eq!(world.paths(), ["/election", PARENT]);
    assert_eq!(world.zxid(), 2);
    let mut client = world.client();
    assert_eq!(next(&mut world, &mut client, "a-"), Ok("0000000041".to_owned()));
    assert_eq!(next(&mut world, &mut client, "b-"), Ok("0000000042".to_owned()));
}

/// Since 3.6.0: one name for each prefix, again and again, and no `NodeExists` if they differ.
#[test]
fn the_last_number_recurs() {
    let mut world = world(CounterEnd::Sticks, i32::MAX - 1);
    let mut client = world.client();
    assert_eq!(next(&mut world, &mut client, "a-"), Ok("2147483646".to_owned()));
    for prefix in ["a-", "b-", "c-"] {
        assert_eq!(next(&mut world, &mut client, prefix), Ok("2147483647".to_owned()));
    }
    assert_eq!(next(&mut world, &mut client, "a-"), Err(ErrorCode::NODE_EXISTS));
    client.code(&mut world, &delete("/election/a/a-2147483647"));
    assert_eq!(next(&mut world, &mut client, "a-"), Ok("2147483647".to_owned()));
}

/// Before 3.6.0.
#[test]
fn the_numbers_wrap() {
    let mut world = world(CounterEnd::Wraps, i32::MAX);
    let mut client = world.client();
    for number in ["2147483647", "-2147483648", "-2147483647"] {
        assert_eq!(next(&mut world, &mut client, "a-"), Ok(number.to_owned()));
    }
    let mut world = self::world(CounterEnd::Wraps, -2);
    let mut client = world.client();
    for number in ["-000000002", "-000000001", "0000000000", "0000000001"] {
        assert_eq!(next(&mut world, &mut client, "a-"), Ok(number.to_owned()));
    }
}

/// Operations of one transaction count on from what is not applied, whatever the tree will keep.
#[test]
fn a_transaction_counts_on_beyond_the_end() {
    for (end, behind) in [(CounterEnd::Sticks, "2147483647"), (CounterEnd::Wraps, "-2147483646")] {
        let mut world = world(end, i32::MAX);
        let mut client = world.client();
        let paths = ["a-", "b-", "c-"].map(|prefix| format!("{PARENT}/{prefix}"));
        let create = |path| MultiOp::Create(create_as(path, CreateMode::EPHEMERAL_SEQUENTIAL));
        let operations = paths.each_ref().map(|path| create(path));
        let (header, _) = client.request(&mut world, &MultiRequest::new(&operations));
        assert_eq!(header.error, ErrorCode::OK);
        let numbers = ["a-2147483647", "b--2147483648", "c--2147483647"];
        for number in numbers {
            let path = format!("{PARENT}/{number}");
            assert!(world.server.database().znode(&path).is_some(), "{path}");
        }
        assert_eq!(next(&mut world, &mut client, "d-"), Ok(behind.to_owned()));
    }
}

/// `pzxid` is raised only with the counter, so that a client that sets its watch again misses what
/// was created meanwhile.
#[test]
fn a_child_beyond_the_end_is_missed_by_who_comes_back() {
    for (end, told) in [(CounterEnd::Sticks, 0), (CounterEnd::Wraps, 1)] {
        let mut world = world(end, i32::MAX);
        let mut client = world.client();
        let seen = Zxid::new(world.zxid());
        next(&mut world, &mut client, "a-").expect("a znode");
        let child = &[PARENT][..];
        let none = Vector::new(&[]);
        let again =
            SetWatches { relative_zxid: seen, data: none, exist: none, child: Vector::new(child) };
        assert_eq!(client.code(&mut world, &again), ErrorCode::OK);
        let events = client.events(&mut world);
        assert_eq!(events.len(), told, "{end:?}");
        assert!(events.iter().all(|(kind, _)| *kind == EventType::NODE_CHILDREN_CHANGED));
    }
}

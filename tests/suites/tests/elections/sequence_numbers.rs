//! The conduct of Apache ZooKeeper where the sequence numbers end: it starts from a snapshot that
//! was made for it.
//!
//! Before 3.6 the count goes on with the negative numbers. Since then (ZOOKEEPER-3249) the stored
//! count stays at the last number, and the count that is not stored yet goes on.

use core::time::Duration;

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::raw::{CreateMode, Created, RawClient, RawError};
use zk_test_kit::zookeeper::{Options, Server, ServerVersion, Snapshot};

const LAST: i32 = i32::MAX;

const NODE_EXISTS: i32 = -110;

/// A server, and a session that creates znodes in `/queue`.
struct Bench {
    server: Server,
    client: RawClient,
}

impl Bench {
    /// Starts a server that gives the number `next` to the first creation.
    fn new(next: i32) -> Result<Self, TestFailure> {
        let snapshot = Snapshot::new().with_next_number("/queue", next);
        let server = Options::new().snapshot(snapshot).start_server()?;
        let client = RawClient::connect(server.addr(), Duration::from_secs(30))?;
        Ok(Self { server, client })
    }

    /// Whether the stored count stays where the numbers end.
    fn count_sticks(&self) -> Result<bool, TestFailure> {
        Ok(self.server.release()? >= ServerVersion::new(3, 6, 0))
    }

    fn create(&mut self, prefix: &str) -> Result<Created, TestFailure> {
        match self.client.create(&format!("/queue/{prefix}"), CreateMode::EphemeralSequential) {
            Ok(path) => Ok(Ok(path)),
            Err(RawError::Refused { code, .. }) => Ok(Err(code)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the path, as the server writes it.
fn path(prefix: &str, number: i32) -> String {
    format!("/queue/{prefix}{number:010}")
}

#[test]
fn one_at_a_time() -> TestResult {
    let mut bench = Bench::new(LAST - 1)?;
    let count_sticks = bench.count_sticks()?;
    assert_eq!(bench.create("a-")?, Ok(path("a-", LAST - 1)));
    assert_eq!(bench.create("a-")?, Ok(path("a-", LAST)));
    let after = [bench.create("a-")?, bench.create("b-")?, bench.create("a-")?];
    println!("after the last number: {after:?}");
    if !count_sticks {
        let wrapped = [("a-", i32::MIN), ("b-", i32::MIN + 1), ("a-", i32::MIN + 2)];
        assert_eq!(after, wrapped.map(|(prefix, number)| Ok(path(prefix, number))));
        return Ok(());
    }
    assert_eq!(after, [Err(NODE_EXISTS), Ok(path("b-", LAST)), Err(NODE_EXISTS)]);
    bench.client.delete(&format!("/queue/a-{LAST}"))?;
    assert_eq!(bench.create("a-")?, Ok(path("a-", LAST)), "the same name again");
    Ok(())
}

/// A create that the server has not stored yet when it reads the next one goes on with the count:
/// how many do is a matter of time.
#[test]
fn in_a_row() -> TestResult {
    let mut bench = Bench::new(LAST)?;
    let count_sticks = bench.count_sticks()?;
    let prefixes: Vec<_> = (0..20).map(|number| format!("{number}-")).collect();
    let paths: Vec<_> = prefixes.iter().map(|prefix| format!("/queue/{prefix}")).collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let names = bench.client.create_in_a_row(&paths, CreateMode::EphemeralSequential)?;
    println!("in a row: {names:?}");
    let mut expected = LAST;
    for (prefix, name) in prefixes.iter().zip(names) {
        if count_sticks && name == Ok(path(prefix, LAST)) {
            expected = LAST;
        }
        assert_eq!(name, Ok(path(prefix, expected)));
        expected = expected.wrapping_add(1);
    }
    if count_sticks {
        assert_eq!(bench.create("z-")?, Ok(path("z-", LAST)), "once all are stored");
    }
    Ok(())
}

#[test]
fn together() -> TestResult {
    let mut bench = Bench::new(LAST - 1)?;
    let count_sticks = bench.count_sticks()?;
    let prefixes = ["a-", "b-", "c-", "d-"];
    let paths = prefixes.map(|prefix| format!("/queue/{prefix}"));
    let paths = paths.each_ref().map(String::as_str);
    let names = bench.client.create_together(&paths, CreateMode::EphemeralSequential)?;
    println!("together: {names:?}");
    let numbers = [LAST - 1, LAST, i32::MIN, i32::MIN + 1];
    for ((prefix, number), name) in prefixes.into_iter().zip(numbers).zip(names) {
        assert_eq!(name, Ok(path(prefix, number)));
    }
    let next = if count_sticks { LAST } else { i32::MIN + 2 };
    assert_eq!(bench.create("z-")?, Ok(path("z-", next)));
    Ok(())
}

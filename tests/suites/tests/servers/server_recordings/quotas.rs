//! Quotas are counted, whether or not they are enforced.

use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::raw::{RawClient, RawError};
use zk_test_kit::server::{ServerKind, TestServer};
use zk_test_kit::zookeeper::{FourLetterError, ServerVersion};

use crate::server_recordings::requests::{SESSION, create_with, read, write};

on_both_servers! {
    #[test]
    a_subtree_with_a_quota_is_counted_at_each_change,
    a_change_counts_for_the_deepest_quota_alone,
    what_a_client_writes_into_the_count_is_counted_on;
}

const PERSISTENT: i32 = 0;
const EPHEMERAL: i32 = 1;

/// Whether the server counts in this form: before, the count has another one.
fn counts(server: &TestServer) -> Result<bool, FourLetterError> {
    Ok(server.release()? >= ServerVersion::new(3, 7, 0))
}

fn create(client: &mut RawClient, path: &str, data: &str) -> Result<(), RawError> {
    client.request(Opcode::CREATE, &create_with(path, data, PERSISTENT)).map(drop)
}

fn set(client: &mut RawClient, path: &str, data: Option<&str>) -> Result<(), RawError> {
    client.request(Opcode::SET_DATA, &write(path, data)).map(drop)
}

/// Sets a quota, as `setquota` of ZooKeeper's command line does it.
fn put_quota(client: &mut RawClient, on: &str) -> Result<(), RawError> {
    let quota = format!("/zookeeper/quota{on}");
    create(client, &quota, "")?;
    create(client, &format!("{quota}/zookeeper_limits"), "count=1,bytes=1")?;
    create(client, &format!("{quota}/zookeeper_stats"), "count=0,bytes=0")
}

/// Returns the count, and the version of its znode.
fn counted(client: &mut RawClient, on: &str) -> Result<(String, i32), RawError> {
    let path = format!("/zookeeper/quota{on}/zookeeper_stats");
    let answer = client.request(Opcode::GET_DATA, &read(&path, 0))?;
    let (data, stat) = answer.split_at_checked(answer.len() - 68).ok_or(TRUNCATED)?;
    let version = stat.get(32..36).and_then(|bytes| bytes.try_into().ok()).ok_or(TRUNCATED)?;
    let text = String::from_utf8_lossy(data.get(4..).ok_or(TRUNCATED)?).into_owned();
    Ok((text, i32::from_be_bytes(version)))
}

const TRUNCATED: RawError = RawError::Truncated("data");

fn says(count: i64, bytes: i64) -> (String, i32) {
    (format!("count={count},bytes={bytes}"), 0)
}

/// Without a version of its own, and without an event.
fn a_subtree_with_a_quota_is_counted_at_each_change(server: ServerKind) -> TestResult {
    let server = server.start()?;
    if !counts(&server)? {
        return Ok(());
    }
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    create(&mut client, "/q", "abc")?;
    create(&mut client, "/q/r", "12")?;
    create(&mut client, "/qq", "beside")?;
    put_quota(&mut client, "/q")?;
    assert_eq!(counted(&mut client, "/q")?, says(2, 5), "what was there before");
    assert!(client.watch("/zookeeper/quota/q/zookeeper_stats")?);
    create(&mut client, "/q/s", "1234")?;
    create(&mut client, "/qq/s", "1234")?;
    assert_eq!(counted(&mut client, "/q")?, says(3, 9));
    set(&mut client, "/q/r", Some("123456789"))?;
    assert_eq!(counted(&mut client, "/q")?, says(3, 16));
    set(&mut client, "/q", None)?;
    assert_eq!(counted(&mut client, "/q")?, says(3, 13));
    client.delete("/q/s")?;
    assert_eq!(counted(&mut client, "/q")?, says(2, 9));
    let mut other = RawClient::connect(server.addr(), SESSION)?;
    other.request(Opcode::CREATE, &create_with("/q/e", "eph", EPHEMERAL))?;
    assert_eq!(counted(&mut client, "/q")?, says(3, 12));
    other.close()?;
    assert_eq!(counted(&mut client, "/q")?, says(2, 9));
    assert_eq!(client.notifications(), []);
    Ok(())
}

fn a_change_counts_for_the_deepest_quota_alone(server: ServerKind) -> TestResult {
    let server = server.start()?;
    if !counts(&server)? {
        return Ok(());
    }
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    create(&mut client, "/q", "abc")?;
    create(&mut client, "/q/r", "12")?;
    put_quota(&mut client, "/q")?;
    put_quota(&mut client, "/q/r")?;
    create(&mut client, "/q/r/s", "77")?;
    assert_eq!(counted(&mut client, "/q")?, says(2, 5));
    assert_eq!(counted(&mut client, "/q/r")?, says(2, 4));
    client.delete("/zookeeper/quota/q/r/zookeeper_limits")?;
    create(&mut client, "/q/r/t", "1")?;
    assert_eq!(counted(&mut client, "/q")?, says(3, 6));
    assert_eq!(counted(&mut client, "/q/r")?, says(2, 4));
    client.delete("/zookeeper/quota/q/zookeeper_limits")?;
    create(&mut client, "/q/u", "1")?;
    assert_eq!(counted(&mut client, "/q")?, says(3, 6));
    Ok(())
}

fn what_a_client_writes_into_the_count_is_counted_on(server: ServerKind) -> TestResult {
    let server = server.start()?;
    if !counts(&server)? {
        return Ok(());
    }
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    create(&mut client, "/q", "")?;
    put_quota(&mut client, "/q")?;
    let stats = "/zookeeper/quota/q/zookeeper_stats";
    let cases = [
        ("", "count=0,bytes=0"),
        ("bytes=7", "count=0,bytes=8"),
        ("count=1,,;bytes=2;a=3", "count=2,bytes=3=;a=3"),
        ("count=1,bytes=2=;a=3", "count=2,bytes=3=;a=3"),
    ];
    for (number, (written, expected)) in cases.into_iter().enumerate() {
        set(&mut client, stats, Some(written))?;
        create(&mut client, &format!("/q/{number}"), "1")?;
        assert_eq!(counted(&mut client, "/q")?.0, expected, "{written:?}");
    }
    Ok(())
}

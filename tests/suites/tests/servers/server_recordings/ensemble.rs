//! The recordings that need an ensemble: of Apache's alone. `simulated_ensemble` asserts the same of the simulated
//! one.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::opcode::Opcode;
use zk_test_kit::raw::{CreateMode, RawClient, RawError};
use zk_test_kit::wait::eventually;
use zk_test_kit::zookeeper::{Ensemble, Member, Options, ServerVersion};

use crate::server_recordings::requests::{
    OPEN, SESSION, SESSION_EXPIRED, check_in_multi, create, path, read, set_data,
};

const BOUND: Duration = Duration::from_secs(30);
/// Members that are stopped for a while are not given up: 40 s.
const SYNC_LIMIT: u32 = 200;
/// The time that an event has which is not to come.
const SILENCE: Duration = Duration::from_millis(700);

/// Starts an ensemble; returns it, its leader and its followers.
fn start(options: Options) -> Result<(Ensemble, Member, Vec<Member>), TestFailure> {
    let ensemble = options.sync_limit(SYNC_LIMIT).start_ensemble()?;
    let leader = ensemble.wait_for_leader(BOUND)?;
    let followers = Member::ALL.into_iter().filter(|member| *member != leader).collect();
    Ok((ensemble, leader, followers))
}

/// The leader asks no member, and not even its own log: a transaction that is proposed and not
/// committed does not hold back a `sync` of its own clients.
#[test]
fn a_leader_answers_sync_while_its_quorum_is_silent() -> TestResult {
    let (ensemble, leader, followers) = start(Options::new())?;
    let leader = ensemble.member(leader);
    let mut writer = RawClient::connect(leader.addr(), SESSION)?;
    let mut reader = RawClient::connect(leader.addr(), SESSION)?;
    for follower in &followers {
        ensemble.member(*follower).pause()?;
    }
    let write = writer.send_request(Opcode::CREATE, &create("/late", OPEN))?;
    assert!(writer.is_silent_for(SILENCE)?, "no quorum");
    let asked = reader.send_request(Opcode::SYNC, &path("/"))?;
    let synced = reader.next_reply()?;
    assert_eq!((synced.xid, synced.code), (asked, 0));
    assert_eq!(synced.body, path("/"));
    assert!(!reader.exists("/late")?);
    // Behind the session's own write it waits with it.
    let behind = writer.send_request(Opcode::SYNC, &path("/"))?;
    assert!(writer.is_silent_for(SILENCE)?);
    for follower in &followers {
        ensemble.member(*follower).resume()?;
    }
    let written = writer.next_reply()?;
    assert_eq!((written.xid, written.code), (write, 0));
    assert!(written.zxid > synced.zxid);
    assert_eq!(writer.next_reply()?.xid, behind);
    Ok(())
}

/// A follower asks its leader, and goes on answering what needs none.
#[test]
fn a_follower_answers_no_sync_while_its_leader_is_silent() -> TestResult {
    let (ensemble, leader, followers) = start(Options::new())?;
    let Some(follower) = followers.first().map(|follower| ensemble.member(*follower)) else {
        panic!("no follower");
    };
    let mut remote = RawClient::connect(follower.addr(), SESSION)?;
    let mut reader = RawClient::connect(follower.addr(), SESSION)?;
    ensemble.member(leader).pause()?;
    let asked = remote.send_request(Opcode::SYNC, &path("/"))?;
    reader.ping()?;
    assert!(reader.exists("/")?);
    assert!(remote.is_silent_for(SILENCE)?);
    ensemble.member(leader).resume()?;
    let reply = remote.next_reply()?;
    assert_eq!((reply.xid, reply.code), (asked, 0));
    Ok(())
}

/// Each new leader's tracker begins with what sessions were created with.
#[test]
fn a_new_leader_forgets_what_was_granted_after_the_creation() -> TestResult {
    const SHORT: Duration = Duration::from_secs(5);
    const LONG: Duration = Duration::from_secs(40);
    let (ensemble, leader, followers) = start(Options::new())?;
    let Some(follower) = followers.first().map(|follower| ensemble.member(*follower)) else {
        panic!("no follower");
    };
    let mut client = RawClient::connect(follower.addr(), SHORT)?;
    client.create("/e", CreateMode::Ephemeral)?;
    let mut session = client.session().clone();
    session.timeout = LONG;
    let client = RawClient::resume(follower.addr(), &session)?;
    assert_eq!(client.session().timeout, LONG);
    let before = Instant::now();
    ensemble.member(leader).kill()?;
    let new = ensemble.wait_for_leader(BOUND)?;
    let after = Instant::now();
    let mut watcher = RawClient::connect(ensemble.member(new).addr(), SESSION)?;
    if watcher.watch("/e")? {
        watcher.next_notification()?;
    }
    assert!(before.elapsed() > SHORT);
    assert!(after.elapsed() < LONG / 2, "{:?}", after.elapsed());
    Ok(())
}

/// The leader has found the session closing, and its end waits in the queue of the throttler, behind requests of the
/// leader's own clients. A request of the session to a follower goes past that queue.
#[test]
fn a_follower_serves_a_session_that_the_leader_has_found_closing() -> TestResult {
    const SHORT: Duration = Duration::from_secs(5);
    /// Each takes a round of the quorum of its own; the requests below take five.
    const QUEUE: u32 = 1000;
    // By default the leader reads a thousand requests at most before it answers, the throttler sleeps for 100 ms where it
    // misses that a request was done, and a follower closes a connection that said nothing for the session's timeout, in
    // steps of ten seconds: one that was paused would close it as it resumes, or read its requests first.
    let options = Options::new()
        .system_property("zookeeper.globalOutstandingLimit", "100000")
        .system_property("zookeeper.request_throttle_max_requests", "1")
        .system_property("zookeeper.request_throttle_stall_time", "1")
        .system_property("zookeeper.nio.sessionlessCnxnTimeout", "1000000000");
    let (ensemble, leader, followers) = start(options)?;
    let leader = ensemble.member(leader);
    if leader.release()? < ServerVersion::new(3, 6, 0) {
        return Ok(());
    }
    let [follower, other] = &*followers else {
        panic!("{followers:?}");
    };
    let (follower, other) = (ensemble.member(*follower), ensemble.member(*other));
    let mut own = RawClient::connect(leader.addr(), SESSION)?;
    let mut client = RawClient::connect(follower.addr(), SHORT)?;
    let bystander = RawClient::connect(follower.addr(), SESSION)?;
    client.create("/e", CreateMode::Ephemeral)?;
    own.create("/a", CreateMode::Persistent)?;
    follower.pause()?;
    other.pause()?;
    for _ in 0..QUEUE {
        own.send_request(Opcode::SET_DATA, &set_data("/a"))?;
    }
    let session = format!("0x{:x}", client.session().id);
    eventually(BOUND, "the session is found closing", || {
        leader.four_letter("dump").is_ok_and(|dump| !has_clock(&dump, &session))
    })?;
    client.send_request(Opcode::MULTI, &check_in_multi("/"))?;
    client.send_request(Opcode::CREATE, &create("/b", OPEN))?;
    client.send_request(Opcode::SYNC, &path("/"))?;
    client.send_request(Opcode::EXISTS, &read("/e", 0))?;
    // No round is without this follower, which has the requests of the session to read.
    follower.resume()?;
    let awake = Writes::begin(bystander);
    let multi = client.next_reply()?;
    assert_eq!((multi.code, &*multi.body), (0, &EXPIRED_IN_MULTI[..]));
    let created = client.next_reply()?;
    assert_eq!((created.code, &*created.body), (SESSION_EXPIRED, &[][..]));
    assert!(created.zxid > multi.zxid, "what is refused takes a number");
    let synced = client.next_reply()?;
    assert_eq!((synced.code, &*synced.body), (0, &*path("/")));
    assert!(synced.zxid >= created.zxid);
    assert_eq!(client.next_reply()?.code, 0, "the znode of the session is there");
    client.ping()?;
    for _ in 0..QUEUE {
        assert_eq!(own.next_reply()?.code, 0);
    }
    assert_eq!(client.rest()?, b"", "the connection is closed when the end is committed");
    awake.end()?;
    other.resume()?;
    Ok(())
}

/// Writes in a thread of its own. A commit processor of 3.8.0 may oversleep a request until the next one comes: where the
/// throttler lets none come, these do, by a follower past it.
struct Writes {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), RawError>>,
}

impl Writes {
    fn begin(mut client: RawClient) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let is_over = Arc::clone(&is_over);
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    client.request(Opcode::SET_DATA, &set_data("/a"))?;
                }
                Ok(())
            }
        });
        Self { is_over, thread }
    }

    fn end(self) -> TestResult {
        self.is_over.store(true, Ordering::Relaxed);
        Ok(self.thread.join().expect("it does not panic")?)
    }
}

/// Whether the session is in one of the tracker's buckets.
fn has_clock(dump: &str, session: &str) -> bool {
    let buckets = dump.split_once("Session Sets").map_or("", |(_, behind)| behind);
    let buckets = buckets.split_once("ephemeral nodes").map_or(buckets, |(before, _)| before);
    buckets.contains(session)
}

/// One result, an error; and the end of the list.
const EXPIRED_IN_MULTI: [u8; 22] = [
    0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0x90, 0xff, 0xff, 0xff,
    0x90, // -1, false, -112, -112
    0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff, // -1, true, -1
];

//! The lease of a leadership while nothing happens: what each grade costs; and `confirm`.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::time::Duration;
use std::time::Instant;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::election::{Leadership, LostReason, Nomination, NominationError, OnLoss};
use election_tokio::lease::LeaseGrade;
use election_tokio::{Client, ErrorCode, ErrorKind, TransactionError, Version};
use zk_test_kit::election::{Arena, ELECTION, LASTING, connect, follows, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Counters, Cut, Direction, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_lease_of_grade_quorum_costs_a_check_and_a_sync,
    a_lease_of_grade_sync_costs_two_syncs,
    a_lease_of_grade_contact_costs_a_ping,
    a_candidate_that_cannot_be_checked_proves_nothing,
    confirming_says_whether_the_candidate_stands,
    confirming_fails_without_a_connection;
}

const TIMEOUT: Duration = Duration::from_secs(6);

/// How often each nominee is to have shown that it lives.
const TIMES: u64 = 6;

/// The leader and the one that knows itself to be next, and two that are neither.
const PROVING: usize = 2;
const ALL: usize = 4;

/// Bytes of the path that a `sync` names which keeps a lease ready.
const ROOT: u64 = 1;

/// Nominees in their order, each behind a proxy.
struct Queue {
    leadership: Leadership,
    members: Vec<(Proxy, Client, Nomination)>,
    /// Bytes of a candidate's path.
    path: u64,
}

impl Queue {
    async fn new(server: ServerKind, label: &str, grade: LeaseGrade) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, label).await?;
        let mut members = Vec::new();
        for _ in 0..ALL {
            let proxy = Proxy::to(server.shared()?.addr())?;
            let servers = arena.servers_by(&proxy);
            let builder = Client::builder(&servers).session_timeout(TIMEOUT).lease_grade(grade);
            let client = builder.connect_timeout(SOON).connect().await?;
            let mut nomination = client.election(ELECTION).nominate()?;
            if members.is_empty() {
                leads(&mut nomination).await?;
            } else {
                follows(&nomination).await?;
            }
            members.push((proxy, client, nomination));
        }
        let leadership = leads(&mut members[0].2).await?;
        let servers = arena.servers();
        let (_, chroot) = servers.split_once('/').expect("a chroot");
        let path = format!("/{chroot}{ELECTION}/{}", leadership.candidate());
        Ok(Self { leadership, members, path: u64::try_from(path.len())? })
    }

    fn counters(&self) -> Vec<Counters> {
        self.members.iter().map(|(proxy, ..)| proxy.counters()).collect()
    }
}

/// How many of each have passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frames {
    pings: u64,
    syncs: u64,
    checks: u64,
}

/// The frames that a nominee has sent and received.
#[derive(Debug)]
struct Exchanged {
    requests: Frames,
    replies: Frames,
}

impl Exchanged {
    /// Returns the exchange between two counts; asserts that it has no frames but these, and no
    /// bytes but theirs.
    fn between(before: &Counters, after: &Counters, path: u64) -> Self {
        let requests = |opcode| after.requests(opcode) - before.requests(opcode);
        let replies = |opcode| after.replies(opcode) - before.replies(opcode);
        let (requests, replies) = (Frames::by(requests), Frames::by(replies));
        let Frames { pings, syncs, checks } = requests;
        assert_eq!(after.all_requests() - before.all_requests(), pings + syncs + checks);
        let sent = after.bytes(Direction::ToServer) - before.bytes(Direction::ToServer);
        assert_eq!(sent, 12 * pings + (16 + path) * syncs + (38 + path) * checks);
        let Frames { pings, syncs, checks } = replies;
        let received = after.bytes(Direction::ToClient) - before.bytes(Direction::ToClient);
        assert_eq!(received, 20 * pings + (24 + path) * syncs + 38 * checks);
        Self { requests, replies }
    }
}

impl Frames {
    fn by(count: impl Fn(Opcode) -> u64) -> Self {
        let [pings, syncs, checks] = [Opcode::PING, Opcode::SYNC, Opcode::MULTI].map(count);
        Self { pings, syncs, checks }
    }
}

/// Returns the exchanges of each nominee of a queue, once each has made [`TIMES`] of them; none
/// made one more often than three times in a session timeout.
async fn exchanged(
    server: ServerKind,
    label: &str,
    grade: LeaseGrade,
    times: impl Fn(&Frames) -> u64,
) -> Result<Vec<Exchanged>, TestFailure> {
    let queue = Queue::new(server, label, grade).await?;
    // The first heartbeat of a connection is not confirmed.
    eventually_async(SOON, "what is exchanged repeats itself", async || {
        queue.counters().iter().all(|counters| {
            let replies = Frames::by(|opcode| counters.replies(opcode));
            replies.pings >= 1 || replies.syncs >= 2
        })
    })
    .await?;
    let (start, before) = (Instant::now(), queue.counters());
    let done = |after: &Counters, before: &Counters| {
        let done = Frames::by(|opcode| after.replies(opcode) - before.replies(opcode));
        times(&done).max(done.pings) >= TIMES
    };
    eventually_async(SOON, "each has shown several times that it lives", async || {
        queue.counters().iter().zip(&before).all(|(after, before)| done(after, before))
    })
    .await?;
    let after = queue.counters();
    let most = start.elapsed().as_millis() / (TIMEOUT / 3).as_millis() + 1;
    assert!(queue.leadership.is_valid());
    let mut exchanged = Vec::new();
    for (place, (before, after)) in before.iter().zip(&after).enumerate() {
        let path = if place < PROVING { queue.path } else { ROOT };
        let one = Exchanged::between(before, after, path);
        let often = times(&one.requests) + one.requests.pings;
        assert!(u128::from(often) <= most, "{one:?} in {most} thirds of the timeout");
        exchanged.push(one);
    }
    Ok(exchanged)
}

/// Asserts two `sync`s for each ping that they take the place of, and nothing that a quorum
/// commits.
fn assert_only_syncs(Exchanged { requests, replies }: &Exchanged) {
    for frames in [requests, replies] {
        assert_eq!((frames.pings, frames.checks), (0, 0));
    }
    assert!(replies.syncs >= 2 * TIMES);
}

fn assert_only_pings(Exchanged { requests, replies }: &Exchanged) {
    for frames in [requests, replies] {
        assert_eq!((frames.syncs, frames.checks), (0, 0));
    }
    assert!(replies.pings >= TIMES);
}

/// In each third of the timeout, a check of the candidate in a transaction, and a `sync` as its
/// confirmation. A snapshot may fall between the two.
async fn a_lease_of_grade_quorum_costs_a_check_and_a_sync(server: ServerKind) -> TestResult {
    let times = |frames: &Frames| frames.checks.max(frames.syncs / 2);
    let exchanged = exchanged(server, "quorum", LeaseGrade::Quorum, times).await?;
    let (proving, others) = exchanged.split_at(PROVING);
    for Exchanged { requests, replies } in proving {
        assert!(replies.checks >= TIMES);
        assert!(requests.checks.abs_diff(requests.syncs) <= 1, "{requests:?}");
    }
    others.iter().for_each(assert_only_syncs);
    Ok(())
}

/// Two instead, one as the heartbeat and one as its confirmation.
async fn a_lease_of_grade_sync_costs_two_syncs(server: ServerKind) -> TestResult {
    let exchanged = exchanged(server, "sync", LeaseGrade::Sync, |frames| frames.syncs / 2).await?;
    exchanged.iter().for_each(assert_only_syncs);
    Ok(())
}

/// The same as any session costs.
async fn a_lease_of_grade_contact_costs_a_ping(server: ServerKind) -> TestResult {
    let exchanged = exchanged(server, "contact", LeaseGrade::Contact, |_| 0).await?;
    exchanged.iter().for_each(assert_only_pings);
    Ok(())
}

/// A server calls every transaction a success in its header, and says behind it what it refused:
/// here the check of a candidate that an operator has closed to this nominee. No watch tells of
/// that, but its lease is not proved any more, and it looks why.
async fn a_candidate_that_cannot_be_checked_proves_nothing(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "closed").await?;
    let client = connect(&arena.servers(), TIMEOUT).await?;
    let mut nomination = client.election(ELECTION).on_loss(OnLoss::End).nominate()?;
    let leadership = leads(&mut nomination).await?;
    let candidate = format!("{ELECTION}/{}", leadership.candidate());
    let somebody_else = Acls::new().digest_password(Permissions::ALL, "somebody", "else");
    arena.admin.set_acl(&candidate, &somebody_else, Version::ANY).await?;
    let lost = soon("the leadership is lost", leadership.lost()).await?;
    let no_auth = NominationError::Rejected(ErrorCode::NO_AUTH.get());
    assert_eq!(lost, LostReason::Failed(no_auth));
    Ok(())
}

/// [`Leadership::confirm`] asks the candidate znode, whether or not this nominee has heard of its
/// end.
async fn confirming_says_whether_the_candidate_stands(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "confirm").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = arena.client_by(&proxy).await?;
    let mut nomination = client.election(ELECTION).on_loss(OnLoss::End).nominate()?;
    let leadership = leads(&mut nomination).await?;
    let before = proxy.counters().requests(Opcode::MULTI);
    for _ in 0..10 {
        soon("the leadership is confirmed", leadership.confirm()).await??;
    }
    assert!(proxy.counters().requests(Opcode::MULTI) >= before + 10, "each time anew");

    arena.evict(leadership.candidate()).await?;
    let confirmed = soon("the answer comes", leadership.confirm()).await?;
    assert_eq!(confirmed, Err(TransactionError::NotHeld));
    assert_eq!(soon("the loss is told", leadership.lost()).await?, LostReason::Evicted);
    let confirmed = soon("the answer comes", leadership.confirm()).await?;
    assert_eq!(confirmed, Err(TransactionError::NotHeld));
    Ok(())
}

/// Without an answer nothing is known, and that is said: by an error that is not `NotHeld`.
async fn confirming_fails_without_a_connection(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "unconfirmed").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let servers = arena.servers_by(&proxy);
    // Without heartbeats, which the cut could hit instead.
    let builder =
        Client::builder(&servers).session_timeout(LASTING).lease_grade(LeaseGrade::Contact);
    let client = builder.connect_timeout(SOON).connect().await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;
    soon("the leadership is confirmed", leadership.confirm()).await??;

    let kind = |confirmed| match confirmed {
        Err(TransactionError::Request(error)) => Some(error.kind()),
        _ => None,
    };
    proxy.refuse();
    let cut = proxy.cut_when(Cut::instead_of_reply_to(Opcode::MULTI));
    let confirmed = soon("the connection is lost", leadership.confirm()).await?;
    assert_eq!(kind(confirmed), Some(ErrorKind::ConnectionLoss));
    cut.wait(SOON)?;
    let confirmed = soon("it is refused at once", leadership.confirm()).await?;
    assert_eq!(kind(confirmed), Some(ErrorKind::NotConnected));
    assert!(leadership.is_valid(), "the deadline lies ahead");

    proxy.accept()?;
    eventually_async(SOON, "it is confirmed again", async || leadership.confirm().await.is_ok())
        .await?;
    assert!(leadership.is_valid());
    Ok(())
}

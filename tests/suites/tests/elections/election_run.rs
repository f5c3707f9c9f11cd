//! Work that a leader runs, on real servers: it ends before the lead does; and lock delays.

use core::future::pending;
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use election_tokio::Client;
use election_tokio::election::{
    CancelReason, Cancelled, Election, Leadership, LostReason, Resignation, RunEnd, RunOptions,
    TermEnd, WhileSuspended, WorkEnd,
};
use election_tokio::lease::LeaseMargin;
use tokio::sync::oneshot;
use tokio::time::Instant;
use zk_test_kit::election::{Arena, ELECTION, LASTING, connect, follows, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Directions, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    the_end_of_the_work_comes_before_the_deletion_of_the_candidate,
    work_that_exceeds_its_grace_is_dropped_before_the_deletion_of_the_candidate,
    the_end_of_the_work_comes_before_the_next_leader_when_no_packet_arrives,
    a_nominee_that_runs_work_stands_again_after_an_expiry,
    a_shutdown_ends_within_its_bound_when_no_packet_arrives,
    work_is_cancelled_at_once_by_the_policy_to_stop,
    a_lock_delay_is_waited_for_after_a_kill_and_not_after_a_resignation;
}

/// For sessions that are to expire.
const TIMEOUT: Duration = Duration::from_secs(6);
const GRACE: Duration = Duration::from_secs(1);
const DELAY: Duration = Duration::from_secs(3);
/// For work and resignations that are to end in their own time, however busy the machine is.
const UNHURRIED: RunOptions = RunOptions::new().grace(SOON).resignation(SOON);

fn deletes(proxy: &Proxy) -> u64 {
    proxy.counters().requests(Opcode::DELETE)
}

/// Remembers when it is dropped.
#[derive(Clone, Debug, Default)]
struct End(Arc<Mutex<Option<Instant>>>);

struct UntilEnd(End);

impl End {
    fn at(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UntilEnd {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

async fn the_end_of_the_work_comes_before_the_deletion_of_the_candidate(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "run-order").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let nomination = arena.client_by(&proxy).await?.election(ELECTION).nominate()?;
    let (stop, shutdown) = oneshot::channel::<()>();
    let mut stop = Some(stop);
    let work = async |_: Leadership, cancelled: Cancelled| {
        drop(stop.take());
        let reason = cancelled.wait().await.reason;
        tokio::time::sleep(Duration::from_millis(500)).await;
        (reason, deletes(&proxy), arena.children().await.map(|children| children.len()).ok())
    };
    let report = soon("it ends", nomination.run_with(UNHURRIED, shutdown, work)).await??;
    assert_eq!(report.end, RunEnd::Shutdown);
    assert_eq!(report.terms.into_value(), Some((CancelReason::Shutdown, 0, Some(1))));
    assert_eq!(deletes(&proxy), 1);
    arena.wait_until_empty().await
}

async fn work_that_exceeds_its_grace_is_dropped_before_the_deletion_of_the_candidate(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "run-grace").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let nomination = arena.client_by(&proxy).await?.election(ELECTION).nominate()?;
    let (stop, shutdown) = oneshot::channel::<()>();
    let (mut stop, end) = (Some(stop), End::default());
    let work = async |_: Leadership, _: Cancelled| {
        let _until_end = UntilEnd(end.clone());
        drop(stop.take());
        pending::<()>().await;
    };
    let began = Instant::now();
    let options = UNHURRIED.grace(GRACE);
    let report = soon("it ends", nomination.run_with(options, shutdown, work)).await??;
    assert_eq!(report.terms.last().map(|term| term.work), Some(WorkEnd::GraceExceeded));
    assert!(end.at().is_some_and(|end| end.duration_since(began) >= GRACE));
    assert_eq!(deletes(&proxy), 1);
    arena.wait_until_empty().await
}

async fn client_by(arena: &Arena, proxy: &Proxy) -> Result<Client, TestFailure> {
    connect(&arena.servers_by(proxy), TIMEOUT).await
}

/// The leader hears nothing any more, and nothing that it says arrives.
async fn the_end_of_the_work_comes_before_the_next_leader_when_no_packet_arrives(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "run-hole").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    // As much as heartbeats allow: by so much a busy machine may be late to drop the work.
    let margin = LeaseMargin::percent(20);
    let builder = Client::builder(&arena.servers_by(&proxy)).session_timeout(LASTING);
    let client = builder.lease_margin(margin).connect_timeout(SOON).connect().await?;
    let nomination = client.election(ELECTION).nominate()?;
    let mut next = arena.client().await?.election(ELECTION);
    let end = End::default();
    let (began, has_begun) = oneshot::channel();
    let (mut began, until_end) = (Some(began), end.clone());
    let run = tokio::spawn(nomination.run_with(
        // More than there is of the lease.
        UNHURRIED,
        pending::<()>(),
        async move |leadership: Leadership, _: Cancelled| {
            let _until_end = UntilEnd(until_end.clone());
            drop(began.take().map(|began| began.send(leadership)));
            pending::<()>().await;
        },
    ));
    let leadership = soon("it leads", has_begun).await??;
    next = next.data("next");
    let mut follower = next.nominate()?;
    follows(&follower).await?;
    proxy.black_hole(Directions::Both);
    let deadline = leadership.valid_until().expect("it leads");
    leads(&mut follower).await?;
    let elected_at = Instant::now();
    let ended_at = end.at().expect("the work has ended before");
    // A heartbeat may have been on its way.
    assert!(ended_at <= deadline + LASTING && ended_at < elected_at);
    assert!(!leadership.is_valid());
    run.abort();
    Ok(())
}

async fn a_nominee_that_runs_work_stands_again_after_an_expiry(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "run-again").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let nomination = client_by(&arena, &proxy).await?.election(ELECTION).nominate()?;
    let mut terms = 0;
    let work = async |_: Leadership, _: Cancelled| {
        terms += 1;
        if terms == 1 {
            proxy.refuse();
            proxy.cut();
            pending::<()>().await;
        }
    };
    let back = async {
        arena.wait_for_children(1).await?;
        arena.wait_until_empty().await?;
        proxy.accept()?;
        TestResult::Ok(())
    };
    let run = nomination.run_with(UNHURRIED, pending::<()>(), work);
    let both = Box::pin(async { tokio::join!(run, back) });
    let (report, back) = soon("it ends", both).await?;
    back?;
    let report = report?;
    let terms: Vec<_> = report.terms.iter().collect();
    assert_eq!(report.end, RunEnd::Finished);
    let [first, second] = <[_; 2]>::try_from(terms).expect("there were two terms");
    assert!(first.token < second.token);
    assert_ne!(first.work, WorkEnd::Returned(()));
    Ok(())
}

async fn a_shutdown_ends_within_its_bound_when_no_packet_arrives(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "run-hang").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let nomination = arena.client_by(&proxy).await?.election(ELECTION).nominate()?;
    let (stop, shutdown) = oneshot::channel::<()>();
    let mut stop = Some(stop);
    let work = async |_: Leadership, cancelled: Cancelled| {
        proxy.black_hole(Directions::Both);
        drop(stop.take());
        cancelled.wait().await;
        Instant::now()
    };
    let options = UNHURRIED.resignation(GRACE);
    let report = soon("it ends", nomination.run_with(options, shutdown, work)).await??;
    let took = report.terms.last().map(|term| match term.work {
        WorkEnd::Returned(cancelled_at) => cancelled_at.elapsed(),
        _ => Duration::MAX,
    });
    assert_eq!((report.end, report.resignation), (RunEnd::Shutdown, Resignation::TimedOut));
    assert!(took.is_some_and(|took| took >= GRACE && took < LASTING), "{took:?}");
    assert_eq!(arena.children().await?.len(), 1);
    proxy.heal();
    arena.wait_until_empty().await
}

async fn work_is_cancelled_at_once_by_the_policy_to_stop(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "run-stop").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let election = arena.client_by(&proxy).await?.election(ELECTION);
    let nomination = election.while_suspended(WhileSuspended::Stop).nominate()?;
    let mut terms = 0;
    let work = async |leadership: Leadership, cancelled: Cancelled| {
        terms += 1;
        if terms == 1 {
            proxy.cut();
            let reason = cancelled.wait().await.reason;
            assert_eq!(leadership.lost().await, LostReason::Suspended);
            return Some((reason, leadership.is_valid()));
        }
        leadership.confirm().await.ok().map(|()| (CancelReason::Shutdown, true))
    };
    let run = nomination.run_with(UNHURRIED, pending::<()>(), work);
    let report = soon("it ends", run).await??;
    let terms: Vec<_> = report.terms.iter().collect();
    let [first, second] = <[_; 2]>::try_from(terms).expect("there were two terms");
    assert_eq!((first.token, &first.end), (second.token, &TermEnd::Suspended));
    assert_eq!(first.work, WorkEnd::Returned(Some((CancelReason::Suspended, false))));
    assert_eq!(second.work, WorkEnd::Returned(Some((CancelReason::Shutdown, true))));
    Ok(())
}

fn election(client: &Client, lock_delay: Duration) -> Election {
    client.election(ELECTION).lock_delay(lock_delay)
}

async fn a_lock_delay_is_waited_for_after_a_kill_and_not_after_a_resignation(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "lock-delay").await?;
    let mark = format!("{ELECTION}.lock-delay");
    let killed = connect(&arena.servers(), TIMEOUT).await?;
    let mut first = election(&killed, DELAY).nominate()?;
    let leadership = leads(&mut first).await?;
    let (data, _) = arena.admin.get_data(&mark).await?;
    assert_eq!(data, format!("token: {}", leadership.token()));
    let client = arena.client().await?;
    let mut second = election(&client, DELAY).nominate()?;
    let (_, predecessor) = follows(&second).await?;
    // As if the process had been killed: its session goes on until it expires.
    let _unused = killed.detach()?;
    drop(first);
    let mut last_there = Instant::now();
    let gone = async {
        loop {
            let asked_at = Instant::now();
            let children = arena.children().await?;
            if !children.iter().any(|child| *child == predecessor.to_string()) {
                return TestResult::Ok(());
            }
            last_there = asked_at;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let elected = async { leads(&mut second).await.map(|leadership| (leadership, Instant::now())) };
    let (gone, elected) = soon("both", async { tokio::join!(gone, elected) }).await?;
    gone?;
    let (leadership, elected_at) = elected?;
    let waited = elected_at.duration_since(last_there);
    assert!(waited >= DELAY, "{waited:?}");
    // Waiting took a round trip longer than nothing; a clean end is not waited for.
    let other = arena.client().await?;
    let mut third = election(&other, SOON * 20).nominate()?;
    follows(&third).await?;
    leadership.resign().await?;
    leads(&mut third).await?;
    third.withdraw().await?;
    assert!(arena.admin.exists(&mark).await?.is_none());
    Ok(())
}

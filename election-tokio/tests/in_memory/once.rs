//! Jobs that run once in a period: which contender runs, what is recorded, and what is left, at every await point and at
//! every lost request.

use core::time::Duration;
use std::time::SystemTime;

use election_tokio::format::Format;
use election_tokio::lock::{LockError, LockLost};
use election_tokio::once::{Admission, NotDue, Once, OnceError, OnceRun, RunState, TakeAgain};
use election_tokio::{Client, CreateMode, TransactionError, Version};
use zk_jute::OpCode;

use crate::cancellation::{at_every_await_point, run_until};
use crate::cuts::{Cuts, Fate, Place};
use crate::server::{Server, settle, wait};

const JOB: &str = "/deep/job";
const RECORD: &str = "/deep/job.once";
const HOUR: Duration = Duration::from_secs(3600);

fn job(client: &Client, by: &str) -> Once {
    client.once(JOB, HOUR).by(by)
}

fn run(admission: Result<Admission, OnceError>) -> OnceRun {
    match admission {
        Ok(Admission::Run(run)) => run,
        other => panic!("it does not run: {other:?}"),
    }
}

fn not_due(admission: Result<Admission, OnceError>) -> NotDue {
    match admission {
        Ok(Admission::NotDue(not_due)) => not_due,
        other => panic!("it is due: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_once_in_a_period_and_the_others_learn_who_ran_it() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    assert_eq!(job(&one, "one").last().await, Ok(None));
    let first = run(job(&one, "one").begin().await);
    assert!(first.lock().is_valid());
    assert!(matches!(job(&other, "other").try_begin().await, Ok(Admission::Busy)));
    let last = job(&other, "other").last().await.unwrap().expect("one runs");
    assert_eq!((last.state, last.by.as_str()), (RunState::Begun, "one"));
    let waiting = job(&other, "other");
    let mut waiting = Box::pin(waiting.begin());
    assert!(tokio::time::timeout(Duration::from_secs(5), &mut waiting).await.is_err());
    first.succeeded().await.unwrap();

    let told = not_due(waiting.await);
    assert_eq!((told.last.state, told.last.by.as_str()), (RunState::Succeeded, "one"));
    assert_eq!(told.last.began, last.began, "the end does not begin the period anew");
    assert_eq!(told.until, told.last.began + HOUR);
    assert_eq!(not_due(job(&other, "other").try_begin().await), told);
    settle().await;
    assert!(server.children(JOB).is_empty(), "contenders are left");

    tokio::time::sleep(HOUR).await;
    let second = run(job(&other, "other").try_begin().await);
    second.succeeded().await.unwrap();
    let last = job(&one, "one").last().await.unwrap().expect("it ran");
    assert_eq!(last.by, "other");
    assert!(last.began > told.last.began + HOUR);
    assert_eq!(server.watches(), 0);
}

/// Asks while a run is under way that takes longer than the period, and gets the lock at its end: the
/// servers' time counts at which it holds the lock, not that at which it asked.
#[tokio::test(start_paused = true)]
async fn a_contender_that_waited_for_longer_than_a_period_runs_once() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let long = run(job(&one, "long").begin().await);
    let (second, third) = (job(&other, "second"), job(&one, "third"));
    let (mut second, mut third) = (Box::pin(second.begin()), Box::pin(third.begin()));
    for waiting in [&mut second, &mut third] {
        assert!(tokio::time::timeout(2 * HOUR, waiting).await.is_err());
    }
    long.succeeded().await.unwrap();
    run(second.await).succeeded().await.unwrap();
    assert_eq!(not_due(third.await).last.by, "second", "two waited, and one of them runs");
}

#[tokio::test(start_paused = true)]
async fn what_did_not_succeed_is_taken_again_by_a_contender_that_chose_it() {
    let server = Server::new();
    let client = server.client().await;
    let by = |again| job(&client, "next").take_again(again);
    drop(run(job(&client, "interrupted").begin().await));
    settle().await;
    let told = not_due(by(TakeAgain::Never).begin().await);
    assert_eq!((told.last.state, told.last.by.as_str()), (RunState::Begun, "interrupted"));
    run(by(TakeAgain::Interrupted).begin().await).failed().await.unwrap();
    for again in [TakeAgain::Never, TakeAgain::Interrupted] {
        assert_eq!(not_due(by(again).begin().await).last.state, RunState::Failed);
    }
    run(by(TakeAgain::Failed).begin().await).succeeded().await.unwrap();
    assert_eq!(not_due(by(TakeAgain::Failed).begin().await).last.state, RunState::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_an_operator_deletes_or_empties_lets_the_job_run() {
    let server = Server::new();
    let client = server.client().await;
    run(job(&client, "a").begin().await).succeeded().await.unwrap();
    client.set_data(RECORD, "", Version::ANY).await.unwrap();
    let second = run(job(&client, "b").begin().await);
    // Also in the middle of a run: its end is recorded all the same.
    client.delete(RECORD, Version::ANY).await.unwrap();
    second.succeeded().await.unwrap();
    assert_eq!(not_due(job(&client, "c").begin().await).last.by, "b");
    client.delete(RECORD, Version::ANY).await.unwrap();
    run(job(&client, "c").begin().await).failed().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_another_program_keeps_at_the_path_of_the_record_is_not_overwritten() {
    let server = Server::new();
    let client = server.client().await;
    client.create("/deep", "", CreateMode::Persistent).await.unwrap();
    client.create(RECORD, "precious", CreateMode::Persistent).await.unwrap();
    let refused = OnceError::NotARecord { path: RECORD.to_owned() };
    assert_eq!(job(&client, "a").begin().await.err(), Some(refused.clone()));
    assert_eq!(job(&client, "a").last().await, Err(refused.clone()));
    assert_eq!(server.data(RECORD).as_deref(), Some(&b"precious"[..]));
    client.delete(RECORD, Version::ANY).await.unwrap();
    let begun = run(job(&client, "a").begin().await);
    client.set_data(RECORD, "precious", Version::ANY).await.unwrap();
    assert_eq!(begun.succeeded().await, Err(refused));
    assert_eq!(server.data(RECORD).as_deref(), Some(&b"precious"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_lost_its_lock_records_no_end() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let lost = run(job(&one, "one").begin().await);
    client_breaks(&other, &lost).await;
    let next = job(&other, "other").take_again(TakeAgain::Interrupted);
    let next = run(next.begin().await);
    let error = lost.succeeded().await.unwrap_err();
    let is_lost = matches!(error, OnceError::Lost { lost: LockLost::Broken, .. });
    assert!(is_lost && error.may_have_happened(), "{error:?}");
    let record = job(&other, "other").last().await.unwrap().expect("one runs");
    assert_eq!((record.state, record.by.as_str()), (RunState::Begun, "other"));
    next.succeeded().await.unwrap();
}

/// Breaks the lock of a run, as an operator does.
async fn client_breaks(client: &Client, run: &OnceRun) {
    let path = format!("{JOB}/{}", run.lock().znode());
    client.delete(&path, Version::ANY).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_guards_nothing_is_refused_and_the_root_of_a_chroot_too() {
    let server = Server::new();
    let client = server.client().await;
    let error = job(&client, "a").format(Format::zookeeper_write_lock()).begin().await.unwrap_err();
    let is_refused =
        matches!(error, OnceError::Request { error: TransactionError::NamesRecur, .. });
    assert!(is_refused && !error.may_have_happened(), "{error}");
    assert!(!server.exists(RECORD));

    client.create("/app", "", CreateMode::Persistent).await.unwrap();
    let rooted =
        Client::builder("in-memory/app").connector(server.clone()).connect().await.unwrap();
    let refused = rooted.once("/", HOUR).begin().await.unwrap_err();
    assert!(matches!(refused, OnceError::Lock(LockError::InvalidPath { .. })), "{refused}");
    let invalid = client.once("job", HOUR).try_begin().await.unwrap_err();
    assert!(matches!(invalid, OnceError::Lock(LockError::InvalidPath { .. })), "{invalid}");
}

/// A run that is dropped on its way in leaves no lock, and a record of which the next contender knows that it was
/// interrupted.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_anywhere_leaves_no_lock() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let handle = job(&client, "dropped");
            let whole = async { run(handle.begin().await).succeeded().await };
            let ended = run_until(&server, end, whole).await;
            if is_cut {
                server.cut();
            }
            wait(3).await;
            assert!(server.children(JOB).is_empty(), "{end:?}");
            let next = job(&client, "next").take_again(TakeAgain::Interrupted);
            match next.try_begin().await {
                Ok(Admission::Run(run)) => run.succeeded().await.unwrap(),
                other => assert_eq!(not_due(other).last.state, RunState::Succeeded, "{end:?}"),
            }
            wait(3).await;
            assert!(server.children(JOB).is_empty(), "{end:?}");
            assert_eq!(server.watches(), 0, "{end:?}");
            ended.is_some_and(|ended| ended.is_ok())
        })
        .await;
    }
}

/// The connection is lost at each request in turn, which the server executes or not: the job runs once, and its
/// record says how it ended, or the lock was lost.
#[tokio::test(start_paused = true)]
async fn a_job_whose_requests_are_lost_one_by_one_runs_once() {
    for after in 0..16 {
        for fate in [Fate::Executed, Fate::Lost] {
            for left in [1, 2] {
                let context = format!("{after}, {fate:?}, {left}");
                let server = Server::new();
                let (client, other) = (server.client().await, server.client().await);
                let place = Place::After(after);
                server.state().cuts = Some(Cuts { place, fate, left });
                run(job(&client, "one").begin().await).succeeded().await.expect(&context);
                server.state().cuts = None;
                let last = not_due(job(&other, "other").begin().await).last;
                assert_eq!((last.state, last.by.as_str()), (RunState::Succeeded, "one"));
            }
        }
    }
}

/// What the page says that it costs.
#[tokio::test(start_paused = true)]
async fn a_run_takes_as_many_requests_as_the_page_says() {
    let server = Server::new();
    let client = server.client().await;
    run(job(&client, "a").begin().await).succeeded().await.unwrap();
    tokio::time::sleep(HOUR).await;
    let made = async |by: &str| {
        let before = server.requested().len();
        match job(&client, by).begin().await.unwrap() {
            Admission::Run(run) => run.succeeded().await.unwrap(),
            other => drop(not_due(Ok(other))),
        }
        settle().await;
        let sent = server.requested().split_off(before);
        sent.into_iter().filter(|sent| *sent != OpCode::PING).count()
    };
    let lock = 4;
    assert_eq!(made("runs").await, lock + 6);
    assert_eq!(made("does not").await, lock + 2);
}

/// A time that no clock shows.
#[tokio::test(start_paused = true)]
async fn times_that_a_system_cannot_express_are_read_all_the_same() {
    let server = Server::new();
    let client = server.client().await;
    client.create("/deep", "", CreateMode::Persistent).await.unwrap();
    for began in [i64::MIN, -7_200_000, i64::MAX] {
        let record = format!("run: begun\nbegan: {began}\nby: x\n");
        client.create(RECORD, record, CreateMode::Persistent).await.unwrap();
        let last = job(&client, "a").last().await.unwrap().expect("a run");
        assert_eq!(last.began < SystemTime::UNIX_EPOCH, began < 0);
        run(job(&client, "a").begin().await).succeeded().await.expect("it is far from now");
        client.delete(RECORD, Version::ANY).await.unwrap();
    }
}

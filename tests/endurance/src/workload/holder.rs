//! Clients that take a lock, write under its guard, and let go.

use core::time::Duration;

use election_tokio::lock::{LockError, LockGuard};
use election_tokio::{CreateMode, OperationOutcome};
use tokio::time::{Instant, sleep};
use zk_test_kit::history::now;

use super::super::Record;
use super::super::laws::holds::{Hold, Want};
use super::super::laws::seals::Seal;
use super::worker::{Worker, Written};

/// A lock that is held alone.
pub(super) const LOCK: &str = "/lock";
/// A lock that readers share.
pub(super) const SHARED_LOCK: &str = "/shared-lock";

/// Returns the path to which holders of this lock write that hold it alone.
pub(crate) const fn seals(lock: &str) -> &'static str {
    match lock.as_bytes() {
        b"/lock" => "/seals-lock",
        b"/slots/slots/0" => "/seals-slot-0",
        b"/slots/slots/1" => "/seals-slot-1",
        b"/slots/slots/2" => "/seals-slot-2",
        _ => "/seals-shared-lock",
    }
}

/// Times that a holder does something.
const TERM: usize = 10;
/// Between two times that it asks whether it holds.
const OFTEN: Duration = Duration::from_millis(2);
/// How long every other time is waited at most.
const BRIEFLY: Duration = Duration::from_millis(200);

pub(super) async fn hold(mut worker: Worker, lock: &'static str, want: Want) -> Record {
    for turn in 0_u64.. {
        if !worker.writes_on() {
            break;
        }
        let acquired = tokio::select! {
            acquired = acquire(&worker, (lock, want), turn) => acquired,
            () = worker.until_quiet() => break,
        };
        match acquired {
            Ok(Some(guard)) => {
                work(&mut worker, (lock, want), &guard).await;
                // Every other one is released in the background.
                if turn.is_multiple_of(2) {
                    let _ = guard.release().await;
                }
                worker.beat_and_rest().await;
            }
            Ok(None) => worker.beat_and_rest().await,
            Err(_) => worker.recover().await,
        }
    }
    worker.finish().await
}

async fn acquire(
    worker: &Worker,
    (lock, want): (&str, Want),
    turn: u64,
) -> Result<Option<LockGuard>, LockError> {
    let lock = match (lock, want) {
        (LOCK, _) => worker.client.lock(lock),
        (_, Want::Write) => worker.client.write_lock(lock),
        (_, Want::Read) => worker.client.read_lock(lock),
    };
    if turn.is_multiple_of(3) {
        lock.lock_until(Instant::now() + BRIEFLY).await
    } else {
        lock.lock().await.map(Some)
    }
}

/// Writes under the guard, if the lock is held alone, and asks all the time whether it is held.
pub(super) async fn work(worker: &mut Worker, which: (&'static str, Want), guard: &LockGuard) {
    let mut hold = None;
    for _ in 0..TERM {
        ask(worker, which, guard, &mut hold);
        if which.1 == Want::Write {
            let written = worker.attempt(async |_, entry| {
                let seal = Seal { token: guard.token(), entry };
                let transaction = guard.transaction();
                let (path, data) = (format!("{}/seal-", seals(which.0)), seal.to_string());
                let results = transaction.create(&path, data, CreateMode::PersistentSequential);
                Ok(Written { place: place(&results.commit().await?), zxid: None })
            });
            if written.await.is_none() {
                ask(worker, which, guard, &mut hold);
                break;
            }
        }
        ask(worker, which, guard, &mut hold);
        sleep(OFTEN).await;
    }
    if !guard.is_valid() && worker.writes_on() {
        // It may be suspended, and go on. A lock that is lost once is lost: it must not come back.
        sleep(BRIEFLY).await;
        ask(worker, which, guard, &mut hold);
    }
    worker.record().holds.extend(hold);
}

fn ask(
    worker: &Worker,
    (lock, want): (&'static str, Want),
    guard: &LockGuard,
    hold: &mut Option<Hold>,
) {
    let asked_at = now();
    let is_valid = guard.is_valid();
    let answered_at = now();
    if is_valid {
        let (holder, token) = (worker.number(), guard.token());
        let hold = hold.get_or_insert(Hold {
            lock,
            want,
            holder,
            token,
            asked_at,
            valid_by: answered_at,
            valid_until: asked_at,
        });
        hold.valid_until = asked_at;
    }
}

fn place(results: &[OperationOutcome]) -> String {
    match results {
        [OperationOutcome::Created(path)] => path.clone(),
        other => format!("{other:?}"),
    }
}

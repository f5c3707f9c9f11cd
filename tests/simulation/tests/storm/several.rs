//! Taking several locks at once, and running a job once in a period, by futures that are dropped at any await point.

use core::time::Duration;
use std::sync::Arc;

use election_tokio::lock::{LockError, LockFailure, Locks, LocksError, LocksGuard};
use election_tokio::once::{Admission, Once, OnceError, OnceRun};
use election_tokio::{ErrorCode, ErrorKind, TransactionError};
use tokio::time::{Instant, sleep, timeout};

use crate::life::{LONG, Life, in_time};

/// The beginning of the paths of these locks, and of the job's.
pub(crate) const SEVERAL: &str = "/several";
const LOCKS: u8 = 4;
pub(crate) const PERIOD: Duration = Duration::from_secs(6);

pub(crate) fn paths() -> impl Iterator<Item = String> {
    (0..LOCKS).map(|lock| format!("{SEVERAL}/{lock}"))
}

pub(crate) fn job() -> String {
    format!("{SEVERAL}/nightly")
}

impl Life {
    /// Takes some of the locks, all or none, in any order, some shared; and again.
    pub(crate) async fn take_several(self, mut rng: fastrand::Rng) {
        loop {
            let mut all: Vec<String> = paths().collect();
            rng.shuffle(&mut all);
            let shared = all.split_off(rng.usize(1..all.len()));
            let alone = all;
            let count = rng.usize(..=shared.len());
            let shared: Vec<String> = shared.into_iter().take(count).collect();
            let locks = self.client.locks(alone.clone()).shared(shared);
            match several(&locks, &mut rng).await {
                Ok(Some(guard)) => {
                    let guard = Arc::new(guard);
                    self.laws.several_are_held(self.number, &guard, alone);
                    self.keep_several(guard, &mut rng).await;
                }
                Ok(None) => self.laws.count(|tally| tally.waits_given_up += 1),
                Err(LocksError::Lock(LockError::ClientClosed { .. })) => return,
                Err(LocksError::Lock(error)) if is_throttled(&error) => {}
                Err(error) => return self.laws.broken(format!("{}: {error}", self.number)),
            }
            sleep(Duration::from_millis(rng.u64(0..600))).await;
        }
    }

    async fn keep_several(&self, guard: Arc<LocksGuard>, rng: &mut fastrand::Rng) {
        let term = Duration::from_millis(rng.u64(0..400));
        if let Ok(lost) = timeout(term, guard.lost()).await {
            self.laws.tell(|| format!("{}: several are lost: {lost}", self.number));
            if guard.is_valid() {
                self.laws.broken(format!("{} holds several locks after a loss", self.number));
            }
            return;
        }
        let Some(guard) = Arc::into_inner(guard) else {
            return self.laws.broken("several locks have two owners".to_owned());
        };
        match rng.u8(..3) {
            0 => drop(guard),
            // Each outcome will do: see the locks.
            _ => drop(in_time(&self.laws, self.number, "a release", guard.release()).await),
        }
    }

    /// Asks now and then whether the job is due, and runs it.
    pub(crate) async fn run_the_job(self, mut rng: fastrand::Rng) {
        let once = self.client.once(&job(), PERIOD).by(self.number.to_string());
        loop {
            match admission(&once, &mut rng).await {
                Some(Ok(Admission::Run(run))) => {
                    self.laws.job_begins(self.number);
                    if self.end_run(run, &mut rng).await.is_none() {
                        return;
                    }
                }
                Some(Ok(_)) | None => {}
                Some(Err(error)) => {
                    if self.job_failed(&error).is_none() {
                        return;
                    }
                }
            }
            sleep(Duration::from_millis(rng.u64(0..1_500))).await;
        }
    }

    async fn end_run(&self, run: OnceRun, rng: &mut fastrand::Rng) -> Option<()> {
        sleep(Duration::from_millis(rng.u64(0..500))).await;
        let end = async {
            match rng.u8(..4) {
                0 => {
                    drop(run);
                    Ok(())
                }
                1 => run.failed().await,
                _ => run.succeeded().await,
            }
        };
        match in_time(&self.laws, self.number, "the end of a run", end).await? {
            Ok(()) => Some(()),
            Err(error) => self.job_failed(&error),
        }
    }

    /// Returns `None` if there is no more to be done.
    fn job_failed(&self, error: &OnceError) -> Option<()> {
        match error {
            OnceError::Lock(LockError::ClientClosed { .. }) => None,
            OnceError::Lost { .. } | OnceError::NotReleased(_) => Some(()),
            OnceError::Lock(error) if is_throttled(error) => Some(()),
            OnceError::Request { error: TransactionError::Request(error), .. }
                if matches!(error.kind(), ErrorKind::Closed) =>
            {
                None
            }
            OnceError::Request { error, .. } if error.may_have_happened() => Some(()),
            error => {
                self.laws.broken(format!("{}: {error}", self.number));
                None
            }
        }
    }
}

fn is_throttled(error: &LockError) -> bool {
    const THROTTLED: i32 = ErrorCode::THROTTLED_OP.get();
    matches!(error, LockError::Failed { failure: LockFailure::Rejected(THROTTLED), .. })
}

/// Asks for the locks. Some wait until it is their turn, some for a while, some not at all; some are dropped.
async fn several(locks: &Locks, rng: &mut fastrand::Rng) -> Result<Option<LocksGuard>, LocksError> {
    let soon = Duration::from_micros(rng.u64(0..40_000));
    let later = Duration::from_millis(rng.u64(20..4_000));
    match rng.u8(..8) {
        0 | 1 => timeout(soon, locks.lock()).await.map_or(Ok(None), |it| it.map(Some)),
        2 => timeout(later, locks.lock()).await.map_or(Ok(None), |it| it.map(Some)),
        3 => locks.try_lock().await,
        4 => locks.lock_until(Instant::now() + later).await,
        _ => match timeout(LONG * 4, locks.lock()).await {
            Ok(guard) => guard.map(Some),
            Err(_) => Ok(None),
        },
    }
}

/// Asks whether the job is due; `None` if the future was dropped before it came to an end.
async fn admission(once: &Once, rng: &mut fastrand::Rng) -> Option<Result<Admission, OnceError>> {
    let soon = Duration::from_micros(rng.u64(0..40_000));
    match rng.u8(..6) {
        0 => timeout(soon, once.begin()).await.ok(),
        1 => timeout(soon, once.try_begin()).await.ok(),
        2 | 3 => timeout(LONG * 4, once.try_begin()).await.ok(),
        _ => timeout(LONG * 4, once.begin()).await.ok(),
    }
}

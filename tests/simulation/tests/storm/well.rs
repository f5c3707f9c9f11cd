//! Leading while one is well: works of leaders that are checked, and that hand over to better candidates.

use core::convert::Infallible;
use core::future::pending;
use core::num::NonZero;
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use election_tokio::election::{
    CancelReason, Cancelled, Checks, EndReason, Idle, Leadership, NominationError, PreferBetter,
    RunOptions, RunReport, RunWhileWellError, TermEnd,
};
use election_tokio::{ErrorCode, TransactionError};
use tokio::time::{Instant, sleep};

use crate::laws::{Answer, Laws, Season, ledger};
use crate::life::{LONG, Life};
use crate::scene::PROCESSES;

pub(crate) const WELL: &str = "/well";
/// The ledger of that election: where it is held there is no other.
const LEDGER: usize = 0;
/// Preferences are below this.
const PREFERENCES: i32 = 3;

/// The terms on which a process is checked, and leads.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) every: Duration,
    pub(crate) timeout: Duration,
    pub(crate) rise: NonZero<u32>,
    pub(crate) fall: NonZero<u32>,
    pub(crate) grace: Duration,
    pub(crate) policy: Policy,
}

/// A leader's policy towards a better candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Never,
    After(Duration),
    WhenIdle(Duration),
}

impl Terms {
    /// Draws those of all processes: in a quarter of the runs one never hands over.
    pub(crate) fn draw(rng: &mut fastrand::Rng) -> Vec<Self> {
        let stays = (rng.u8(..4) == 0).then(|| rng.usize(..PROCESSES));
        let of = |process| {
            let mut one = Self::draw_one(rng);
            if Some(process) == stays {
                one.policy = Policy::Never;
            }
            one
        };
        (0..PROCESSES).map(of).collect()
    }

    fn draw_one(rng: &mut fastrand::Rng) -> Self {
        let mut millis = |of: [u64; 3]| Duration::from_millis(of[rng.usize(..3)]);
        let (every, timeout) = (millis([100, 200, 500]), millis([50, 100, 300]));
        let (grace, stood) = (millis([50, 500, 1500]), millis([500, 1000, 3000]));
        let policy = match rng.u8(..3) {
            0 => Policy::WhenIdle(stood),
            _ => Policy::After(stood),
        };
        let mut count = || NonZero::new(rng.u32(1..4)).expect("it is one at least");
        Self { every, timeout, rise: count(), fall: count(), grace, policy }
    }

    /// Returns the longest time from the moment from which checks fail until the work is cancelled.
    pub(crate) fn bound(&self) -> Duration {
        self.checks(()).bound()
    }

    fn checks<C>(&self, check: C) -> Checks<C> {
        let checks = Checks::new(check).every(self.every).timeout(self.timeout);
        checks.rise(self.rise).fall(self.fall)
    }

    fn options(&self, rng: &mut fastrand::Rng) -> RunOptions {
        let rng = Mutex::new(rng.fork());
        let idle = move || rng.lock().unwrap_or_else(PoisonError::into_inner).bool();
        let prefer = match self.policy {
            Policy::Never => PreferBetter::Never,
            Policy::After(stood) => PreferBetter::After(stood),
            Policy::WhenIdle(stood) => PreferBetter::WhenIdle { stood, idle: Idle::new(idle) },
        };
        RunOptions::new().grace(self.grace).resignation(LONG).prefer(prefer)
    }
}

impl Policy {
    /// Returns how long a better candidate has to stand.
    pub(crate) const fn stood(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::After(stood) | Self::WhenIdle(stood) => Some(stood),
        }
    }
}

/// Returns the name of a process in the data of its candidates.
pub(crate) fn member(process: usize) -> String {
    format!("m{process}")
}

/// Tells the laws of a work's end, also of one that is dropped.
struct Working {
    laws: Laws,
    process: usize,
}

impl Drop for Working {
    fn drop(&mut self) {
        self.laws.work_is_over(self.process);
    }
}

impl Life {
    /// Stands while it is well, again and again: leaves in order, or stops, or stays.
    pub(crate) async fn lead_while_well(self, terms: Terms, mut rng: fastrand::Rng) {
        while self.connected().await.is_some() {
            let preference = rng.i32(-1..PREFERENCES);
            let election = self.client.election(WELL).data(member(self.number));
            let election = election.preference(preference);
            let (laws, number, timeout) = (self.laws.clone(), self.number, terms.timeout);
            let mut rng_of_checks = rng.fork();
            let checks = terms.checks(async move || {
                sleep(timeout.mul_f64(rng_of_checks.f64() / 2.0)).await;
                answered(&laws, number, &mut rng_of_checks).await
            });
            let (alive, own, mut rng_of_works) = (self.clone(), terms.clone(), rng.fork());
            let work = async move |leadership: Leadership, cancelled: Cancelled| {
                let (alive, own) = (alive.clone(), own.clone());
                alive.work_while_well(leadership, cancelled, (own, rng_of_works.fork())).await;
            };
            let (options, stay) = (terms.options(&mut rng), self.stay_well(&mut rng));
            match election.run_while_well(checks, options, stay, work).await {
                Ok(report) => self.has_run(&report, preference),
                Err(RunWhileWellError::Ended(error)) => match error.reason {
                    EndReason::ClientClosed(_) => return,
                    EndReason::Failed(NominationError::Rejected(THROTTLED)) => {}
                    reason => return self.laws.broken(format!("{}: {reason}", self.number)),
                },
                Err(error) => return self.laws.broken(format!("{}: {error}", self.number)),
            }
            sleep(Duration::from_millis(rng.u64(0..600))).await;
        }
    }

    /// Returns once the member is to leave; in the calm it stays.
    fn stay_well(&self, rng: &mut fastrand::Rng) -> impl Future<Output = ()> + use<> {
        let stays = self.laws.season_of_wellness() == Season::Calm || rng.u8(..4) > 0;
        let time = Duration::from_millis(rng.u64(0..8_000));
        async move {
            if stays {
                pending::<()>().await;
            }
            sleep(time).await;
        }
    }

    fn has_run(&self, report: &RunReport<()>, preference: i32) {
        self.laws.tell(|| format!("{} has run: {:?}", self.number, report.end));
        for term in report.terms.iter() {
            if let TermEnd::HandedOver(better) = &term.end
                && better.preference.get() <= preference
            {
                let law = format!("{} of {preference} gives way to {better:?}", self.number);
                self.laws.broken(law);
            }
        }
    }

    async fn work_while_well(
        self,
        leadership: Leadership,
        cancelled: Cancelled,
        (terms, mut rng): (Terms, fastrand::Rng),
    ) {
        let leadership = Arc::new(leadership);
        let _working = Working { laws: self.laws.clone(), process: self.number };
        self.laws.work_begins(self.number, &leadership, &terms);
        let is_short = self.laws.season_of_wellness() == Season::Storm && rng.u8(..8) == 0;
        let term = Duration::from_millis(rng.u64(0..4_000));
        let rng_of_writes = rng.fork();
        tokio::select! {
            biased;
            cancellation = cancelled.wait() => {
                let (number, token, reason) = (self.number, leadership.token(), &cancellation.reason);
                self.laws.tell(|| format!("{number} is to end the work of {token}: {reason:?}"));
                self.laws.work_is_told(self.number, token, &terms, reason);
                if matches!(reason, CancelReason::Unwell(_)) {
                    self.laws.count(|tally| tally.unwell += 1);
                }
                if rng.u8(..4) == 0 {
                    // Too late: it is dropped by then.
                    pending::<()>().await;
                }
                let time = cancellation.deadline.saturating_duration_since(Instant::now());
                sleep(time.mul_f64(rng.f64())).await;
            }
            () = sleep(term), if is_short => {}
            never = self.keep_ledger_while_well(&leadership, rng_of_writes) => match never {},
        }
    }

    /// Writes the token now and then, until the calm.
    async fn keep_ledger_while_well(
        &self,
        leadership: &Leadership,
        mut rng: fastrand::Rng,
    ) -> Infallible {
        let path = ledger(LEDGER);
        while self.laws.season_of_wellness() == Season::Storm {
            let write = leadership.transaction();
            match self.guarded_write(&path, leadership.token(), write).await {
                Some(Ok(())) => self.laws.count(|tally| tally.guarded_writes += 1),
                // The news of it may still be on its way.
                Some(Err(TransactionError::NotHeld)) => break,
                Some(Err(_)) | None => {}
            }
            sleep(Duration::from_millis(rng.u64(20..200))).await;
        }
        pending().await
    }
}

/// The error code of a server that has too much to do. A service stands again.
const THROTTLED: i32 = ErrorCode::THROTTLED_OP.get();

async fn answered(
    laws: &Laws,
    process: usize,
    rng: &mut fastrand::Rng,
) -> Result<(), &'static str> {
    match laws.answer_of(process) {
        Answer::Passes => Ok(()),
        Answer::Fails => Err("it fails"),
        Answer::Hangs => pending().await,
        Answer::Flickers if rng.bool() => Ok(()),
        Answer::Flickers => Err("it flickers"),
    }
}

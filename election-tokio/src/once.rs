//! Jobs that run once in a period, on one of several machines.
//!
//! Begin with [`Client::once`]. Choices, costs and limits:
//! [once](https://github.com/zk-election/zk-election/blob/main/docs/once.md).

mod error;
mod journal;
mod run;

use core::fmt;
use core::future::Future;
use core::time::Duration;
use std::time::SystemTime;

use election_core::format::Format;
use election_core::once::{Due, RunRecord, due};

pub use election_core::once::{RunState, ServerTime, TakeAgain};

pub use error::OnceError;
pub use run::OnceRun;

use self::journal::Journal;
use crate::acl::Acls;
use crate::client::Client;
use crate::lock::{Lock, LockGuard};
use crate::telemetry::work_metrics::OnceMeter;

/// A job that one client runs in a period, under a lock; made by [`Client::once`].
///
/// The contender that gets the lock reads the record of the last run, in the persistent znode `PATH.once`.
/// If a run is due it records the new one, in a transaction that the lock guards, and runs. Times are of
/// the servers' clock: no client's clock counts.
#[derive(Clone)]
#[must_use = "a job is not begun until that is asked for"]
pub struct Once {
    client: Client,
    path: String,
    period: Duration,
    by: String,
    again: TakeAgain,
    acls: Acls,
    lock: Lock,
}

/// The answer to a contender that asks to run.
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "a run that is dropped counts as interrupted"]
pub enum Admission {
    /// It runs now, and holds the lock.
    Run(OnceRun),
    /// The last run counts still.
    NotDue(NotDue),
    /// Others are in the way: one of them runs, or is about to. Only of [`Once::try_begin`].
    Busy,
}

/// The last run, and until when it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotDue {
    /// The last run.
    pub last: LastRun,
    /// The time by the servers' clock from which a run is due.
    pub until: SystemTime,
}

/// A run that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastRun {
    /// How far it has come.
    pub state: RunState,
    /// When it began, by the servers' clock.
    pub began: SystemTime,
    /// The name of the contender ([`Once::by`]).
    pub by: String,
}

impl Client {
    /// Returns a job that one client runs in each period, under the lock at this path. The period
    /// counts from the beginning of one run to that of the next: take a little less than the
    /// distance of the times at which the job is started (20 hours for each night).
    pub fn once(&self, path: &str, period: Duration) -> Once {
        Once {
            client: self.clone(),
            path: path.to_owned(),
            period,
            by: String::new(),
            again: TakeAgain::default(),
            acls: Acls::open(),
            lock: self.lock(path),
        }
    }
}

impl Once {
    /// Waits until no other client runs the job, and then begins it if it is due. Lost connections and
    /// expired sessions do not end the wait.
    ///
    /// Cancel safe: dropping the future gives up the place in the queue, or the lock. A run that it has
    /// just recorded counts as interrupted.
    ///
    /// # Errors
    ///
    /// [`OnceError`]. Unless it is [`OnceError::Lost`] or
    /// [may have happened](OnceError::may_have_happened), no run was recorded.
    pub async fn begin(&self) -> Result<Admission, OnceError> {
        self.metered(async {
            let journal = self.journal()?;
            self.admit(journal, self.lock.lock().await?).await
        })
        .await
    }

    /// Begins the job if it is due and no other client runs it; does not wait for others. Without a
    /// connection this waits for one.
    ///
    /// Cancel safe, as [`Once::begin`].
    ///
    /// # Errors
    ///
    /// Those of [`Once::begin`].
    pub async fn try_begin(&self) -> Result<Admission, OnceError> {
        self.metered(async {
            let journal = self.journal()?;
            match self.lock.try_lock().await? {
                Some(guard) => self.admit(journal, guard).await,
                None => Ok(Admission::Busy),
            }
        })
        .await
    }

    /// Reads the last run, as one server knows it; it may be out of date. `None` if there was none.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`OnceError::NotARecord`] and [`OnceError::Request`].
    pub async fn last(&self) -> Result<Option<LastRun>, OnceError> {
        let journal = self.journal()?;
        let found = journal.read().await?;
        Ok(journal.record(found.as_ref())?.map(LastRun::of))
    }

    async fn metered(
        &self,
        asking: impl Future<Output = Result<Admission, OnceError>>,
    ) -> Result<Admission, OnceError> {
        let meter = OnceMeter::start();
        let asked = asking.await;
        meter.finished(match &asked {
            Ok(Admission::Run(_)) => "run",
            Ok(Admission::NotDue(_)) => "not_due",
            Ok(Admission::Busy) => "busy",
            Err(_) => "failed",
        });
        asked
    }

    async fn admit(&self, journal: Journal, guard: LockGuard) -> Result<Admission, OnceError> {
        let found = journal.find(&guard).await?;
        let last = journal.record(Some(&found.entry))?;
        if let Due::At(until) = due(found.now, last, self.period, self.again)
            && let Some(last) = last
        {
            return Ok(Admission::NotDue(NotDue {
                last: LastRun::of(last),
                until: system_time(until),
            }));
        }
        let run = OnceRun::new(guard, journal, found.now, self.by.clone());
        run.record(RunState::Begun).await?;
        Ok(Admission::Run(run))
    }

    fn journal(&self) -> Result<Journal, OnceError> {
        if !self.lock.may_have_siblings()? {
            return Err(error::at_chroot(&self.path));
        }
        Ok(Journal::new(&self.client, &self.path, self.acls.clone()))
    }
}

/// Settings.
impl Once {
    /// Sets the name of this contender, for others to see: the data of its znode, and `by` of its runs.
    pub fn by(self, name: impl Into<String>) -> Self {
        let by = name.into();
        Self { lock: self.lock.data(by.clone()), by, ..self }
    }

    /// Sets which runs may be taken again before the period is over (default: none).
    pub fn take_again(self, again: TakeAgain) -> Self {
        Self { again, ..self }
    }

    /// Sets the access list of the contender's znode, of the record, and of the lock's node and its ancestors
    /// if they have to be created (default: every client may do everything).
    pub fn acls(self, acls: Acls) -> Self {
        Self { lock: self.lock.acls(acls.clone()), acls, ..self }
    }

    /// Sets the format of the lock, as [`Lock::format`] does. One without ids in its names is refused when a run
    /// is to be recorded.
    pub fn format(self, format: Format) -> Self {
        Self { lock: self.lock.format(format), ..self }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, period, by, again, .. } = self;
        let mut shown = f.debug_struct("Once");
        shown.field("path", path).field("period", period).field("by", by);
        shown.field("again", again).finish_non_exhaustive()
    }
}

impl LastRun {
    fn of(record: RunRecord<'_>) -> Self {
        let RunRecord { state, began, by } = record;
        Self { state, began: system_time(began), by: by.to_owned() }
    }
}

/// Returns the time of day that the number means. Those that the system cannot express are the epoch.
fn system_time(time: ServerTime) -> SystemTime {
    let distance = Duration::from_millis(time.get().unsigned_abs());
    let time = if time.get() < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

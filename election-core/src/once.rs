//! Runs once in a period: the record of the last run, and the rule whether the next one is due.
//!
//! A contender that holds the lock of a job reads the job's record, and the servers' time from the reply to a
//! write of its own. Times are of the servers' clock, as in the `mtime` of a znode: no client's clock
//! counts.

use core::fmt;
use core::time::Duration;

use thiserror::Error;

/// Milliseconds since 1970, by the clock of the server that led the ensemble at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerTime(i64);

impl ServerTime {
    /// Makes it of the `ctime` or `mtime` of a znode.
    pub const fn new(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// Returns the milliseconds since 1970.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Returns the time after a period; the greatest time, if that is too late for a number.
    #[must_use]
    pub fn after(self, period: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(period.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns whether a period or more lies between the two times, whichever comes first.
    fn is_apart(self, other: Self, period: Duration) -> bool {
        u128::from(self.0.abs_diff(other.0)) >= period.as_millis()
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// It has begun, and nothing says that it has ended: it is at work, or was interrupted.
    Begun,
    /// It has ended, and succeeded.
    Succeeded,
    /// It has ended, and failed.
    Failed,
}

/// Which runs may be taken again before the period is over. Every other one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TakeAgain {
    /// None: a run counts from its beginning, so at most one begins in a period.
    #[default]
    Never,
    /// One that was interrupted: its holder died or lost the lock before it recorded an end. The
    /// work may be done twice, or half and once.
    Interrupted,
    /// One that was interrupted, and one that failed.
    Failed,
}

impl TakeAgain {
    const fn takes(self, state: RunState) -> bool {
        match state {
            RunState::Succeeded => false,
            RunState::Begun => matches!(self, Self::Interrupted | Self::Failed),
            RunState::Failed => matches!(self, Self::Failed),
        }
    }
}

/// The record of a run, as the data of a znode has it: three lines of text.
///
/// ```
/// use election_core::once::{RunRecord, RunState, ServerTime};
///
/// let began = ServerTime::new(1_764_212_400_000);
/// let record = RunRecord { state: RunState::Succeeded, began, by: "host-7" };
/// assert_eq!(record.to_string(), "run: succeeded\nbegan: 1764212400000\nby: host-7\n");
/// assert_eq!(RunRecord::parse(record.to_string().as_bytes()), Ok(Some(record)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunRecord<'a> {
    /// How far it has come.
    pub state: RunState,
    /// When it began.
    pub began: ServerTime,
    /// The name of the contender that runs or ran it: any text.
    pub by: &'a str,
}

/// The data is not the record of a run. Another program has written it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("it is not the record of a run")]
pub struct NotARecord;

impl<'a> RunRecord<'a> {
    /// Reads a record; `None` if the data is empty: there was no run.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub fn parse(data: &'a [u8]) -> Result<Option<Self>, NotARecord> {
        if data.is_empty() {
            return Ok(None);
        }
        Self::fields(data).map(Some).ok_or(NotARecord)
    }

    fn fields(data: &'a [u8]) -> Option<Self> {
        let text = core::str::from_utf8(data).ok()?;
        let (state, text) = text.strip_prefix("run: ")?.split_once('\n')?;
        let (began, text) = text.strip_prefix("began: ")?.split_once('\n')?;
        let by = text.strip_prefix("by: ")?.strip_suffix('\n')?;
        let state = [RunState::Begun, RunState::Succeeded, RunState::Failed]
            .into_iter()
            .find(|known| known.word() == state)?;
        Some(Self { state, began: ServerTime(began.parse().ok()?), by })
    }
}

impl RunState {
    const fn word(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for RunRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, began: ServerTime(began), by } = self;
        write!(f, "run: {state}\nbegan: {began}\nby: {by}\n")
    }
}

/// The answer whether a run is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Due {
    /// It is.
    Now,
    /// The last run counts until this time.
    At(ServerTime),
}

/// Decides whether a contender that holds the job's lock may run, at the servers' time `now`.
///
/// A run counts for a period from its beginning, unless it [may be taken again](TakeAgain). One that began more
/// than a period *after* now counts no longer, either: the clock was set back since, and a job must not
/// wait for a time that was never there.
pub fn due(
    now: ServerTime,
    last: Option<RunRecord<'_>>,
    period: Duration,
    again: TakeAgain,
) -> Due {
    match last {
        Some(last) if !again.takes(last.state) && !last.began.is_apart(now, period) => {
            Due::At(last.began.after(period))
        }
        Some(_) | None => Due::Now,
    }
}

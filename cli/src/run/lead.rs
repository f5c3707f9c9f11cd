//! One leadership: COMMAND from its start to its end.

use core::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep_until};

use super::command::{Ended, GuardedCommand, Task};
use super::standing::{Nominee, Standing};
use crate::console;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::guard::{BootTime, EndedBy};
use crate::signals::Signals;

/// How COMMAND's run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// By itself, or because `zkelect` was told to end.
    Done(CommandExit),
    /// It was stopped because leadership was in doubt or lost.
    InDoubt,
}

/// The times that follow from the session timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// How much earlier than the lease deadline COMMAND is killed, so that it is dead by then.
    margin: Duration,
    /// How often the lease deadline is looked at.
    tick: Duration,
}

impl Pace {
    pub(super) fn of(session_timeout: Duration) -> Self {
        Self {
            margin: (session_timeout / 20).min(Duration::from_millis(100)),
            tick: (session_timeout / 10).clamp(Duration::from_millis(20), Duration::from_secs(1)),
        }
    }

    /// When COMMAND is killed, with this lease deadline.
    pub(super) fn kill_at(self, lease_deadline: Instant) -> BootTime {
        BootTime::not_after(lease_deadline).minus(self.margin)
    }

    pub(super) fn next_look(self) -> Instant {
        Instant::now() + self.tick
    }
}

#[derive(Clone, Copy)]
enum Stopping {
    No,
    InDoubt,
    /// `zkelect` was told to end.
    Told,
}

pub(super) struct Lead<'a> {
    nominee: &'a mut Nominee,
    command: GuardedCommand,
    grace: Duration,
    pace: Pace,
    /// As last told to the guard.
    lease_deadline: Instant,
    stopping: Stopping,
}

impl<'a> Lead<'a> {
    /// Starts COMMAND.
    pub(super) fn start(
        nominee: &'a mut Nominee,
        task: &Task<'_>,
        pace: Pace,
        lease_deadline: Instant,
    ) -> Result<Self, Failure> {
        let command = GuardedCommand::start(task, pace.kill_at(lease_deadline))
            .map_err(Failure::system("COMMAND's guard cannot be started"))?;
        Ok(Self {
            nominee,
            command,
            grace: task.grace,
            pace,
            lease_deadline,
            stopping: Stopping::No,
        })
    }

    /// Watches over COMMAND until nothing of it is left.
    pub(super) async fn until_over(&mut self, signals: &mut Signals) -> Over {
        loop {
            self.heed_standing();
            // Half of the margin is the guard's; after that it is not doing its work.
            let overdue = self.lease_deadline.checked_sub(self.pace.margin / 2);
            let overdue = overdue.unwrap_or(self.lease_deadline);
            if Instant::now() >= overdue {
                self.be_in_doubt();
                self.command.kill_guard();
            }
            tokio::select! {
                biased;
                ended = self.command.ended() => return self.over(&ended),
                signal = signals.next() => self.pass_on(signal),
                () = self.nominee.changed() => {}
                () = sleep_until(self.pace.next_look().min(overdue)) => {}
            }
        }
    }

    fn heed_standing(&mut self) {
        let standing = self.nominee.look();
        if let Standing::Leading { until } | Standing::InDoubt { until: Some(until) } = standing
            && until > self.lease_deadline
        {
            self.lease_deadline = until;
            self.command.valid_until(self.pace.kill_at(until));
        }
        let leads = matches!(standing, Standing::Leading { .. });
        if !leads {
            self.be_in_doubt();
        }
    }

    fn be_in_doubt(&mut self) {
        if matches!(self.stopping, Stopping::No) {
            console::note("COMMAND has to end: SIGTERM");
            self.stopping = Stopping::InDoubt;
            self.stop(Signal::TERM);
        }
    }

    fn over(&self, ended: &Ended) -> Over {
        match (ended, self.stopping) {
            (Ended::GuardGone(exit), Stopping::No) => {
                console::warn("the guard has gone, and COMMAND with it");
                Over::Done(*exit)
            }
            (Ended::GuardGone(exit), Stopping::Told) => Over::Done(*exit),
            (Ended::Reported(report), stopping) => match (report.ended_by, stopping) {
                (EndedBy::Itself, _) | (_, Stopping::Told) => Over::Done(report.exit),
                (EndedBy::Order | EndedBy::Deadline, _) => Over::InDoubt,
            },
            (Ended::GuardGone(_), Stopping::InDoubt) => Over::InDoubt,
        }
    }

    fn pass_on(&mut self, signal: Signal) {
        console::note(format_args!("signal {} is passed on to COMMAND", signal.as_raw()));
        self.stopping = Stopping::Told;
        self.stop(signal);
    }

    fn stop(&self, signal: Signal) {
        self.command.stop(signal, BootTime::now().plus(self.grace));
    }
}

//! One leadership: COMMAND from its start to its end.

use core::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep_until};

use super::command::{GuardedCommand, News, Task};
use super::standing::{Nominee, Standing};
use crate::console;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::guard::{BootTime, EndedBy};
use crate::signals::{Signals, UserSignals};

/// How COMMAND's run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// By itself, or because `zkelect` was told to end.
    Done(CommandExit),
    /// It was stopped because leadership was in doubt or lost.
    InDoubt,
    /// It was to be stopped, and cannot be: processes of it are left, which refuse signals.
    OutOfReach,
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
    /// Processes of COMMAND that refuse signals.
    out_of_reach: Vec<i32>,
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
            out_of_reach: Vec::new(),
        })
    }

    /// What is left after [`Over::OutOfReach`], and the processes that refuse signals.
    pub(super) fn into_remainder(self) -> (GuardedCommand, Vec<i32>) {
        (self.command, self.out_of_reach)
    }

    /// Watches over COMMAND until nothing of it is left, or what is left cannot be stopped.
    pub(super) async fn until_over(
        &mut self,
        signals: &mut Signals,
        user_signals: &mut UserSignals,
    ) -> Over {
        loop {
            let standing = self.heed_standing();
            // Half of the margin is the guard's; after that it is not doing its work.
            let overdue = self.lease_deadline.checked_sub(self.pace.margin / 2);
            let overdue = overdue.unwrap_or(self.lease_deadline);
            let mut next_look = self.pace.next_look().min(overdue);
            if Instant::now() >= overdue {
                self.be_in_doubt();
                if self.out_of_reach.is_empty() {
                    self.command.kill_guard();
                }
                next_look = Instant::now() + AFTER_THE_DEADLINE;
            }
            let leads =
                matches!(standing, Standing::Leading { .. } | Standing::InDoubt { until: Some(_) });
            if !self.out_of_reach.is_empty() && !leads {
                return Over::OutOfReach;
            }
            tokio::select! {
                biased;
                news = self.command.news() => match news {
                    News::OutOfReach(pid) => self.warn_of(pid),
                    News::Ended { exit, ended_by } => return self.over(exit, ended_by),
                    News::GuardGone(exit) => return self.over_without_guard(exit),
                },
                signal = signals.next() => {
                    if self.told(signal) == Heed::GiveUp {
                        return Over::OutOfReach;
                    }
                }
                signal = user_signals.next() => {
                    self.command.pass_on(signal);
                    console::note(format_args!("signal {} is passed on to COMMAND", signal.as_raw()));
                }
                () = self.nominee.changed() => {}
                () = sleep_until(next_look) => {}
            }
        }
    }

    fn heed_standing(&mut self) -> Standing {
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
        standing
    }

    /// Orders first, tells afterwards: telling may take time.
    fn be_in_doubt(&mut self) {
        if matches!(self.stopping, Stopping::No) {
            self.stopping = Stopping::InDoubt;
            self.stop(Signal::TERM, self.grace);
            console::note("COMMAND has to end: SIGTERM");
        }
    }

    /// A second SIGINT or SIGQUIT, which people send, ends the grace.
    fn told(&mut self, signal: Signal) -> Heed {
        let is_first = !matches!(self.stopping, Stopping::Told);
        if !is_first && !self.out_of_reach.is_empty() {
            return Heed::GiveUp;
        }
        let is_impatient = !is_first && matches!(signal, Signal::INT | Signal::QUIT);
        self.stopping = Stopping::Told;
        if is_impatient {
            self.stop(signal, Duration::ZERO);
            console::note(format_args!("signal {} again: COMMAND is killed", signal.as_raw()));
        } else {
            self.stop(signal, self.grace);
            console::note(format_args!("signal {} is passed on to COMMAND", signal.as_raw()));
        }
        Heed::Wait
    }

    fn warn_of(&mut self, pid: i32) {
        self.out_of_reach.push(pid);
        console::warn(format_args!(
            "process {pid} of COMMAND cannot be stopped: it has become another user. It goes on \
             until it ends by itself; zkelect keeps the lead for that time, as long as it can. \
             Another signal to zkelect ends the wait"
        ));
    }

    fn over(&self, exit: CommandExit, ended_by: EndedBy) -> Over {
        match (ended_by, self.stopping) {
            (EndedBy::Itself, _) | (_, Stopping::Told) => Over::Done(exit),
            (EndedBy::Order | EndedBy::Deadline, _) => Over::InDoubt,
        }
    }

    fn over_without_guard(&self, exit: CommandExit) -> Over {
        match self.stopping {
            Stopping::No => {
                console::warn("the guard has gone, and COMMAND with it");
                Over::Done(exit)
            }
            Stopping::Told => Over::Done(exit),
            Stopping::InDoubt => Over::InDoubt,
        }
    }

    fn stop(&self, signal: Signal, grace: Duration) {
        self.command.stop(signal, BootTime::now().plus(grace));
    }
}

/// What follows from a signal that ends `zkelect`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heed {
    Wait,
    GiveUp,
}

/// How often COMMAND is looked at that lives on after the lease deadline.
const AFTER_THE_DEADLINE: Duration = Duration::from_millis(50);

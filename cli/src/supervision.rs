//! COMMAND from its start to its end, while a leadership, a lock or the like is held.

mod command;

use core::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep_until};

use crate::console;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::guard::{BootTime, EndedBy, HeldSession, KilledAt};
use crate::signals::{Signals, UserSignals};
pub(crate) use command::{GuardedCommand, Input, News, Privileges, Task, WhileSuspended};

/// The condition of COMMAND: a leadership, a lock or the like.
pub(crate) trait Held {
    /// Returns the present state.
    fn look(&mut self) -> Hold;

    /// Handles a line by which COMMAND says that it has taken over.
    fn heed_line(&mut self, line: String);

    /// Waits for a change. Changes of the lease deadline, which moves on without notice, do not
    /// count.
    ///
    /// Cancel safe.
    async fn changed(&mut self);
}

/// The hold of the leadership, lock or permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It is held until then; the moment usually moves on.
    Valid { until: Instant },
    /// It is held as far as this process knows, but the connection is lost or the lease not proved.
    InDoubt {
        /// Until when no other machine can hold it; `None` if that has passed.
        until: Option<Instant>,
    },
    /// It is held, and another client asks for it: COMMAND has to end.
    Requested {
        /// As of [`Hold::InDoubt`].
        until: Option<Instant>,
    },
    /// It is not held.
    Nothing,
}

/// Why COMMAND's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// COMMAND ended by itself.
    Done(CommandExit),
    /// zkelect got a signal to end, and stopped COMMAND.
    Told(CommandExit),
    /// COMMAND was stopped because the holding was in doubt or lost.
    InDoubt,
    /// COMMAND had to be stopped and cannot be: some of its processes refuse signals.
    OutOfReach,
}

/// The times that follow from the session timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// How much earlier than the lease deadline COMMAND is killed, so that it is dead by then.
    margin: Duration,
    /// How often to look at the lease deadline.
    tick: Duration,
    /// The most that is reserved before the lease deadline, for COMMAND to end, while the connection
    /// lasts. Where answers come as fast as they have to, a lease is renewed earlier than that.
    longest_reserve: Duration,
}

impl Pace {
    pub(crate) fn of(session_timeout: Duration) -> Self {
        Self {
            margin: (session_timeout / 20).min(Duration::from_millis(100)),
            tick: (session_timeout / 10).clamp(Duration::from_millis(20), Duration::from_secs(1)),
            longest_reserve: session_timeout / 10,
        }
    }

    /// Returns whether COMMAND may start by this lease deadline: it would not have to end at once.
    pub(crate) fn may_start(self, lease_deadline: Instant) -> bool {
        !self.kill_at(lease_deadline).minus(self.longest_reserve).is_past()
    }

    /// Returns when to kill COMMAND for this lease deadline.
    fn kill_at(self, lease_deadline: Instant) -> BootTime {
        BootTime::not_after(lease_deadline).minus(self.margin)
    }

    pub(crate) fn next_look(self) -> Instant {
        Instant::now() + self.tick
    }
}

#[derive(Clone, Copy)]
enum Stopping {
    No,
    InDoubt,
    /// zkelect got a signal to end.
    Told,
}

pub(crate) struct Supervision<'a, H> {
    held: &'a mut H,
    command: GuardedCommand,
    grace: Duration,
    while_suspended: WhileSuspended,
    pace: Pace,
    /// The latest lease deadline that the guard got.
    lease_deadline: Instant,
    /// When zkelect signals COMMAND to stop, while the connection is lost and COMMAND runs on.
    last_call: Option<Instant>,
    /// The time for COMMAND to end that is reserved while the connection lasts.
    reserve: Duration,
    stopping: Stopping,
    /// Processes of COMMAND that refuse signals.
    out_of_reach: Vec<i32>,
}

impl<'a, H: Held> Supervision<'a, H> {
    /// Starts COMMAND.
    pub(crate) fn start(
        held: &'a mut H,
        task: &Task<'_>,
        pace: Pace,
        lease_deadline: Instant,
    ) -> Result<Self, Failure> {
        let command = GuardedCommand::start(task, pace.kill_at(lease_deadline))
            .map_err(Failure::system("COMMAND's guard cannot be started"))?;
        Ok(Self {
            held,
            command,
            grace: task.grace,
            while_suspended: task.while_suspended,
            pace,
            lease_deadline,
            last_call: None,
            // No renewal was seen yet.
            reserve: task.grace.min(pace.longest_reserve / 2),
            stopping: Stopping::No,
            out_of_reach: Vec::new(),
        })
    }

    /// Has the guard close this session if this process dies.
    pub(crate) fn close_with_this_process(&self, session: HeldSession) {
        self.command.close_with_this_process(session);
    }

    /// Returns the part that is left after [`Over::OutOfReach`], and the processes that refuse
    /// signals.
    pub(crate) fn into_remainder(self) -> (GuardedCommand, Vec<i32>) {
        (self.command, self.out_of_reach)
    }

    /// Supervises COMMAND until nothing of it is left, or the rest cannot be stopped.
    pub(crate) async fn until_over(
        &mut self,
        signals: &mut Signals,
        user_signals: &mut UserSignals,
    ) -> Over {
        loop {
            let hold = self.heed_hold();
            // The guard has the first half of the margin; after that it does not do its work.
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
            if let Hold::Valid { until } = hold
                && matches!(self.stopping, Stopping::No)
            {
                next_look = next_look.min(self.late_from(until));
            }
            if let Some(last_call) = self.last_call {
                next_look = next_look.min(last_call);
            }
            let is_held = match hold {
                Hold::Valid { .. } => true,
                Hold::InDoubt { until } | Hold::Requested { until } => until.is_some(),
                Hold::Nothing => false,
            };
            if !self.out_of_reach.is_empty() && !is_held {
                return Over::OutOfReach;
            }
            tokio::select! {
                biased;
                news = self.command.news() => match news {
                    News::Line(line) => self.held.heed_line(line),
                    News::OutOfReach(pid) => self.warn_of(pid),
                    News::Killed(at) => Self::report_kill(at),
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
                () = self.held.changed() => {}
                () = sleep_until(next_look) => {}
            }
        }
    }

    fn heed_hold(&mut self) -> Hold {
        let hold = self.held.look();
        if let Hold::Valid { until }
        | Hold::InDoubt { until: Some(until) }
        | Hold::Requested { until: Some(until) } = hold
            && until > self.lease_deadline
        {
            self.note_renewal();
            self.lease_deadline = until;
            self.command.valid_until(self.pace.kill_at(until));
        }
        match hold {
            Hold::Valid { until } => {
                self.last_call = None;
                if Instant::now() >= self.late_from(until) {
                    self.be_late();
                }
            }
            Hold::InDoubt { until: Some(until) } if self.may_go_on(until) => {}
            Hold::InDoubt { .. } | Hold::Requested { .. } | Hold::Nothing => self.be_in_doubt(),
        }
        hold
    }

    /// Sets how much of the renewed lease is reserved: half of what was left of the old one, so that
    /// no renewal that comes as late as this one stops COMMAND.
    fn note_renewal(&mut self) {
        let was_left = self.lease_deadline.saturating_duration_since(Instant::now());
        let spare = was_left.saturating_sub(self.pace.margin) / 2;
        self.reserve = self.grace.min(spare).min(self.pace.longest_reserve);
    }

    /// Returns when `SIGTERM` is due unless the lease is renewed.
    fn late_from(&self, until: Instant) -> Instant {
        until.checked_sub(self.pace.margin + self.reserve).unwrap_or(until)
    }

    /// Returns whether COMMAND may go on although the connection is lost. It is stopped so early
    /// that it has its grace before the lease deadline, or half of what was left of the lease when
    /// the connection was lost.
    fn may_go_on(&mut self, until: Instant) -> bool {
        if self.while_suspended == WhileSuspended::Stop {
            return false;
        }
        let now = Instant::now();
        let killed_at = until.checked_sub(self.pace.margin).unwrap_or(now);
        let grace = self.grace.min(killed_at.saturating_duration_since(now) / 2);
        let last_call = *self.last_call.get_or_insert(killed_at.checked_sub(grace).unwrap_or(now));
        now < last_call
    }

    fn be_in_doubt(&mut self) {
        self.stop_with("COMMAND has to end: SIGTERM");
    }

    fn be_late(&mut self) {
        self.stop_with(
            "answers come too late to renew the lease, which is about to run out. COMMAND has to end: SIGTERM",
        );
    }

    /// Gives the order before it reports, because reporting may take time.
    fn stop_with(&mut self, line: &str) {
        if matches!(self.stopping, Stopping::No) {
            self.stopping = Stopping::InDoubt;
            self.stop(Signal::TERM, self.grace);
            console::note(line);
        }
    }

    fn report_kill(at: KilledAt) {
        console::warn(match at {
            KilledAt::GraceOver => "COMMAND is killed: its grace is over",
            KilledAt::LeaseDeadline => {
                "COMMAND is killed: the lease deadline has come, and no answer has renewed the lease"
            }
        });
    }

    /// Handles a signal. A second SIGINT or SIGQUIT, which a user sends, ends the grace.
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
             until it ends by itself; zkelect keeps what it holds for that time, as long as it can. \
             Another signal to zkelect ends the wait"
        ));
    }

    fn over(&self, exit: CommandExit, ended_by: EndedBy) -> Over {
        match (ended_by, self.stopping) {
            (_, Stopping::Told) => Over::Told(exit),
            (EndedBy::Itself, _) => Over::Done(exit),
            (EndedBy::Order | EndedBy::Deadline, _) => Over::InDoubt,
        }
    }

    fn over_without_guard(&self, exit: CommandExit) -> Over {
        match self.stopping {
            Stopping::No => {
                console::warn("the guard has gone, and COMMAND with it");
                Over::Done(exit)
            }
            Stopping::Told => Over::Told(exit),
            Stopping::InDoubt => Over::InDoubt,
        }
    }

    fn stop(&self, signal: Signal, grace: Duration) {
        self.command.stop(signal, BootTime::now().plus(grace));
    }
}

/// The consequence of a signal that ends `zkelect`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heed {
    Wait,
    GiveUp,
}

/// How often to look at a COMMAND that lives on after the lease deadline.
const AFTER_THE_DEADLINE: Duration = Duration::from_millis(50);

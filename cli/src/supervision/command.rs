//! COMMAND under its guard, seen from `zkelect`.

use core::time::Duration;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal};

use crate::args::ReadyFd;
use crate::console;
use crate::exit::CommandExit;
use crate::guard::{self, BootTime, EndedBy, HeldSession, KilledAt, Link, Order, Report, SELF};

/// How often to poll processes for their end: the guard, and the processes that it leaves behind.
const LOOK: Duration = Duration::from_millis(10);

/// The variable with the descriptor's number, in COMMAND's environment.
const READY_FD: &str = "ZKELECT_READY_FD";

/// The command to start.
pub(crate) struct Task<'a> {
    pub(crate) command: &'a [OsString],
    pub(crate) grace: Duration,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Variables of this process's environment that COMMAND does not inherit.
    pub(crate) hidden: &'static [&'static str],
    pub(crate) privileges: Privileges,
    pub(crate) input: Input,
    /// The descriptor to which COMMAND writes when it has taken over.
    pub(crate) ready_fd: Option<ReadyFd>,
    pub(crate) while_suspended: WhileSuspended,
}

/// COMMAND's standard input.
#[derive(Debug)]
pub(crate) enum Input {
    Empty,
    /// That of this process.
    Own,
    File(File),
}

/// The privileges that COMMAND may gain: those of another user, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privileges {
    /// It may not, so every process that it starts can be stopped.
    Fixed,
    /// It may; its processes are another user's then, and refuse signals.
    MayGrow,
}

/// The treatment of COMMAND while the connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhileSuspended {
    Stop,
    /// It is stopped when the lease deadline is near.
    UntilDeadline,
}

/// News of COMMAND.
pub(crate) enum News {
    /// A line that COMMAND wrote to its descriptor.
    Line(String),
    /// A process of COMMAND refuses signals. Told once of each.
    OutOfReach(i32),
    /// The guard kills COMMAND: its time is over.
    Killed(KilledAt),
    /// Nothing of COMMAND is left.
    Ended { exit: CommandExit, ended_by: EndedBy },
    /// The guard failed or was killed, and COMMAND with it: nothing is left.
    GuardGone(CommandExit),
}

/// Dropping it closes the guard's socket, and the guard ends COMMAND.
pub(crate) struct GuardedCommand {
    guard: Child,
    link: Link<Report, Order>,
    /// The last report, while the guard itself ends.
    ended: Option<(CommandExit, EndedBy)>,
    /// The processes that the guard has left to this process and that refuse signals, as reported.
    out_of_reach: Vec<Pid>,
}

impl GuardedCommand {
    /// Starts COMMAND under a guard that ends it at `valid_until`. Its process group gets no signal
    /// from the terminal: this process passes signals on.
    pub(crate) fn start(task: &Task<'_>, valid_until: BootTime) -> io::Result<Self> {
        let (here, there) = UnixStream::pair()?;
        let mut guard = Command::new(SELF);
        let grace = u64::try_from(task.grace.as_millis()).unwrap_or(u64::MAX);
        guard.arg0("zkelect").args(["guard", "--grace-ms", &grace.to_string()]);
        if task.privileges == Privileges::MayGrow {
            guard.arg("--allow-new-privileges");
        }
        if !matches!(task.input, Input::Empty) {
            guard.arg("--stdin");
        }
        if let Some(number) = task.ready_fd {
            guard.args(["--ready-fd", &number.to_string()]).env(READY_FD, number.to_string());
        }
        for name in task.hidden {
            guard.env_remove(name);
        }
        let guard = guard
            .arg("--")
            .args(task.command)
            .envs(task.environment.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(OwnedFd::from(there))
            .spawn()?;
        match &task.input {
            Input::Empty => {}
            Input::Own => guard::send_descriptor(&here, io::stdin().as_fd())?,
            Input::File(file) => guard::send_descriptor(&here, file.as_fd())?,
        }
        let link = Link::new(here)?;
        link.send(&Order::ValidUntil(valid_until))?;
        Ok(Self { guard, link, ended: None, out_of_reach: Vec::new() })
    }

    /// Has the guard close this session if this process dies.
    pub(crate) fn close_with_this_process(&self, session: HeldSession) {
        self.order(&Order::Session(Box::new(session)));
    }

    pub(crate) fn valid_until(&self, moment: BootTime) {
        self.order(&Order::ValidUntil(moment));
    }

    /// Sends a signal to COMMAND now, and `SIGKILL` at `kill_at`.
    pub(crate) fn stop(&self, signal: Signal, kill_at: BootTime) {
        self.order(&Order::Stop { signal: signal.as_raw(), kill_at });
    }

    /// Sends a signal to COMMAND that is not meant to end it.
    pub(crate) fn pass_on(&self, signal: Signal) {
        self.order(&Order::PassOn { signal: signal.as_raw() });
    }

    /// Kills a guard that does not do its work. The kernel then kills COMMAND.
    pub(crate) fn kill_guard(&mut self) {
        if let Err(error) = self.guard.kill() {
            console::warn(format_args!("the guard cannot be killed: {error}"));
        }
    }

    /// Waits for news.
    ///
    /// Cancel safe.
    pub(crate) async fn news(&mut self) -> News {
        if let Some((exit, ended_by)) = self.ended {
            return self.end_of_guard(exit, ended_by).await;
        }
        match self.link.receive().await {
            Some(Report::Line { line }) => {
                self.order(&Order::NextLine);
                News::Line(line)
            }
            Some(Report::OutOfReach { pid }) => News::OutOfReach(pid),
            Some(Report::Killed { at }) => News::Killed(at),
            Some(Report::Ended { exit, ended_by }) => {
                self.ended = Some((exit, ended_by));
                self.end_of_guard(exit, ended_by).await
            }
            None => self.end_without_guard().await,
        }
    }

    /// Waits for the end, beside another guard's family: what a guard that was killed leaves behind is
    /// killed, and no guard is.
    ///
    /// Cancel safe.
    pub(crate) async fn news_alone(&mut self) -> News {
        loop {
            if let Some((exit, ended_by)) = self.ended {
                return self.end_of_guard(exit, ended_by).await;
            }
            match self.link.receive().await {
                Some(Report::Ended { exit, ended_by }) => self.ended = Some((exit, ended_by)),
                Some(_) => {}
                None => {
                    // The guard has closed its socket, so it ends.
                    let _ = self.guard_ended().await;
                    while guard::kill_orphans() {
                        tokio::time::sleep(LOOK).await;
                    }
                    return News::GuardGone(CommandExit::Signal(Signal::KILL.as_raw()));
                }
            }
        }
    }

    async fn end_of_guard(&mut self, exit: CommandExit, ended_by: EndedBy) -> News {
        // It has ended in any case.
        let _ = self.guard_ended().await;
        News::Ended { exit, ended_by }
    }

    /// Waits until nothing of COMMAND is left.
    ///
    /// Cancel safe.
    pub(crate) async fn gone(&mut self) {
        while let News::OutOfReach(_) | News::Line(_) | News::Killed(_) = self.news().await {}
    }

    /// Ends COMMAND's processes. Without the guard they have become children of this process.
    async fn end_without_guard(&mut self) -> News {
        let status = self.guard_ended().await;
        loop {
            let remainder = guard::kill_children();
            if remainder.is_empty {
                break;
            }
            for pid in remainder.out_of_reach {
                if !self.out_of_reach.contains(&pid) {
                    self.out_of_reach.push(pid);
                    return News::OutOfReach(pid.as_raw_pid());
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        News::GuardGone(match status.map(|status| (status.code(), status.signal())) {
            Ok((Some(code), _)) => CommandExit::Code(u8::try_from(code).unwrap_or(u8::MAX)),
            Ok((None, signal)) => {
                CommandExit::Signal(signal.unwrap_or_else(|| Signal::KILL.as_raw()))
            }
            Err(error) => {
                console::warn(format_args!("the guard cannot be waited for: {error}"));
                CommandExit::Signal(Signal::KILL.as_raw())
            }
        })
    }

    /// Waits for the guard's end. It has closed its socket, so it ends.
    async fn guard_ended(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.guard.try_wait()? {
                return Ok(status);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Sends an order. A guard that does not take it either keeps to the last moment that it got,
    /// or has gone, which its end shows.
    fn order(&self, order: &Order) {
        if let Err(error) = self.link.send(order)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            console::warn(format_args!("the guard does not take orders: {error}"));
        }
    }
}

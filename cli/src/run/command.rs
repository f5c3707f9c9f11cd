//! COMMAND under its guard, as `run` sees it.

use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command};

use rustix::process::Signal;

use crate::console;
use crate::exit::CommandExit;
use crate::guard::{self, BootTime, Link, Order, Report, SELF};

/// What to start.
pub(super) struct Task<'a> {
    pub(super) command: &'a [OsString],
    pub(super) grace: Duration,
    pub(super) environment: [(&'static str, String); 4],
}

/// Nothing of COMMAND is left.
pub(super) enum Ended {
    Reported(Report),
    /// The guard failed or was killed, and COMMAND with it.
    GuardGone(CommandExit),
}

/// Dropped, the guard sees that it is alone and ends COMMAND.
pub(super) struct GuardedCommand {
    guard: Child,
    link: Link<Report, Order>,
}

impl GuardedCommand {
    /// Starts COMMAND under a guard that ends it at `valid_until`, in a process group that no
    /// signal from the terminal reaches: signals are for this process to pass on.
    pub(super) fn start(task: &Task<'_>, valid_until: BootTime) -> io::Result<Self> {
        let (here, there) = UnixStream::pair()?;
        let guard = Command::new(SELF)
            .arg0("zkelect")
            .args(["guard", "--grace-ms", &task.grace.as_millis().to_string(), "--"])
            .args(task.command)
            .envs(task.environment.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(OwnedFd::from(there))
            .spawn()?;
        let link = Link::new(here)?;
        link.send(&Order::ValidUntil(valid_until))?;
        Ok(Self { guard, link })
    }

    pub(super) fn valid_until(&self, moment: BootTime) {
        self.order(&Order::ValidUntil(moment));
    }

    /// Sends a signal to COMMAND now, and `SIGKILL` at `kill_at`.
    pub(super) fn stop(&self, signal: Signal, kill_at: BootTime) {
        self.order(&Order::Stop { signal: signal.as_raw(), kill_at });
    }

    /// For a guard that does not do its work: with it, the kernel kills COMMAND.
    pub(super) fn kill_guard(&mut self) {
        if let Err(error) = self.guard.kill() {
            console::warn(format_args!("the guard cannot be killed: {error}"));
        }
    }

    /// Waits until nothing of COMMAND is left.
    ///
    /// Cancel safe.
    pub(super) async fn ended(&mut self) -> Ended {
        let report = self.link.receive().await;
        let status = self.guard.wait();
        if let Some(report) = report {
            return Ended::Reported(report);
        }
        // Without its guard, all that COMMAND started has become a child of this process.
        guard::kill_all();
        Ended::GuardGone(match status.map(|status| (status.code(), status.signal())) {
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

    /// A guard that does not take an order holds to the last moment that it was told, or has
    /// gone, which its end tells.
    fn order(&self, order: &Order) {
        if let Err(error) = self.link.send(order)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            console::warn(format_args!("the guard does not take orders: {error}"));
        }
    }
}

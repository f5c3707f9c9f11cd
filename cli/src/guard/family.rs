//! The processes that come from COMMAND: signals and reaps them.
//!
//! This process is a child subreaper: a process that COMMAND starts becomes a child of this process
//! when its own parent ends, even if it left COMMAND's process group. The kernel gives a process id
//! to another process only after its zombie is reaped, and only this process, on one thread, reaps.
//! So no signal can hit a stranger.

use core::fmt;
use core::time::Duration;
use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, kill_process,
    kill_process_group, set_child_subreaper, test_kill_process, wait, waitid, waitpid,
};

use crate::exit::CommandExit;
use crate::failure::Failure;

/// This program, also after its file was replaced.
pub(crate) const SELF: &str = "/proc/self/exe";

/// Makes this process the parent of every orphan among its descendants.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills every descendant of this process that can be killed, and reaps those that have ended.
/// Returns the rest.
pub(crate) fn kill_children() -> Remainder {
    let mut remainder = Remainder::default();
    for child in children() {
        // It may have ended meanwhile, which is fine.
        if kill_process(child, Signal::KILL) == Err(Errno::PERM) {
            remainder.out_of_reach.push(child);
        }
    }
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Remainder { is_empty: false, ..remainder },
            Err(_) => return Remainder { is_empty: true, ..remainder },
        }
    }
}

/// Kills the children of this process that are not this program, and so no guards. Returns whether
/// there were any.
pub(crate) fn kill_orphans() -> bool {
    let own = fs::read_link(SELF).ok();
    let mut killed = false;
    for child in children() {
        let pid = child.as_raw_pid();
        let is_guard = own.is_some() && fs::read_link(format!("/proc/{pid}/exe")).ok() == own;
        if !is_guard && kill_process(child, Signal::KILL).is_ok() {
            killed = true;
            // It has not ended yet, or this finds out that it has.
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
    }
    killed
}

/// The processes that [`kill_children`] has left.
#[derive(Debug, Default)]
pub(crate) struct Remainder {
    /// Nothing is left.
    pub(crate) is_empty: bool,
    /// The children that refuse to be killed.
    pub(crate) out_of_reach: Vec<Pid>,
}

/// Waits until nothing is left that can be killed. For a process that ends.
pub(super) fn kill_all() {
    loop {
        let remainder = kill_children();
        if remainder.is_empty || !remainder.out_of_reach.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// COMMAND, which leads a process group, and its descendants.
pub(super) struct Family {
    command: Command,
}

#[derive(Clone, Copy)]
enum Command {
    /// Alive, or dead and kept as a zombie so that its group's number stays taken.
    There(Pid),
    Reaped(CommandExit),
}

/// The processes of COMMAND that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Command,
    Others,
    Nothing(CommandExit),
}

impl Family {
    pub(super) fn new(command: Pid) -> Self {
        Self { command: Command::There(command) }
    }

    /// Sends a signal to COMMAND's group, and to the children of this process outside of it.
    pub(super) fn signal(&self, signal: Signal) {
        // Processes that cannot be signalled have ended, or are out of reach.
        if let Command::There(command) = self.command {
            let _ = kill_process_group(command, signal);
        }
        for child in children() {
            if !self.is_in_group(child) {
                let _ = kill_process(child, signal);
            }
        }
    }

    /// Sends a signal to COMMAND itself.
    pub(super) fn signal_command(&self, signal: Signal) {
        if let Command::There(command) = self.command {
            let _ = kill_process(command, signal);
        }
    }

    /// Returns the processes that refuse signals of this one. The test does nothing to a process,
    /// so it does no harm if another process has got the number meanwhile.
    pub(super) fn out_of_reach() -> Vec<Pid> {
        let mut found = Vec::new();
        let mut todo = children();
        let mut seen = 0;
        while let Some(pid) = todo.pop() {
            if test_kill_process(pid) == Err(Errno::PERM) {
                found.push(pid);
            }
            seen += 1;
            // A family that forks without end has no last member.
            if seen < MOST_ASKED {
                todo.extend(children_of(pid.as_raw_pid()));
            }
        }
        found
    }

    fn is_in_group(&self, child: Pid) -> bool {
        match self.command {
            Command::There(command) => rustix::process::getpgid(Some(child)) == Ok(command),
            Command::Reaped(_) => false,
        }
    }

    /// Reaps the processes that have ended, and returns which are left.
    pub(super) fn reap(&mut self) -> io::Result<Left> {
        if let Command::There(command) = self.command {
            for child in children() {
                if child != command {
                    // It has not ended yet; an error means the same.
                    let _ = waitpid(Some(child), WaitOptions::NOHANG);
                }
            }
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            if waitid(WaitId::Pid(command), look)?.is_none() {
                return Ok(Left::Command);
            }
            if children().into_iter().any(|child| child != command) {
                return Ok(Left::Others);
            }
            // This is the last moment at which the group's number is surely COMMAND's.
            let _ = kill_process_group(command, Signal::KILL);
            match waitpid(Some(command), WaitOptions::empty())? {
                Some((_, status)) => self.command = Command::Reaped(exit(status)),
                None => return Ok(Left::Command),
            }
        }
        loop {
            match (wait(WaitOptions::NOHANG), self.command) {
                (Ok(Some(_)), _) => {}
                (Err(Errno::CHILD), Command::Reaped(exit)) => {
                    return Ok(Left::Nothing(exit));
                }
                (Ok(None), _) => return Ok(Left::Others),
                (Err(error), _) => return Err(error.into()),
            }
        }
    }
}

fn exit(status: WaitStatus) -> CommandExit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => CommandExit::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => CommandExit::Signal(signal),
        (None, None) => CommandExit::Signal(Signal::KILL.as_raw()),
    }
}

/// How many processes to test at a time.
const MOST_ASKED: usize = 1000;

/// Returns the children of this process, including ended ones that are not reaped. Empty if the
/// kernel does not list them; [`check_means`] refuses such a kernel.
fn children() -> Vec<Pid> {
    children_of("self")
}

fn children_of(process: impl fmt::Display) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| {
            list.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Checks, before COMMAND starts, that the system has the means to stop it.
pub(crate) fn check_means() -> Result<(), Failure> {
    let children = format!("/proc/self/task/{}/children", std::process::id());
    for (file, what) in [
        (SELF, "COMMAND cannot be guarded without /proc, which is not mounted here"),
        (
            &children,
            "COMMAND cannot be guarded: this kernel does not list the children of a process \
             (CONFIG_PROC_CHILDREN)",
        ),
    ] {
        fs::metadata(file).map_err(Failure::system(what))?;
    }
    Ok(())
}

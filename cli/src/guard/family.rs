//! All processes that come from COMMAND: signalling and reaping them.
//!
//! This process is a child subreaper: whatever COMMAND starts becomes a child of this process when
//! its own parent ends, also after it left COMMAND's process group. A process id cannot be given
//! anew before its zombie is reaped, and only this process, on one thread, reaps; so no signal can
//! hit a stranger.

use std::fs;
use std::io;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, kill_process,
    kill_process_group, set_child_subreaper, wait, waitid, waitpid,
};

use crate::exit::CommandExit;

/// Makes this process the parent of every orphan among its descendants.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills every descendant of this process, and waits for their ends.
pub(crate) fn kill_all() {
    loop {
        for child in children() {
            // It may have ended meanwhile, which is as well.
            let _ = kill_process(child, Signal::KILL);
        }
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
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

/// Who is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Command,
    Others,
    Nobody(CommandExit),
}

impl Family {
    pub(super) fn new(command: Pid) -> Self {
        Self { command: Command::There(command) }
    }

    /// Sends a signal to COMMAND's group, and to the children of this process outside of it.
    pub(super) fn signal(&self, signal: Signal) {
        // Whoever cannot be signalled has ended, or has become another user, who is told by the
        // group's or its parent's end.
        if let Command::There(command) = self.command {
            let _ = kill_process_group(command, signal);
        }
        for child in children() {
            if !self.is_in_group(child) {
                let _ = kill_process(child, signal);
            }
        }
    }

    fn is_in_group(&self, child: Pid) -> bool {
        match self.command {
            Command::There(command) => rustix::process::getpgid(Some(child)) == Ok(command),
            Command::Reaped(_) => false,
        }
    }

    /// Reaps who has ended and tells who is left.
    pub(super) fn reap(&mut self) -> io::Result<Left> {
        if let Command::There(command) = self.command {
            for child in children() {
                if child != command {
                    // Not ended yet: an error would be no news either.
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
            // The last moment at which the group's number is surely COMMAND's.
            let _ = kill_process_group(command, Signal::KILL);
            match waitpid(Some(command), WaitOptions::empty())? {
                Some((_, status)) => self.command = Command::Reaped(exit(status)),
                None => return Ok(Left::Command),
            }
        }
        loop {
            match (wait(WaitOptions::NOHANG), self.command) {
                (Ok(Some(_)), _) => {}
                (Err(rustix::io::Errno::CHILD), Command::Reaped(exit)) => {
                    return Ok(Left::Nobody(exit));
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

/// The children of this process, ended ones that are not reaped included. Empty where the kernel
/// does not list them: then only the process group is reached.
fn children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
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

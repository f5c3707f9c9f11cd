//! The last step before COMMAND: asks the kernel to kill COMMAND with its guard, then becomes
//! COMMAND.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::stdio::dup2_stdin;
use rustix::thread::{CapabilitySet, capabilities, set_no_new_privs};

use crate::args::{ExecArgs, ReadyFd};
use crate::failure::Failure;
use crate::guard::receive_descriptor;

/// Becomes COMMAND. Returns only if COMMAND cannot be started.
///
/// The death signal is for the case that the guard itself is killed. It survives the `exec`, but
/// not a `fork`: the guard ends the processes that COMMAND starts.
pub(crate) fn exec(args: ExecArgs) -> Failure {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return Failure::System {
            what: "COMMAND cannot be tied to its guard",
            error: error.into(),
        };
    }
    if !args.allow_new_privileges
        && !may_signal_all()
        && let Err(error) = set_no_new_privs(true)
    {
        return Failure::System {
            what: "COMMAND cannot be kept from becoming another user",
            error: error.into(),
        };
    }
    // The guard may have died before this process asked for the signal.
    if getppid().map(Pid::as_raw_pid).map(i32::cast_unsigned) != Some(args.parent) {
        return Failure::Internal("the guard has gone: COMMAND is not started");
    }
    let mut command = args.command.into_iter();
    let Some(program) = command.next() else {
        return Failure::Internal("there is no COMMAND");
    };
    let _ready = match args.ready_fd.map(hand_over).transpose() {
        Ok(ready) => ready,
        Err(error) => {
            return Failure::System { what: "COMMAND cannot have the --ready-fd", error };
        }
    };
    let error = Command::new(&program).args(command).exec();
    Failure::Command { command: program, error }
}

/// Installs the descriptors that the guard sends: COMMAND's standard input, and the one by which
/// COMMAND says that it is ready.
fn hand_over(number: ReadyFd) -> io::Result<OwnedFd> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let input = receive_descriptor(&socket)?;
    let ready = receive_descriptor(&socket)?;
    dup2_stdin(&input)?;
    drop(input);
    drop(socket);
    let placed = if ready.as_raw_fd() == number.get() {
        ready
    } else {
        // This takes the lowest free number from here on.
        fcntl_dupfd_cloexec(&ready, number.get())?
    };
    if placed.as_raw_fd() != number.get() {
        return Err(io::Error::other(format!("descriptor {number} is in use already")));
    }
    fcntl_setfd(&placed, FdFlags::empty())?;
    Ok(placed)
}

/// Returns whether this process may signal processes of any user. If not, it must not start a
/// program that becomes another user (`sudo`, or any other setuid program): it could not stop that.
fn may_signal_all() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::KILL))
}

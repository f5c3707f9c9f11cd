//! The last step before COMMAND: has the kernel kill it with its guard, then becomes it.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{CapabilitySet, capabilities, set_no_new_privs};

use crate::args::ExecArgs;
use crate::failure::Failure;

/// Returns only if COMMAND cannot be started.
///
/// The death signal survives the `exec`, but not a `fork`: what COMMAND starts is the guard's to
/// end. It is for the case that the guard itself is killed.
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
    // It may have died before it was asked for.
    if getppid().map(Pid::as_raw_pid).map(i32::cast_unsigned) != Some(args.parent) {
        return Failure::Internal("the guard has gone: COMMAND is not started");
    }
    let mut command = args.command.into_iter();
    let Some(program) = command.next() else {
        return Failure::Internal("there is no COMMAND");
    };
    let error = Command::new(&program).args(command).exec();
    Failure::Command { command: program, error }
}

/// Whether this process may signal those of any user. One that may not must not start what becomes
/// another user (`sudo`, or whatever else is setuid): it could not stop that.
fn may_signal_all() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::KILL))
}

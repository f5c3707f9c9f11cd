//! Exit codes.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

/// The exit code of `zkelect`. The README and `--help` list the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Success,
    /// The code of COMMAND.
    Command(CommandExit),
    /// A signal ended `zkelect` while no COMMAND ran.
    Signal(i32),
    /// The arguments cannot be used; the same code as for arguments that do not parse.
    Usage,
    /// In time, no server granted a session, or none answered, or the nominee was not elected.
    NoServer,
    /// Something failed that does not depend on the caller.
    Internal,
    /// The operating system refused a request.
    System,
    /// The events file cannot be opened.
    EventsFile,
    /// Leadership, lock or permit was in doubt or lost, and COMMAND is to run only once; or it is
    /// not known whether a request was executed.
    InDoubt,
    /// Others held it for too long, or there was nothing to take; with the code from the command
    /// line.
    Busy(u8),
    /// COMMAND has run within its period.
    NotDue,
    /// The server refused for lack of permission.
    NoPermission,
    /// The state on the server does not fit: a missing chroot, say.
    WrongSetUp,
    /// COMMAND exists but cannot be executed.
    NotExecutable,
    /// COMMAND was not found.
    NotFound,
}

impl Exit {
    /// Returns the number. It follows `sysexits.h` and shells where they define one.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Command(CommandExit::Code(code)) | Self::Busy(code) => code,
            Self::Command(CommandExit::Signal(signal)) | Self::Signal(signal) => {
                u8::try_from(128_i32.saturating_add(signal)).unwrap_or(u8::MAX)
            }
            Self::Usage => 2,
            Self::NotDue => 3,
            Self::NoServer => 69,
            Self::Internal => 70,
            Self::System => 71,
            Self::EventsFile => 73,
            Self::InDoubt => 75,
            Self::NoPermission => 77,
            Self::WrongSetUp => 78,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// How COMMAND ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CommandExit {
    /// By itself, with this code.
    Code(u8),
    /// Killed by this signal.
    Signal(i32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_counts_from_128() {
        assert_eq!(Exit::Command(CommandExit::Signal(15)).code(), 143);
        assert_eq!(Exit::Signal(2).code(), 130);
        assert_eq!(Exit::Signal(i32::MAX).code(), 255);
    }

    #[test]
    fn the_code_of_the_command_is_passed_on() {
        for code in [0, 1, 42, 255] {
            assert_eq!(Exit::Command(CommandExit::Code(code)).code(), code);
        }
    }

    #[test]
    fn own_codes_are_distinct() {
        let own = [
            Exit::Success,
            Exit::Usage,
            Exit::NoServer,
            Exit::Internal,
            Exit::System,
            Exit::EventsFile,
            Exit::InDoubt,
            Exit::Busy(1),
            Exit::NotDue,
            Exit::NoPermission,
            Exit::WrongSetUp,
            Exit::NotExecutable,
            Exit::NotFound,
        ];
        let mut codes: Vec<u8> = own.into_iter().map(Exit::code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), own.len());
    }
}

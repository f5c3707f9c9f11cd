//! How long a contender waits.

use core::time::Duration;

use clap::Args;

use super::{CommandArgs, Time};

/// How long to wait, and the exit code if the wait was in vain.
#[derive(Debug, Args)]
pub(crate) struct PatienceArgs {
    /// Give up, with code 1, when not held within this time; with code 69 when no server was in reach.
    #[arg(short, long, value_name = "TIME", conflicts_with = "try")]
    pub(crate) wait: Option<Time>,
    /// Give up at once, with code 1, if others are in the way. It waits for a server, no longer than
    /// --session-timeout.
    #[arg(long)]
    pub(crate) r#try: bool,
    /// The exit code, in place of 1, when others were in the way for too long.
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = 1)]
    pub(crate) conflict_exit_code: u8,
}

/// How long a contender waits, and what follows if the wait was in vain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) when_busy: WhenBusy,
    /// For the contest and for a server.
    pub(crate) bound: Option<Duration>,
    /// The exit code if the wait was in vain.
    pub(crate) in_vain: u8,
}

/// The reaction if others are in the way, or nothing is there to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenBusy {
    Wait,
    GiveUp,
}

#[cfg(target_os = "linux")]
impl PatienceArgs {
    pub(crate) fn terms(&self, command: &CommandArgs) -> Terms {
        let (when_busy, bound) = match self.wait {
            Some(wait) if !wait.is_zero() => (WhenBusy::Wait, Some(*wait)),
            None if !self.r#try => (WhenBusy::Wait, None),
            _ => (WhenBusy::GiveUp, Some(command.session_timeout.0)),
        };
        Terms { when_busy, bound, in_vain: self.conflict_exit_code }
    }
}

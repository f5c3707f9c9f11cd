//! Hidden subcommands that `zkelect run` calls this program with. They are not for users.

use std::env;
use std::ffi::OsString;

use clap::{Args, Parser};

use super::ReadyFd;

/// A process between `zkelect run` and COMMAND.
#[derive(Debug, Parser)]
#[command(name = "zkelect", disable_help_subcommand = true)]
pub(crate) enum Internal {
    Guard(GuardArgs),
    Exec(ExecArgs),
}

impl Internal {
    /// Returns `None` if the first argument is a user's.
    pub(crate) fn from_env() -> Option<Self> {
        let first = env::args_os().nth(1)?;
        (first == "guard" || first == "exec").then(Self::parse)
    }
}

/// The process between `zkelect run` and COMMAND.
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    #[arg(long)]
    pub(crate) grace_ms: u64,
    /// COMMAND's standard input comes by the socket, before the first order.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// The number of a descriptor that COMMAND gets, to write lines to.
    #[arg(long)]
    pub(crate) ready_fd: Option<ReadyFd>,
    #[arg(long)]
    pub(crate) allow_new_privileges: bool,
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// The process that becomes COMMAND.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    #[arg(long)]
    pub(crate) parent: u32,
    /// Standard input is a socket. COMMAND's standard input comes by it, and the descriptor that
    /// gets this number.
    #[arg(long)]
    pub(crate) ready_fd: Option<ReadyFd>,
    #[arg(long)]
    pub(crate) allow_new_privileges: bool,
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

//! Options of `run`, `lock` and `semaphore` about COMMAND and the contender.

use core::time::Duration;
use std::ffi::OsString;

use clap::{Args, ValueEnum};

use super::{EventsTo, SessionTimeout, Time};
#[cfg(target_os = "linux")]
use crate::supervision::{Input, Privileges, Task, WhileSuspended};

#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    /// This contender's name, for others to see [default: HOST-PID].
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// The data that other contenders see of this one, in place of --id.
    #[arg(long, value_name = "TEXT")]
    pub(crate) data: Option<String>,
    /// How long after its connection was cut a machine is replaced. The server may change it.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) session_timeout: SessionTimeout,
    /// How long COMMAND may take to end after SIGTERM, within the lease deadline.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) grace: Time,
    /// The policy for COMMAND when the connection is lost: the session may go on when it is back.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = SuspensionPolicy::Stop)]
    pub(crate) while_suspended: SuspensionPolicy,
    /// Let COMMAND become another user, by sudo, say. zkelect cannot stop such a COMMAND: it may
    /// work on while another machine does.
    #[arg(long)]
    pub(crate) allow_new_privileges: bool,
    /// Append one JSON object a line for each event to FILE; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    /// The command to run.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SuspensionPolicy {
    /// It gets SIGTERM at once, and is started again if leadership, lock or permit turns out not to
    /// be lost.
    Stop,
    /// It goes on, and gets SIGTERM the grace before the lease deadline; if less than twice the
    /// grace was left when the connection was lost, half-way to it.
    UntilDeadline,
}

#[cfg(target_os = "linux")]
impl CommandArgs {
    pub(crate) fn id(&self) -> String {
        self.id.clone().unwrap_or_else(|| {
            let uname = rustix::system::uname();
            format!("{}-{}", uname.nodename().to_string_lossy(), std::process::id())
        })
    }

    /// Returns the data of the contender's znode.
    pub(crate) fn data(&self, id: String) -> String {
        self.data.clone().unwrap_or(id)
    }

    pub(crate) fn task(&self, environment: Vec<(&'static str, String)>, input: Input) -> Task<'_> {
        let grace: Duration = *self.grace;
        let privileges =
            if self.allow_new_privileges { Privileges::MayGrow } else { Privileges::Fixed };
        let while_suspended = match self.while_suspended {
            SuspensionPolicy::Stop => WhileSuspended::Stop,
            SuspensionPolicy::UntilDeadline => WhileSuspended::UntilDeadline,
        };
        Task {
            command: &self.command,
            grace,
            environment,
            hidden: &[],
            privileges,
            input,
            ready_fd: None,
            while_suspended,
        }
    }
}

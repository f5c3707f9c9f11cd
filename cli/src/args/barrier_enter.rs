//! The command line of `zkelect barrier enter`.

use core::num::NonZeroU32;

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::{AclArgs, CommandArgs, ServersArgs, Terms, Time, WhenBusy};

const ENTER_HELP: &str = "\
Examples:
  zkelect barrier enter -n 3 --servers zk1:2181,zk2:2181,zk3:2181 /app/step -- ./compute-step
  zkelect barrier enter -n 3 --servers zk1:2181 --wait 5m /app/step -- ./compute-step

COMMAND finds in its environment:
  ZKELECT_ID       the value of --id
  ZKELECT_BARRIER  PATH
  ZKELECT_ZNODE    the name of the participant's znode

A participant that comes while a round is under way waits for its end and takes part in the next one.
One that dies, or is cut off until its session is over, does not keep the others from leaving.

When the connection is lost, or the participant's znode is, COMMAND's process group gets SIGTERM, and
SIGKILL after the grace, but no later than when the session may be over. COMMAND does not outlive a
zkelect that was killed, and is not started again. There is no lease in a double barrier: the others may
have left for a moment before COMMAND is stopped.
COMMAND's standard input is zkelect's, or empty where that is a terminal.";

/// Waits until enough participants have entered, runs COMMAND, and waits until all of them are
/// done.
///
/// Runs COMMAND once. When COMMAND ends, leaves, waits until all others of the round have left or
/// are gone, and ends with COMMAND's exit code. On SIGTERM, SIGINT, SIGQUIT or SIGHUP, passes the
/// signal on to COMMAND, waits for its end, leaves without waiting for the others, and ends; a
/// second SIGINT or SIGQUIT kills COMMAND. SIGUSR1 and SIGUSR2 are passed on and end nothing.
#[derive(Debug, Args)]
#[command(after_help = ENTER_HELP, after_long_help = format!("{ENTER_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct BarrierEnterArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The double barrier's node, an absolute path; it is created if it does not exist.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// How many participants have to enter before the first one goes on: say the same number
    /// everywhere.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) participants: NonZeroU32,
    /// Give up, with code 1, when not enough participants have entered within this time; with code
    /// 69 when no server was in reach. It does not bound the wait for the others to leave.
    #[arg(short, long, value_name = "TIME")]
    wait: Option<Time>,
    /// The exit code, in place of 1, when not enough participants have entered in time.
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = 1)]
    conflict_exit_code: u8,
    #[command(flatten)]
    pub(crate) acl: AclArgs,
    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl BarrierEnterArgs {
    pub(crate) fn terms(&self) -> Terms {
        let bound = self.wait.map(|wait| *wait);
        Terms { when_busy: WhenBusy::Wait, bound, in_vain: self.conflict_exit_code }
    }
}

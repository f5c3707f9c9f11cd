//! The command line of `zkelect semaphore`.

use core::num::NonZeroU32;

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::{AclArgs, CommandArgs, LeaseArgs, PatienceArgs, ServersArgs};

const SEMAPHORE_HELP: &str = "\
Examples:
  zkelect semaphore -n 3 --servers zk1:2181,zk2:2181,zk3:2181 /jobs/convert -- ./convert
  zkelect semaphore -n 3 --servers zk1:2181 --wait 30s /jobs/convert -- ./convert

COMMAND finds in its environment:
  ZKELECT_TOKEN      a decimal number that no other permit of this semaphore has or had; several are
                     held at once, so that a system that is written to cannot refuse the smaller ones
  ZKELECT_ID         the value of --id
  ZKELECT_SEMAPHORE  PATH
  ZKELECT_ZNODE      the name of the znode, below PATH/leases, by which the permit is held

The number of permits is not kept on the server: say the same one for a PATH everywhere. The semaphore
mixes with Curator's InterProcessSemaphoreV2, and `Client::semaphore` of election-tokio.

When the permit is in doubt or lost, COMMAND's process group gets SIGTERM, and SIGKILL after the grace,
but no later than the lease deadline: the moment from which another machine may have the permit. That
holds also while zkelect itself is stopped, and COMMAND does not outlive a zkelect that was killed.
COMMAND is not started again.
COMMAND's standard input is zkelect's, or empty where that is a terminal.";

/// Waits for one of several permits and runs COMMAND while it holds the permit.
///
/// Runs COMMAND once. When COMMAND ends, releases the permit and ends with COMMAND's exit code. On
/// SIGTERM, SIGINT, SIGQUIT or SIGHUP, passes the signal on to COMMAND, waits for its end, releases
/// the permit, and ends; a second SIGINT or SIGQUIT kills COMMAND. SIGUSR1 and SIGUSR2 are passed
/// on and end nothing.
///
/// Contenders get permits in the order in which they asked for one.
#[derive(Debug, Args)]
#[command(after_help = SEMAPHORE_HELP, after_long_help = format!("{SEMAPHORE_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct SemaphoreArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The semaphore's node, an absolute path; it is created if it does not exist.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// How many permits there are.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) permits: NonZeroU32,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
    #[command(flatten)]
    pub(crate) acl: AclArgs,
    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

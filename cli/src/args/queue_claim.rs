//! The command line of `zkelect queue claim`.

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::items::{ForItem, ForItemArgs, ItemsArgs};
use super::{CommandArgs, ServersArgs, Terms, WhenBusy};

const CLAIM_HELP: &str = "\
Examples:
  zkelect queue claim --servers zk1:2181 --wait /app/jobs -- ./do-job
  while zkelect queue claim --servers zk1:2181 --wait /app/jobs -- sh -c 'tar x -C \"$ZKELECT_ITEM\"'; do :; done

COMMAND reads the item on its standard input, and finds in its environment:
  ZKELECT_ID     the value of --id
  ZKELECT_QUEUE  PATH
  ZKELECT_ITEM   the name of the item's znode, which no other item of the queue has

At least once: the item stays in its place, for no other taker to have, until COMMAND has ended with code
0. With any other code, when COMMAND is killed, when zkelect is, and when this machine fails, the item is
back in its place for the next taker, at the latest when the session has timed out.

When the connection is lost, or the claim is, COMMAND's process group gets SIGTERM, and SIGKILL after the
grace, but no later than when the session may be over. COMMAND does not outlive a zkelect that was
killed, and is not started again. There is no lease in a claim: another taker may be at the item for a
moment before COMMAND is stopped.";

/// Claims the first item of a queue, runs COMMAND with it, and deletes it once COMMAND has
/// succeeded.
///
/// Runs COMMAND once. When COMMAND ends with code 0, deletes the item; with another code, leaves
/// the item in the queue. Ends with COMMAND's exit code. On SIGTERM, SIGINT, SIGQUIT or SIGHUP,
/// passes the signal on to COMMAND, waits for its end, gives the item back, and ends; a second
/// SIGINT or SIGQUIT kills COMMAND. SIGUSR1 and SIGUSR2 are passed on and end nothing.
#[derive(Debug, Args)]
#[command(after_help = CLAIM_HELP, after_long_help = format!("{CLAIM_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct QueueClaimArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The queue's node, an absolute path.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    #[command(flatten)]
    for_item: ForItemArgs,
    /// The exit code, in place of 1, when there was no item.
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = 1)]
    conflict_exit_code: u8,
    #[command(flatten)]
    pub(crate) items: ItemsArgs,
    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl QueueClaimArgs {
    pub(crate) fn terms(&self) -> Terms {
        let (when_busy, bound) = match self.for_item.for_item() {
            ForItem::Wait { bound } => (WhenBusy::Wait, bound),
            ForItem::GiveUp => (WhenBusy::GiveUp, Some(self.command.session_timeout.0)),
        };
        Terms { when_busy, bound, in_vain: self.conflict_exit_code }
    }
}

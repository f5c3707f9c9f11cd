//! The command line of `zkelect queue`.

use std::ffi::OsString;

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::items::{ForItemArgs, ItemsArgs};
use super::{NodeArgs, QueueFormatName};

const QUEUE_HELP: &str = "\
Examples:
  zkelect queue put --servers zk1:2181,zk2:2181 /app/jobs 'wash the car'
  zkelect queue take --servers zk1:2181,zk2:2181 --wait /app/jobs
  zkelect queue claim --servers zk1:2181,zk2:2181 --wait /app/jobs -- ./do-job
  zkelect queue len --servers zk1:2181 /app/jobs

`take` is at most once: the item is deleted before it is printed. `claim` is at least once: the item stays
until COMMAND has ended with code 0.

`zkelect queue help ACTION` has more of each.";

/// Puts items into a queue, and takes them out, each once.
///
/// Takes items in the order in which they were put, or, with priorities, the lowest number first.
#[derive(Debug, Args)]
#[command(after_help = QUEUE_HELP, after_long_help = format!("{QUEUE_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct QueueArgs {
    #[command(subcommand)]
    pub(crate) action: QueueAction,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum QueueAction {
    Put(QueuePutArgs),
    Take(QueueTakeArgs),
    #[cfg(target_os = "linux")]
    Claim(super::QueueClaimArgs),
    Peek(QueuePeekArgs),
    Len(QueueLenArgs),
}

const PUT_HELP: &str = "\
Examples:
  zkelect queue put --servers zk1:2181 /app/jobs 'wash the car'
  tar c src | zkelect queue put --servers zk1:2181 /app/builds
  zkelect queue put --servers zk1:2181 --priority 7 /app/urgent now

Where the connection is lost before the reply, it ends with code 75: the item may be in the queue, and a
put that is repeated may put it twice.";

/// Puts an item at the end of a queue, and prints the name of its znode.
#[derive(Debug, Args)]
#[command(after_help = PUT_HELP, after_long_help = format!("{PUT_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct QueuePutArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// The item. Without it, standard input is read to its end. At most a megabyte, by the servers'
    /// default.
    #[arg(value_name = "DATA", allow_hyphen_values = true)]
    pub(crate) data: Option<OsString>,
    /// The priority: lower numbers are taken first. Implies --format guide-priority, unless another
    /// one is given.
    #[arg(long, value_name = "N")]
    pub(crate) priority: Option<u16>,
    /// The format of items' names: all users of a queue need the same one [default: guide].
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<QueueFormatName>,
    /// Print a JSON object with `path` and `name`.
    #[arg(long)]
    pub(crate) json: bool,
}

const TAKE_HELP: &str = "\
Examples:
  zkelect queue take --servers zk1:2181 /app/jobs || echo 'nothing to do'
  zkelect queue take --servers zk1:2181 --wait=30s /app/jobs >job
  while zkelect queue take --servers zk1:2181 --wait --json /app/jobs >>jobs; do :; done

At most once: the item is deleted before it is printed, so one whose taker fails after that is lost; for
at least once, see `zkelect queue claim`. A signal that comes while the item is being deleted does not
lose it: it is printed all the same.
Code 75: the reply to the deletion was lost, and the item, which is printed, was taken by this zkelect or
by another taker.";

/// Takes the first item of a queue and prints it as it was put.
#[derive(Debug, Args)]
#[command(after_help = TAKE_HELP, after_long_help = format!("{TAKE_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct QueueTakeArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    #[command(flatten)]
    pub(crate) for_item: ForItemArgs,
    #[command(flatten)]
    pub(crate) items: ItemsArgs,
    /// Print the item as a line of JSON: `name`, `priority`, and `data`, or `data_hex` if it is no
    /// text.
    #[arg(long)]
    pub(crate) json: bool,
}

const PEEK_HELP: &str = "\
Examples:
  zkelect queue peek --servers zk1:2181 /app/jobs
  zkelect queue peek --servers zk1:2181 --json /app/jobs | jq -r .name";

/// Prints the first item of a queue that is not claimed, and leaves it there.
///
/// Ends with code 1 if there is none.
#[derive(Debug, Args)]
#[command(after_help = PEEK_HELP, after_long_help = format!("{PEEK_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct QueuePeekArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    #[command(flatten)]
    pub(crate) items: ItemsArgs,
    /// Print the item as a line of JSON: `name`, `priority`, and `data`, or `data_hex` if it is no
    /// text.
    #[arg(long)]
    pub(crate) json: bool,
}

const LEN_HELP: &str = "\
Examples:
  zkelect queue len --servers zk1:2181 /app/jobs";

/// Prints the number of items in a queue, claimed ones included.
///
/// Prints 0 if the node does not exist.
#[derive(Debug, Args)]
#[command(after_help = LEN_HELP, after_long_help = format!("{LEN_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct QueueLenArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    #[command(flatten)]
    pub(crate) items: ItemsArgs,
    /// Print a JSON object with `path` and `length`.
    #[arg(long)]
    pub(crate) json: bool,
}

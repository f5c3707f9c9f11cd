//! The command lines of `zkelect end`, `reopen` and `delete`.

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::{ElectionArgs, Time};

const END_HELP: &str = "\
Examples:
  zkelect end --servers zk1:2181,zk2:2181 --election /reports/leader
  zkelect reopen --servers zk1:2181,zk2:2181 --election /reports/leader

A leader that works on is not waited for: ask it by `zkelect step-down` first, or have it stopped. Each
`zkelect run` there stops its COMMAND and ends with code 78, also those that are started later. Programs with
Curator's LeaderLatch in the same election do not know the sign, and stand again.";

/// Ends an election for all candidates: none leads any more, and none can stand.
///
/// Removes all candidates, and leaves a sign, the znode PATH/ended, until `zkelect reopen`. It may
/// be repeated.
#[derive(Debug, Args)]
#[command(after_help = END_HELP, after_long_help = format!("{END_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct EndArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// Print a JSON object: `outcome`, and the number of `candidates` that were removed.
    #[arg(long)]
    pub(crate) json: bool,
}

const REOPEN_HELP: &str = "\
Examples:
  zkelect reopen --servers zk1:2181,zk2:2181 --election /reports/leader

Each `zkelect run` that the end has stopped has to be started again.";

/// Lets candidates stand again in an election that was ended. It leaves an open election as it is.
#[derive(Debug, Args)]
#[command(after_help = REOPEN_HELP, after_long_help = format!("{REOPEN_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct ReopenArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// Print a JSON object: `outcome`, which is `reopened` or `was_open`.
    #[arg(long)]
    pub(crate) json: bool,
}

const DELETE_HELP: &str = "\
Examples:
  zkelect delete --servers zk1:2181,zk2:2181 --election /reports/leader

For an election that is not needed any more. Nothing says afterwards that there was one: a process that
stands for election later, or has not heard of the end, holds a new one. To keep all from that, leave it
ended, by `zkelect end`.";

/// Ends an election and deletes its znodes: the candidates, the election node, and the znodes
/// beside it.
#[derive(Debug, Args)]
#[command(after_help = DELETE_HELP, after_long_help = format!("{DELETE_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// Delete the election node once no candidate has come for this time. Candidates that are about
    /// to stand hear of the end until then.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) quiet: Time,
    /// Print a JSON object: `outcome`, and the number of `candidates` that were removed.
    #[arg(long)]
    pub(crate) json: bool,
}

//! The command line of `zkelect hand-over`.

use clap::Args;
use election_tokio::Token;

use super::exit_codes::EXIT_CODES;
use super::{AskerArgs, ElectionArgs, Time};

const HAND_OVER_HELP: &str = "\
Examples:
  zkelect list      --servers zk1:2181 --election /reports/leader
  zkelect hand-over --servers zk1:2181 --election /reports/leader host-c-1234 --reason 'closer to the data'
  zkelect hand-over --servers zk1:2181 --election /reports/leader --within 5m --token 8589934597

The candidates of an election stand in a queue, and the first one leads. So those between the leader and
the one that you name are asked to go to the end of the queue, then the leader ends its work and goes
there, too: never do two lead. All of them are asked, and none is made to: a process under `zkelect run`
consents, unless it has --ignore-step-down. The leader wakes those between, one after the other; processes
of earlier releases hear of it when they look, once a minute, which is why this may take so long.
To have the leader go, whichever is next: `zkelect step-down`. To remove one that does not answer: `zkelect
evict`.";

/// Hands the leadership to a candidate of your choice, if the leader and those in between consent,
/// and waits for it.
///
/// Ends with code 0 once the candidate leads, also if it led before. Ends with code 1 if there is
/// no such candidate, or it has gone meanwhile, or others are still ahead of it after the time: the
/// leader leads on then.
#[derive(Debug, Args)]
#[command(
    after_help = HAND_OVER_HELP,
    after_long_help = format!("{HAND_OVER_HELP}\n\n{EXIT_CODES}")
)]
pub(crate) struct HandOverArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// The candidate that is to lead, by its ID or its ZNODE as `zkelect list` shows them.
    #[arg(value_name = "ID", required_unless_present = "token")]
    pub(crate) id: Option<String>,
    /// The candidate that is to lead, by its token.
    #[arg(long, value_name = "TOKEN", conflicts_with = "id")]
    pub(crate) token: Option<Token>,
    /// The time that the others get to make way, and the bound on waiting for it.
    #[arg(long, value_name = "TIME", default_value = "2m")]
    pub(crate) within: Time,
    #[command(flatten)]
    pub(crate) asker: AskerArgs,
    /// Print a JSON object: `outcome`, the `candidate`, and if it does not lead then, up to ten
    /// that are `ahead` of it.
    #[arg(long)]
    pub(crate) json: bool,
}

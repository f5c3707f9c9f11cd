//! The command line of `zkelect evict`.

use clap::Args;
use election_tokio::Token;

use super::ElectionArgs;
use super::exit_codes::EXIT_CODES;

const EVICT_HELP: &str = "\
Examples:
  zkelect evict --servers zk1:2181,zk2:2181 --election /reports/leader
  zkelect evict --servers zk1:2181 --election /reports/leader host-a-4711
  zkelect evict --servers zk1:2181 --election /reports/leader --token 8589934597

The candidate that is removed is the one that was seen, and no other that has taken its place since: it is
known by its token, which is never given twice. Its process stands again, behind the others, unless it was
written not to; to keep it away, end it. Ask first, by `zkelect step-down`: a leader that is evicted works on
for a moment while another one leads already, and only systems that check tokens are safe from that.";

/// Removes a candidate, by default the leader's, without asking it.
///
/// For a leader that hangs, and for a znode that blocks an election (`zkelect list` shows it). Ends
/// with code 1 if there is no such candidate, or if it went before.
#[derive(Debug, Args)]
#[command(after_help = EVICT_HELP, after_long_help = format!("{EVICT_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct EvictArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// The candidate, by its ID or its ZNODE as `zkelect list` shows them [default: the leader's].
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The candidate, by its token.
    #[arg(long, value_name = "TOKEN", conflicts_with = "id")]
    pub(crate) token: Option<Token>,
    /// Print a JSON object: `outcome`, and the `candidate`.
    #[arg(long)]
    pub(crate) json: bool,
}

//! The command line of `zkelect list`.

use clap::Args;

use super::ServersArgs;
use super::exit_codes::EXIT_CODES;

const LIST_HELP: &str = "\
Examples:
  zkelect list --servers zk1:2181,zk2:2181 --election /reports/leader
  zkelect list --servers zk1:2181/app --election /leader --json | jq -r '.[0].id'";

/// Lists the candidates, the one that leads first.
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP, after_long_help = format!("{LIST_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The election node, an absolute path.
    #[arg(long, value_name = "PATH")]
    pub(crate) election: String,
    /// Print a JSON array instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to try to reach a server, and then to wait for its answers.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: humantime::Duration,
}

//! The command line of `zkelect cache`.

use clap::Args;

use super::ServersArgs;
use super::exit_codes::EXIT_CODES;

const CACHE_HELP: &str = "\
Examples:
  zkelect cache --servers zk1:2181,zk2:2181 /config
  zkelect cache --servers zk1:2181 --depth 1 --no-data /services
  zkelect cache --servers zk1:2181 --json /config | jq -c 'select(.event == \"changed\")'

A line for each: `created`, at first for each znode that is there; `changed`, of which the data was written;
`deleted`; `unreadable`, which may not be read, or is too long; and `current`, when what was printed is the
whole tree as it was after that transaction. Nothing is lost while no server is in reach: the changes are
printed when one is. Several writes of a znode may be one line; where standard output is not read, they are.";

/// Prints the znodes at and below PATH with their data, and then each change, until a signal.
///
/// Ends with code 0 on SIGTERM, SIGINT, SIGQUIT or SIGHUP, or when standard output is closed. Lost
/// connections and expired sessions do not end it. The tree is kept in memory meanwhile.
#[derive(Debug, Args)]
#[command(after_help = CACHE_HELP, after_long_help = format!("{CACHE_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct CacheArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The root of the tree, an absolute path; it need not exist.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// Leave out znodes that are more levels than this below PATH; 0: PATH alone.
    #[arg(long, value_name = "LEVELS")]
    pub(crate) depth: Option<usize>,
    /// Leave out the data, and read none.
    #[arg(long)]
    pub(crate) no_data: bool,
    /// Print a JSON object a line: `at`, `event`, `path`, and of a znode `zxid`, `version`, `session` if it is
    /// ephemeral, and `data`, or `data_hex` if it is no text; `current` has `zxid` alone.
    #[arg(long)]
    pub(crate) json: bool,
}

//! The command line of `zkelect verify`.

use clap::Args;
use election_tokio::Token;

use super::ElectionArgs;
use super::exit_codes::EXIT_CODES;

const VERIFY_HELP: &str = "\
Examples:
  zkelect verify --servers zk1:2181,zk2:2181 --election /reports/leader 8589934597
  zkelect verify --servers zk1:2181 --election /leader \"$ZKELECT_TOKEN\" && ./publish

The answer was true at a moment between the question and the answer, and may be over since. A system that
remembers the greatest token it was given, and refuses smaller ones, needs not ask and is safe.";

/// Tells whether the leader with a token still leads.
///
/// A token is what `zkelect run` gives its COMMAND as `ZKELECT_TOKEN`: a number that grows with
/// every leader. Ends with code 0 if it leads, with code 1 if it does not.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP, after_long_help = format!("{VERIFY_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// The token, a decimal number, or a hexadecimal one after 0x.
    #[arg(value_name = "TOKEN")]
    pub(crate) token: Token,
    /// Print a JSON object: `verdict`, which is `leads`, `over` or `not_yet`, `token`, and `leader`, the
    /// token of the present leader.
    #[arg(long)]
    pub(crate) json: bool,
}

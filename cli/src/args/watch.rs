//! The command line of `zkelect watch`.

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::{OneElectionArgs, Time};

const WATCH_HELP: &str = "\
Examples:
  zkelect watch --servers zk1:2181,zk2:2181 --election /reports/leader
  zkelect watch --servers zk1:2181 --election /reports/leader --json | jq -r 'select(.event == \"leader\").id'

On a terminal: a table that is kept up to date. Elsewhere, and with --json: a JSON object a line, for each
change:
  leader        this candidate leads: `candidate`, `id`, `token`, `session`, `data`, `since`, `ready`, `says`
  vacant        no candidate stands
  hidden        a candidate leads that may not be read
  candidates    the number of `candidates` is another one, or the election was `ended`
  disconnected  no server is in reach: the last lines may be out of date
  connected     what follows is up to date again
A leader is ready once it has acknowledged, as programs do by `Leadership::acknowledge`, and `zkelect run`
with --ready-fd; other libraries never do.";

/// Shows the leader of an election, and every change of it, until a signal.
///
/// It only looks, and does not stand. Lost connections and expired sessions do not end it; Ctrl-C
/// does, with code 0.
#[derive(Debug, Args)]
#[command(after_help = WATCH_HELP, after_long_help = format!("{WATCH_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) one: OneElectionArgs,
    /// Print JSON lines on a terminal, too.
    #[arg(long)]
    pub(crate) json: bool,
    /// How often to count the waiting candidates, which costs a list of them. `watch` prints a
    /// change of the leader at once, and a change costs nothing until it happens. 0s: count only
    /// when the leader changes.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) interval: Time,
}

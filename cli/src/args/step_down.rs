//! The command line of `zkelect step-down`.

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::{AskerArgs, ElectionArgs, Time};

const STEP_DOWN_HELP: &str = "\
Examples:
  zkelect step-down --servers zk1:2181,zk2:2181 --election /reports/leader --reason 'new disks'
  zkelect step-down --servers zk1:2181 --election /leader --within 2m || zkelect evict ...

The request is a note beside the election, in the znode PATH.step-down. A leader that heeds it ends its work
first, gives the leadership up, and stands again behind the others; where it stands alone it leads again,
with another token. A leader that was not written for that goes on: see `zkelect evict`.";

/// Asks the leader to let another nominee lead, and waits until it has done so.
///
/// Ends with code 0 once the leader that was asked leads no more, with code 1 if it still leads
/// after the time, or if there is no leader.
#[derive(Debug, Args)]
#[command(after_help = STEP_DOWN_HELP, after_long_help = format!("{STEP_DOWN_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct StepDownArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// The time that the leader gets to step down, and the bound on waiting for it.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) within: Time,
    #[command(flatten)]
    pub(crate) asker: AskerArgs,
    /// Print a JSON object: `outcome`, `asked` with the leader that was asked, and `leader` with
    /// the present one.
    #[arg(long)]
    pub(crate) json: bool,
}

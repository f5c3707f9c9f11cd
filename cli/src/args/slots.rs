//! The command line of `zkelect slots`.

use clap::Args;

use super::NodeArgs;
#[cfg(target_os = "linux")]
use super::SlotsRunArgs;
use super::exit_codes::EXIT_CODES;

const SLOTS_HELP: &str = "\
Examples:
  zkelect slots run --servers zk1:2181,zk2:2181 --count 40 --name host-7 /app/shards -- ./serve
  zkelect slots list --servers zk1:2181 /app/shards
  zkelect slots drain --servers zk1:2181 /app/shards host-7

`zkelect slots help ACTION` has more of each.";

/// Shares slots out among members, lists them, and drains a member.
///
/// A slot is a shard or a partition that one member at a time works on. Each is a lock below PATH.
#[derive(Debug, Args)]
#[command(after_help = SLOTS_HELP, after_long_help = format!("{SLOTS_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct SlotsArgs {
    #[command(subcommand)]
    pub(crate) action: SlotsAction,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum SlotsAction {
    #[cfg(target_os = "linux")]
    Run(SlotsRunArgs),
    List(SlotsListArgs),
    Drain(SlotsMemberArgs),
    Admit(SlotsMemberArgs),
}

const LIST_HELP: &str = "\
Examples:
  zkelect slots list --servers zk1:2181 /app/shards
  zkelect slots list --servers zk1:2181 --json /app/shards | jq -r '.[] | select(.holder == null).slot'";

/// Lists the slots of the plan: the member that is to hold each, and the one that does.
///
/// Slots that change hands meanwhile may be shown as before or after.
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP, after_long_help = format!("{LIST_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct SlotsListArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Print a JSON array instead of a table: `slot`, `planned`, `holder`, `token`, `session` and
    /// `waiting`.
    #[arg(long)]
    pub(crate) json: bool,
}

const MEMBER_HELP: &str = "\
Examples:
  zkelect slots drain --servers zk1:2181 /app/shards host-7
  zkelect slots admit --servers zk1:2181 /app/shards host-7";

/// Drains a member, so that it gives up its slots and gets none; or, by `admit`, ends that.
#[derive(Debug, Args)]
#[command(after_help = MEMBER_HELP, after_long_help = format!("{MEMBER_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct SlotsMemberArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// The member's name.
    #[arg(value_name = "MEMBER")]
    pub(crate) member: String,
}

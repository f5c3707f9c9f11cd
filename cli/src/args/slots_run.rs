//! The command line of `zkelect slots run`.

use std::ffi::OsString;

use clap::Args;

use super::command::SuspensionPolicy;
use super::exit_codes::EXIT_CODES;
use super::{AclArgs, EventsTo, LeaseArgs, ServersArgs, SessionTimeout, Time};

const RUN_HELP: &str = "\
Examples:
  zkelect slots run --servers zk1:2181,zk2:2181 --count 40 --name host-7 /app/shards -- ./serve
  zkelect slots run --servers zk1:2181 --slot eu --slot us --spread-after 2min /app/regions -- ./serve
  zkelect slots run --servers zk1:2181 --count 4 --apart 0,1 --apart 2,3 /app/copies -- ./serve

COMMAND finds in its environment:
  ZKELECT_SLOT   the slot
  ZKELECT_TOKEN  the fencing token of its holding, a decimal number that is greater than that of every
                 earlier holder: hand it to the systems that COMMAND writes to
  ZKELECT_ID     the value of --name
  ZKELECT_SLOTS  PATH
  ZKELECT_ZNODE  the name of the znode by which the slot is held

When a slot is to be given up, or is in doubt or lost, its COMMAND's process group gets SIGTERM, and
SIGKILL after the grace, but no later than the lease deadline. That holds also while zkelect itself is
stopped, and no COMMAND outlives a zkelect that was killed. A COMMAND that ends by itself is started
again a second later, by the member that has the slot then. Its standard input is empty.";

/// Runs COMMAND once for each slot that this member holds, until SIGTERM, SIGINT, SIGQUIT or SIGHUP.
///
/// Passes the signal on to each COMMAND, waits for its end, releases the slots, and ends. A second SIGINT
/// or SIGQUIT kills them.
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP, after_long_help = format!("{RUN_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct SlotsRunArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The node of the slots, an absolute path; it is created if it does not exist.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// The number of slots, which are named 0, 1 and so on.
    #[arg(long, value_name = "N", required_unless_present = "slots")]
    pub(crate) count: Option<u32>,
    /// The name of a slot, in place of --count; give it for each.
    #[arg(long = "slot", value_name = "NAME", conflicts_with = "count")]
    pub(crate) slots: Vec<String>,
    /// Slots that no member is to hold two of, separated by commas, such as the copies of a shard; give
    /// it for each group. Where a group has more slots than there are members, each holds as few as can be.
    #[arg(long, value_name = "SLOT,SLOT,...")]
    pub(crate) apart: Vec<String>,
    /// This member's name, the same after each restart [default: HOST].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// This member's part: one of weight 2 holds twice as many slots as one of weight 1.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) weight: u32,
    /// How long after a member has gone others get its slots. One of the same name that comes back
    /// within it has them still.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) spread_after: Time,
    /// How long after its connection was cut a machine is replaced. The server may change it.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) session_timeout: SessionTimeout,
    /// How long COMMAND may take to end after SIGTERM, within the lease deadline.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) grace: Time,
    /// The policy for COMMAND when the connection is lost: the session may go on when it is back.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = SuspensionPolicy::Stop)]
    pub(crate) while_suspended: SuspensionPolicy,
    /// Append one JSON object a line for each event to FILE; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    #[command(flatten)]
    pub(crate) acl: AclArgs,
    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
    /// The command to run.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl SlotsRunArgs {
    /// Returns the member's name.
    pub(crate) fn name(&self) -> String {
        let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        self.name.clone().unwrap_or_else(host)
    }
}

//! The command line of `zkelect barrier`.

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::{NodeArgs, ServersArgs, Time};

const BARRIER_HELP: &str = "\
Examples:
  zkelect barrier set --servers zk1:2181,zk2:2181 /app/migration
  zkelect barrier wait --servers zk1:2181,zk2:2181 /app/migration && ./serve
  zkelect barrier lift --servers zk1:2181,zk2:2181 /app/migration
  zkelect barrier enter -n 3 --servers zk1:2181,zk2:2181 /app/step -- ./compute-step

`zkelect barrier help ACTION` has more of each.";

/// Holds processes back until something is ready; or lets a number of them begin and end together.
///
/// A barrier is set while the znode at PATH exists, as with Curator's `DistributedBarrier` and
/// kazoo's `Barrier`. A double barrier is another thing, at a PATH of its own: see `barrier enter`.
#[derive(Debug, Args)]
#[command(after_help = BARRIER_HELP, after_long_help = format!("{BARRIER_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct BarrierArgs {
    #[command(subcommand)]
    pub(crate) action: BarrierAction,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum BarrierAction {
    Set(BarrierSetArgs),
    Lift(BarrierLiftArgs),
    Wait(BarrierWaitArgs),
    #[cfg(target_os = "linux")]
    Enter(super::BarrierEnterArgs),
}

const SET_HELP: &str = "\
Examples:
  zkelect barrier set --servers zk1:2181 /app/migration";

/// Sets a barrier: processes that come to it wait. It leaves a barrier that is set as it is.
///
/// The barrier stays until it is lifted, even if this machine fails.
#[derive(Debug, Args)]
#[command(after_help = SET_HELP, after_long_help = format!("{SET_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct BarrierSetArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

const LIFT_HELP: &str = "\
Examples:
  zkelect barrier lift --servers zk1:2181 /app/migration";

/// Lifts a barrier: all processes that wait go on. It leaves a barrier that is not set as it is.
#[derive(Debug, Args)]
#[command(after_help = LIFT_HELP, after_long_help = format!("{LIFT_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct BarrierLiftArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

const WAIT_HELP: &str = "\
Examples:
  zkelect barrier wait --servers zk1:2181 /app/migration && ./serve
  zkelect barrier wait --servers zk1:2181 --wait 30s /app/migration || echo 'it is set still'";

/// Waits until a barrier is not set. A barrier that was never set holds nothing back.
///
/// Lost connections and expired sessions do not end the wait. Nothing is left on the server.
#[derive(Debug, Args)]
#[command(after_help = WAIT_HELP, after_long_help = format!("{WAIT_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct BarrierWaitArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The barrier's node, an absolute path.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// Give up, with code 1, when the barrier is still set after this time; with code 69 when no
    /// server was in reach. 0s asks whether it is set, and waits for a server, no longer than 10s.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) wait: Option<Time>,
}

//! The command line.

mod acl;
mod asker;
mod barrier;
#[cfg(target_os = "linux")]
mod barrier_enter;
mod cache;
mod check;
mod command;
mod counter;
mod demo;
mod election;
mod ending;
mod evict;
mod exit_codes;
mod format;
mod group_format;
mod hand_over;
#[cfg(target_os = "linux")]
mod internal;
mod items;
mod lease;
mod list;
mod lock;
mod members;
mod node;
mod packaging;
mod patience;
mod queue;
#[cfg(target_os = "linux")]
mod queue_claim;
mod queue_format;
mod revoke;
mod run;
mod semaphore;
mod server;
mod servers;
mod slots;
#[cfg(target_os = "linux")]
mod slots_run;
mod step_down;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;
mod time;
mod tls;
mod values;
mod verify;
mod watch;
mod wellness;

use std::path::PathBuf;

use clap::Parser;

pub(crate) use acl::AclArgs;
pub(crate) use asker::AskerArgs;
pub(crate) use barrier::{BarrierAction, BarrierArgs, BarrierWaitArgs};
#[cfg(target_os = "linux")]
pub(crate) use barrier_enter::BarrierEnterArgs;
pub(crate) use cache::CacheArgs;
pub(crate) use check::CheckArgs;
pub(crate) use command::{CommandArgs, SuspensionPolicy};
pub(crate) use counter::{CounterAction, CounterArgs, CounterSetArgs, OneCounterArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use election::{ElectionArgs, OneElectionArgs};
pub(crate) use ending::{DeleteArgs, EndArgs, ReopenArgs};
pub(crate) use evict::EvictArgs;
pub(crate) use format::{ElectionFormat, FormatName, Kind, LockFormat};
pub(crate) use hand_over::HandOverArgs;
#[cfg(target_os = "linux")]
pub(crate) use internal::{ExecArgs, GuardArgs, Internal};
pub(crate) use items::ForItem;
pub(crate) use lease::LeaseArgs;
pub(crate) use list::{ListArgs, Reading};
pub(crate) use lock::{Again, LockArgs};
pub(crate) use members::{
    MembersAction, MembersArgs, MembersJoinArgs, MembersListArgs, MembersWatchArgs,
};
pub(crate) use node::NodeArgs;
pub(crate) use packaging::{CompletionsArgs, ManArgs};
pub(crate) use patience::{PatienceArgs, Terms, WhenBusy};
pub(crate) use queue::{
    QueueAction, QueueArgs, QueueLenArgs, QueuePeekArgs, QueuePutArgs, QueueTakeArgs,
};
#[cfg(target_os = "linux")]
pub(crate) use queue_claim::QueueClaimArgs;
pub(crate) use queue_format::QueueFormatName;
pub(crate) use revoke::{AfterTime, RevokeArgs};
pub(crate) use run::RunArgs;
pub(crate) use semaphore::SemaphoreArgs;
pub(crate) use server::ServerArgs;
pub(crate) use servers::ServersArgs;
pub(crate) use slots::{SlotsAction, SlotsArgs, SlotsListArgs, SlotsMemberArgs};
#[cfg(target_os = "linux")]
pub(crate) use slots_run::SlotsRunArgs;
pub(crate) use step_down::StepDownArgs;
pub(crate) use time::Time;
pub(crate) use tls::TlsArgs;
pub(crate) use values::{EventsTo, ListenAddress, ReadyFd, Servers, SessionTimeout, TickTime};
pub(crate) use verify::VerifyArgs;
pub(crate) use watch::WatchArgs;
pub(crate) use wellness::WellnessArgs;

use exit_codes::{EXIT_CODES, SERVER_EXIT_CODES};

const TRY_HELP: &str = "\
To try it on one machine, without an installed ZooKeeper:
  zkelect demo
  zkelect server &
  zkelect run --servers 127.0.0.1:2181 --election /leader -- sleep 10 &
  zkelect list --servers 127.0.0.1:2181 --election /leader

`zkelect help SUBCOMMAND` has examples of each.";

/// Lets one of several machines act: leader election and locks on Apache ZooKeeper.
///
/// Every machine runs `zkelect run` with the same servers and the same election. One of them is
/// elected and starts its COMMAND. When that machine ends, fails or loses its connection, its
/// COMMAND is stopped and the next one takes over. `zkelect lock` runs COMMAND once, while it holds
/// a lock; `zkelect semaphore` on a limited number of machines at a time; `zkelect barrier` when
/// enough machines have come; and `zkelect queue` with one item after another.
#[derive(Debug, Parser)]
#[command(
    name = "zkelect",
    version,
    after_help = TRY_HELP,
    after_long_help = format!("{TRY_HELP}\n\n{EXIT_CODES}\n\n{SERVER_EXIT_CODES}"),
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// Write traces to standard error; twice for more. Without it, `RUST_LOG` selects the traces.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Read options from FILE, in TOML, that neither the command line nor the environment gives.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) subcommand: Subcommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    #[cfg(target_os = "linux")]
    Run(RunArgs),
    #[cfg(target_os = "linux")]
    Lock(LockArgs),
    #[cfg(target_os = "linux")]
    Semaphore(SemaphoreArgs),
    Barrier(BarrierArgs),
    Queue(QueueArgs),
    Counter(CounterArgs),
    Members(MembersArgs),
    Slots(SlotsArgs),
    Cache(CacheArgs),
    List(ListArgs),
    Watch(WatchArgs),
    Verify(VerifyArgs),
    StepDown(StepDownArgs),
    HandOver(HandOverArgs),
    Evict(EvictArgs),
    Revoke(RevokeArgs),
    End(EndArgs),
    Reopen(ReopenArgs),
    Delete(DeleteArgs),
    Check(CheckArgs),
    Demo(DemoArgs),
    Server(ServerArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

//! The command line of `zkelect lock`.

use clap::{Args, ValueEnum};

use super::exit_codes::EXIT_CODES;
use super::{AclArgs, CommandArgs, LeaseArgs, LockFormat, PatienceArgs, ServersArgs, Time};

const LOCK_HELP: &str = "\
Examples:
  zkelect lock --servers zk1:2181,zk2:2181,zk3:2181 /locks/backup -- ./backup
  zkelect lock --servers zk1:2181/app --try /locks/backup -- ./backup || echo 'it is at work'
  zkelect lock --servers zk1:2181 --wait 30s --shared /locks/files -- ./read-files
  zkelect lock --servers zk1:2181 /accounts/7 /accounts/9 -- ./transfer
  zkelect lock --servers zk1:2181 --once-per 20h --try --quiet /jobs/nightly -- ./nightly.sh

COMMAND finds in its environment:
  ZKELECT_TOKEN  the fencing token, a decimal number that is greater than that of every earlier
                 holder that did not share the lock: hand it to the systems that COMMAND writes to,
                 and let them refuse smaller ones
  ZKELECT_ID     the value of --id
  ZKELECT_LOCK   PATH
  ZKELECT_ZNODE  the name of the znode by which the lock is held
Of several PATHs, these have a line for each lock, but for ZKELECT_ID, in the order of the paths.

What keeps each other out: all `zkelect lock` of one PATH in one format, with and without --shared.
With another --format they do not see each other: one that finds another there ends, with code 78.
Choose one for each PATH. The default, curator-read-write, is that of election-tokio's locks, and
mixes with Curator's InterProcessReadWriteLock; for Curator's InterProcessMutex take curator-lock
everywhere.

When the lock is in doubt or lost, COMMAND's process group gets SIGTERM, and SIGKILL after the grace,
but no later than the lease deadline: the moment from which another machine may hold the lock. That
holds also while zkelect itself is stopped, and COMMAND does not outlive a zkelect that was killed.
COMMAND is not started again: what the lock protected may have changed.
COMMAND's standard input is zkelect's, or empty where that is a terminal.

With --once-per, PATH.once keeps the record of the last run: when it began by the servers' clock, which
contender ran it, and how it ended. Delete it to have COMMAND run before it is due.";

/// Waits for a lock and runs COMMAND while it holds the lock: flock(1) for several machines.
///
/// Runs COMMAND once. When COMMAND ends, releases the lock and ends with COMMAND's exit code. On
/// SIGTERM, SIGINT, SIGQUIT or SIGHUP, passes the signal on to COMMAND, waits for its end, releases
/// the lock, and ends; a second SIGINT or SIGQUIT kills COMMAND. SIGUSR1 and SIGUSR2 are passed on
/// and end nothing.
///
/// Contenders get the lock in the order in which they asked for it. A holder that asks again waits
/// for itself.
#[derive(Debug, Args)]
#[command(after_help = LOCK_HELP, after_long_help = format!("{LOCK_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct LockArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The lock's node, an absolute path; it is created if it does not exist. Of several locks, all are held at once:
    /// every contender takes them in the order of their paths, so that no two wait for each other.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
    /// Hold the lock together with others that share it. Without it, hold it alone.
    #[arg(short, long)]
    pub(crate) shared: bool,
    #[command(flatten)]
    pub(crate) once: OnceArgs,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
    /// Print nothing but warnings and errors, and end with code 0 in place of 1 and 3 where COMMAND is not
    /// run because others hold the lock or it is not due: cron(8) sends what is printed by mail.
    #[arg(short, long, conflicts_with = "conflict_exit_code")]
    pub(crate) quiet: bool,
    /// The format of contenders' znodes: all contenders for a lock need the same one.
    #[arg(long, value_name = "NAME", default_value_t = LockFormat::DEFAULT)]
    pub(crate) format: LockFormat,
    /// Release the lock, with code 75, when another client asks for it: COMMAND is stopped as if it
    /// were lost.
    #[arg(long)]
    pub(crate) revocable: bool,
    #[command(flatten)]
    pub(crate) acl: AclArgs,
    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

/// The period in which COMMAND runs once, on this or another machine.
#[derive(Debug, Args)]
pub(crate) struct OnceArgs {
    /// Run COMMAND only if its last run began this long ago, or never; otherwise end with code 3. Of machines that
    /// start it together or one after the other, one runs it. Take less than the distance of the starts: 20h for
    /// each night.
    #[arg(long, value_name = "TIME", conflicts_with = "shared")]
    pub(crate) once_per: Option<Time>,
    /// Which runs do not count for --once-per, so that the next contender runs COMMAND again.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Again::Never, requires = "once_per")]
    pub(crate) again: Again,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Again {
    /// Each run counts from its beginning, also one that failed.
    Never,
    /// Runs that were cut short: zkelect died, lost the lock, or was ended by a signal, before COMMAND had ended.
    Interrupted,
    /// Interrupted runs, and runs that failed: COMMAND ended with another code than 0.
    Failed,
}

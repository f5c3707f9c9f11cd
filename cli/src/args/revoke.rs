//! The command line of `zkelect revoke`.

use clap::Args;
use election_tokio::Token;

use super::exit_codes::EXIT_CODES;
use super::{LockFormat, NodeArgs, Time};

const REVOKE_HELP: &str = "\
Examples:
  zkelect revoke --servers zk1:2181,zk2:2181 /locks/backup
  zkelect revoke --servers zk1:2181 --within 2m --break /locks/backup
  zkelect revoke --servers zk1:2181 --within 0 --break /locks/backup host-a-4711

The request is written over the data of the contender's znode, as Curator's Revoker writes it. A holder
that heeds requests ends its work and releases the lock: `zkelect lock --revocable` does, and a program
with LockGuard::revoke_requested or Curator's makeRevocable.

With --break, a znode that is there after the time is removed: the one that was seen, and no other that
has taken its place since. Its process is not asked again. It works on for a moment while another one
holds the lock already, and only systems that check tokens are safe from that.";

/// Asks the holders of a lock to release it, and waits until they have.
///
/// Ends with code 0 once all that were asked are gone. Ends with code 1 if one is still there after
/// the time, or if there is none to ask.
#[derive(Debug, Args)]
#[command(after_help = REVOKE_HELP, after_long_help = format!("{REVOKE_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct RevokeArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// One contender, by its ID or its ZNODE as `zkelect list` shows them [default: all that hold].
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// One contender, by its token.
    #[arg(long, value_name = "TOKEN", conflicts_with = "id")]
    pub(crate) token: Option<Token>,
    /// The time that the contenders get to release.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) within: Time,
    /// Remove what is still there after the time.
    #[arg(long)]
    pub(crate) r#break: bool,
    /// The format of the contenders' znodes.
    #[arg(long, value_name = "NAME", default_value_t = LockFormat::DEFAULT)]
    pub(crate) format: LockFormat,
    /// Print a JSON object: `outcome`, and the contenders that have `released`, were `removed`, or
    /// are `holding` still.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The fate of a contender that is still there after the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterTime {
    Leave,
    Remove,
}

impl RevokeArgs {
    pub(crate) fn after_time(&self) -> AfterTime {
        if self.r#break { AfterTime::Remove } else { AfterTime::Leave }
    }
}

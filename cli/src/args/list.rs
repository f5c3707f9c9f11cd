//! The command line of `zkelect list`.

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::{FormatName, ServersArgs, Time};

const LIST_HELP: &str = "\
Examples:
  zkelect list --servers zk1:2181,zk2:2181 --election /reports/leader
  zkelect list --servers zk1:2181/app --election /leader --json | jq -r '.[0].id'
  zkelect list --servers zk1:2181 /locks/backup

  zkelect list --servers zk1:2181 /app/jobs

What is at PATH, an election, a lock, a semaphore, a queue or a double barrier, is recognised by the
names of the znodes there, also those of Curator, kazoo, go-zookeeper and others: it is what most of
them look like.

Roles: `leader` and `follower`; `holder` and `waits`, of a lock or a semaphore; `next`, which waits for a
permit of a semaphore; `blocks: ...`, which keeps others waiting and is no contender of this library's;
`foreign`, a sequential znode of another format, whose contender does not see these; `item` and
`claimed`, of a queue; `inside`, of a double barrier.";

/// Lists the leader of an election, or the holders of a lock, and those that wait; or the items of
/// a queue.
///
/// Leaders and holders come first, then those that wait, in their order.
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP, after_long_help = format!("{LIST_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The node of an election, a lock, a semaphore, a queue or a double barrier, an absolute path.
    #[arg(value_name = "PATH", required_unless_present = "election", conflicts_with = "election")]
    path: Option<String>,
    /// The node of an election of `zkelect run`, an absolute path.
    #[arg(long, value_name = "PATH")]
    election: Option<String>,
    /// Read the znodes at PATH as contenders in this format, whatever they look like.
    #[arg(long, value_name = "NAME")]
    format: Option<FormatName>,
    /// Print a JSON array instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to try to reach a server, and then to wait for its answers.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: Time,
}

/// How to read the znodes at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As an election of `zkelect run`.
    Election,
    /// In this format.
    As(FormatName),
    /// By what it looks like.
    Recognised,
}

impl ListArgs {
    pub(crate) fn path(&self) -> &str {
        self.path.as_deref().or(self.election.as_deref()).unwrap_or_default()
    }

    pub(crate) fn reading(&self) -> Reading {
        match (&self.election, self.format) {
            (_, Some(format)) => Reading::As(format),
            (Some(_), None) => Reading::Election,
            (None, None) => Reading::Recognised,
        }
    }
}

//! The command line of `zkelect members`.

use core::time::Duration;

use clap::Args;
use election_tokio::group::WhenTaken;

use super::exit_codes::EXIT_CODES;
use super::group_format::GroupFormatName;
use super::{NodeArgs, ServersArgs, SessionTimeout, Time};

const MEMBERS_HELP: &str = "\
Examples:
  zkelect members join --servers zk1:2181,zk2:2181 --name db-1 --data 10.0.0.5:7000 /app/workers
  zkelect members list --servers zk1:2181,zk2:2181 /app/workers
  zkelect members watch --servers zk1:2181,zk2:2181 --json /app/workers

`zkelect members help ACTION` has more of each.";

/// Joins a group of processes, lists its members, and watches them come and go.
///
/// Each member has an ephemeral znode below PATH, with its data.
#[derive(Debug, Args)]
#[command(after_help = MEMBERS_HELP, after_long_help = format!("{MEMBERS_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct MembersArgs {
    #[command(subcommand)]
    pub(crate) action: MembersAction,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum MembersAction {
    Join(MembersJoinArgs),
    List(MembersListArgs),
    Watch(MembersWatchArgs),
}

/// Options on which all users of a group have to agree.
#[derive(Debug, Args)]
pub(crate) struct GroupFormatArgs {
    /// The format of members' names: all users of a group need the same one.
    #[arg(long, value_name = "NAME", default_value_t = GroupFormatName::Plain)]
    pub(crate) format: GroupFormatName,
}

const JOIN_HELP: &str = "\
Examples:
  zkelect members join --servers zk1:2181,zk2:2181 --data 10.0.0.5:7000 /app/workers
  zkelect members join --servers zk1:2181 --name db-1 --wait 30s /app/workers

Prints the name of its znode once that stands. A lost connection does not end the membership; after an
expired session it joins again in a new one. If another client deletes the znode, it ends with code 75.
A zkelect that was killed is a member until its session times out; it keeps its name until then.";

/// Joins a group, and stays a member until SIGTERM, SIGINT, SIGQUIT or SIGHUP; then leaves.
#[derive(Debug, Args)]
#[command(after_help = JOIN_HELP, after_long_help = format!("{JOIN_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct MembersJoinArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The group's node, an absolute path; it is created if it does not exist.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// The member's name; by default, a random one.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The member's data for others, such as its address.
    #[arg(long, value_name = "DATA", default_value = "", allow_hyphen_values = true)]
    pub(crate) data: String,
    /// Wait while the name is taken, and give up, with code 1, when it is still taken after this
    /// time; with code 69 when no server was in reach. Without it, give up at once if the name is
    /// taken, and wait for a server without an end; with 0s, for a server no longer than
    /// --session-timeout.
    #[arg(short, long, value_name = "TIME")]
    wait: Option<Time>,
    /// How long after its connection was cut it stops being a member. The server may change it.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) session_timeout: SessionTimeout,
    #[command(flatten)]
    pub(crate) format: GroupFormatArgs,
    /// Print a JSON object with `path` and `name`.
    #[arg(long)]
    pub(crate) json: bool,
}

impl MembersJoinArgs {
    /// Returns what follows when the name is taken, and the bound on waiting for it and for a
    /// server.
    pub(crate) fn terms(&self) -> (WhenTaken, Option<Duration>) {
        match self.wait {
            None => (WhenTaken::GiveUp, None),
            Some(wait) if wait.is_zero() => (WhenTaken::GiveUp, Some(self.session_timeout.0)),
            Some(wait) => (WhenTaken::Wait, Some(*wait)),
        }
    }
}

const LIST_HELP: &str = "\
Examples:
  zkelect members list --servers zk1:2181 /app/workers
  zkelect members list --servers zk1:2181 --json /app/workers | jq -r '.[].data'";

/// Lists the members by name, as they were at one moment.
///
/// A server's view may be out of date. The list is empty if the group's node does not exist.
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP, after_long_help = format!("{LIST_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct MembersListArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    #[command(flatten)]
    pub(crate) format: GroupFormatArgs,
    /// Print a JSON array instead of a table: `name`, `session`, `token`, and `data`, or `data_hex`
    /// if it is no text, or `no_data` with the reason.
    #[arg(long)]
    pub(crate) json: bool,
}

const WATCH_HELP: &str = "\
Examples:
  zkelect members watch --servers zk1:2181,zk2:2181 /app/workers
  zkelect members watch --servers zk1:2181 --json /app/workers | jq -c 'select(.event == \"left\")'

A line for each: `present`, for each member at first; `watching`, when that was all; then `joined`, `left`
and `changed`, of which the data was written. `gap` means that the connection was lost, or the session:
changes meanwhile have no line.
Where standard output is not read, changes are put together: a member that has come and gone leaves none.";

/// Shows the members that are there, and each that joins, leaves or changes, until a signal.
///
/// Ends with code 0 on SIGTERM, SIGINT, SIGQUIT or SIGHUP, or when standard output is closed. Lost
/// connections and expired sessions do not end it.
#[derive(Debug, Args)]
#[command(after_help = WATCH_HELP, after_long_help = format!("{WATCH_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct MembersWatchArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The group's node, an absolute path; it need not exist.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) format: GroupFormatArgs,
    /// Print a JSON object a line: `at`, `event`, and the fields of `members list --json` for a
    /// member.
    #[arg(long)]
    pub(crate) json: bool,
}

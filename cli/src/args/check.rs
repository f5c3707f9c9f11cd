//! The command line of `zkelect check`.

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::{ElectionFormat, ServersArgs, SessionTimeout, Time};

const CHECK_HELP: &str = "\
Examples:
  zkelect check --servers zk1:2181,zk2:2181,zk3:2181
  zkelect check --servers zk1:2281,zk2:2281 --tls-ca ca.pem --election /reports/leader
  zkelect check --servers zk1:2181 --election /reports/leader --json | jq '.[] | select(.verdict == \"failed\")'

A line for each step, with ok, warning, failed, or skipped, and below it what to do:
  resolve      the name of a server has addresses
  connect      something answers at its port
  session      it speaks ZooKeeper, by TLS and with the identity that were asked for, and grants a session
  version      its version, and whether it leads the ensemble or follows
  durability   its release and its forceSync keep what it acknowledges (forceSync: with --admin-port)
  family       only where it is not Apache ZooKeeper: no lease holds there
  write        it commits a write, how fast, and what the clock says that stamps it
  ensemble     --servers and the members of the ensemble fit together
  chroot       the /CHROOT of --servers exists
  list, stand, marks            what this client may do at --election
  order, blocked, strangers, exhausted, ended
                                whether its candidates stand in one queue, in which each gets its turn

Znodes are created for this: those at the election in transactions that are never applied, and for `write`
an ephemeral one beside it that is deleted at once. Candidates, and clients that watch them, notice nothing.";

/// Checks the connection to the servers and the permissions there, and reports what is wrong and
/// what to do.
///
/// Ends with code 0 if nothing failed, otherwise with code 1.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP, after_long_help = format!("{CHECK_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The election node to check, an absolute path; it need not exist.
    #[arg(long, value_name = "PATH")]
    pub(crate) election: Option<String>,
    /// The format of the candidates' names there, as for `zkelect run`.
    #[arg(long, value_name = "NAME", default_value_t = ElectionFormat::DEFAULT)]
    pub(crate) format: ElectionFormat,
    /// The session timeout to ask for, as `zkelect run` would.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) session_timeout: SessionTimeout,
    /// How long each step may take.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) timeout: Time,
    /// The port of the servers' `AdminServer` (`admin.serverPort`, 8080 by default), to ask whether they force to
    /// their disks what they acknowledge (`forceSync`). Not asked without this.
    #[arg(long, value_name = "PORT")]
    pub(crate) admin_port: Option<u16>,
    /// Print a JSON array: `step`, `server`, `verdict`, `says` and `advice` of each step.
    #[arg(long)]
    pub(crate) json: bool,
}

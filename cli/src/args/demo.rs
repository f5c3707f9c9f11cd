//! The command line of `zkelect demo`.

use clap::Args;

use super::exit_codes::EXIT_CODES;
use super::servers::SERVERS_HELP;
use super::{Servers, SessionTimeout, Time, TlsArgs};

const DEMO_HELP: &str = "\
Examples:
  zkelect demo
  zkelect demo --nominees 7 --rounds 20 --pause 0s
  zkelect demo --servers zk1:2181,zk2:2181,zk3:2181";

/// Shows an election at work: nominees elect a leader, which resigns or crashes in turn.
///
/// All nominees live in this process, each in a session of its own. A crash cuts a nominee's
/// connection without a word, so the session timeout has to pass before the next one leads.
///
/// Without --servers, the ZooKeeper server is in this process too: a server in memory, as that of
/// `zkelect server`, on a free port of 127.0.0.1.
#[derive(Debug, Args)]
#[command(after_help = DEMO_HELP, after_long_help = format!("{DEMO_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct DemoArgs {
    #[arg(long, help = format!("{SERVERS_HELP} [default: one in this process]"))]
    pub(crate) servers: Option<Servers>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// How many leaders end, in turn by resigning and by crashing.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rounds: u32,
    /// How many nominees stand for election.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=50))]
    pub(crate) nominees: u32,
    /// The session timeout to ask for: how long a crashed leader holds the lead.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) session_timeout: SessionTimeout,
    /// How long to show the table before the next leader ends.
    #[arg(long, value_name = "TIME", default_value = "700ms")]
    pub(crate) pause: Time,
}

//! Options of subcommands that look at an election, or act on it, and end.

use clap::Args;
use election_tokio::Client;
use election_tokio::election::{Election, ElectionError};

use super::{ElectionFormat, ServersArgs, Time};
use crate::connection;
use crate::errand::Reach;

/// Selects an election.
#[derive(Debug, Args)]
pub(crate) struct OneElectionArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The election node, an absolute path, as for `zkelect run`.
    #[arg(long, value_name = "PATH")]
    pub(crate) election: String,
    /// The format of the candidates' names, if others than `zkelect run` and election-tokio stand.
    #[arg(long, value_name = "NAME", default_value_t = ElectionFormat::DEFAULT)]
    pub(crate) format: ElectionFormat,
}

impl OneElectionArgs {
    /// Refuses unusable options before anything is sent.
    pub(crate) fn check(&self) -> Result<(), ElectionError> {
        connection::check_election(&self.election, &self.servers.servers)
    }

    pub(crate) fn of(&self, client: &Client) -> Election {
        client.election(&self.election).format(self.format.0.format())
    }
}

/// Selects an election, and how long to wait for its servers.
#[derive(Debug, Args)]
pub(crate) struct ElectionArgs {
    #[command(flatten)]
    pub(crate) one: OneElectionArgs,
    /// How long to try to reach a server, and then to wait for its answers.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: Time,
}

impl From<&ElectionArgs> for Reach {
    fn from(args: &ElectionArgs) -> Self {
        Self::Within(*args.timeout)
    }
}

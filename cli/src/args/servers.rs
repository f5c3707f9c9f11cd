//! Options about how to reach the servers.

use clap::Args;
use election_tokio::{Client, ClientBuilder};
use serde::{Deserialize, Serialize};

use super::{Servers, TlsArgs};
use crate::failure::Failure;
use crate::identity::IdentityArgs;

pub(super) const SERVERS_HELP: &str = "The ZooKeeper servers: HOST:PORT[,HOST:PORT...][/CHROOT]";

#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub(crate) struct ServersArgs {
    #[arg(long, help = SERVERS_HELP)]
    pub(crate) servers: Servers,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
}

impl ServersArgs {
    /// Returns the builder of a client of the servers.
    pub(crate) fn client(&self) -> Result<ClientBuilder, Failure> {
        self.client_of(self.servers.connect_string())
    }

    /// Returns the builder of a client of these servers, with the same identity.
    pub(crate) fn client_of(&self, connect_string: &str) -> Result<ClientBuilder, Failure> {
        self.identity.apply(self.tls.apply(Client::builder(connect_string)))
    }
}

//! Options of most subcommands that do one thing and end.

use clap::Args;

use super::{ServersArgs, Time};

#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The node, an absolute path.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// How long to try to reach a server, and then to wait for its answers.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: Time,
}

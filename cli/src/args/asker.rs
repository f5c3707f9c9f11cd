//! The options that a request to a leader carries: its reason and its author.

use clap::Args;

/// The reason of a request, and the operator that makes it.
#[derive(Debug, Args)]
pub(crate) struct AskerArgs {
    /// The reason, for the leader's log.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// The operator's name, for the leader's log [default: the user's name and the host's].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl AskerArgs {
    pub(crate) fn by(&self) -> String {
        self.by.clone().unwrap_or_else(user_and_host)
    }
}

/// Returns the user, and the host if it is known.
fn user_and_host() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let user = user.unwrap_or_else(|| "zkelect".to_owned());
    #[cfg(target_os = "linux")]
    return format!("{user}@{}", rustix::system::uname().nodename().to_string_lossy());
    #[cfg(not(target_os = "linux"))]
    user
}

//! What a leader is told of a request to it.

use clap::Args;

/// Why a leader is asked, and by which operator.
#[derive(Debug, Args)]
pub(crate) struct AskerArgs {
    /// Why, for the leader's log.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Whose wish it is, for the leader's log [default: the user's name and the host's].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl AskerArgs {
    pub(crate) fn by(&self) -> String {
        self.by.clone().unwrap_or_else(user_and_host)
    }
}

/// The user, and the machine where that is known.
fn user_and_host() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let user = user.unwrap_or_else(|| "zkelect".to_owned());
    #[cfg(target_os = "linux")]
    return format!("{user}@{}", rustix::system::uname().nodename().to_string_lossy());
    #[cfg(not(target_os = "linux"))]
    user
}

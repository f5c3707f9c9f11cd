//! Errors in the environment or a configuration file. They show no value, which may be a secret.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("the configuration file {} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("line {line} of the configuration file {} is no TOML: {message}", path.display())]
    NoToml { path: PathBuf, line: usize, message: String },
    #[error("{key} in the configuration file {} is no option of {of}", path.display())]
    UnknownKey { path: PathBuf, key: String, of: String },
    #[error("{key} in the configuration file {} has to be {expected}", path.display())]
    WrongType { path: PathBuf, key: String, expected: &'static str },
    #[error("{variable} in the environment has to be true or false")]
    NoBoolean { variable: String },
    #[error("{variable} in the environment has to be a small number")]
    NoCount { variable: String },
}

impl SettingsError {
    /// Returns advice, if there is any.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unreadable { .. } => {
                "give --config, or ZKELECT_CONFIG, a file that this user may read"
            }
            Self::NoToml { .. } => "write lines such as: servers = \"zk1:2181,zk2:2181\"",
            Self::UnknownKey { .. } => {
                "keys are the long names of options, without the dashes in front; those in a table such as \
                 [run] or [queue.take] are for that subcommand alone"
            }
            Self::WrongType { .. } | Self::NoBoolean { .. } | Self::NoCount { .. } => return None,
        })
    }
}

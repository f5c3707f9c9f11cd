//! The identities of `zkelect` towards the servers.

use core::str::FromStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use election_tokio::{
    ClientBuilder,
    sasl::{DigestMd5, Secret},
};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
#[cfg(target_os = "linux")]
use crate::secrets;

/// Passwords come from files, never from arguments: every process on the machine can read
/// arguments.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub(crate) struct IdentityArgs {
    /// The user to authenticate as, by SASL (DIGEST-MD5). Servers that take no part in SASL are
    /// refused.
    #[arg(long, value_name = "NAME", requires = "sasl_password_file")]
    sasl_user: Option<String>,
    /// A file with that user's password, in UTF-8; a line break at its end does not count.
    #[arg(long, value_name = "FILE", requires = "sasl_user")]
    sasl_password_file: Option<PathBuf>,
    /// Present the identity in FILE, of the scheme SCHEME, as zkCli.sh's addauth does: for `digest`
    /// FILE has USER:PASSWORD; a line break at its end does not count. May be given several times.
    #[arg(long, value_name = "SCHEME:FILE")]
    auth: Vec<AuthFile>,
}

/// A scheme, and the file with the credential.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AuthFile {
    scheme: String,
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "write SCHEME:FILE, such as digest:/etc/zkelect/identity: the password is in the file, for every user of \
     this machine can read arguments"
)]
struct AuthFileError;

impl FromStr for AuthFile {
    type Err = AuthFileError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some((scheme, path)) if !scheme.is_empty() && !path.is_empty() => {
                Ok(Self { scheme: scheme.to_owned(), path: path.into() })
            }
            _ => Err(AuthFileError),
        }
    }
}

impl IdentityArgs {
    /// Adds the identities to the client, if there are any.
    pub(crate) fn apply(&self, builder: ClientBuilder) -> Result<ClientBuilder, Failure> {
        let builder =
            self.auth.iter().try_fold(builder, |builder, AuthFile { scheme, path }| {
                Ok::<_, Failure>(builder.auth(scheme, secret(path)?.expose()))
            })?;
        let (Some(user), Some(path)) = (&self.sasl_user, &self.sasl_password_file) else {
            return Ok(builder);
        };
        Ok(builder.sasl(DigestMd5::new(user, secret(path)?)))
    }
}

fn secret(path: &Path) -> Result<Secret, Failure> {
    let content = read(path).map_err(|error| Failure::PasswordFile { path: path.into(), error })?;
    Ok(without_line_break(content))
}

/// Reads the file that was checked, not one that has replaced it since.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    #[cfg(target_os = "linux")]
    secrets::check_password_file(path, &file.metadata()?);
    let mut password = Vec::new();
    file.read_to_end(&mut password)?;
    Ok(password)
}

/// Removes it in place, so that no copy is left behind.
fn without_line_break(mut password: Vec<u8>) -> Secret {
    for ending in [b'\n', b'\r'] {
        if password.last() == Some(&ending) {
            password.pop();
        }
    }
    Secret::new(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_break_at_the_end_does_not_count() {
        for (file, password) in
            [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a \n\n", "a \n"), ("", ""), ("\n", "")]
        {
            let read = without_line_break(file.as_bytes().to_vec());
            assert_eq!(read.expose(), password.as_bytes(), "{file:?}");
        }
    }
}

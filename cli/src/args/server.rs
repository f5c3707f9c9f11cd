//! What a server in memory is told to do otherwise than by default.

use core::str::FromStr;

use clap::Args;

/// The names are those of ZooKeeper's own settings, where they say the same in words.
#[derive(Debug, Args)]
pub(crate) struct ServerOptions {
    /// How many connections one address may have open (`maxClientCnxns`); 0 for any number. One
    /// more is closed without a word to its client.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) max_connections_per_address: usize,
    /// Allow znodes with a time to live (`zookeeper.extendedTypesEnabled`); containers need no leave.
    #[arg(long)]
    pub(crate) extended_types: bool,
    /// Who authenticates with the scheme `digest` as USER may do everything; HASH is
    /// base64(sha1("USER:PASSWORD")) (`zookeeper.DigestAuthenticationProvider.superDigest`).
    #[arg(long, value_name = "USER:HASH")]
    pub(crate) super_digest: Option<SuperDigest>,
}

/// The digest identity of a super user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuperDigest(pub(crate) String);

#[derive(Debug, thiserror::Error)]
#[error(
    "write USER:HASH, where HASH is no password but 28 characters that this prints: \
     printf USER:PASSWORD | openssl sha1 -binary | base64"
)]
pub(crate) struct SuperDigestError;

impl FromStr for SuperDigest {
    type Err = SuperDigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (user, hash) = text.split_once(':').ok_or(SuperDigestError)?;
        let digits = hash.strip_suffix('=').ok_or(SuperDigestError)?;
        let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
        if user.is_empty() || digits.len() != 27 || !digits.chars().all(is_digit) {
            return Err(SuperDigestError);
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_super_user_is_given_by_a_hash_and_not_by_a_password() {
        let hash = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";
        assert_eq!(hash.parse::<SuperDigest>().ok(), Some(SuperDigest(hash.to_owned())));
        let others = ["", "super", "super:", "super:admin", ":xQJmxLMiHGwaqBvst5y6rkB6HQs="];
        for other in others.into_iter().chain([
            "super:xQJmxLMiHGwaqBvst5y6rkB6HQs",
            "super:xQJmxLMiHGwaqBvst5y6rkB6H:s=",
            "super:xQJmxLMiHGwaqBvst5y6rkB6HQsA=",
        ]) {
            assert!(other.parse::<SuperDigest>().is_err(), "{other}");
        }
    }
}

//! The command line of `zkelect server`.

use core::str::FromStr;

use clap::{Args, ValueEnum};
use zk_embedded::Profile;

use super::exit_codes::SERVER_EXIT_CODES;
use super::{ListenAddress, TickTime};

const SERVER_HELP: &str = "\
Examples:
  zkelect server
  zkelect server --tick-time 100ms                  # sessions that expire quickly
  zkelect server --like keeper                      # no lease holds there: see what your service does
  zkelect server --listen 127.0.0.1:0 >address &    # any free port
  zkelect server --max-connections-per-address 0 --extended-types

The first line of standard output is `listening on IP:PORT`; the server answers from then on.

Session timeouts are brought between 2 and 20 ticks, and sessions expire in steps of a tick, as by
Apache ZooKeeper. Any client of ZooKeeper can use it; it has no TLS, no SASL, and enforces no
quotas. What it holds is gone when it ends, and fencing tokens begin anew with the next one: for anything that matters run an Apache ZooKeeper ensemble.";

/// Runs a ZooKeeper server in memory, for development and tests.
///
/// One server, not an ensemble, with nothing on disk: it starts empty, in milliseconds, and needs
/// no Java. Runs until SIGINT (Ctrl-C), SIGTERM, SIGQUIT or SIGHUP.
#[derive(Debug, Args)]
#[command(
    after_help = SERVER_HELP,
    after_long_help = format!("{SERVER_HELP}\n\n{SERVER_EXIT_CODES}")
)]
pub(crate) struct ServerArgs {
    /// The address to listen on; 0.0.0.0 is all interfaces of this machine, port 0 any free port.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:2181")]
    pub(crate) listen: ListenAddress,
    /// The server's unit of time, from 10ms to 1h.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub(crate) tick_time: TickTime,
    /// Deviate from Apache ZooKeeper as another server does, as far as its source tells: for tests of
    /// what a service does there.
    #[arg(long, value_name = "SERVER", value_enum, default_value_t)]
    pub(crate) like: Like,
    #[command(flatten)]
    pub(crate) options: ServerOptions,
}

/// A server that speaks ZooKeeper's protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Like {
    /// Apache ZooKeeper.
    #[default]
    Zookeeper,
    /// `ClickHouse` Keeper since 25.12.
    Keeper,
    /// `ClickHouse` Keeper before 25.12: no `create2`, and no watches that stay.
    #[value(name = "keeper-before-25.12")]
    KeeperBefore2512,
    /// `RaftKeeper`.
    Raftkeeper,
}

impl Like {
    pub(crate) const fn profile(self) -> Profile {
        match self {
            Self::Zookeeper => Profile::ZooKeeper,
            Self::Keeper => Profile::Keeper,
            Self::KeeperBefore2512 => Profile::KeeperBefore2512,
            Self::Raftkeeper => Profile::RaftKeeper,
        }
    }
}

/// Settings that differ from the default. The names follow ZooKeeper's own settings where those
/// exist.
#[derive(Debug, Args)]
pub(crate) struct ServerOptions {
    /// How many connections one address may have open (`maxClientCnxns`); 0 for any number. The
    /// server closes one more without a word to its client.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) max_connections_per_address: usize,
    /// How many connections may be open in all (`maxCnxns`); 0 for any number. The server closes one more
    /// without a word to its client.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) max_connections: usize,
    /// Allow znodes with a time to live (`zookeeper.extendedTypesEnabled`); containers are always
    /// allowed.
    #[arg(long)]
    pub(crate) extended_types: bool,
    /// Give every permission to clients that authenticate as USER with the scheme `digest`; HASH is
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

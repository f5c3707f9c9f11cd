//! The options of TLS.

#[cfg(feature = "tls")]
use std::path::PathBuf;

use clap::Args;
use election_tokio::ClientBuilder;
#[cfg(feature = "tls")]
use election_tokio::tls::TlsOptions;
use serde::{Deserialize, Serialize};

/// Any of these switches TLS on.
#[cfg(feature = "tls")]
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[group(requires = "servers")]
pub(crate) struct TlsArgs {
    /// Connect by TLS, and trust the CAs that this machine trusts. The ports of --servers are then
    /// those for TLS (secureClientPort).
    #[arg(long, help_heading = HEADING)]
    tls: bool,
    /// Connect by TLS, and trust the CA certificates in FILE, not those of this machine.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    tls_ca: Option<PathBuf>,
    /// The certificate to present, and its chain. All of these files are PEM, and read again for
    /// each new connection.
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = HEADING)]
    tls_cert: Option<PathBuf>,
    /// The private key of that certificate, not encrypted.
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = HEADING)]
    tls_key: Option<PathBuf>,
    /// The name that the servers' certificates are for [default: the HOST of --servers].
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    tls_server_name: Option<String>,
    /// Accept certificates of --tls-ca for any host: then any other owner of a certificate of that
    /// CA can pass for ZooKeeper.
    #[arg(
        long,
        requires = "tls_ca",
        conflicts_with = "tls_server_name",
        help_heading = HEADING
    )]
    tls_dangerously_accept_any_host_name: bool,
}

#[cfg(feature = "tls")]
const HEADING: &str = "TLS";

#[cfg(feature = "tls")]
impl TlsArgs {
    /// Adds TLS to a client, if any option asks for it.
    pub(crate) fn apply(&self, builder: ClientBuilder) -> ClientBuilder {
        match self.options() {
            Some(options) => builder.tls(options),
            None => builder,
        }
    }

    pub(crate) fn is_asked_for(&self) -> bool {
        self.options().is_some()
    }

    fn options(&self) -> Option<TlsOptions> {
        let certified = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let named = self.tls_server_name.as_ref();
        let asked_for = self.tls || self.tls_ca.is_some() || certified.is_some() || named.is_some();
        if !asked_for {
            return None;
        }
        let mut options = TlsOptions::new();
        if let Some(ca) = &self.tls_ca {
            options = options.ca_file(ca);
        }
        if let Some((chain, key)) = certified {
            options = options.client_certificate_files(chain, key);
        }
        if let Some(name) = named {
            options = options.server_name(name);
        }
        if self.tls_dangerously_accept_any_host_name {
            options = options.dangerously_accept_any_host_name();
        }
        Some(options)
    }
}

/// No options: zkelect was built without its feature `tls`.
#[cfg(not(feature = "tls"))]
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub(crate) struct TlsArgs {}

#[cfg(not(feature = "tls"))]
impl TlsArgs {
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn apply(&self, builder: ClientBuilder) -> ClientBuilder {
        builder
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn is_asked_for(&self) -> bool {
        false
    }
}

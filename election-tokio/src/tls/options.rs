//! The user's options of TLS.

use std::path::PathBuf;

use super::pem::Pem;

/// How a client uses TLS: the CAs that it trusts, and the certificate that proves its own identity.
/// For [`ClientBuilder::tls`](crate::ClientBuilder::tls).
///
/// The client always verifies the server's certificate: signed by a trusted CA, valid at this time,
/// and for the host of the connect string.
///
/// Files are PEM. The client reads them when it starts and again for each new connection. If a file
/// is unusable at that moment, it goes on with what it read last. Private keys never show in
/// `Debug` output or errors, and their bytes are wiped once they are parsed.
///
/// ```
/// # use election_tokio::tls::TlsOptions;
/// let tls = TlsOptions::new()
///     .ca_file("/etc/zk/ca.pem")
///     .client_certificate_files("/etc/zk/client.pem", "/etc/zk/client.key");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct TlsOptions {
    pub(super) trust: Trust,
    pub(super) credentials: Option<Credentials>,
    pub(super) server_name: Option<String>,
    pub(super) min_version: TlsVersion,
    pub(super) host_names: HostNames,
}

/// The CAs with which a server's certificate is trusted.
#[derive(Clone, Debug)]
pub(super) enum Trust {
    Platform,
    Given(Vec<Pem>),
}

/// The proof of a client's identity.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) certificates: Pem,
    pub(super) key: Pem,
}

/// How the host names in a server's certificate are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostNames {
    Verified,
    Ignored,
}

/// A version of TLS. Older ones are broken, and not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TlsVersion {
    /// TLS 1.2.
    V1_2,
    /// TLS 1.3.
    V1_3,
}

impl TlsOptions {
    /// Makes options that trust the CAs of the platform, present no certificate, and allow TLS 1.2
    /// and 1.3.
    ///
    /// The platform's CAs are those of the operating system, or of the file and folder in
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR`. The client reads them once, when it starts.
    pub fn new() -> Self {
        Self {
            trust: Trust::Platform,
            credentials: None,
            server_name: None,
            min_version: TlsVersion::V1_2,
            host_names: HostNames::Verified,
        }
    }

    /// Trusts the CA certificates of this file, in place of the platform's. It may be called
    /// several times, to trust several files.
    pub fn ca_file(self, file: impl Into<PathBuf>) -> Self {
        self.trust(Pem::File(file.into()))
    }

    /// Trusts CA certificates like [`TlsOptions::ca_file`], with the content of such a file.
    pub fn ca_pem(self, pem: impl Into<Vec<u8>>) -> Self {
        self.trust(Pem::memory(pem))
    }

    fn trust(mut self, pem: Pem) -> Self {
        match &mut self.trust {
            Trust::Platform => self.trust = Trust::Given(vec![pem]),
            Trust::Given(pems) => pems.push(pem),
        }
        self
    }

    /// Presents a certificate to the server: the chain in one file, the client's own certificate
    /// first, and its private key, not encrypted, in the other or the same. ZooKeeper identifies
    /// the client by the certificate's subject, in the scheme `x509`.
    pub fn client_certificate_files(
        self,
        chain: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.credentials(Pem::File(chain.into()), Pem::File(key.into()))
    }

    /// Presents a certificate like [`TlsOptions::client_certificate_files`], with the content of
    /// such files.
    pub fn client_certificate_pem(
        self,
        chain: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.credentials(Pem::memory(chain), Pem::memory(key))
    }

    fn credentials(mut self, certificates: Pem, key: Pem) -> Self {
        self.credentials = Some(Credentials { certificates, key });
        self
    }

    /// Sets the name or IP address that the certificates of all servers must have, in place of the
    /// host of each connection. A name is also sent to the server (SNI).
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    /// Sets the oldest version of TLS to use (default: 1.2).
    pub fn min_version(mut self, version: TlsVersion) -> Self {
        self.min_version = version;
        self
    }

    /// Accepts a trusted certificate for any hosts, or for none, like
    /// `zookeeper.ssl.hostnameVerification=false` in Java.
    ///
    /// **Dangerous:** a host with *any* certificate of a trusted CA, for example that of another
    /// service or of another client, can pass for the ensemble. Use it only with a CA that signs
    /// for this ensemble's servers alone; never with the platform's CAs. If all servers share one
    /// certificate, [`TlsOptions::server_name`] is the safe way.
    pub fn dangerously_accept_any_host_name(mut self) -> Self {
        self.host_names = HostNames::Ignored;
        self
    }
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self::new()
    }
}

//! What a user says about TLS.

use std::path::PathBuf;

use super::pem::Pem;

/// How a client uses TLS: whom it trusts, and how it proves who it is itself. For
/// [`ClientBuilder::tls`](crate::ClientBuilder::tls).
///
/// The server's certificate is always verified: signed by a trusted CA, valid at this time, and for
/// the host of the connect string.
///
/// Files are PEM. They are read when the client is started and again for each new connection; one
/// that cannot be used at that moment leaves what was read last in use. Private keys show in no
/// `Debug` output and no error, and what was read of them is wiped once they are parsed.
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

/// Whose signature makes a server's certificate good.
#[derive(Clone, Debug)]
pub(super) enum Trust {
    Platform,
    Given(Vec<Pem>),
}

/// What a client proves its identity with.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) certificates: Pem,
    pub(super) key: Pem,
}

/// What becomes of the host names in a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostNames {
    Verified,
    Ignored,
}

/// A version of TLS. Older ones than these are broken and not spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TlsVersion {
    /// TLS 1.2.
    V1_2,
    /// TLS 1.3.
    V1_3,
}

impl TlsOptions {
    /// Trusts the CAs of the platform, presents no certificate, and speaks TLS 1.2 and 1.3.
    ///
    /// The platform's CAs are those of the operating system, or of the file and folder that
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR` name. They are read once, when the client is started.
    pub fn new() -> Self {
        Self {
            trust: Trust::Platform,
            credentials: None,
            server_name: None,
            min_version: TlsVersion::V1_2,
            host_names: HostNames::Verified,
        }
    }

    /// Trusts the CA certificates of this file, in place of the platform's. May be called several
    /// times, to trust several files.
    pub fn ca_file(self, file: impl Into<PathBuf>) -> Self {
        self.trust(Pem::File(file.into()))
    }

    /// As [`TlsOptions::ca_file`], with the content of such a file.
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
    /// first, and its private key, not encrypted, in the other or the same. ZooKeeper knows the
    /// client by the certificate's subject, in the scheme `x509`.
    pub fn client_certificate_files(
        self,
        chain: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.credentials(Pem::File(chain.into()), Pem::File(key.into()))
    }

    /// As [`TlsOptions::client_certificate_files`], with the content of such files.
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

    /// The name or IP address that the certificates of all servers have to be for, in place of the
    /// host by which each is connected to. A name is also sent to the server (SNI).
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    /// The oldest version of TLS to speak (default: 1.2).
    pub fn min_version(mut self, version: TlsVersion) -> Self {
        self.min_version = version;
        self
    }

    /// Accepts a trusted certificate whatever hosts it is for, none included: as
    /// `zookeeper.ssl.hostnameVerification=false` does in Java.
    ///
    /// **Dangerous:** a host that has *any* certificate of a trusted CA, that of another service or of
    /// another client say, can pass for the ensemble. Bearable only with a CA that signs for this
    /// ensemble's servers and nobody else; never with the platform's. Where all servers have one
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

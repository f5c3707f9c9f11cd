//! Errors in the options of TLS, found before anything is sent.

use core::fmt;
use std::path::PathBuf;

use crate::error::SharedError;

/// Why options of TLS cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file, or PEM in memory.
    #[error("the {input}{origin}: {problem}")]
    Pem {
        /// Its purpose.
        input: TlsInput,
        /// Its origin.
        origin: PemOrigin,
        /// The problem.
        problem: PemProblem,
    },
    /// The private key is that of another certificate.
    #[error(
        "the client key does not belong to the client certificate: give the two that were made \
         together, the client's own certificate as the first of its chain"
    )]
    KeyMismatch,
    /// The name for servers' certificates is not a valid name.
    #[error("`{0}` can be in no certificate: give a host name or an IP address, without a port")]
    ServerName(String),
    /// The platform has no CA certificates.
    #[error(
        "this platform has no CA certificates to trust{}: install them (on Debian: the package \
         ca-certificates), or give the CA of the ensemble",
        if .0.is_empty() { String::new() } else { format!(" ({})", .0) }
    )]
    NoPlatformCa(
        /// The failures while looking for them; empty if there were none.
        String,
    ),
    /// No cryptography for TLS is available.
    #[error(
        "no cryptography for TLS: build election-tokio with its feature `tls-ring` or \
         `tls-aws-lc-rs`, or install a default provider of rustls in the process first"
    )]
    NoProvider,
    /// The provider of cryptography does not support what is needed.
    #[error("the provider of cryptography that rustls uses does not fit: {0}")]
    UnsuitableProvider(SharedError),
}

/// The purpose of PEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TlsInput {
    /// The certificates of the CAs to trust.
    Ca,
    /// The certificate to present, and its chain.
    ClientCertificate,
    /// Its private key.
    ClientKey,
}

impl fmt::Display for TlsInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ca => "CA certificate",
            Self::ClientCertificate => "client certificate",
            Self::ClientKey => "client key",
        })
    }
}

/// The origin of PEM.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PemOrigin {
    /// A file.
    File(PathBuf),
    /// Memory.
    Memory,
}

impl fmt::Display for PemOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, " in {}", file.display()),
            Self::Memory => f.write_str(" given in memory"),
        }
    }
}

/// The problem with a file, or with PEM.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PemProblem {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(SharedError),
    /// Only a part of it is PEM, as in a file that is still being written.
    #[error("broken PEM: {0}")]
    Broken(&'static str),
    /// It does not have the required sections.
    #[error(
        "no such thing is in it: PEM has a line `-----BEGIN CERTIFICATE-----` or `... KEY-----`"
    )]
    Missing,
    /// It is DER or a Java keystore, and not PEM.
    #[error(
        "it is a keystore or DER, not PEM: convert it (a keystore: `keytool -importkeystore \
         -deststoretype PKCS12`, then `openssl pkcs12 -nodes`)"
    )]
    KeyStore,
    /// The key is protected by a password.
    #[error(
        "the key is encrypted: store it without a password (`openssl pkey -in KEY -out NEW`), in \
         a file that only this service may read"
    )]
    EncryptedKey,
    /// A PEM section holds no usable certificate.
    #[error("no usable certificate: {0}")]
    InvalidCertificate(SharedError),
    /// A PEM section holds no usable key.
    #[error("no usable key: {0}")]
    InvalidKey(SharedError),
}

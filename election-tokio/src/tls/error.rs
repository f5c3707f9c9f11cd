//! What can be wrong with the options of TLS, before anything is sent.

use core::fmt;
use std::path::PathBuf;

use crate::error::SharedError;

/// Options of TLS that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file, or PEM that was given in memory.
    #[error("the {input}{origin}: {problem}")]
    Pem {
        /// What it was to be.
        input: TlsInput,
        /// Where it came from.
        origin: PemOrigin,
        /// What is wrong with it.
        #[source]
        problem: PemProblem,
    },
    /// The private key is that of another certificate.
    #[error(
        "the client key does not belong to the client certificate: give the two that were made \
         together, the client's own certificate as the first of its chain"
    )]
    KeyMismatch,
    /// The name that servers' certificates have to be for is none.
    #[error("`{0}` can be in no certificate: give a host name or an IP address, without a port")]
    ServerName(String),
    /// The platform has no CA certificates.
    #[error(
        "this platform has no CA certificates to trust{}: install them (on Debian: the package \
         ca-certificates), or give the CA of the ensemble",
        if .0.is_empty() { String::new() } else { format!(" ({})", .0) }
    )]
    NoPlatformCa(
        /// What went wrong while they were looked for; empty if nothing did.
        String,
    ),
    /// There is no cryptography to do TLS with.
    #[error(
        "no cryptography for TLS: build election-tokio with its feature `tls-ring` or \
         `tls-aws-lc-rs`, or install a default provider of rustls in the process first"
    )]
    NoProvider,
    /// The provider of cryptography cannot do what is asked for.
    #[error("the provider of cryptography that rustls uses does not fit: {0}")]
    UnsuitableProvider(#[source] SharedError),
}

/// What PEM is given for.
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

/// Where PEM comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PemOrigin {
    /// A file.
    File(PathBuf),
    /// It was given in memory.
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

/// What is wrong with a file, or with PEM.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PemProblem {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[source] SharedError),
    /// It is PEM in part only, as that of a file that is still being written.
    #[error("broken PEM: {0}")]
    Broken(&'static str),
    /// What it was given for is not in it.
    #[error(
        "no such thing is in it: PEM has a line `-----BEGIN CERTIFICATE-----` or `... KEY-----`"
    )]
    Missing,
    /// It is no PEM but DER or a Java keystore.
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
    /// What a PEM section holds is no certificate that can be used.
    #[error("no usable certificate: {0}")]
    InvalidCertificate(#[source] SharedError),
    /// What a PEM section holds is no key that can be used.
    #[error("no usable key: {0}")]
    InvalidKey(#[source] SharedError),
}

//! PEM: its origin, and its sections.

use core::fmt;
use std::fs;
use std::path::PathBuf;

use tokio_rustls::rustls::pki_types::pem::{Error as SectionError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use super::error::{PemOrigin, PemProblem, TlsError, TlsInput};

/// The origin of PEM.
#[derive(Clone)]
pub(super) enum Pem {
    File(PathBuf),
    Memory(Zeroizing<Vec<u8>>),
}

impl Pem {
    pub(super) fn memory(pem: impl Into<Vec<u8>>) -> Self {
        Self::Memory(Zeroizing::new(pem.into()))
    }

    /// Makes an error about this PEM.
    pub(super) fn error(&self, input: TlsInput, problem: PemProblem) -> TlsError {
        let origin = match self {
            Self::File(file) => PemOrigin::File(file.clone()),
            Self::Memory(_) => PemOrigin::Memory,
        };
        TlsError::Pem { input, origin, problem }
    }

    /// Returns all certificates in it, at least one. It may have other sections, too.
    pub(super) fn certificates(
        &self,
        input: TlsInput,
    ) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        self.parse(|pem| {
            let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
                .collect::<Result<_, _>>()
                .map_err(|error| broken(&error))?;
            if certificates.is_empty() { Err(nothing_in(pem)) } else { Ok(certificates) }
        })
        .map_err(|problem| self.error(input, problem))
    }

    /// Returns the first private key in it.
    pub(super) fn private_key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        self.parse(|pem| match PrivateKeyDer::from_pem_slice(pem) {
            _ if is_encrypted(pem) => Err(PemProblem::EncryptedKey),
            Ok(key) => Ok(key),
            Err(SectionError::NoItemsFound) => Err(nothing_in(pem)),
            Err(error) => Err(broken(&error)),
        })
        .map_err(|problem| self.error(TlsInput::ClientKey, problem))
    }

    fn parse<T>(
        &self,
        parse: impl FnOnce(&[u8]) -> Result<T, PemProblem>,
    ) -> Result<T, PemProblem> {
        match self {
            Self::Memory(pem) => parse(pem),
            Self::File(file) => {
                let pem = fs::read(file)
                    .map(Zeroizing::new)
                    .map_err(|error| PemProblem::Unreadable(error.into()))?;
                parse(&pem)
            }
        }
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
            Self::Memory(_) => f.debug_struct("Memory").finish_non_exhaustive(),
        }
    }
}

/// Explains why PEM does not have the required section.
fn nothing_in(pem: &[u8]) -> PemProblem {
    /// The first bytes of a JKS keystore.
    const JKS: &[u8] = &[0xfe, 0xed, 0xfe, 0xed];
    /// The first byte of DER, the form of PKCS #12 keystores.
    const DER_SEQUENCE: &[u8] = &[0x30];
    if pem.starts_with(JKS) || pem.starts_with(DER_SEQUENCE) {
        PemProblem::KeyStore
    } else {
        PemProblem::Missing
    }
}

/// Returns whether a key is encrypted, by PKCS #8 or in the older formats.
fn is_encrypted(pem: &[u8]) -> bool {
    const MARKS: [&[u8]; 2] = [b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];
    MARKS.iter().any(|mark| pem.windows(mark.len()).any(|window| window == *mark))
}

/// Describes an error. The error's own text may quote the file, so it is not shown.
fn broken(error: &SectionError) -> PemProblem {
    PemProblem::Broken(match error {
        SectionError::MissingSectionEnd { .. } => "a section has no end",
        SectionError::IllegalSectionStart { .. } => "a section has no proper beginning",
        SectionError::Base64Decode(_) => "a section is not in Base64",
        _ => "its sections cannot be told apart",
    })
}

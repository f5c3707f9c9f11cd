//! Turns the options into rustls' configuration.

use std::sync::Arc;

use tokio_rustls::rustls::client::{Resumption, WantsClientCert};
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{
    ClientConfig, ConfigBuilder, Error as RustlsError, InconsistentKeys, RootCertStore,
    SupportedProtocolVersion,
};

use super::error::{PemProblem, TlsError, TlsInput};
use super::options::{Credentials, HostNames, TlsOptions, TlsVersion, Trust};
use super::pem::Pem;
use super::verifier::AnyHostName;
use crate::error::SharedError;

const FROM_1_2: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
const FROM_1_3: &[&SupportedProtocolVersion] = &[&TLS13];

/// Makes configurations from the options, again and again.
#[derive(Debug)]
pub(super) struct Loader {
    provider: Arc<CryptoProvider>,
    roots: Roots,
    credentials: Option<Credentials>,
    server_name: Option<ServerName<'static>>,
    versions: &'static [&'static SupportedProtocolVersion],
    host_names: HostNames,
}

#[derive(Debug)]
enum Roots {
    /// The certificates of the platform, read once because that is expensive.
    Known(RootCertStore),
    Given(Vec<Pem>),
}

/// The client's identity: a certificate, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    Anonymous,
    Certified,
}

impl Loader {
    pub(super) fn new(options: TlsOptions) -> Result<Self, TlsError> {
        let roots = match options.trust {
            Trust::Platform => Roots::Known(platform_roots()?),
            Trust::Given(pems) => Roots::Given(pems),
        };
        let server_name = options.server_name.map(|name| server_name(&name)).transpose()?;
        let versions = match options.min_version {
            TlsVersion::V1_2 => FROM_1_2,
            TlsVersion::V1_3 => FROM_1_3,
        };
        Ok(Self {
            provider: provider()?,
            roots,
            credentials: options.credentials,
            server_name,
            versions,
            host_names: options.host_names,
        })
    }

    /// Reads all files and makes a configuration of them. Blocks while it reads.
    pub(super) fn load(&self) -> Result<ClientConfig, TlsError> {
        let roots = match &self.roots {
            Roots::Known(roots) => roots.clone(),
            Roots::Given(pems) => given_roots(pems)?,
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(self.versions)
            .map_err(|error| TlsError::UnsuitableProvider(SharedError::new(error)))?;
        let builder = match self.host_names {
            HostNames::Verified => builder.with_root_certificates(roots),
            HostNames::Ignored => {
                let provider = Arc::clone(&self.provider);
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(AnyHostName { roots, provider }))
            }
        };
        let mut config = match &self.credentials {
            Some(credentials) => certified(builder, credentials)?,
            None => builder.with_no_client_auth(),
        };
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    /// Returns whether a later configuration may differ.
    pub(super) fn reads_files(&self) -> bool {
        let is_file = |pem: &Pem| matches!(pem, Pem::File(_));
        let trusts_files = match &self.roots {
            Roots::Known(_) => false,
            Roots::Given(pems) => pems.iter().any(is_file),
        };
        trusts_files
            || self.credentials.iter().any(|it| is_file(&it.certificates) || is_file(&it.key))
    }

    pub(super) fn identity(&self) -> Identity {
        match &self.credentials {
            Some(_) => Identity::Certified,
            None => Identity::Anonymous,
        }
    }

    /// Returns the name that the certificate of the server at `host` must have.
    pub(super) fn server_name(&self, host: &str) -> Result<ServerName<'static>, TlsError> {
        self.server_name.as_ref().map_or_else(|| server_name(host), |name| Ok(name.clone()))
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::ServerName(name.to_owned()))
}

fn platform_roots() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(TlsError::NoPlatformCa(errors.join("; ")));
    }
    Ok(roots)
}

fn given_roots(pems: &[Pem]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for pem in pems {
        for certificate in pem.certificates(TlsInput::Ca)? {
            roots.add(certificate).map_err(|error| {
                pem.error(TlsInput::Ca, PemProblem::InvalidCertificate(SharedError::new(error)))
            })?;
        }
    }
    Ok(roots)
}

fn certified(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    credentials: &Credentials,
) -> Result<ClientConfig, TlsError> {
    let chain = credentials.certificates.certificates(TlsInput::ClientCertificate)?;
    let key = credentials.key.private_key()?;
    builder.with_client_auth_cert(chain, key).map_err(|error| match error {
        RustlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::KeyMismatch,
        RustlsError::InvalidCertificate(reason) => credentials.certificates.error(
            TlsInput::ClientCertificate,
            PemProblem::InvalidCertificate(SharedError::new(reason.to_string())),
        ),
        error => credentials
            .key
            .error(TlsInput::ClientKey, PemProblem::InvalidKey(SharedError::new(error))),
    })
}

/// Returns the provider that the process has installed, or else the one that this crate was built
/// with.
fn provider() -> Result<Arc<CryptoProvider>, TlsError> {
    CryptoProvider::get_default()
        .cloned()
        .or_else(|| BUILT_IN_PROVIDER.map(|provider| Arc::new(provider())))
        .ok_or(TlsError::NoProvider)
}

#[cfg(feature = "tls-aws-lc-rs")]
const BUILT_IN_PROVIDER: Option<fn() -> CryptoProvider> =
    Some(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider);

#[cfg(all(feature = "tls-ring", not(feature = "tls-aws-lc-rs")))]
const BUILT_IN_PROVIDER: Option<fn() -> CryptoProvider> =
    Some(tokio_rustls::rustls::crypto::ring::default_provider);

#[cfg(not(any(feature = "tls-ring", feature = "tls-aws-lc-rs")))]
const BUILT_IN_PROVIDER: Option<fn() -> CryptoProvider> = None;

#[cfg(all(test, not(any(feature = "tls-ring", feature = "tls-aws-lc-rs"))))]
mod tests {
    use super::*;

    #[test]
    fn without_cryptography_the_error_names_the_features() {
        let error = Loader::new(TlsOptions::new().ca_pem("")).expect_err("there is none");
        assert_eq!(error, TlsError::NoProvider);
        assert!(error.to_string().contains("tls-ring"), "{error}");
    }
}

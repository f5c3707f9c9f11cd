//! Certificates, made for one test run.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, Error,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};

/// A certification authority.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its private key, both PEM.
#[derive(Clone)]
pub struct Certified {
    /// The certificate.
    pub certificate: String,
    /// Its private key, PKCS #8.
    pub key: String,
}

impl Authority {
    /// Makes a new authority, with a key of its own.
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut params = subject(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Returns its certificate, PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Makes a certificate for a server with these host names and IP addresses, none of which is in
    /// its subject.
    pub fn server(&self, hosts: &[&str]) -> Result<Certified, Error> {
        self.sign(&server(hosts)?)
    }

    /// Does as [`Self::server`], with a certificate that has been invalid for years.
    pub fn expired_server(&self, hosts: &[&str]) -> Result<Certified, Error> {
        let mut params = server(hosts)?;
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.sign(&params)
    }

    /// Makes a certificate for a server with these names of hosts, although they may be addresses.
    pub fn server_named(&self, names: &[&str]) -> Result<Certified, Error> {
        let mut params = server(&[])?;
        for name in names {
            params.subject_alt_names.push(SanType::DnsName((*name).try_into()?));
        }
        self.sign(&params)
    }

    /// Does as [`Self::client`], with a certificate that has been invalid for years.
    pub fn expired_client(&self, name: &str) -> Result<Certified, Error> {
        let mut params = client(name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.sign(&params)
    }

    /// Makes a certificate for a client, with the subject `CN=name,O=Tests`.
    pub fn client(&self, name: &str) -> Result<Certified, Error> {
        self.sign(&client(name))
    }

    fn sign(&self, params: &CertificateParams) -> Result<Certified, Error> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Certified { certificate, key: key.serialize_pem() })
    }
}

fn subject(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn client(name: &str) -> CertificateParams {
    let mut params = subject(name);
    params.distinguished_name.push(DnType::OrganizationName, "Tests");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn server(hosts: &[&str]) -> Result<CertificateParams, Error> {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = subject("zookeeper").distinguished_name;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

impl core::fmt::Debug for Certified {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Certified").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

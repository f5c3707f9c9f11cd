//! Options that cannot be used: a typed error before anything is sent.

use std::fs;
use std::path::Path;

use election_tokio::{
    Client, ConnectError,
    tls::{PemOrigin, PemProblem, TlsError, TlsInput, TlsOptions},
};
use tempfile::TempDir;
use zk_test_kit::failure::TestResult;

use crate::client_tls::stage::{client_certificate, server_ca, trusting};

/// Returns the error of a client at an address where no process listens, and none has to.
fn error(options: TlsOptions) -> TlsError {
    match Client::builder("127.0.0.1:1").tls(options).start() {
        Err(ConnectError::Tls(error)) => error,
        other => panic!("no error of TLS: {other:?}"),
    }
}

fn problem(options: TlsOptions) -> (TlsInput, PemProblem) {
    match error(options) {
        TlsError::Pem { input, problem, .. } => (input, problem),
        other => panic!("no error in PEM: {other}"),
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let missing = Path::new("/nonexistent/ca.pem");
    let options = [
        (TlsOptions::new().ca_file(missing), TlsInput::Ca),
        (trusting().client_certificate_files(missing, missing), TlsInput::ClientCertificate),
    ];
    for (options, expected) in options {
        let error = error(options);
        let TlsError::Pem { input, origin, problem: PemProblem::Unreadable(_) } = &error else {
            panic!("{error}");
        };
        assert_eq!((input, origin), (&expected, &PemOrigin::File(missing.into())));
        assert!(error.to_string().contains("/nonexistent/ca.pem"), "{error}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_for_each_input() {
    let mine = client_certificate("me");
    let (certificate, key) = (mine.certificate.as_str(), mine.key.as_str());
    let cases = [
        (TlsOptions::new().ca_pem(""), TlsInput::Ca),
        (TlsOptions::new().ca_pem(key), TlsInput::Ca),
        (trusting().client_certificate_pem(key, key), TlsInput::ClientCertificate),
        (trusting().client_certificate_pem(certificate, certificate), TlsInput::ClientKey),
    ];
    for (options, input) in cases {
        assert_eq!(problem(options), (input, PemProblem::Missing));
    }
}

#[tokio::test]
async fn broken_pem_is_told_from_none() {
    let ca = server_ca();
    let half = ca.get(..ca.len() / 2).unwrap();
    let (input, found) = problem(TlsOptions::new().ca_pem(half));
    assert!(matches!((input, &found), (TlsInput::Ca, PemProblem::Broken(_))), "{found}");
    let not_base64 = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
    let (_, found) = problem(TlsOptions::new().ca_pem(not_base64));
    assert!(matches!(found, PemProblem::Broken(_)), "{found}");
    let not_a_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let (_, found) = problem(TlsOptions::new().ca_pem(not_a_certificate));
    assert!(matches!(found, PemProblem::InvalidCertificate(_)), "{found}");
    let mine = client_certificate("me");
    let (input, found) = problem(trusting().client_certificate_pem(not_a_certificate, &*mine.key));
    assert_eq!(input, TlsInput::ClientCertificate);
    assert!(matches!(found, PemProblem::InvalidCertificate(_)), "{found}");
    let not_a_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let (input, found) = problem(trusting().client_certificate_pem(&*mine.certificate, not_a_key));
    assert_eq!(input, TlsInput::ClientKey);
    assert!(matches!(found, PemProblem::InvalidKey(_)), "{found}");
}

/// The files that Java users have at hand, and that many a tool makes.
#[tokio::test]
async fn keystores_and_encrypted_keys_are_told_with_the_way_out() -> TestResult {
    let folder = TempDir::new()?;
    let file = folder.path().join("store");
    for head in [&[0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2][..], &[0x30, 0x82, 0x0a, 0x01, 0xff][..]] {
        fs::write(&file, head)?;
        assert_eq!(problem(TlsOptions::new().ca_file(&file)).1, PemProblem::KeyStore);
    }
    let mine = client_certificate("me");
    let encrypted = [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n\
         -----END RSA PRIVATE KEY-----\n",
    ];
    for key in encrypted {
        let options = trusting().client_certificate_pem(mine.certificate.as_str(), key);
        assert_eq!(problem(options), (TlsInput::ClientKey, PemProblem::EncryptedKey));
    }
    Ok(())
}

#[tokio::test]
async fn a_key_of_another_certificate_is_noticed() {
    let [mine, others] = ["me", "somebody else"].map(client_certificate);
    let options = trusting().client_certificate_pem(mine.certificate, others.key);
    assert_eq!(error(options), TlsError::KeyMismatch);
}

#[tokio::test]
async fn a_server_name_is_a_name_or_an_address() {
    for name in ["", "zk 1", "https://zk1", "zk1:2281"] {
        assert_eq!(error(trusting().server_name(name)), TlsError::ServerName(name.to_owned()));
    }
    for name in ["zk1", "zk1.example", "::1", "10.0.0.1"] {
        assert!(Client::builder("127.0.0.1:1").tls(trusting().server_name(name)).start().is_ok());
    }
}

/// Neither a private key nor PEM of any kind shows in what may end in a log.
#[tokio::test]
async fn no_secret_is_shown() -> TestResult {
    let mine = client_certificate("me");
    let folder = TempDir::new()?;
    let file = folder.path().join("key");
    let secret = mine.key.lines().nth(1).unwrap();
    fs::write(&file, mine.key.replace("-----END", "----END"))?;
    let options = trusting().client_certificate_pem(&*mine.certificate, &*mine.key);
    let builder = Client::builder("127.0.0.1:1").tls(options.clone());
    let client = builder.clone().start()?;
    let from_file = TlsOptions::new().ca_pem(server_ca()).client_certificate_files(&file, &file);
    let swapped = trusting().client_certificate_pem(&*mine.key, &*mine.certificate);
    let texts = [
        format!("{options:?} {builder:?} {client:?}"),
        format!("{0} {0:?}", error(from_file)),
        format!("{0} {0:?}", error(swapped)),
    ];
    for text in texts {
        assert!(!text.contains(secret), "{text}");
        assert!(!text.contains(&format!("{:?}", secret.as_bytes())), "{text}");
    }
    Ok(())
}

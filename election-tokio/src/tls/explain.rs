//! Explains failures of TLS, with advice.

use core::error::Error;
use core::fmt;
use std::io;

use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error as RustlsError};

use super::config::Identity;
use super::error::TlsError;

/// The facts about a connection that explain its failure.
#[derive(Debug)]
pub(super) struct Circumstances {
    pub(super) identity: Identity,
    /// Why older files are in use, if they are.
    pub(super) outdated: Option<TlsError>,
}

/// A failure in words, with its source.
#[derive(Debug)]
struct Explained {
    explanation: String,
    source: io::Error,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explanation)
    }
}

impl Error for Explained {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // The inner error says more than the `io::Error` around it, and has its own type.
        let within = self.source.get_ref().map(|error| error as &(dyn Error + 'static));
        Some(within.unwrap_or(&self.source))
    }
}

impl Circumstances {
    /// Explains an error of the handshake.
    pub(super) fn explain_handshake(&self, error: io::Error) -> io::Error {
        match (rustls_error(&error), error.kind()) {
            (Some(reason), _) => self.explain(error, |it| it.reason(&reason)),
            (None, kind) if is_end(kind) => self.explain(error, |_| {
                "the server ended the connection in the TLS handshake without saying why: is this \
                 its port for TLS (`secureClientPort`)? One for plain text does the same"
                    .to_owned()
            }),
            (None, _) => error,
        }
    }

    /// Explains an error, or an end, after the handshake and before the server has sent anything:
    /// with TLS 1.3 the server judges the client's certificate only then.
    pub(super) fn explain_before_answer(&self, error: io::Error) -> io::Error {
        match (rustls_error(&error), error.kind()) {
            (Some(reason), _) => self.explain(error, |it| it.reason(&reason)),
            (None, kind) if is_end(kind) => self.explain(error, |it| {
                let suspicion = match it.identity {
                    Identity::Anonymous => "demands a client certificate, and there is none",
                    Identity::Certified => "refuses the client certificate",
                };
                format!(
                    "the server closed the connection after the TLS handshake, before it answered: \
                     it {suspicion}; or it does not serve at present, or has seen less than this \
                     client"
                )
            }),
            (None, _) => error,
        }
    }

    /// Explains an error of an established connection.
    pub(super) fn explain_later(&self, error: io::Error) -> io::Error {
        match rustls_error(&error) {
            Some(reason) => self.explain(error, |it| it.reason(&reason)),
            None => error,
        }
    }

    fn explain(&self, source: io::Error, explain: impl FnOnce(&Self) -> String) -> io::Error {
        let mut explanation = explain(self);
        if let Some(outdated) = &self.outdated {
            explanation.push_str("; besides, what was read before is in use, because ");
            explanation.push_str(&outdated.to_string());
        }
        io::Error::new(source.kind(), Explained { explanation, source })
    }

    fn reason(&self, error: &RustlsError) -> String {
        match error {
            RustlsError::InvalidCertificate(error) => certificate(error),
            RustlsError::AlertReceived(alert) => self.alert(*alert),
            RustlsError::InvalidMessage(_) => {
                "what the server sent is not TLS: is this its port for TLS (`secureClientPort`)?"
                    .to_owned()
            }
            RustlsError::PeerIncompatible(what) => format!(
                "server and client have no kind of TLS in common ({what:?}): see \
                 `ssl.enabledProtocols` and `ssl.ciphersuites` of the server"
            ),
            error => format!("TLS failed: {error}"),
        }
    }

    /// Explains the alert with which a server ends a connection.
    fn alert(&self, alert: AlertDescription) -> String {
        match (self.identity, alert) {
            (_, AlertDescription::ProtocolVersion) => {
                "the server speaks no version of TLS that this client speaks: see \
                 `ssl.enabledProtocols` of the server"
                    .to_owned()
            }
            (
                Identity::Anonymous,
                AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateUnknown,
            ) => format!(
                "the server ended TLS with the alert {alert:?}: it demands a client certificate, \
                 and this client presents none: give it one, or set `ssl.clientAuth=none` on the \
                 server"
            ),
            (
                Identity::Certified,
                AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied
                | AlertDescription::CertificateRequired,
            ) => format!(
                "the server refuses the client certificate (alert {alert:?}): the certificate has \
                 to be valid at this time, and signed by a CA in the server's `ssl.trustStore`"
            ),
            // With TLS 1.2 both cases have this alert.
            (identity, AlertDescription::HandshakeFailure) => {
                let other = match identity {
                    Identity::Anonymous => {
                        "demands a client certificate, and this client presents none"
                    }
                    Identity::Certified => "refuses the client certificate",
                };
                format!(
                    "the server ended TLS with the alert HandshakeFailure: it has no cipher suite \
                     in common with this client (`ssl.ciphersuites`, `ssl.enabledProtocols`), or \
                     {other}"
                )
            }
            (_, alert) => format!("the server ended TLS with the alert {alert:?}: see its log"),
        }
    }
}

/// Returns whether the other side has ended the connection.
fn is_end(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
}

fn rustls_error(error: &io::Error) -> Option<RustlsError> {
    error.get_ref()?.downcast_ref().cloned()
}

/// Explains what is wrong with a server's certificate.
fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "the server's certificate is signed by a CA that this client does not trust: give the \
             client the certificate of that CA; if it has it, the server does not send its whole \
             chain, or is another server than it should be"
                .to_owned()
        }
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the server's certificate expired {} ago: renew it on the server, unless the clock of \
             this machine is wrong",
            length_of_time(time.as_secs().saturating_sub(not_after.as_secs()))
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the server's certificate is not valid before {} from now: the clock of this machine \
             or that of the CA is wrong",
            length_of_time(not_before.as_secs().saturating_sub(time.as_secs()))
        ),
        CertificateError::NotValidForNameContext { expected, presented } => {
            wrong_name(expected, presented)
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the server's certificate is not made for servers: its extended key usage has to hold \
             serverAuth"
                .to_owned()
        }
        error => format!("the server's certificate cannot be used: {error}"),
    }
}

fn wrong_name(expected: &ServerName<'_>, presented: &[String]) -> String {
    let expected = expected.to_str();
    if presented.is_empty() {
        return format!(
            "the server's certificate names no host (subject alternative names count, a common \
             name does not), so it is not known to be for {expected}: have it made with that name"
        );
    }
    let presented: Vec<&str> = presented.iter().map(|name| bare_name(name)).collect();
    if presented.contains(&&*expected) {
        return format!(
            "the server's certificate has the address {expected} as the name of a host, which does \
             not count: have it made with {expected} as an IP address (a subject alternative name \
             of the type IP), or connect by a name that it is for"
        );
    }
    format!(
        "the server's certificate is for {} and not for {expected}: connect by such a name, have \
         the certificate made for {expected}, or tell the client which name to expect",
        presented.join(", ")
    )
}

/// Returns the bare name. rustls has names in the form of `Debug`: `DnsName("a")`,
/// `IpAddress(::1)`.
fn bare_name(name: &str) -> &str {
    name.split_once('(')
        .and_then(|(_, name)| name.strip_suffix(')'))
        .map_or(name, |name| name.trim_matches('"'))
}

/// Writes a time in the largest suitable unit.
fn length_of_time(seconds: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("days", 86_400), ("hours", 3_600), ("minutes", 60)];
    UNITS.iter().find(|(_, length)| seconds >= 2 * length).map_or_else(
        || format!("{seconds} seconds"),
        |(unit, length)| format!("{} {unit}", seconds / length),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANONYMOUS: Circumstances =
        Circumstances { identity: Identity::Anonymous, outdated: None };

    fn explained(circumstances: &Circumstances, error: RustlsError) -> String {
        let error = io::Error::new(io::ErrorKind::InvalidData, error);
        circumstances.explain_handshake(error).to_string()
    }

    #[test]
    fn an_alert_means_another_thing_to_who_presents_a_certificate() {
        let certified = Circumstances { identity: Identity::Certified, outdated: None };
        let alert = RustlsError::AlertReceived(AlertDescription::BadCertificate);
        assert!(explained(&ANONYMOUS, alert.clone()).contains("demands a client certificate"));
        assert!(explained(&certified, alert).contains("refuses the client certificate"));
    }

    /// With TLS 1.2 a server sends this in either case.
    #[test]
    fn a_failed_handshake_may_be_about_cipher_suites() {
        let certified = Circumstances { identity: Identity::Certified, outdated: None };
        let alert = RustlsError::AlertReceived(AlertDescription::HandshakeFailure);
        for (who, other) in [(&ANONYMOUS, "demands a client"), (&certified, "refuses the client")] {
            let text = explained(who, alert.clone());
            assert!(text.contains("no cipher suite in common"), "{text}");
            assert!(text.contains(other), "{text}");
        }
    }

    #[test]
    fn an_address_as_the_name_of_a_host_is_told_as_such() {
        let error = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("127.0.0.1").unwrap(),
            presented: vec!["DnsName(\"zk1\")".to_owned(), "DnsName(\"127.0.0.1\")".to_owned()],
        };
        let text = explained(&ANONYMOUS, RustlsError::InvalidCertificate(error));
        assert!(text.contains("as the name of a host, which does not count"), "{text}");
        assert!(!text.contains("not for"), "{text}");
    }

    #[test]
    fn an_end_before_the_first_answer_may_be_about_the_certificate() {
        let certified = Circumstances { identity: Identity::Certified, outdated: None };
        for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset] {
            let told = |who: &Circumstances| who.explain_before_answer(kind.into()).to_string();
            assert!(told(&ANONYMOUS).contains("demands a client certificate"));
            assert!(told(&certified).contains("refuses the client certificate"));
        }
    }

    #[test]
    fn what_was_not_read_again_is_told() {
        let outdated = Some(TlsError::KeyMismatch);
        let circumstances = Circumstances { identity: Identity::Certified, outdated };
        let text =
            explained(&circumstances, RustlsError::AlertReceived(AlertDescription::UnknownCA));
        assert!(text.contains("what was read before is in use"), "{text}");
        assert!(text.contains(&TlsError::KeyMismatch.to_string()), "{text}");
    }

    #[test]
    fn an_error_of_the_network_is_left_as_it_is() {
        let error = io::Error::from(io::ErrorKind::HostUnreachable);
        let text = error.to_string();
        assert_eq!(ANONYMOUS.explain_handshake(error).to_string(), text);
    }

    #[test]
    fn an_explanation_keeps_its_source() {
        let error = io::Error::new(io::ErrorKind::UnexpectedEof, "tls handshake eof");
        let explained = ANONYMOUS.explain_handshake(error);
        let source = explained.get_ref().and_then(Error::source).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("tls handshake eof"));
        assert_eq!(explained.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn an_explanation_keeps_the_error_of_rustls() {
        let reason = RustlsError::AlertReceived(AlertDescription::UnknownCA);
        let error = io::Error::new(io::ErrorKind::InvalidData, reason.clone());
        let explained = ANONYMOUS.explain_handshake(error);
        let source = explained.source().and_then(|source| source.downcast_ref::<RustlsError>());
        assert_eq!(source, Some(&reason));
    }

    #[test]
    fn names_are_told_bare() {
        let names = ["DnsName(\"zk1\")", "IpAddress(::1)", "zk2"];
        assert_eq!(names.map(bare_name), ["zk1", "::1", "zk2"]);
    }

    #[test]
    fn times_are_told_in_a_unit_that_suits_them() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (59, "59 seconds"),
            (120, "2 minutes"),
            (7_200, "2 hours"),
            (172_800, "2 days"),
        ] {
            assert_eq!(length_of_time(seconds), text);
        }
    }
}

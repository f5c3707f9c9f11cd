//! A port for clients that speak TLS.

use std::fs;
use std::io;
use std::path::Path;

/// A port for TLS beside the plain one.
#[derive(Clone)]
pub struct SecurePort {
    /// The server's certificate and private key, PEM.
    pub key_store: String,
    /// The CAs of clients, PEM.
    pub trust_store: String,
    /// Whether clients have to present a certificate.
    pub client_auth: ClientAuth,
}

/// `ssl.clientAuth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// Clients are not asked for a certificate.
    None,
    /// Clients have to present a certificate of a trusted CA.
    Need,
}

const KEY_STORE: &str = "key-store.pem";
const TRUST_STORE: &str = "trust-store.pem";

impl SecurePort {
    /// Returns its lines in `zoo.cfg`.
    pub(super) fn config(&self, port: u16) -> String {
        let client_auth = match self.client_auth {
            ClientAuth::None => "none",
            ClientAuth::Need => "need",
        };
        format!(
            "secureClientPort={port}\n\
             secureClientPortAddress=127.0.0.1\n\
             serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n\
             ssl.keyStore.location=./{KEY_STORE}\n\
             ssl.keyStore.type=PEM\n\
             ssl.trustStore.location=./{TRUST_STORE}\n\
             ssl.trustStore.type=PEM\n\
             ssl.clientAuth={client_auth}\n"
        )
    }

    /// Writes what it names into the folder of a server, which reads it when it starts.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(KEY_STORE), &self.key_store)?;
        fs::write(folder.join(TRUST_STORE), &self.trust_store)
    }
}

/// Without the private key.
impl core::fmt::Debug for SecurePort {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SecurePort").field("client_auth", &self.client_auth).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_written() {
        let port = SecurePort {
            key_store: String::new(),
            trust_store: String::new(),
            client_auth: ClientAuth::Need,
        };
        let config = port.config(2281);
        for line in [
            "secureClientPort=2281",
            "ssl.keyStore.location=./key-store.pem",
            "ssl.trustStore.location=./trust-store.pem",
            "ssl.clientAuth=need",
        ] {
            assert!(config.lines().any(|written| written == line), "{line} is not in:\n{config}");
        }
    }
}

//! TLS by rustls, between a client and the transport of its
//! [`Connector`](crate::transport::Connector).
//!
//! Certificates, files, versions, cryptography:
//! [TLS](https://github.com/zk-election/zk-election/blob/main/docs/client.md#tls).
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use election_tokio::{tls::TlsOptions, Client};
//!
//! let tls = TlsOptions::new()
//!     .ca_file("/etc/zk/ca.pem") // without it: the CAs of the platform
//!     .client_certificate_files("/etc/zk/client.pem", "/etc/zk/client.key"); // if servers ask for one
//! let client = Client::builder("zk1:2281,zk2:2281,zk3:2281/app").tls(tls).connect().await?;
//! # Ok(())
//! # }
//! ```
//!
//! It follows three rules:
//!
//! - It verifies the server's certificate on every connection. TLS sessions are not resumed,
//!   because that would skip the verification.
//! - It reads files when the client starts, where a mistake is an error, and again for each new
//!   connection, so that certificates can be exchanged under a running client. If files are
//!   unusable at that moment, it goes on with those that it read last, warns in the log, and names
//!   that in the reason of a connection that fails with them.
//! - It reports a failure with what is wrong and what to do, see `explain`.

mod config;
mod connector;
mod error;
mod explain;
mod options;
mod pem;
mod transport;
mod verifier;

pub(crate) use connector::TlsConnector;
pub use error::{PemOrigin, PemProblem, TlsError, TlsInput};
pub use options::{TlsOptions, TlsVersion};

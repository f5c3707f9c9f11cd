//! TLS by rustls, between a client and whatever its [`Connector`](crate::transport::Connector) opens.
//!
//! Three rules:
//!
//! - The server's certificate is verified on every connection, for this connection: there is no
//!   resumption of TLS sessions, which would skip that.
//! - Files are read when the client is started, where a mistake is an error, and again for each new
//!   connection, so that certificates can be exchanged under a running client. What cannot be used
//!   at that moment does not stop it: what was read last goes on being used, and the log and the
//!   reason of a connection that fails with it say so.
//! - A failure is told as what is wrong and what to do, see `explain`.

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

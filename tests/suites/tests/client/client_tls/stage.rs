//! The stage of the tests: CAs, servers that speak TLS, and clients of them.

use core::net::SocketAddr;
use std::sync::OnceLock;

use election_tokio::{Client, ClientBuilder, ConnectError, ConnectionState, tls::TlsOptions};
use zk_test_kit::certificates::{Authority, Certified};
use zk_test_kit::election::{LASTING, soon};
use zk_test_kit::failure::TestFailure;
use zk_test_kit::wait::SOON;
use zk_test_kit::zookeeper::{ClientAuth, Options, SecurePort, Server};

pub(crate) const LOOPBACK: &[&str] = &["127.0.0.1", "localhost"];

/// Returns the CA of servers, and that of clients.
pub(crate) fn authorities() -> (&'static Authority, &'static Authority) {
    static AUTHORITIES: OnceLock<(Authority, Authority)> = OnceLock::new();
    let (servers, clients) = AUTHORITIES
        .get_or_init(|| (Authority::new("Servers").unwrap(), Authority::new("Clients").unwrap()));
    (servers, clients)
}

pub(crate) fn server_ca() -> String {
    authorities().0.pem()
}

/// Returns a client's certificate that servers accept.
pub(crate) fn client_certificate(name: &str) -> Certified {
    authorities().1.client(name).unwrap()
}

/// Returns a port with this certificate.
pub(crate) fn port(certified: &Certified, client_auth: ClientAuth) -> SecurePort {
    SecurePort {
        key_store: format!("{}{}", certified.key, certified.certificate),
        trust_store: authorities().1.pem(),
        client_auth,
    }
}

pub(crate) fn start(port: SecurePort) -> Result<Server, TestFailure> {
    Ok(Options::new().secure_port(port).start_server()?)
}

/// Returns the server of all tests that asks for no client certificate.
pub(crate) fn open_server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| start_loopback(ClientAuth::None))
}

/// Returns the server of all tests that demands a client certificate.
pub(crate) fn demanding_server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| start_loopback(ClientAuth::Need))
}

fn start_loopback(client_auth: ClientAuth) -> Server {
    start(port(&authorities().0.server(LOOPBACK).unwrap(), client_auth)).unwrap()
}

pub(crate) fn secure_addr(server: &Server) -> SocketAddr {
    server.secure_addr().unwrap()
}

/// Options that trust the CA of servers.
pub(crate) fn trusting() -> TlsOptions {
    TlsOptions::new().ca_pem(server_ca())
}

/// Options with a client certificate.
pub(crate) fn certified(certified: &Certified) -> TlsOptions {
    trusting().client_certificate_pem(certified.certificate.as_str(), certified.key.as_str())
}

#[expect(clippy::needless_pass_by_value, reason = "addresses and strings alike")]
pub(crate) fn builder(servers: impl ToString, tls: TlsOptions) -> ClientBuilder {
    Client::builder(&servers.to_string()).tls(tls).session_timeout(LASTING)
}

pub(crate) async fn connect(
    servers: impl ToString,
    tls: TlsOptions,
) -> Result<Client, ConnectError> {
    builder(servers, tls).connect_timeout(SOON).connect().await
}

/// Returns the reason why an attempt failed, but for those that took too long, as on a busy
/// machine.
pub(crate) async fn refusal(builder: ClientBuilder) -> String {
    failure(builder, |reason| !reason.contains("timed out before")).await
}

/// Waits for an attempt that fails for a reason like this, and returns the reason.
pub(crate) async fn failure(builder: ClientBuilder, like: impl Fn(&str) -> bool) -> String {
    let client = builder.start().unwrap();
    let mut connection = client.connection_updates();
    let failed = connection.wait_for(|state| match state {
        ConnectionState::Connecting { last_failure: Some(failure), .. } => {
            like(&failure.to_string())
        }
        ConnectionState::Connected { .. } => true,
        _ => false,
    });
    match soon("an attempt fails", failed).await.unwrap() {
        Ok(ConnectionState::Connecting { last_failure: Some(failure), .. }) => failure.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

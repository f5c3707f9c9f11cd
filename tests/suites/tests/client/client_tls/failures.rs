//! The reasons that a client gets for a connection that fails.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::{io, thread};

use election_tokio::{Client, tls::TlsOptions};
use zk_test_kit::certificates::Authority;
use zk_test_kit::election::LASTING;
use zk_test_kit::failure::TestResult;
use zk_test_kit::zookeeper::{ClientAuth, Options};

use crate::client_tls::stage::{
    LOOPBACK, authorities, builder, certified, connect, demanding_server, open_server, port,
    refusal, secure_addr, start, trusting,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_an_unknown_ca_is_refused() -> TestResult {
    let unknown = TlsOptions::new().ca_pem(Authority::new("Unknown")?.pem());
    let reason = refusal(builder(secure_addr(open_server()), unknown)).await;
    let expected = "the server's certificate is signed by a CA that this client does not trust";
    assert!(reason.contains(expected), "{reason}");
    Ok(())
}

/// Skipped where the machine has none: that is an error of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cas_of_the_platform_do_not_sign_for_a_test() {
    let builder = builder(secure_addr(open_server()), TlsOptions::new());
    match builder.clone().start() {
        Ok(_) => {
            let reason = refusal(builder).await;
            assert!(reason.contains("a CA that this client does not trust"), "{reason}");
        }
        Err(error) => assert!(error.to_string().contains("ca-certificates"), "{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_has_expired_is_refused() -> TestResult {
    let server = start(port(&authorities().0.expired_server(LOOPBACK)?, ClientAuth::None))?;
    for tls in [trusting(), trusting().dangerously_accept_any_host_name()] {
        let reason = refusal(builder(secure_addr(&server), tls)).await;
        assert!(reason.contains("the server's certificate expired "), "{reason}");
        assert!(reason.contains(" days ago: renew it"), "{reason}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_without_a_name_is_refused() -> TestResult {
    let server = start(port(&authorities().0.server(&[])?, ClientAuth::None))?;
    let reason = refusal(builder(secure_addr(&server), trusting())).await;
    assert!(reason.contains("the server's certificate names no host"), "{reason}");
    Ok(())
}

/// With TLS 1.3 the handshake succeeds for the client before the server has judged it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_the_certificate_that_is_demanded_is_told_so() {
    let reason = refusal(builder(secure_addr(demanding_server()), trusting())).await;
    let expected = "it demands a client certificate, and this client presents none";
    assert!(reason.contains(expected), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_whose_certificate_is_refused_is_told_so() -> TestResult {
    let unknown = Authority::new("Unknown")?.client("me")?;
    let reason = refusal(builder(secure_addr(demanding_server()), certified(&unknown))).await;
    assert!(reason.contains("the server refuses the client certificate"), "{reason}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_whose_certificate_has_expired_is_told_so() -> TestResult {
    let expired = authorities().1.expired_client("me")?;
    let reason = refusal(builder(secure_addr(demanding_server()), certified(&expired))).await;
    assert!(reason.contains("the server refuses the client certificate"), "{reason}");
    assert!(reason.contains("has to be valid at this time"), "{reason}");
    Ok(())
}

/// A certificate is not what is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cipher_suites_that_do_not_meet_are_told_with_tls_1_2_too() -> TestResult {
    let server = Options::new()
        .secure_port(port(&authorities().0.server(LOOPBACK)?, ClientAuth::None))
        .config_line("ssl.enabledProtocols=TLSv1.2")
        .config_line("ssl.ciphersuites=TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA")
        .start_server()?;
    let reason = refusal(builder(secure_addr(&server), trusting())).await;
    assert!(reason.contains("it has no cipher suite in common with this client"), "{reason}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_a_certificate_has_as_the_name_of_a_host_does_not_count() -> TestResult {
    let named = authorities().0.server_named(&["127.0.0.1"])?;
    let server = start(port(&named, ClientAuth::None))?;
    let reason = refusal(builder(secure_addr(&server), trusting())).await;
    let expected = "has the address 127.0.0.1 as the name of a host, which does not count";
    assert!(reason.contains(expected), "{reason}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_at_the_plain_port_is_noticed() {
    let reason = refusal(builder(open_server().addr(), trusting())).await;
    assert!(reason.contains("is this its port for TLS (`secureClientPort`)?"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_text_at_the_port_for_tls_is_noticed() {
    let servers = secure_addr(open_server()).to_string();
    let reason = refusal(Client::builder(&servers).session_timeout(LASTING)).await;
    assert!(reason.contains("or wants TLS on this port"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_another_protocol_is_noticed() -> TestResult {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || -> io::Result<()> {
        loop {
            let (mut stream, _) = listener.accept()?;
            // The client hears the answer before the end.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
            while stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
        }
    });
    let reason = refusal(builder(address, trusting())).await;
    assert!(reason.contains("what the server sent is not TLS"), "{reason}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_no_certificate_can_name_is_refused_before_a_connection() {
    let server = secure_addr(open_server());
    let servers = format!("no_name!:{}", server.port());
    let reason = refusal(builder(servers, trusting())).await;
    assert!(reason.contains("can be in no certificate"), "{reason}");
}

/// The other servers are tried, whatever is wrong with one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_good_server_among_refused_ones_is_found() -> TestResult {
    let [good, demanding] = [open_server(), demanding_server()].map(secure_addr);
    let plain = open_server().addr();
    let client = connect(format!("{plain},{demanding},{good}"), trusting()).await?;
    assert!(client.exists("/").await?.is_some());
    Ok(())
}

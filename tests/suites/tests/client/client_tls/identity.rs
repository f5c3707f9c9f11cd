//! Servers and clients that know each other by their certificates.

use election_tokio::acl::{Acls, Permissions};
use election_tokio::tls::{TlsOptions, TlsVersion};
use election_tokio::{CreateMode, ErrorCode, ErrorKind, Version};
use zk_test_kit::failure::TestResult;
use zk_test_kit::identities::proved_by;
use zk_test_kit::zookeeper::{ClientAuth, Options, unique_path};

use crate::client_tls::stage::{
    LOOPBACK, authorities, builder, certified, client_certificate, connect, demanding_server,
    open_server, port, refusal, secure_addr, server_ca, start, trusting,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_a_trusted_ca_is_known_by_its_ip_address_and_by_its_name() -> TestResult {
    let server = secure_addr(open_server());
    for servers in [server.to_string(), format!("localhost:{}", server.port())] {
        let client = connect(servers, trusting()).await?;
        let path = unique_path("tls");
        client.create(&path, "data", CreateMode::Persistent).await?;
        let (data, _) = client.get_data(&path).await?;
        assert_eq!(data, b"data"[..]);
        client.delete(&path, Version::ANY).await?;
        client.close().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_cas_any_may_have_signed() -> TestResult {
    let other_ca = authorities().1.pem();
    let both = format!("{other_ca}{}", server_ca());
    let options =
        [TlsOptions::new().ca_pem(both), TlsOptions::new().ca_pem(other_ca).ca_pem(server_ca())];
    for tls in options {
        connect(secure_addr(open_server()), tls).await?;
    }
    Ok(())
}

/// A payload of many TLS records each way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_of_any_length_passes() -> TestResult {
    let client = connect(secure_addr(open_server()), trusting()).await?;
    let path = unique_path("tls-large");
    let data: Vec<u8> =
        (0..1_000_000_u32).flat_map(|number| number.to_le_bytes().into_iter().take(1)).collect();
    client.create(&path, data.clone(), CreateMode::Persistent).await?;
    let (read, _) = client.get_data(&path).await?;
    assert!(read == data);
    client.delete(&path, Version::ANY).await?;
    Ok(())
}

/// The subject of the certificate is an identity, and may own znodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_is_known_by_its_certificate_and_owns_what_is_its() -> TestResult {
    let release = demanding_server().release()?;
    let server = secure_addr(demanding_server());
    let [mine, others] = ["me", "somebody else"].map(client_certificate);
    let client = connect(server, certified(&mine)).await?;
    let subject = "O=Tests,CN=me";
    let proved = [("x509".to_owned(), subject.to_owned())];
    assert_eq!(proved_by(&client, release).await?, proved);

    let path = unique_path("mine");
    let acls = Acls::new().with(Permissions::ALL, "x509", subject);
    client.create_with_acl(&path, "secret", CreateMode::Persistent, &acls).await?;
    let stranger = connect(server, certified(&others)).await?;
    let refused = stranger.get_data(&path).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused(ErrorCode::NO_AUTH));

    let again = connect(server, certified(&mine)).await?;
    assert_eq!(again.get_data(&path).await?.0, b"secret"[..]);
    again.delete(&path, Version::ANY).await?;
    Ok(())
}

/// With TLS 1.2 a server judges the client's certificate within the handshake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_with_tls_1_2_are_spoken_to_unless_told_otherwise() -> TestResult {
    let certificate = authorities().0.server(LOOPBACK)?;
    let server = Options::new()
        .secure_port(port(&certificate, ClientAuth::Need))
        .config_line("ssl.protocol=TLSv1.2")
        .config_line("ssl.enabledProtocols=TLSv1.2")
        .start_server()?;
    let mine = client_certificate("me");
    let client = connect(secure_addr(&server), certified(&mine)).await?;
    assert!(client.exists("/").await?.is_some());

    let strict = certified(&mine).min_version(TlsVersion::V1_3);
    let reason = refusal(builder(secure_addr(&server), strict)).await;
    assert!(reason.contains("speaks no version of TLS that this client speaks"), "{reason}");
    let reason = refusal(builder(secure_addr(&server), trusting())).await;
    assert!(reason.contains("demands a client certificate"), "{reason}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_for_another_name_is_accepted_for_that_name_only() -> TestResult {
    let server = start(port(&authorities().0.server(&["zk.example"])?, ClientAuth::None))?;
    let address = secure_addr(&server);
    let reason = refusal(builder(address, trusting())).await;
    let expected = "the server's certificate is for zk.example and not for 127.0.0.1";
    assert!(reason.contains(expected), "{reason}");
    connect(address, trusting().server_name("zk.example")).await?;
    connect(address, trusting().dangerously_accept_any_host_name()).await?;
    // The name alone is not verified.
    let stranger = TlsOptions::new().ca_pem(authorities().1.pem());
    let reason = refusal(builder(address, stranger.dangerously_accept_any_host_name())).await;
    assert!(reason.contains("a CA that this client does not trust"), "{reason}");
    Ok(())
}

//! Connections that break, or say nothing, while TLS is being agreed on.

use core::time::Duration;

use election_tokio::{ConnectionState, CreateMode, Version};
use zk_test_kit::election::soon;
use zk_test_kit::failure::TestResult;
use zk_test_kit::proxy::{Direction, Directions, Proxy};
use zk_test_kit::wait::SOON;
use zk_test_kit::zookeeper::{ClientAuth, unique_path};

use crate::client_tls::stage::{
    LOOPBACK, authorities, builder, certified, client_certificate, connect, demanding_server,
    failure, open_server, port, secure_addr, start, trusting,
};

/// A cut at any byte of the handshake, and a little later, costs an attempt and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_in_the_middle_of_the_handshake_is_survived() -> TestResult {
    let proxy = Proxy::opaque_to(secure_addr(demanding_server()))?;
    let tls = certified(&client_certificate("me"));
    for direction in [Direction::ToServer, Direction::ToClient] {
        for bytes in [1, 5, 100, 250, 500] {
            let cut = proxy.cut_after_bytes(direction, bytes);
            let client = connect(proxy.addr(), tls.clone()).await?;
            assert!(cut.cut_connection().is_some(), "no cut after {bytes} bytes {direction:?}");
            assert!(client.exists("/").await.is_ok());
            client.close().await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_nothing_is_left_for_the_next() -> TestResult {
    let silent = Proxy::opaque_to(secure_addr(open_server()))?;
    silent.black_hole(Directions::Both);
    let good = Proxy::opaque_to(secure_addr(open_server()))?;
    let servers = format!("{},{}", silent.addr(), good.addr());
    let patient = |servers: &str| {
        builder(servers, trusting()).session_timeout(Duration::from_secs(2)).connect_timeout(SOON)
    };
    let timed_out = |reason: &str| reason.contains("timed out before the server answered");
    failure(patient(&silent.connect_string()), timed_out).await;

    good.refuse();
    let client = patient(&servers).start()?;
    let mut connection = client.connection_updates();
    let tried = |state: &ConnectionState| {
        matches!(state, ConnectionState::Connecting { last_failure: Some(failure), .. }
            if failure.to_string().contains(&silent.addr().to_string()))
    };
    soon("the silent server is given up", connection.wait_for(tried)).await??;
    good.accept()?;
    let connected = |state: &ConnectionState| matches!(state, ConnectionState::Connected { .. });
    soon("the good server is connected to", connection.wait_for(connected)).await??;
    Ok(())
}

/// A connection that is cut ends without the farewell of TLS; the session goes on over the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_followed_by_another_in_the_same_session() -> TestResult {
    let proxy = Proxy::opaque_to(secure_addr(open_server()))?;
    let client = connect(proxy.addr(), trusting()).await?;
    let mut connection = client.connection_updates();
    let ConnectionState::Connected { session: first, .. } = connection.latest() else {
        panic!("not connected");
    };
    proxy.refuse();
    proxy.cut();
    let suspended = |state: &ConnectionState| matches!(state, ConnectionState::Suspended { .. });
    soon("the loss is noticed", connection.wait_for(suspended)).await??;
    proxy.accept()?;
    let resumed = |state: &ConnectionState| matches!(state, ConnectionState::Connected { session, .. } if *session == first);
    soon("the session goes on", connection.wait_for(resumed)).await??;
    Ok(())
}

/// Servers refuse so, without a word, clients that have seen more than they have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_before_the_first_answer_is_told_with_what_it_may_mean() -> TestResult {
    let proxy = Proxy::opaque_to(secure_addr(open_server()))?;
    let client = connect(proxy.addr(), trusting()).await?;
    let path = unique_path("seen");
    client.create(&path, "", CreateMode::Persistent).await?;
    client.delete(&path, Version::ANY).await?;

    let empty = start(port(&authorities().0.server(LOOPBACK)?, ClientAuth::None))?;
    proxy.set_target(secure_addr(&empty));
    proxy.cut();
    let mut connection = client.connection_updates();
    let refused = |state: &ConnectionState| {
        matches!(state, ConnectionState::Suspended { last_failure: Some(failure), .. }
            if failure.to_string().contains("has seen less than this client"))
    };
    soon("the empty server refuses", connection.wait_for(refused)).await??;
    Ok(())
}

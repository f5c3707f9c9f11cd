//! SASL with DIGEST-MD5: servers that offer it, demand it, and do without it.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use core::time::Duration;
use std::sync::OnceLock;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::election::{EndReason, Role};
use election_tokio::lease::LeaseGrade;
use election_tokio::sasl::SaslFailure;
use election_tokio::session::SessionEnd;
use election_tokio::watch::EventType;
use election_tokio::{Client, ConnectError, ConnectionState, CreateMode, ErrorCode, Version};
use zk_test_kit::election::{LASTING, follows_this, is_suspended, leads, reaches, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::identities::proved_by;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Opcode, Proxy};
use zk_test_kit::sasl::{BOB, builder, options, rewrite_users};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{Options, Server, StartError, unique_path};

on_both_servers! {
    #[tokio::test]
    a_server_without_sasl_is_refused;
}

const ANN: (&str, &str) = ("ann", "annsecret");
/// In ISO 8859-1, and beyond.
const ZOE: (&str, &str) = ("zoë", "pässwörd");
const MAX: (&str, &str) = ("max", "κλειδί");

fn users() -> Options {
    options(&[BOB, ANN, ZOE, MAX])
}

/// Knows users, and serves others, too.
fn offering() -> Result<&'static Server, &'static StartError> {
    static SERVER: OnceLock<Result<Server, StartError>> = OnceLock::new();
    SERVER.get_or_init(|| users().start_server()).as_ref()
}

/// Returns a server that serves no client without SASL.
fn demanding() -> Result<&'static Server, &'static StartError> {
    static SERVER: OnceLock<Result<Server, StartError>> = OnceLock::new();
    let start = || users().config_line("sessionRequireClientSASLAuth=true").start_server();
    SERVER.get_or_init(start).as_ref()
}

fn pairs(identities: &[(&str, &str)]) -> Vec<(String, String)> {
    identities.iter().map(|&(scheme, user)| (scheme.to_owned(), user.to_owned())).collect()
}

/// Waits for the end of the session, and returns it.
async fn end(client: &Client) -> Result<SessionEnd, TestFailure> {
    let mut connection = client.connection_updates();
    let ended = connection.wait_for(|state| matches!(state, ConnectionState::Closed { .. }));
    match soon("the client ends", ended).await? {
        Ok(ConnectionState::Closed { end }) => Ok(end),
        state => panic!("{state:?}"),
    }
}

#[tokio::test]
async fn the_server_knows_who_the_client_is() -> TestResult {
    let server = offering()?;
    let client = builder(&server.connect_string(), BOB).connect().await?;
    assert_eq!(proved_by(&client, server.release()?).await?, pairs(&[("sasl", "bob")]));
    Ok(())
}

/// The hashes are over ISO 8859-1 where that has all the characters, else over UTF-8.
#[tokio::test]
async fn names_and_passwords_may_have_any_characters() -> TestResult {
    let server = offering()?;
    for user in [ZOE, MAX] {
        let client = builder(&server.connect_string(), user).connect().await?;
        assert_eq!(proved_by(&client, server.release()?).await?, pairs(&[("sasl", user.0)]));
    }
    Ok(())
}

#[tokio::test]
async fn wrong_credentials_end_the_client_at_once() -> TestResult {
    let servers = offering()?.connect_string();
    for user in [("bob", "annsecret"), ("bob", ""), ("eve", "evesecret")] {
        let Err(error) = builder(&servers, user).connect().await else {
            panic!("{user:?} was let in");
        };
        assert_eq!(error, ConnectError::Ended(SessionEnd::AuthFailed(ErrorCode::AUTH_FAILED)));
        assert!(error.to_string().contains("check user and password"), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_znode_can_be_for_one_user_alone() -> TestResult {
    let servers = offering()?.connect_string();
    let bob = builder(&servers, BOB).connect().await?;
    let ann = builder(&servers, ANN).connect().await?;
    let nobody = Client::builder(&servers).connect().await?;
    let path = unique_path("sasl-acl");
    let acls = Acls::new().with(Permissions::ALL, "sasl", "bob");
    bob.create_with_acl(&path, "for bob", CreateMode::Persistent, &acls).await?;
    assert_eq!(bob.get_data(&path).await?.0, "for bob");
    for other in [ann, nobody] {
        let refused = other.get_data(&path).await.map_err(|error| error.code());
        assert_eq!(refused, Err(Some(ErrorCode::NO_AUTH)));
    }
    Ok(())
}

/// SASL, then other identities, then watches, then requests; on every connection.
#[tokio::test]
async fn every_connection_begins_with_the_exchange() -> TestResult {
    let proxy = Proxy::to(offering()?.addr())?;
    let client = builder(&proxy.connect_string(), BOB)
        .session_timeout(LASTING)
        .auth("digest", b"carol:carolsecret")
        .auth("digest", b"dave:davesecret")
        .connect()
        .await?;
    let path = unique_path("sasl-reconnect");
    let acls = Acls::new().with(Permissions::ALL, "sasl", "bob");
    client.create_with_acl(&path, "", CreateMode::Persistent, &acls).await?;
    let (_, _, watch) = client.get_data_and_watch(&path).await?;
    for cuts in 1..=3 {
        proxy.cut();
        eventually_async(SOON, "it can be read again", async || {
            let read = client.get_data(&path).await.map_err(|error| error.code());
            assert_ne!(read, Err(Some(ErrorCode::NO_AUTH)), "after {cuts} cuts");
            read.is_ok()
        })
        .await?;
        let counters = proxy.counters();
        let opening = counters.openings_by_connection().values().last();
        let expected =
            [Opcode::SASL, Opcode::SASL, Opcode::AUTH, Opcode::AUTH, Opcode::SET_WATCHES];
        assert_eq!(opening.and_then(|opening| opening.get(..5)), Some(expected.as_slice()));
    }
    let known = [("digest", "carol"), ("digest", "dave"), ("sasl", "bob")];
    assert_eq!(proved_by(&client, offering()?.release()?).await?, pairs(&known));
    client.set_data(&path, "x", Version::ANY).await?;
    assert_eq!(soon("the watch fires", watch).await??.kind, EventType::NODE_DATA_CHANGED);
    Ok(())
}

/// Going on without an identity would be a silent downgrade.
async fn a_server_without_sasl_is_refused(server: ServerKind) -> TestResult {
    let Err(error) = builder(&server.shared()?.connect_string(), BOB).connect().await else {
        panic!("it was let in");
    };
    assert_eq!(error, ConnectError::Ended(SessionEnd::SaslFailed(SaslFailure::NotOffered)));
    assert!(error.to_string().contains("JAAS section `Server`"), "{error}");
    Ok(())
}

/// The client trusts no server that keeps a client which failed.
#[tokio::test]
async fn a_server_that_keeps_clients_that_failed_is_refused() -> TestResult {
    let server = users().system_property("zookeeper.allowSaslFailedClients", "true");
    let server = server.start_server()?;
    let failed = builder(&server.connect_string(), ("bob", "wrong")).connect().await;
    let expected = ConnectError::Ended(SessionEnd::SaslFailed(SaslFailure::NotOffered));
    assert_eq!(failed.map(drop), Err(expected));
    let client = builder(&server.connect_string(), BOB).connect().await?;
    assert_eq!(proved_by(&client, server.release()?).await?, pairs(&[("sasl", "bob")]));
    Ok(())
}

/// The handshake of a client without SASL is accepted; its first request, or its first ping, ends
/// it.
#[tokio::test]
async fn a_server_that_demands_sasl_ends_a_client_without() -> TestResult {
    let servers = demanding()?.connect_string();
    let expected = SessionEnd::AuthFailed(ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH);
    let asking = Client::builder(&servers).session_timeout(LASTING).connect().await?;
    let refused = asking.exists("/").await.map_err(|error| error.code());
    assert_eq!(refused, Err(Some(ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH)));
    assert_eq!(end(&asking).await?, expected);

    let silent = Client::builder(&servers).session_timeout(Duration::from_secs(2)).start()?;
    assert_eq!(end(&silent).await?, expected);
    assert!(expected.to_string().contains("serves nobody without SASL"), "{expected}");

    let wrong = builder(&servers, ("bob", "wrong")).connect().await;
    assert_eq!(wrong.map(drop), Err(ConnectError::Ended(expected)));
    Ok(())
}

/// Pings are not sent before the exchange is complete: the server would end the session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_demands_sasl_keeps_a_client_that_only_pings() -> TestResult {
    let proxy = Proxy::to(demanding()?.addr())?;
    let timeout = Duration::from_secs(3);
    let servers = proxy.connect_string();
    // This grade takes no `sync`s in their place.
    let builder = builder(&servers, BOB).lease_grade(LeaseGrade::Contact);
    let client = builder.session_timeout(timeout).connect().await?;
    for pings in [3, 6] {
        let waited = tokio::task::block_in_place(|| {
            proxy.wait_for(SOON, "pings are answered", |counters| {
                counters.replies(Opcode::PING) >= pings
            })
        });
        waited?;
        proxy.cut();
    }
    eventually_async(SOON, "it is connected", async || client.exists("/").await.is_ok()).await?;
    let openings = proxy.counters();
    let openings = openings.openings_by_connection();
    assert!(openings.len() >= 3);
    for opening in openings.values() {
        assert!(opening.iter().take(2).all(|&opcode| opcode == Opcode::SASL), "{opening:?}");
    }
    // The newest connection may be in the middle of it.
    let whole = openings.values().filter(|opening| opening.len() >= 2).count();
    assert!(whole + 1 >= openings.len(), "{openings:?}");
    Ok(())
}

#[tokio::test]
async fn an_election_is_held_where_sasl_is_demanded() -> TestResult {
    let proxy = Proxy::to(demanding()?.addr())?;
    let election = unique_path("sasl-election");
    let nominee = async |servers: &str| -> Result<_, TestFailure> {
        let client = builder(servers, BOB).session_timeout(LASTING).connect().await?;
        Ok((client.election(&election).acls(Acls::creator_all()).nominate()?, client))
    };
    let (mut leader, leaders_client) = nominee(&proxy.connect_string()).await?;
    let leadership = leads(&mut leader).await?;
    let (mut heir, _client) = nominee(&demanding()?.connect_string()).await?;
    follows_this(&heir, leadership.candidate()).await?;

    // The leader goes on after a reconnect, by the same token.
    proxy.refuse();
    proxy.cut();
    assert_eq!(is_suspended(&leader).await?, leadership.token());
    proxy.accept()?;
    let token = reaches(&leader, "the leader goes on", |status| match status.role {
        Role::Leading { token } => Some(token),
        _ => None,
    });
    assert_eq!(token.await?, leadership.token());

    soon("the leader closes", leaders_client.close()).await??;
    let successor = leads(&mut heir).await?;
    assert!(successor.token() > leadership.token());
    Ok(())
}

/// A refusal on a later connection is told to every waiting caller, and nothing is tried again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_are_withdrawn_end_the_client_and_its_nominations() -> TestResult {
    let server = options(&[BOB]).start_server()?;
    let client = builder(&server.connect_string(), BOB).session_timeout(LASTING).connect().await?;
    let mut nomination = client.election(&unique_path("sasl-withdrawn")).nominate()?;
    let leadership = leads(&mut nomination).await?;
    rewrite_users(&server, &[ANN])?;
    tokio::task::block_in_place(|| server.restart())?;
    let expected = SessionEnd::AuthFailed(ErrorCode::AUTH_FAILED);
    assert_eq!(end(&client).await?, expected);
    assert!(!leadership.is_valid());
    let reason = reaches(&nomination, "the nomination ends", |status| match status.role {
        Role::Ended(reason) => Some(reason),
        _ => None,
    });
    assert_eq!(reason.await?, EndReason::ClientClosed(expected));
    Ok(())
}

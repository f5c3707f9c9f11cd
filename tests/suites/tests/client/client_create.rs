//! The client creates znodes that live for a time, and with their parents.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;

use election_tokio::ensemble::ServerVersion;
use election_tokio::error::OpCode;
use election_tokio::{
    Client, CreateMode, ErrorCode, ErrorKind, OperationOutcome, SessionId, TransactionError, Ttl,
    Version,
};
use zk_embedded::ExtendedTypes;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::{ServerKind, Settings, TestServer};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::unique_path;

on_both_servers! {
    #[tokio::test]
    znodes_with_a_time_to_live_go_when_it_is_over,
    a_time_to_live_that_the_server_does_not_allow_costs_nothing;
}

/// Starts a server that knows znodes with a time to live, and that looks for those that are over.
fn with_ttl(server: ServerKind) -> Result<TestServer, TestFailure> {
    let settings = Settings {
        extended_types: ExtendedTypes::Enabled,
        container_check_interval: Duration::from_millis(100),
        ..Settings::default()
    };
    Ok(server.start_with(&settings)?)
}

async fn znodes_with_a_time_to_live_go_when_it_is_over(server: ServerKind) -> TestResult {
    let server = with_ttl(server)?;
    let client = Client::builder(&server.connect_string()).connect().await?;
    let (short, long) = (Ttl::MIN, Ttl::MAX);
    let stays = client.create("/stays", "data", CreateMode::PersistentWithTtl(long)).await?;
    assert_eq!(stays.path, "/stays");
    assert_eq!(client.get_data("/stays").await?, ("data".into(), stays.stat));
    assert_eq!(stays.stat.ephemeral_owner, SessionId::NONE);

    let numbered = CreateMode::PersistentSequentialWithTtl(long);
    let first = client.create("/stays/n-", "", numbered).await?.path;
    let second = client.create("/stays/", "", numbered).await?.path;
    assert_eq!((first.as_str(), second.as_str()), ("/stays/n-0000000000", "/stays/0000000001"));

    let goes = CreateMode::PersistentWithTtl(short);
    client.create("/goes", "", goes).await?;
    let results = client.transaction().create("/stays/goes", "", goes).commit().await?;
    assert_eq!(results, [OperationOutcome::Created("/stays/goes".to_owned())]);
    for path in ["/goes", "/stays/goes"] {
        eventually_async(SOON, "it goes", async || matches!(client.exists(path).await, Ok(None)))
            .await?;
    }
    assert!(client.exists(&first).await?.is_some());
    Ok(())
}

/// Servers are to be told to allow it (`extendedTypesEnabled`).
async fn a_time_to_live_that_the_server_does_not_allow_costs_nothing(
    server: ServerKind,
) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let (path, mode) = (unique_path("ttl"), CreateMode::PersistentWithTtl(Ttl::MIN));
    let error = client.create(&path, "", mode).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported { since: ServerVersion::new(3, 5, 3) });
    assert!(error.to_string().starts_with(&format!("createTTL {path}: ")), "{error}");
    assert!(!error.may_have_happened());

    let transaction = client.transaction().check("/", Version::ANY).create(&path, "", mode);
    let error = transaction.commit().await.unwrap_err();
    let code = ErrorCode::UNIMPLEMENTED;
    let refused = TransactionError::Refused {
        index: 1,
        operation: OpCode::CREATE_TTL,
        path: path.clone(),
        code,
    };
    assert_eq!(error, refused);

    assert_eq!(client.exists(&path).await?, None);
    assert_eq!(proxy.counters().requests(Opcode::CREATE_TTL), 1);
    Ok(())
}

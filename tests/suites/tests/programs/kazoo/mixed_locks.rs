//! Locks that kazoo and this library contend for, in kazoo's format.

use core::time::Duration;

use election_tokio::format::Format;
use election_tokio::lock::LockGuard;
use election_tokio::{Client, CreateMode, Version};
use tokio::runtime::Runtime;
use zk_test_kit::election::{LASTING, connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

use super::Scenario;

/// As many as kazoo's.
const ROUNDS: usize = 12;

/// A znode in which each holder of a lock, of either library, finds what it must not.
struct Ledger {
    client: Client,
    writer: String,
    readers: String,
}

impl Ledger {
    async fn of(client: &Client, lock: &str) -> Result<Self, TestFailure> {
        let path = format!("/ledger-of-{lock}");
        let (writer, readers) = (format!("{path}/writer"), format!("{path}/readers"));
        client.create(&path, "", CreateMode::Persistent).await?;
        client.create(&readers, "", CreateMode::Persistent).await?;
        Ok(Self { client: client.clone(), writer, readers })
    }

    async fn write(&self, guard: LockGuard) -> TestResult {
        let Self { client, writer, readers } = self;
        client.create(writer, "", CreateMode::Ephemeral).await?;
        let others = client.get_children(readers).await?.iter().count();
        assert_eq!(others, 0, "a writer beside a reader");
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(guard.is_valid());
        client.delete(writer, Version::ANY).await?;
        guard.release().await?;
        Ok(())
    }

    async fn read(&self, guard: LockGuard) -> TestResult {
        let Self { client, writer, readers } = self;
        let path = format!("{readers}/r-");
        let reader = client.create(&path, "", CreateMode::EphemeralSequential).await?;
        assert_eq!(client.exists(writer).await?, None, "a reader beside a writer");
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(guard.is_valid());
        client.delete(&reader.path, Version::ANY).await?;
        guard.release().await?;
        Ok(())
    }
}

/// Both take a plain lock, and then a shared one, at the same time.
pub(super) fn both_libraries_take_a_lock_in_turn(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let servers = format!("{}{}", server.connect_string(), server.fresh_chroot("mixed")?);
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let client = connect(&servers, LASTING).await?;
        let ledger = Ledger::of(&client, "lock").await?;
        let shared = Ledger::of(&client, "shared").await?;
        let lock = client.lock("/lock").format(Format::kazoo());
        let first = soon("the first lock", lock.lock()).await??;
        let mut kazoo = Scenario::start("mixed_locks", &servers)?;
        eventually_async(SOON, "kazoo waits for the lock", async || {
            client.get_children("/lock").await.is_ok_and(|names| names.iter().count() == 2)
        })
        .await?;
        ledger.write(first).await?;
        for _ in 1..ROUNDS {
            ledger.write(soon("a lock", lock.lock()).await??).await?;
        }
        let writer = client.write_lock("/shared").format(Format::kazoo());
        let reader = client.read_lock("/shared").format(Format::kazoo());
        for round in 0..ROUNDS {
            if round % 3 == 1 {
                shared.write(soon("a writer's lock", writer.lock()).await??).await?;
            } else {
                shared.read(soon("a reader's lock", reader.lock()).await??).await?;
            }
        }
        kazoo.end()?;
        for lock in ["/lock", "/shared"] {
            assert_eq!(client.get_children(lock).await?.iter().count(), 0, "{lock}");
        }
        Ok(())
    })
}

/// kazoo's process is killed while it holds the lock.
pub(super) fn a_killed_holder_makes_way_for_the_other_library(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let servers = format!("{}{}", server.connect_string(), server.fresh_chroot("killed")?);
    let mut kazoo = Scenario::start("hold", &servers)?;
    kazoo.wait_for("held")?;
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let client = connect(&servers, LASTING).await?;
        let ledger = Ledger::of(&client, "lock").await?;
        let lock = client.lock("/lock").format(Format::kazoo());
        assert!(soon("an answer", lock.try_lock()).await??.is_none());
        drop(kazoo);
        let guard = soon("the lock", lock.lock()).await??;
        ledger.write(guard).await
    })
}

//! The metrics of the client, as the README of election-tokio lists them.

#[cfg(test)]
mod elections;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod works;

use core::future::Future;
use core::num::NonZeroU32;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Waker};
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

use election_tokio::election::Nomination;
use election_tokio::watch::EventType;
use election_tokio::{Client, CreateMode, Version};
use metrics::{KeyName, Metadata, SharedString, Unit};
use tokio::time::timeout;
use zk_test_kit::election::Arena;
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Cut, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::unique_path;

use self::figures::Recording;

// The recorder is that of the thread, so everything has to run on one.
on_both_servers! {
    #[tokio::test(flavor = "current_thread")]
    requests_are_counted_by_operation_and_outcome,
    bytes_are_those_on_the_wire,
    connections_and_watches_are_counted,
    elections_are_counted,
    locks_are_counted,
    barriers_queues_and_counters_are_counted,
    a_recorder_may_call_the_client;
}

async fn requests_are_counted_by_operation_and_outcome(server: ServerKind) -> TestResult {
    let recording = Recording::begin();
    let client = Client::builder(&server.shared()?.connect_string()).connect().await?;
    let path = unique_path("metrics");
    client.create(&path, "", CreateMode::Persistent).await?;
    for _ in 0..3 {
        client.get_data(&path).await?;
    }
    client.get_data(&format!("{path}/none")).await.expect_err("there is none");
    client.delete(&path, Version::ANY).await?;
    // Made, and given up before it can be answered.
    tokio::select! {
        biased;
        _ = client.exists(&path) => panic!("nobody has read the answer"),
        () = core::future::ready(()) => {}
    }
    let other = client.clone();
    client.close().await?;
    other.exists(&path).await.expect_err("it is closed");

    recording.figures().assert(&[
        ("zk_client_requests_total{operation=create2,outcome=answered}", 1.0),
        ("zk_client_requests_total{operation=getData,outcome=answered}", 3.0),
        ("zk_client_requests_total{operation=getData,outcome=refused}", 1.0),
        ("zk_client_requests_total{operation=delete,outcome=answered}", 1.0),
        ("zk_client_requests_total{operation=exists,outcome=given_up}", 1.0),
        ("zk_client_requests_total{operation=exists,outcome=not_sent}", 1.0),
        ("zk_client_request_duration_seconds{operation=getData}", 4.0),
        ("zk_client_connections{state=closed}", 1.0),
        ("zk_client_connections{state=connected}", 0.0),
    ]);
    drop(other);
    Ok(())
}

async fn bytes_are_those_on_the_wire(server: ServerKind) -> TestResult {
    let recording = Recording::begin();
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let path = unique_path("metrics");
    client.create(&path, vec![0; 10_000], CreateMode::Ephemeral).await?;
    client.get_data(&path).await?;
    client.close().await?;
    let figures = recording.figures();
    let counters = proxy.counters();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    figures.assert(&[
        ("zk_client_sent_bytes_total{}", counters.bytes_to_server as f64),
        ("zk_client_received_bytes_total{}", counters.bytes_to_client as f64),
    ]);
    Ok(())
}

async fn connections_and_watches_are_counted(server: ServerKind) -> TestResult {
    let recording = Recording::begin();
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let path = unique_path("metrics");
    let (_, created) = client.exists_and_watch(&path).await?;
    client.create(&path, "", CreateMode::Ephemeral).await?;
    assert_eq!(created.await?.kind, EventType::NODE_CREATED);
    for _ in 0..2 {
        let accepted = proxy.counters().accepted;
        proxy.cut();
        let again = eventually_async(SOON, "it is served again", async || {
            proxy.counters().accepted > accepted && client.sync("/").await.is_ok()
        });
        again.await?;
    }
    recording.figures().assert(&[
        ("zk_client_sessions_total{}", 1.0),
        ("zk_client_connection_losses_total{}", 2.0),
        ("zk_client_reconnects_total{}", 2.0),
        ("zk_client_watch_events_total{kind=NodeCreated}", 1.0),
        ("zk_client_connections{state=connected}", 1.0),
        ("zk_client_connections{state=suspended}", 0.0),
    ]);
    Ok(())
}

async fn elections_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let client = &arena.admin;
    let mut nomination = client.election("/election").nominate()?;
    let leadership = nomination.elected().await?;
    recording
        .figures()
        .assert(&[("zk_election_elected_total{}", 1.0), ("zk_election_leading{}", 1.0)]);
    let candidate = format!("/election/{}", leadership.candidate());
    client.delete(&candidate, Version::ANY).await?;
    leadership.lost().await;
    // It stands again by itself.
    let leadership = nomination.elected().await?;
    leadership.resign().await?;
    recording.figures().assert(&[
        ("zk_election_elected_total{}", 1.0),
        // From one to none.
        ("zk_election_leading{}", -1.0),
        ("zk_election_lost_total{reason=evicted}", 1.0),
        ("zk_election_lost_total{reason=resigned}", 1.0),
        ("zk_recipe_requests_total{step=delete,outcome=answered}", 1.0),
    ]);
    Ok(())
}

async fn locks_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let client = &arena.admin;
    let writer = client.write_lock("/shared").lock().await?;
    assert!(client.read_lock("/shared").try_lock().await?.is_none());
    let permit = client.semaphore("/permits", NonZeroU32::MIN).acquire().await?;
    recording.figures().assert(&[
        ("zk_lock_acquired_total{kind=exclusive}", 1.0),
        ("zk_lock_acquired_total{kind=permit}", 1.0),
        ("zk_lock_given_up_total{kind=shared,reason=busy}", 1.0),
        ("zk_lock_held{kind=exclusive}", 1.0),
        ("zk_lock_held{kind=permit}", 1.0),
        ("zk_lock_wait_duration_seconds{kind=exclusive}", 1.0),
    ]);
    client.delete(&format!("/shared/{}", writer.znode()), Version::ANY).await?;
    writer.lost().await;
    permit.release().await?;
    recording.figures().assert(&[
        ("zk_lock_held{kind=exclusive}", -1.0),
        ("zk_lock_held{kind=permit}", -1.0),
        ("zk_lock_lost_total{kind=exclusive,reason=broken}", 1.0),
        ("zk_lock_lost_total{kind=permit,reason=released}", 1.0),
        ("zk_lock_held_duration_seconds{kind=permit}", 1.0),
    ]);
    Ok(())
}

async fn barriers_queues_and_counters_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let client = &arena.admin;
    let barrier = client.barrier("/barrier");
    barrier.set().await?;
    assert!(timeout(Duration::from_millis(50), barrier.wait()).await.is_err(), "it waits");
    barrier.lift().await?;
    barrier.wait().await?;
    client.double_barrier("/double", 1).enter().await?.leave().await?;
    let queue = client.queue("/queue");
    queue.put_many(["a", "b", "c"]).await?;
    queue.put("d").await?;
    queue.take().await?;
    queue.claim().await?.done().await?;
    queue.claim().await?.give_back().await?;
    drop(queue.claim().await?);
    assert!(client.queue("/empty").try_take().await?.is_none());
    client.counter("/counter").add(1).await?;
    client.counter("/counter").compare_and_set(7, 8).await?;
    recording.figures().assert(&[
        ("zk_barrier_operations_total{kind=set,outcome=done}", 1.0),
        ("zk_barrier_operations_total{kind=wait,outcome=given_up}", 1.0),
        ("zk_barrier_operations_total{kind=wait,outcome=done}", 1.0),
        ("zk_barrier_wait_duration_seconds{kind=wait}", 1.0),
        ("zk_barrier_operations_total{kind=enter,outcome=done}", 1.0),
        ("zk_barrier_operations_total{kind=leave,outcome=done}", 1.0),
        ("zk_barrier_wait_duration_seconds{kind=enter}", 1.0),
        ("zk_queue_puts_total{outcome=put}", 4.0),
        ("zk_queue_takes_total{kind=take,outcome=got}", 1.0),
        ("zk_queue_takes_total{kind=take,outcome=empty}", 1.0),
        ("zk_queue_takes_total{kind=claim,outcome=got}", 3.0),
        ("zk_queue_wait_duration_seconds{kind=claim}", 3.0),
        ("zk_queue_claims_ended_total{outcome=done}", 1.0),
        ("zk_queue_claims_ended_total{outcome=given_back}", 1.0),
        ("zk_queue_claims_ended_total{outcome=dropped}", 1.0),
        ("zk_queue_claim_duration_seconds{}", 3.0),
        ("zk_counter_changes_total{outcome=changed}", 1.0),
        ("zk_counter_changes_total{outcome=differs}", 1.0),
    ]);
    // A reply that is lost, to a put, a take and a change, one after the other.
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = arena.client_by(&proxy).await?;
    let lost = |opcode| proxy.cut_when(Cut::instead_of_reply_to(opcode));
    let _cut = lost(Opcode::CREATE2);
    assert!(cut_off.queue("/queue").put("e").await.is_err());
    let _cut = lost(Opcode::DELETE);
    assert!(cut_off.queue("/queue").take().await.is_err());
    let _cut = lost(Opcode::SET_DATA);
    assert!(cut_off.counter("/counter").add(1).await.is_err());
    recording.figures().assert(&[
        ("zk_queue_puts_total{outcome=unknown}", 1.0),
        ("zk_queue_takes_total{kind=take,outcome=unknown}", 1.0),
        ("zk_counter_changes_total{outcome=unknown}", 1.0),
    ]);
    Ok(())
}

/// Calls the client whenever something is recorded: no lock is held meanwhile.
#[derive(Default)]
struct CallingRecorder {
    client: OnceLock<Client>,
    nomination: OnceLock<Nomination>,
    recorded: Mutex<BTreeSet<String>>,
    /// Its own calls are recorded too.
    calls: AtomicBool,
}

impl CallingRecorder {
    fn record(&self, key: &metrics::Key) {
        self.recorded.lock().expect("it does not panic").insert(key.name().to_owned());
        let Some(client) = self.client.get() else {
            return;
        };
        if self.calls.swap(true, Ordering::Relaxed) {
            return;
        }
        client.session_id();
        client.connection_updates().latest();
        if let Some(nomination) = self.nomination.get() {
            nomination.status();
        }
        {
            let call = pin!(client.exists("/"));
            let _ = call.poll(&mut Context::from_waker(Waker::noop()));
        }
        self.calls.store(false, Ordering::Relaxed);
    }
}

impl metrics::Recorder for CallingRecorder {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &metrics::Key, _: &Metadata<'_>) -> metrics::Counter {
        self.record(key);
        metrics::Counter::noop()
    }

    fn register_gauge(&self, key: &metrics::Key, _: &Metadata<'_>) -> metrics::Gauge {
        self.record(key);
        metrics::Gauge::noop()
    }

    fn register_histogram(&self, key: &metrics::Key, _: &Metadata<'_>) -> metrics::Histogram {
        self.record(key);
        metrics::Histogram::noop()
    }
}

async fn a_recorder_may_call_the_client(server: ServerKind) -> TestResult {
    let recorder = CallingRecorder::default();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let client = Arena::new(server, "metrics").await?.admin;
    assert!(recorder.client.set(client.clone()).is_ok());
    let mut nomination = client.election("/election").nominate()?;
    let leadership = nomination.elected().await?;
    assert!(recorder.nomination.set(nomination).is_ok());
    let (_, watch) = client.exists_and_watch("/watched").await?;
    client.create("/watched", "", CreateMode::Persistent).await?;
    watch.await?;
    leadership.resign().await?;
    let names = recorder.recorded.lock().expect("it does not panic");
    for name in [
        "zk_client_connections",
        "zk_client_requests_total",
        "zk_client_watch_events_total",
        "zk_client_sessions_total",
        "zk_election_elected_total",
        "zk_recipe_requests_total",
        "zk_election_lost_total",
        "zk_election_leading",
    ] {
        assert!(names.contains(name), "{name} was not recorded");
    }
    Ok(())
}

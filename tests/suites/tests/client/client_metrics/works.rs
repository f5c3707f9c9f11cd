//! The metrics of slots, several locks, jobs that run once, and caches.

use core::future::ready;
use core::time::Duration;

use election_tokio::once::{Admission, OnceError, OnceRun, TakeAgain};
use election_tokio::slots::{SlotEvent, SlotGuard, SlotMember};
use election_tokio::{CreateMode, Version};
use zk_test_kit::election::{connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

use crate::client_metrics::figures::Recording;

on_both_servers! {
    #[tokio::test(flavor = "current_thread")]
    slots_are_counted,
    several_locks_are_counted,
    jobs_that_run_once_are_counted,
    caches_are_counted;
}

const PERIOD: Duration = Duration::from_secs(20 * 3600);

/// Waits for the next slot that is gained. Other events before it are an error.
async fn gained(member: &mut SlotMember) -> Result<SlotGuard, TestFailure> {
    match soon("a slot is gained", member.next()).await? {
        Some(Ok(SlotEvent::Gained(guard))) => Ok(guard),
        other => panic!("not gained: {other:?}"),
    }
}

async fn slots_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let slots = arena.admin.slots("/shards", 1).gather_for(Duration::ZERO);
    let mut member = slots.give_up_within(PERIOD).join("host-1")?;
    let slots = arena.admin.slots("/others", 1).gather_for(Duration::ZERO);
    let mut other = slots.give_up_within(Duration::ZERO).join("host-1")?;
    let (first, second) = (gained(&mut member).await?, gained(&mut other).await?);
    let mut figures = recording.figures();
    figures.assert(&[("zk_slot_gained_total{}", 2.0), ("zk_slot_held{}", 2.0)]);
    assert!(figures.has("zk_slot_given_up_total{reason=overdue}"), "a first one would be missed");
    assert!(
        figures.has("zk_slot_lost_total{reason=session_expired}"),
        "a first one would be missed"
    );
    drop(first);
    let first = gained(&mut member).await?;
    let contender = format!("/others/slots/0/{}", second.znode());
    arena.admin.delete(&contender, Version::ANY).await?;
    soon("it is lost", second.lost()).await?;
    drop(second);
    let second = gained(&mut other).await?;
    figures.add(recording.figures());
    figures.assert(&[
        ("zk_slot_gained_total{}", 4.0),
        ("zk_slot_held{}", 2.0),
        ("zk_slot_given_up_total{reason=unasked}", 1.0),
        ("zk_slot_lost_total{reason=broken}", 1.0),
        ("zk_slot_held_duration_seconds{}", 2.0),
    ]);
    member.leave();
    soon("it is asked", first.give_up_requested()).await?;
    drop(first);
    other.leave();
    soon("it is released, at the deadline", second.lost()).await?;
    drop(second);
    for mut member in [member, other] {
        while soon("it has left", member.next()).await?.transpose()?.is_some() {}
    }
    figures.add(recording.figures());
    figures.assert(&[
        ("zk_slot_held{}", 0.0),
        ("zk_slot_given_up_total{reason=asked}", 1.0),
        ("zk_slot_given_up_total{reason=overdue}", 1.0),
        ("zk_slot_held_duration_seconds{}", 4.0),
    ]);
    Ok(())
}

async fn several_locks_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let client = &arena.admin;
    let locks = client.locks(["/locks/a", "/locks/b"]);
    let guard = soon("both are held", locks.lock()).await??;
    assert!(soon("it is busy", locks.try_lock()).await??.is_none());
    // Dropped before it is held.
    tokio::select! {
        biased;
        _ = locks.lock() => panic!("it is held"),
        () = ready(()) => {}
    }
    client.locks::<&str>([]).lock().await.expect_err("there is none");
    let mut figures = recording.figures();
    assert!(figures.has("zk_several_locks_begun_anew_total{}"), "a first one would be missed");
    figures.assert(&[
        ("zk_several_locks_asked_total{outcome=held}", 1.0),
        ("zk_several_locks_asked_total{outcome=busy}", 1.0),
        ("zk_several_locks_asked_total{outcome=given_up}", 1.0),
        ("zk_several_locks_asked_total{outcome=failed}", 1.0),
        ("zk_several_locks_held{}", 1.0),
        ("zk_several_locks_wait_duration_seconds{}", 1.0),
    ]);
    soon("they are released", guard.release()).await??;
    let guard = soon("both are held", locks.lock()).await??;
    let (path, lock) = guard.iter().next().expect("there are two");
    client.delete(&format!("{path}/{}", lock.znode()), Version::ANY).await?;
    soon("one is lost", guard.lost()).await?;
    drop(guard);
    // It holds the first one, and loses it while it waits for the second.
    let other = soon("it is held", client.lock("/locks/b").lock()).await??;
    let waiting = async {
        // Once it waits for the second, it holds the first.
        eventually_async(SOON, "it waits for the second", async || {
            client.get_children("/locks/b").await.is_ok_and(|names| names.iter().count() == 2)
        })
        .await?;
        for name in client.get_children("/locks/a").await?.iter() {
            client.delete(&format!("/locks/a/{name}"), Version::ANY).await?;
        }
        let mut figures = recording.figures();
        eventually_async(SOON, "it begins anew", async || {
            figures.add(recording.figures());
            figures.get("zk_several_locks_begun_anew_total{}") > 0.5
        })
        .await?;
        soon("it is released", other.release()).await??;
        Ok::<_, TestFailure>(figures)
    };
    let (guard, seen) = tokio::join!(soon("both are held", locks.lock()), waiting);
    drop(guard??);
    figures.add(seen?);
    figures.add(recording.figures());
    figures.assert(&[
        ("zk_several_locks_held{}", 0.0),
        ("zk_several_locks_asked_total{outcome=held}", 3.0),
        ("zk_several_locks_begun_anew_total{}", 1.0),
        ("zk_several_locks_lost_total{reason=released}", 2.0),
        ("zk_several_locks_lost_total{reason=broken}", 1.0),
    ]);
    Ok(())
}

fn run(admission: Result<Admission, OnceError>) -> Result<OnceRun, TestFailure> {
    match admission? {
        Admission::Run(run) => Ok(run),
        other => panic!("it does not run: {other:?}"),
    }
}

async fn jobs_that_run_once_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let job = arena.admin.once("/job", PERIOD).take_again(TakeAgain::Failed);
    let first = run(soon("it runs", job.begin()).await?)?;
    assert!(matches!(soon("it is busy", job.try_begin()).await??, Admission::Busy));
    soon("it has failed", first.failed()).await??;
    drop(run(soon("it runs again", job.begin()).await?)?);
    soon("it has succeeded", run(soon("it runs", job.begin()).await?)?.succeeded()).await??;
    assert!(matches!(soon("it has run", job.begin()).await??, Admission::NotDue(_)));
    tokio::select! {
        biased;
        _ = job.begin() => panic!("nothing has been asked"),
        () = ready(()) => {}
    }
    arena.admin.create("/other.once", "no record", CreateMode::Persistent).await?;
    let other = arena.admin.once("/other", PERIOD);
    soon("it is refused", other.begin()).await?.expect_err("no record is there");
    let figures = recording.figures();
    assert!(figures.has("zk_once_runs_total{outcome=unrecorded}"), "a first one would be missed");
    figures.assert(&[
        ("zk_once_asked_total{outcome=run}", 3.0),
        ("zk_once_asked_total{outcome=busy}", 1.0),
        ("zk_once_asked_total{outcome=not_due}", 1.0),
        ("zk_once_asked_total{outcome=given_up}", 1.0),
        ("zk_once_asked_total{outcome=failed}", 1.0),
        ("zk_once_runs_total{outcome=failed}", 1.0),
        ("zk_once_runs_total{outcome=interrupted}", 1.0),
        ("zk_once_runs_total{outcome=succeeded}", 1.0),
        ("zk_once_run_duration_seconds{}", 3.0),
    ]);
    Ok(())
}

async fn caches_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let admin = &arena.admin;
    for path in ["/tree", "/tree/a", "/tree/b"] {
        admin.create(path, "", CreateMode::Persistent).await?;
    }
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), Duration::from_secs(10)).await?;
    let cache = client.cache("/tree").keep()?;
    soon("it is filled", cache.current()).await??;
    let mut figures = recording.figures();
    eventually_async(SOON, "it is counted", async || {
        figures.add(recording.figures());
        figures.get("zk_cache_fills_total{}") > 0.5
    })
    .await?;
    figures.assert(&[
        ("zk_cache_znodes{}", 3.0),
        ("zk_cache_changes_total{kind=created}", 3.0),
        ("zk_cache_fill_duration_seconds{}", 1.0),
        ("zk_cache_gaps_total{kind=missed}", 0.0),
    ]);
    assert!(figures.has("zk_cache_gaps_total{kind=lost}"), "a first one would be missed");
    admin.set_data("/tree/a", "1", Version::ANY).await?;
    admin.delete("/tree/b", Version::ANY).await?;
    eventually_async(SOON, "both changes are counted", async || {
        figures.add(recording.figures());
        figures.get("zk_cache_changes_total{kind=changed}") > 0.5
            && figures.get("zk_cache_changes_total{kind=deleted}") > 0.5
    })
    .await?;
    proxy.cut();
    eventually_async(SOON, "it is filled again", async || {
        figures.add(recording.figures());
        figures.get("zk_cache_fills_total{}") > 1.5
    })
    .await?;
    figures.assert(&[
        ("zk_cache_znodes{}", 2.0),
        ("zk_cache_changes_total{kind=created}", 3.0),
        ("zk_cache_changes_total{kind=changed}", 1.0),
        ("zk_cache_changes_total{kind=deleted}", 1.0),
        ("zk_cache_gaps_total{kind=missed}", 1.0),
        ("zk_cache_gaps_total{kind=lost}", 0.0),
        ("zk_cache_fill_duration_seconds{}", 2.0),
    ]);
    drop(cache);
    eventually_async(SOON, "its znodes are not kept", async || {
        figures.add(recording.figures());
        figures.get("zk_cache_znodes{}") < 0.5
    })
    .await?;
    Ok(())
}

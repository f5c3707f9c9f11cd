//! The health of clients and nominations, as probes read it, also while they cannot work.

use core::fmt;
use core::time::Duration;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use election_tokio::election::{EndReason, Nomination};
use election_tokio::health::{ClientHealth, NominationHealth, NomineeHealth};
use election_tokio::session::SessionEnd;
use election_tokio::{Client, CreateMode, Version};
use zk_test_kit::election::{Arena, ELECTION, connect, follows, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Directions, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread")]
    a_nomination_is_well_while_it_has_a_leader,
    a_server_that_is_gone_makes_a_client_unready_and_not_dead,
    a_server_that_says_nothing_makes_a_client_unready_and_not_dead,
    a_nomination_without_a_leader_is_unready_after_a_bound,
    a_runtime_that_is_blocked_shows_from_another_thread,
    a_runtime_that_no_thread_runs_shows_from_another_thread;
}

/// Short, so that a driver that stands still is soon overdue.
const SESSION: Duration = Duration::from_secs(4);

/// Asks what waits for nothing. A machine that stands still for a while spoils one of three answers.
fn at_once<T: fmt::Display>(ask: impl Fn() -> T) -> T {
    let mut answers = (0..3).map(|_| {
        let asked = Instant::now();
        let answer = ask();
        (answer, asked.elapsed())
    });
    let at_once = answers.find(|(_, took)| *took < Duration::from_secs(1));
    at_once.expect("one of three answers comes at once").0
}

fn health(client: &Client) -> ClientHealth {
    at_once(|| client.health())
}

/// Says "late" of a busy machine, too: it shows on every client now and then.
fn is_live_or_late(health: &ClientHealth) -> bool {
    health.is_live() || matches!(health, ClientHealth::Stalled { .. })
}

fn nomination_health(nomination: &Nomination) -> NominationHealth {
    at_once(|| nomination.health())
}

/// Starts a client and a nomination of it that leads, on a runtime with one thread, which then runs `rest`.
fn leader_elsewhere(
    server: ServerKind,
    rest: impl FnOnce(&tokio::runtime::Runtime) + Send + 'static,
) -> Result<(Client, Nomination), TestFailure> {
    let server = server.shared()?;
    let chroot = server.fresh_chroot("health")?;
    let servers = format!("{}{chroot}", server.connect_string());
    let (hand_out, made) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let made = runtime.block_on(async {
            let client = connect(&servers, SESSION).await?;
            let mut nomination = client.election(ELECTION).nominate()?;
            leads(&mut nomination).await?;
            Ok::<_, TestFailure>((client, nomination))
        });
        hand_out
            .send(made.map_err(|failure| std::io::Error::other(format!("{failure:?}"))))
            .expect("the test waits");
        rest(&runtime);
    });
    Ok(made.recv_timeout(SOON)??)
}

async fn a_runtime_that_is_blocked_shows_from_another_thread(server: ServerKind) -> TestResult {
    let (unblock, blocked) = mpsc::channel::<()>();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let (client, nomination) = leader_elsewhere(server, move |runtime| {
        // The only thread of the runtime waits for something that is not the runtime's.
        runtime.block_on(async { blocked.recv().expect("the test unblocks it") });
        runtime.block_on(async { drop(ended.await) });
    })?;
    eventually(SOON, "the driver is overdue", || {
        matches!(health(&client), ClientHealth::Stalled { .. })
    })?;
    let stalled = health(&client);
    assert!(!stalled.is_live() && !stalled.is_ready());
    assert!(stalled.to_string().contains("late for its turn"), "{stalled}");
    let leader = nomination_health(&nomination);
    assert!(!leader.is_live() && !leader.is_ready(), "{leader}");
    eventually(SOON, "the lease lapses, by the clock alone", || {
        let nominee = nomination_health(&nomination).nominee;
        matches!(nominee, NomineeHealth::Leading { lease_remaining: Duration::ZERO, .. })
    })?;
    unblock.send(())?;
    eventually(SOON, "it is well again", || nomination_health(&nomination).is_ready())?;
    drop(end);
    Ok(())
}

/// As where `block_on` has returned, and the runtime is kept.
async fn a_runtime_that_no_thread_runs_shows_from_another_thread(server: ServerKind) -> TestResult {
    let (end, ended) = mpsc::channel::<()>();
    let (client, _nomination) = leader_elsewhere(server, move |_| {
        // Until the test drops its end.
        let _ = ended.recv();
    })?;
    eventually(SOON, "the driver is overdue", || !health(&client).is_live())?;
    // With the runtime the driver is dropped.
    drop(end);
    eventually(SOON, "the client is over", || {
        health(&client) == ClientHealth::Closed { end: SessionEnd::Abandoned }
    })?;
    Ok(())
}

async fn a_nomination_is_well_while_it_has_a_leader(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "health").await?;
    let client = arena.client().await?;
    let mut leader = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let follower = arena.admin.election(ELECTION).nominate()?;
    follows(&follower).await?;
    let (leading, following) = (nomination_health(&leader), nomination_health(&follower));
    assert!(leading.is_live() && leading.is_ready(), "{leading}");
    let token = leadership.token();
    assert!(leading.to_string().starts_with(&format!("leading with token {token} for ")));
    assert!(following.is_live() && following.is_ready_within(Duration::ZERO), "{following}");
    assert_eq!(following.nominee, NomineeHealth::Following);

    soon("it resigns", leadership.resign()).await??;
    let resigned = nomination_health(&leader);
    assert!(resigned.is_live() && !resigned.is_ready(), "{resigned}");
    assert!(matches!(resigned.nominee, NomineeHealth::Ended(EndReason::Resigned(_))));

    let copy = client.clone();
    client.close().await?;
    let closed = health(&copy);
    assert_eq!(closed, ClientHealth::Closed { end: SessionEnd::Closed });
    assert!(!closed.is_live() && !closed.is_ready());
    Ok(())
}

async fn a_server_that_is_gone_makes_a_client_unready_and_not_dead(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "health").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), SESSION).await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    leads(&mut nomination).await?;
    proxy.refuse();
    proxy.cut();
    let is = |wanted: fn(&ClientHealth) -> bool| {
        let client = client.clone();
        async move {
            eventually_async(SOON, "it shows", async || {
                let health = health(&client);
                assert!(is_live_or_late(&health), "{health}");
                wanted(&health)
            })
            .await
        }
    };
    is(|health| matches!(health, ClientHealth::Suspended { .. })).await?;
    assert!(!health(&client).is_ready());
    // It leads on until its lease deadline; and then knows of no leader.
    is(|health| matches!(health, ClientHealth::Suspended { lease_remaining: Duration::ZERO, .. }))
        .await?;
    let what = "no leader is known";
    eventually_async(SOON, what, async || {
        let health = nomination_health(&nomination);
        let is_leaderless = matches!(health.nominee, NomineeHealth::Leaderless { .. });
        assert!(!is_leaderless || !health.is_ready_within(Duration::MAX), "{health}");
        is_leaderless && health.is_live()
    })
    .await?;
    is(|health| match health {
        ClientHealth::Expired { lasted, .. } | ClientHealth::Connecting { lasted, .. } => {
            *lasted > SESSION
        }
        _ => false,
    })
    .await?;
    proxy.accept()?;
    is(ClientHealth::is_ready).await?;
    leads(&mut nomination).await?;
    assert!(nomination_health(&nomination).is_ready());
    Ok(())
}

async fn a_server_that_says_nothing_makes_a_client_unready_and_not_dead(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "health").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), SESSION).await?;
    proxy.black_hole(Directions::Both);
    let gone = async || {
        let health = health(&client);
        assert!(is_live_or_late(&health), "{health}");
        health.is_live() && !health.is_ready()
    };
    eventually_async(SOON, "the silence shows", gone).await?;
    proxy.heal_by_cutting();
    eventually_async(SOON, "it is connected", async || health(&client).is_ready()).await?;
    Ok(())
}

async fn a_nomination_without_a_leader_is_unready_after_a_bound(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "health").await?;
    arena.create_election_node().await?;
    // A participant of another format, which does not see those of this one: no nominee leads beside it.
    let (mode, path) = (CreateMode::EphemeralSequential, format!("{ELECTION}/n_"));
    let stranger = arena.admin.create(&path, "", mode).await?;
    let client = arena.client().await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let bound = Duration::from_millis(200);
    eventually_async(SOON, "no leader for longer than the bound", async || {
        !nomination_health(&nomination).is_ready_within(bound)
            && nomination.status().candidate.is_some()
    })
    .await?;
    eventually_async(SOON, "so long", async || {
        matches!(
            nomination_health(&nomination).nominee,
            NomineeHealth::Blocked { leaderless, .. } if leaderless > bound
        )
    })
    .await?;
    let blocked = nomination_health(&nomination);
    assert!(blocked.is_live() && blocked.client.is_ready(), "{blocked}");
    assert!(blocked.to_string().starts_with("no leader known for "), "{blocked}");
    arena.admin.delete(&stranger.path, Version::ANY).await?;
    leads(&mut nomination).await?;
    assert!(nomination_health(&nomination).is_ready_within(Duration::ZERO));
    Ok(())
}

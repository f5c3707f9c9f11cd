//! Elections over connections that break at the worst moment, on a server that is well.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use alloc::sync::Arc;
use core::future::ready;
use core::pin::pin;
use core::time::Duration;

use election_tokio::election::{Departure, Leadership, LostReason, Nomination, Role};
use election_tokio::{Client, SessionId};
use tokio::time::Instant;
use zk_test_kit::election::{
    Arena, ELECTION, connect, follows_this, is_suspended, leads, reaches, soon,
};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::{Watchers, now};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Cut, Directions, FrameKind, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_create_in_doubt_makes_one_candidate,
    a_create_in_doubt_of_a_dropped_nomination_is_cleared_up,
    a_create_that_arrives_late_makes_no_second_candidate,
    a_resignation_in_doubt_is_carried_out,
    resigning_without_a_connection_takes_effect_at_once_for_the_leader,
    resigning_with_no_server_in_reach_ends_with_the_session,
    a_predecessor_that_went_meanwhile_is_missed_after_reconnecting,
    a_leader_resumes_after_a_short_disconnection,
    a_leader_in_a_black_hole_gives_up_before_the_next_leads;
}

const CREATE: FrameKind = FrameKind::Request(Opcode::CREATE2);
const DELETE: FrameKind = FrameKind::Request(Opcode::DELETE);

/// An arena, and a client of it behind a proxy.
struct Bench {
    arena: Arena,
    proxy: Proxy,
    client: Client,
}

impl Bench {
    async fn new(server: ServerKind, label: &str) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, label).await?;
        let proxy = Proxy::to(server.shared()?.addr())?;
        // Its heartbeats are far apart, and are not taken for what a test counts.
        let client = connect(&arena.servers_by(&proxy), 2 * SOON).await?;
        Ok(Self { arena, proxy, client })
    }

    /// Starts a leader behind the proxy, and its heir beside it.
    async fn leader_and_heir(&self) -> Result<(Nomination, Leadership, Nomination), TestFailure> {
        let mut leader = self.client.election(ELECTION).nominate()?;
        let leadership = leads(&mut leader).await?;
        let heir = self.arena.client().await?.election(ELECTION).nominate()?;
        follows_this(&heir, leadership.candidate()).await?;
        Ok((leader, leadership, heir))
    }
}

/// Returns the session of all candidates of the nomination, if there is just one.
async fn only_candidate(arena: &Arena, nomination: &Nomination) -> Result<SessionId, TestFailure> {
    let candidates = arena.candidates().await?;
    let mut own = candidates.iter().filter(|one| nomination.id().owns(one.name.as_str()));
    let session = own.next().map(|one| one.session);
    assert_eq!(own.next(), None, "{candidates:?}");
    Ok(session.expect("the nominee has a candidate"))
}

/// The connection ends when the candidate is being created: the server has not heard of it, or has
/// and may say so, or has and the answer is lost. Either way there is one candidate in the end, in
/// the same session, and no lookup comes before a `sync` (CURATOR-45, CURATOR-264).
async fn a_create_in_doubt_makes_one_candidate(server: ServerKind) -> TestResult {
    for (cut, creates) in [
        (Cut::before(CREATE), 1..=1),
        (Cut::after(CREATE), 1..=2),
        (Cut::instead_of_reply_to(Opcode::CREATE2), 1..=1),
    ] {
        let bench = Bench::new(server, "create").await?;
        let mut first = bench.arena.client().await?.election(ELECTION).nominate()?;
        let leadership = leads(&mut first).await?;
        let planned = bench.proxy.cut_when(cut);
        let nomination = bench.client.election(ELECTION).nominate()?;
        planned.wait(SOON)?;
        follows_this(&nomination, leadership.candidate()).await?;

        let session = only_candidate(&bench.arena, &nomination).await?;
        assert_eq!(Some(session), nomination.status().session);
        let counters = bench.proxy.counters();
        assert_eq!(counters.accepted, 2, "{cut:?}");
        let passed = counters.requests(Opcode::CREATE2);
        assert!(creates.contains(&passed), "{cut:?}: {passed}");
        // One goes before the search, and two keep the lease ready.
        let syncs = counters.requests(Opcode::SYNC);
        assert!((1..=3).contains(&syncs), "{cut:?}: {syncs}");
        soon("the nominee has withdrawn", nomination.withdraw()).await??;
        assert_eq!(bench.arena.children().await?.len(), 1, "{cut:?}");
    }
    Ok(())
}

/// The nomination was dropped when the answer to its create was lost; the candidate is found and
/// deleted all the same, while the session lives (CURATOR-205, aiozk #34).
async fn a_create_in_doubt_of_a_dropped_nomination_is_cleared_up(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "orphan").await?;
    bench.arena.create_election_node().await?;
    bench.proxy.refuse();
    let planned = bench.proxy.cut_when(Cut::instead_of_reply_to(Opcode::CREATE2));
    let nomination = bench.client.election(ELECTION).nominate()?;
    planned.wait(SOON)?;
    bench.arena.wait_for_children(1).await?;
    drop(nomination);
    bench.proxy.accept()?;
    bench.arena.wait_until_empty().await?;
    assert_eq!(bench.proxy.counters().requests(Opcode::CREATE2), 1);
    Ok(())
}

/// A create is held up on its way, and the nominee stands by another connection before it arrives.
/// It arrives too late to make a second candidate.
async fn a_create_that_arrives_late_makes_no_second_candidate(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "late").await?;
    arena.create_election_node().await?;
    let ways = [Proxy::to(server.shared()?.addr())?, Proxy::to(server.shared()?.addr())?];
    let servers = format!("{},{}", ways[0].connect_string(), arena.servers_by(&ways[1]));
    let client = connect(&servers, Duration::from_secs(12)).await?;
    let held = usize::from(ways[0].counters().accepted == 0);
    ways[held].black_hole(Directions::ToServer);
    let mut nomination = client.election(ELECTION).nominate()?;
    ways[held]
        .wait_for(SOON, "the create is on its way", |counters| counters.arrived(CREATE) == 1)?;
    let leadership = leads(&mut nomination).await?;
    let session = only_candidate(&arena, &nomination).await?;
    assert_eq!(ways[held].counters().requests(Opcode::CREATE2), 0);

    ways[held].heal();
    eventually_async(SOON, "the old connection is gone", async || {
        ways[held].connections().is_empty()
    })
    .await?;
    arena.admin.sync(ELECTION).await?;
    assert_eq!(only_candidate(&arena, &nomination).await?, session);
    assert!(leadership.is_valid());
    Ok(())
}

/// The connection ends when a resigning leader deletes its candidate. It is deleted in the end, in
/// the same session, and the heir leads (CURATOR-202).
async fn a_resignation_in_doubt_is_carried_out(server: ServerKind) -> TestResult {
    for cut in [Cut::before(DELETE), Cut::after(DELETE), Cut::instead_of_reply_to(Opcode::DELETE)] {
        let bench = Bench::new(server, "delete").await?;
        let (leader, leadership, mut heir) = bench.leader_and_heir().await?;
        let planned = bench.proxy.cut_when(cut);
        let resigned = soon("the leader has resigned", leader.withdraw()).await?;
        planned.wait(SOON)?;
        assert_eq!(resigned, Ok(Departure::Deleted), "{cut:?}");
        assert!(!leadership.is_valid());
        let successor = leads(&mut heir).await?;
        assert!(successor.token() > leadership.token());
        assert_eq!(bench.arena.children().await?.len(), 1, "{cut:?}");
        assert_eq!(bench.proxy.counters().accepted, 2, "{cut:?}");
    }
    Ok(())
}

/// The leader resigns while it has no connection. Its leadership is over with the call; the znode
/// goes once there is a connection again, and before that no other nominee leads.
async fn resigning_without_a_connection_takes_effect_at_once_for_the_leader(
    server: ServerKind,
) -> TestResult {
    let bench = Bench::new(server, "apart").await?;
    let (leader, leadership, mut heir) = bench.leader_and_heir().await?;
    bench.proxy.refuse();
    bench.proxy.cut();
    assert_eq!(is_suspended(&leader).await?, leadership.token());
    assert!(leadership.is_valid(), "its session lives");

    let status = leader.updates();
    let mut resigning = pin!(leader.withdraw());
    let waits = tokio::select! {
        biased;
        _ = &mut resigning => false,
        () = ready(()) => true,
    };
    assert!(waits, "no server has heard of it");
    assert!(!leadership.is_valid());
    assert_eq!(soon("the loss is told", leadership.lost()).await?, LostReason::Resigned);
    assert_eq!(status.latest().role, Role::Leaving);
    assert_eq!(bench.arena.children().await?.len(), 2);

    bench.proxy.accept()?;
    let resigned = soon("the leader has resigned", resigning).await?;
    assert_eq!(resigned, Ok(Departure::Deleted));
    leads(&mut heir).await?;
    Ok(())
}

/// No server is in reach any more; a resignation ends with the session at the latest.
async fn resigning_with_no_server_in_reach_ends_with_the_session(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "unreachable").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), Duration::from_secs(6)).await?;
    let mut leader = client.election(ELECTION).nominate()?;
    leads(&mut leader).await?;
    proxy.refuse();
    proxy.cut();
    let resigned = soon("the leader has resigned", leader.withdraw()).await?;
    assert_eq!(resigned, Ok(Departure::WithSession));
    arena.wait_until_empty().await
}

/// The predecessor goes while the follower has no connection, so the events before are outdated. Once the follower is
/// connected again it leads (kazoo #116, pulsar #23138).
async fn a_predecessor_that_went_meanwhile_is_missed_after_reconnecting(
    server: ServerKind,
) -> TestResult {
    let bench = Bench::new(server, "meanwhile").await?;
    let beside = bench.arena.client().await?;
    let mut first = beside.election(ELECTION).nominate()?;
    let leadership = leads(&mut first).await?;
    let second = beside.election(ELECTION).nominate()?;
    follows_this(&second, leadership.candidate()).await?;
    let mut third = bench.client.election(ELECTION).nominate()?;
    zk_test_kit::election::follows(&third).await?;

    bench.proxy.refuse();
    bench.proxy.cut();
    reaches(&third, "it has no connection", |status| {
        (status.role == Role::Connecting).then_some(())
    })
    .await?;
    soon("the second has withdrawn", second.withdraw()).await??;
    soon("the leader has resigned", leadership.resign()).await??;
    bench.proxy.accept()?;
    let successor = leads(&mut third).await?;
    assert!(successor.is_valid());
    assert_eq!(bench.arena.children().await?.len(), 1);
    Ok(())
}

/// A leader that loses its connection for a moment is suspended, then resumes: the same leadership,
/// the same token; and it is valid all the time (CURATOR-246).
async fn a_leader_resumes_after_a_short_disconnection(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "resume").await?;
    let (leader, leadership, heir) = bench.leader_and_heir().await?;
    for _ in 0..3 {
        bench.proxy.refuse();
        bench.proxy.cut();
        assert_eq!(is_suspended(&leader).await?, leadership.token());
        assert!(leadership.is_valid());
        bench.proxy.accept()?;
        let token = reaches(&leader, "the leader resumes", |status| match status.role {
            Role::Leading { token } => Some(token),
            _ => None,
        })
        .await?;
        assert_eq!(token, leadership.token());
        assert!(leadership.is_valid());
    }
    follows_this(&heir, leadership.candidate()).await?;
    assert_eq!(bench.arena.children().await?.len(), 2);
    Ok(())
}

/// Nothing gets through any more, and no connection ends (kazoo #66). The leader is suspended when
/// it notices the silence, and has lost its lead before the heir is elected; once connected again
/// it is behind the heir.
async fn a_leader_in_a_black_hole_gives_up_before_the_next_leads(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "hole").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&arena.servers_by(&proxy))
        // A sixth each, so three seconds, from the notice of the silence to the lease
        // deadline and from there to the expiry: no busy scheduler reverses these.
        .session_timeout(Duration::from_secs(18))
        .lease_margin(election_tokio::lease::LeaseMargin::percent(16))
        .connect()
        .await?;
    let mut leader = client.election(ELECTION).nominate()?;
    let leadership = Arc::new(leads(&mut leader).await?);
    let mut heir = arena.client().await?.election(ELECTION).nominate()?;
    follows_this(&heir, leadership.candidate()).await?;
    let mut watchers = Watchers::new();
    watchers.watch("leader", Arc::clone(&leadership));

    proxy.black_hole(Directions::Both);
    assert_eq!(is_suspended(&leader).await?, leadership.token());
    let left = leadership.valid_until().expect("it is still valid") - Instant::now();
    let deadline = now() + left;
    let reason = soon("the loss is told", async {
        tokio::select! {
            biased;
            reason = leadership.lost() => Ok(reason),
            elected = heir.elected() => Err(elected),
        }
    })
    .await?;
    assert_eq!(reason.expect("the heir waits"), LostReason::LeaseLapsed);
    assert!(!leadership.is_valid());
    assert_eq!(leadership.valid_until(), None);
    let successor = Arc::new(leads(&mut heir).await?);
    watchers.watch("heir", Arc::clone(&successor));
    assert!(successor.token() > leadership.token());

    proxy.heal_by_cutting();
    follows_this(&leader, successor.candidate()).await?;
    only_candidate(&arena, &leader).await?;
    assert_eq!(arena.children().await?.len(), 2);
    let tenures = watchers.finish().tenures()?;
    let names: Vec<_> = tenures.iter().map(|tenure| &tenure.nominee[..]).collect();
    assert_eq!(names, ["leader", "heir"]);
    assert!(tenures[0].valid_until <= deadline, "{} {deadline:?}", tenures[0]);
    assert!(deadline < tenures[1].valid_by, "{} {deadline:?}", tenures[1]);
    Ok(())
}

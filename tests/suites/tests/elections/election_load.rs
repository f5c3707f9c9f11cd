//! Many nominees: on one session, on many, and one after another.

use election_tokio::Client;
use election_tokio::election::{CandidateName, EndReason, Nomination, NominationError, Role};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use zk_test_kit::election::{Arena, ELECTION, connect, leads, reaches, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::{ServerKind, TestServer};
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_thousand_nominees_share_a_session,
    two_hundred_sessions_share_an_election,
    too_many_candidates_for_a_client_end_its_nomination_and_nothing_else,
    watches_do_not_pile_up;
}

/// One at a time: these tests are the load.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Long enough for a machine under load; no session is to expire here.
const TIMEOUT: core::time::Duration = core::time::Duration::from_secs(30);

/// Returns the nominations in the order of the queue, once each has its place: the first leads,
/// each other one follows the one before it.
async fn in_order(
    nominations: Vec<Nomination>,
) -> Result<Vec<(CandidateName, Nomination)>, TestFailure> {
    let mut queue = Vec::new();
    for nomination in nominations {
        let candidate = reaches(&nomination, "it has a place", |status| match status.role {
            Role::Leading { .. } | Role::Following { .. } => status.candidate.clone(),
            _ => None,
        })
        .await?;
        queue.push((candidate, nomination));
    }
    queue.sort_by_key(|(candidate, _)| candidate.sequence().get());
    let mut before: Option<&CandidateName> = None;
    for (candidate, nomination) in &queue {
        match (&nomination.status().role, before) {
            (Role::Leading { .. }, None) => {}
            (Role::Following { predecessor, .. }, Some(before)) if predecessor == before => {}
            (role, before) => assert_eq!(None, Some((role, before)), "of {candidate}"),
        }
        before = Some(candidate);
    }
    Ok(queue)
}

/// Lets one leader after another resign; the next in the queue takes over each time.
async fn resign(queue: &mut Vec<(CandidateName, Nomination)>, times: usize) -> TestResult {
    let mut last = None;
    for _ in 0..times {
        let (candidate, mut nomination) = queue.remove(0);
        let leadership = leads(&mut nomination).await?;
        assert_eq!(leadership.candidate(), &candidate);
        assert!(Some(leadership.token()) > last);
        last = Some(leadership.token());
        soon("the leader has resigned", leadership.resign()).await??;
    }
    Ok(())
}

async fn wait_for_watches(server: &TestServer, most: u64) -> TestResult {
    let what = format!("the server has at most {most} watches");
    eventually_async(SOON, &what, async || {
        server.watch_count().is_ok_and(|watches| watches <= most)
    })
    .await?;
    Ok(())
}

/// Waits until all nominees but the leader have a watch: a nominee has its place by a list, and sets its watch then. Checks
/// that none has more than two.
async fn all_but_one_watch(server: &TestServer, nominees: u64) -> TestResult {
    eventually_async(SOON, "all but one watch", async || {
        server.watch_count().is_ok_and(|watches| watches >= nominees - 1)
    })
    .await?;
    let watches = server.watch_count()?;
    assert!(watches <= 2 * nominees, "{watches}");
    Ok(())
}

/// 1,000 nominees on one session: each has its place, at most two watches each; the lead goes round
/// in order; nothing is left when all have gone.
async fn a_thousand_nominees_share_a_session(server: ServerKind) -> TestResult {
    let _alone = ALONE.lock().await;
    let server = server.start()?;
    let arena = Arena::on(server.addr(), "thousand").await?;
    let client = connect(&arena.servers(), TIMEOUT).await?;
    let mut nominations = Vec::new();
    for _ in 0..1000 {
        nominations.push(client.election(ELECTION).nominate()?);
    }
    let mut queue = in_order(nominations).await?;
    all_but_one_watch(&server, 1000).await?;
    resign(&mut queue, 20).await?;
    assert_eq!(arena.children().await?.len(), 980);
    drop(queue);
    arena.wait_until_empty().await?;
    wait_for_watches(&server, 0).await
}

/// 200 sessions with three nominees each, in one election; then sessions are closed, the leader's
/// among them.
async fn two_hundred_sessions_share_an_election(server: ServerKind) -> TestResult {
    let _alone = ALONE.lock().await;
    let server = server.start()?;
    let arena = Arena::on(server.addr(), "sessions").await?;
    let mut connecting = JoinSet::new();
    for _ in 0..200 {
        let servers = arena.servers();
        connecting.spawn(async move {
            let builder = Client::builder(&servers).session_timeout(TIMEOUT);
            builder.connect_timeout(SOON).connect().await
        });
    }
    let clients: Vec<_> = connecting.join_all().await.into_iter().collect::<Result<_, _>>()?;
    let mut nominations = Vec::new();
    for _ in 0..3 {
        for client in &clients {
            nominations.push(client.election(ELECTION).nominate()?);
        }
    }
    let mut queue = in_order(nominations).await?;
    all_but_one_watch(&server, 600).await?;
    resign(&mut queue, 20).await?;

    for client in clients.into_iter().take(100) {
        soon("the session is closed", client.close()).await??;
    }
    queue.retain(|(_, nomination)| !matches!(nomination.status().role, Role::Ended(_)));
    assert!(queue.len() >= 280, "{}", queue.len());
    arena.wait_for_children(queue.len()).await?;
    resign(&mut queue, 20).await?;
    drop(queue);
    arena.wait_until_empty().await?;
    wait_for_watches(&server, 0).await
}

/// A nominee that cannot read the list is told so, and its candidate is not left behind; its
/// connection, the leader and the others behind it go on.
async fn too_many_candidates_for_a_client_end_its_nomination_and_nothing_else(
    server: ServerKind,
) -> TestResult {
    const OTHERS: usize = 30;
    let arena = Arena::new(server, "many").await?;
    let client = connect(&arena.servers(), TIMEOUT).await?;
    let mut nominations = Vec::new();
    for _ in 0..OTHERS {
        nominations.push(client.election(ELECTION).nominate()?);
    }
    let mut queue = in_order(nominations).await?;

    let proxy = Proxy::to(server.shared()?.addr())?;
    let servers = arena.servers_by(&proxy);
    let small = Client::builder(&servers).session_timeout(TIMEOUT).max_reply(1000);
    let small = small.connect_timeout(SOON).connect().await?;
    let mut nomination = small.election(ELECTION).nominate()?;
    let ended = soon("the nomination ends", nomination.elected()).await?;
    let unreadable = EndReason::Failed(NominationError::UnreadableReply);
    assert_eq!(ended.expect_err("it cannot lead").reason, unreadable);
    arena.wait_for_children(OTHERS).await?;
    small.get_data(ELECTION).await?;
    assert_eq!(proxy.counters().accepted, 1);
    resign(&mut queue, 2).await
}

/// One session stands and resigns 2,000 times behind a leader that stays, and before one that
/// waits. The watches on the server do not grow (CURATOR-107).
async fn watches_do_not_pile_up(server: ServerKind) -> TestResult {
    let _alone = ALONE.lock().await;
    let server = server.start()?;
    let arena = Arena::on(server.addr(), "acquire").await?;
    let client = connect(&arena.servers(), TIMEOUT).await?;
    for round in 0..1000 {
        let mut leader = client.election(ELECTION).nominate()?;
        let leadership = leads(&mut leader).await?;
        let mut follower = client.election(ELECTION).nominate()?;
        if round % 2 == 0 {
            soon("the leader has resigned", leadership.resign()).await??;
            leads(&mut follower).await?;
        } else {
            soon("the follower has withdrawn", follower.withdraw()).await??;
        }
    }
    arena.wait_until_empty().await?;
    wait_for_watches(&server, 0).await
}

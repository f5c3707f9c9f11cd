//! Leading in turn: nominees that resign, withdraw, join late and close, on a healthy server.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::future::ready;
use core::pin::pin;
use core::time::Duration;

use election_tokio::election::{
    CandidateName, Departure, EndReason, LostReason, Nomination, Role, WithdrawError,
};
use election_tokio::error::Place;
use election_tokio::watch::EventType;
use election_tokio::{SessionId, Version};
use zk_test_kit::election::{Arena, ELECTION, follows, follows_this, leads, reaches, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_lone_nominee_leads_until_it_resigns,
    candidates_carry_the_data_of_their_nominees,
    four_nominees_of_one_session_lead_in_turn,
    a_late_joiner_follows_the_new_leader,
    the_follower_behind_one_that_withdrew_follows_the_one_before,
    watchers_of_one_znode_do_not_disturb_each_other,
    a_closed_client_makes_way_at_once,
    waiting_for_the_lead_may_be_given_up_and_taken_up,
    dropped_nominations_leave_nothing_behind,
    the_last_nomination_takes_the_session_along,
    resigning_from_what_was_lost_says_so;
}

/// Starts nominees that stand one after another, so that their order is known.
async fn queue<const N: usize>(arena: &Arena) -> Result<[Nomination; N], TestFailure> {
    let client = arena.client().await?;
    let mut nominations = Vec::new();
    for index in 0..N {
        let nomination = client.election(ELECTION).data(format!("nominee {index}")).nominate()?;
        arena.wait_for_children(index + 1).await?;
        nominations.push(nomination);
    }
    Ok(nominations.try_into().expect("as many as were made"))
}

/// The notices to a lone nominee, and the znodes on the server meanwhile and afterwards.
async fn a_lone_nominee_leads_until_it_resigns(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "lone").await?;
    let client = arena.client().await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;

    let election_node = arena.admin.exists(ELECTION).await?.expect("it was created");
    assert_eq!(election_node.ephemeral_owner, SessionId::NONE);
    let children = arena.children().await?;
    assert_eq!(children, [leadership.candidate().to_string()]);
    assert!(nomination.id().owns(&children[0]), "{children:?}");
    let (data, stat) = arena.admin.get_data(&format!("{ELECTION}/{}", children[0])).await?;
    assert!(data.is_empty());
    let status = nomination.status();
    assert_eq!(Some(stat.ephemeral_owner), status.session);
    assert_ne!(stat.ephemeral_owner, SessionId::NONE);
    assert_eq!(stat.czxid.get(), leadership.token().get());
    assert_eq!(status.role, Role::Leading { token: leadership.token() });
    assert!(leadership.is_valid());
    assert!(leadership.valid_until().is_some());

    let ended = nomination.updates();
    assert_eq!(soon("the leader has resigned", nomination.withdraw()).await??, Departure::Deleted);
    assert!(!leadership.is_valid());
    assert_eq!(leadership.valid_until(), None);
    assert_eq!(soon("the loss is told", leadership.lost()).await?, LostReason::Resigned);
    assert_eq!(ended.latest().role, Role::Ended(EndReason::Resigned(Departure::Deleted)));
    let resigned_twice = soon("the second time", leadership.resign()).await?;
    assert_eq!(resigned_twice, Ok(Departure::Deleted));
    arena.admin.delete(ELECTION, Version::ANY).await?;
    Ok(())
}

/// The data is that of the nominee, also behind another one on the same session.
async fn candidates_carry_the_data_of_their_nominees(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "names").await?;
    let client = arena.client().await?;
    let mut first = client.election(ELECTION).data("myclientname").nominate()?;
    let leadership = leads(&mut first).await?;
    let second = client.election(ELECTION).data("foobar").nominate()?;
    follows_this(&second, leadership.candidate()).await?;

    let candidates = arena.candidates().await?;
    let data: Vec<_> = candidates.iter().map(|one| &one.data[..]).collect();
    assert_eq!(data, [&b"myclientname"[..], b"foobar"]);
    assert_eq!(candidates[0].token, leadership.token());
    assert_eq!(Some(candidates[1].session), second.status().session);

    let withdrawn = soon("the follower has withdrawn", second.withdraw()).await?;
    assert_eq!(withdrawn, Ok(Departure::Deleted));
    let resigned = soon("the leader has resigned", leadership.resign()).await?;
    assert_eq!(resigned, Ok(Departure::Deleted));
    let gone = soon("there is nothing left to end", first.withdraw()).await?;
    assert_eq!(gone, Ok(Departure::Deleted));
    arena.wait_until_empty().await
}

/// Of four, each leads once, in the order of their candidates, one at a time; when the last has
/// resigned none is left.
async fn four_nominees_of_one_session_lead_in_turn(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "turns").await?;
    let mut nominations = Vec::from(queue::<4>(&arena).await?);
    let order: Vec<CandidateName> = names(&arena).await?;
    let mut tokens = Vec::new();
    for expected in &order {
        let mut leader = nominations.remove(0);
        let leadership = leads(&mut leader).await?;
        assert_eq!(leadership.candidate(), expected);
        tokens.push(leadership.token());
        for other in &nominations {
            assert!(!matches!(other.status().role, Role::Leading { .. }), "{:?}", other.status());
        }
        soon("the leader has resigned", leadership.resign()).await??;
    }
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    assert_eq!(arena.children().await?, Vec::<String>::new());
    Ok(())
}

/// The follower takes over when the leader resigns, and a late joiner does not lead.
async fn a_late_joiner_follows_the_new_leader(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "late").await?;
    let [mut first, mut second] = queue::<2>(&arena).await?;
    let leadership = leads(&mut first).await?;
    follows_this(&second, leadership.candidate()).await?;
    soon("the leader has resigned", leadership.resign()).await??;
    let successor = leads(&mut second).await?;
    let third = arena.client().await?.election(ELECTION).nominate()?;
    follows_this(&third, successor.candidate()).await?;
    assert!(successor.is_valid());
    soon("the successor has resigned", successor.resign()).await??;
    soon("the joiner has left", third.withdraw()).await??;
    arena.wait_until_empty().await
}

/// A follower in the middle withdraws. The one behind it follows the one before it, the leader is
/// told nothing.
async fn the_follower_behind_one_that_withdrew_follows_the_one_before(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "middle").await?;
    let [mut leader, middle, mut last] = queue::<3>(&arena).await?;
    let leadership = leads(&mut leader).await?;
    let (middle_name, first) = follows(&middle).await?;
    assert_eq!(&first, leadership.candidate());
    follows_this(&last, &middle_name).await?;

    let mut leader_status = leader.updates();
    leader_status.latest_and_update();
    let middle_status = middle.updates();
    soon("the middle one has withdrawn", middle.withdraw()).await??;
    assert_eq!(middle_status.latest().role, Role::Ended(EndReason::Withdrawn(Departure::Deleted)));
    follows_this(&last, leadership.candidate()).await?;
    assert!(!leader_status.has_changed(), "{:?}", leader.status());

    soon("the leader has resigned", leadership.resign()).await??;
    let successor = leads(&mut last).await?;
    soon("the last has resigned", successor.resign()).await??;
    arena.wait_until_empty().await
}

/// Two nominees of one session, and a watch of the user, all on one znode: one of them is dropped,
/// and the others still hear of its end (ZOOKEEPER-4466).
async fn watchers_of_one_znode_do_not_disturb_each_other(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "shared").await?;
    let client = arena.client().await?;
    let mut leader = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let path = format!("{ELECTION}/{}", leadership.candidate());
    let (_, _, kept) = client.get_data_and_watch(&path).await?;
    let (_, _, dropped) = client.get_data_and_watch(&path).await?;
    let mut follower = client.election(ELECTION).nominate()?;
    follows_this(&follower, leadership.candidate()).await?;
    let other_election = client.election("/other").nominate()?;
    drop(dropped);
    soon("the other election is left", other_election.withdraw()).await??;

    soon("the leader has resigned", leadership.resign()).await??;
    let fired = soon("the watch fires", kept).await??;
    assert_eq!(fired.kind, EventType::NODE_DELETED);
    leads(&mut follower).await?;
    Ok(())
}

/// A session that is closed makes way at once, not at the end of its timeout, which here is longer
/// than this test waits.
async fn a_closed_client_makes_way_at_once(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "close").await?;
    let closing = zk_test_kit::election::connect(&arena.servers(), Duration::from_secs(60)).await?;
    let mut leader = closing.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let mut heir = arena.client().await?.election(ELECTION).nominate()?;
    follows_this(&heir, leadership.candidate()).await?;

    let mut close = pin!(closing.close());
    let confirmed = tokio::select! {
        biased;
        closed = &mut close => Some(closed),
        () = ready(()) => None,
    };
    assert!(!leadership.is_valid(), "the server makes way before it confirms");
    match confirmed {
        Some(closed) => closed?,
        None => soon("the session is closed", close).await??,
    }
    let successor = leads(&mut heir).await?;
    assert!(successor.token() > leadership.token());
    assert!(!leadership.is_valid());
    let lost = soon("the loss is told", leadership.lost()).await?;
    assert!(matches!(lost, LostReason::ClientClosed(_)), "{lost:?}");
    let ended = soon("the nomination is over", leader.elected()).await?;
    let ended = ended.expect_err("the client is closed");
    assert!(matches!(ended.reason, EndReason::ClientClosed(_)), "{ended:?}");
    Ok(())
}

/// Waiting with a deadline, and again: the nomination keeps its place. Cancelled waits leave
/// nothing behind.
async fn waiting_for_the_lead_may_be_given_up_and_taken_up(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "deadline").await?;
    let [mut leader, mut follower] = queue::<2>(&arena).await?;
    let leadership = leads(&mut leader).await?;
    let (own, _) = follows(&follower).await?;
    for _ in 0..20 {
        let deadline = Duration::from_millis(1);
        let waited = tokio::time::timeout(deadline, follower.elected()).await;
        assert!(waited.is_err(), "the other one leads");
    }
    assert_eq!(follows(&follower).await?.0, own);
    assert_eq!(arena.children().await?.len(), 2);
    soon("the leader has resigned", leadership.resign()).await??;
    let successor = leads(&mut follower).await?;
    assert_eq!(successor.candidate(), &own);
    let again = leads(&mut follower).await?;
    assert_eq!(again.token(), successor.token());
    Ok(())
}

/// A nomination is dropped at once, or wherever it happens to be soon after; no znode of it stays,
/// although the session does (CURATOR-205, CURATOR-297).
async fn dropped_nominations_leave_nothing_behind(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "dropped").await?;
    let client = arena.client().await?;
    for round in 0..200_u32 {
        let nomination = client.election(ELECTION).nominate()?;
        match round % 4 {
            0 => {}
            1 => tokio::task::yield_now().await,
            2 => tokio::time::sleep(Duration::from_micros(u64::from(round) * 20)).await,
            _ => {
                reaches(&nomination, "it has a candidate", |status| {
                    status.candidate.as_ref().map(|_| ())
                })
                .await?;
            }
        }
        drop(nomination);
    }
    arena.wait_until_empty().await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    leads(&mut nomination).await?;
    assert_eq!(arena.children().await?.len(), 1);
    Ok(())
}

/// Nothing holds the client but its nominations. The session is closed with the last of them, and
/// their candidates are gone at once.
async fn the_last_nomination_takes_the_session_along(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "last").await?;
    let client = zk_test_kit::election::connect(&arena.servers(), Duration::from_secs(60)).await?;
    let mut leader = client.election(ELECTION).nominate()?;
    let follower = client.election(ELECTION).nominate()?;
    drop(client);
    let leadership = leads(&mut leader).await?;
    follows_this(&follower, leadership.candidate()).await?;
    drop(follower);
    drop(leader);
    assert!(!leadership.is_valid());
    arena.wait_until_empty().await?;
    drop(leadership);
    let path = format!("{ELECTION}/of-the-next");
    arena.admin.create(&path, "", election_tokio::CreateMode::Ephemeral).await?;
    Ok(())
}

/// A leadership that has ended for another reason does not claim to have resigned (etcd #22123).
async fn resigning_from_what_was_lost_says_so(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "lost").await?;
    let client = arena.client().await?;
    let mut nomination =
        client.election(ELECTION).on_loss(election_tokio::election::OnLoss::End).nominate()?;
    let leadership = leads(&mut nomination).await?;
    arena.evict(leadership.candidate()).await?;
    soon("the loss is told", leadership.lost()).await?;
    let resigned = soon("the answer", leadership.resign()).await?;
    let lost = EndReason::Lost(LostReason::Evicted);
    let at = Place::new("election", ELECTION, "resign");
    assert_eq!(resigned, Err(WithdrawError::AlreadyEnded { at, reason: lost }));
    Ok(())
}

async fn names(arena: &Arena) -> Result<Vec<CandidateName>, TestFailure> {
    let candidates = arena.candidates().await?;
    Ok(candidates.iter().filter_map(|one| CandidateName::parse(&one.name).ok()).collect())
}

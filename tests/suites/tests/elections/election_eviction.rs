//! Candidates that another client deletes or writes, election nodes with other things in them, and
//! election nodes that are deleted under their nominees.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::time::Duration;

use election_tokio::election::{
    ElectionNode, EndReason, LostReason, Nomination, NominationError, OnLoss, Role,
};
use election_tokio::{Client, CreateMode, ErrorCode, Version};
use tokio::task::JoinSet;
use zk_test_kit::election::{
    Arena, ELECTION, LASTING, follows, follows_this, leads, reaches, soon,
};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Counters, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    an_evicted_leader_stands_again_at_the_end,
    an_evicted_leader_ends_if_it_is_to,
    an_evicted_follower_stands_again,
    an_evicted_follower_ends_if_it_is_to,
    written_data_changes_nothing_but_the_watch,
    a_participant_of_another_format_is_waited_for,
    what_is_no_candidate_is_ignored,
    nominations_end_with_the_election_node_if_they_are_to,
    nominees_outlive_their_election_node_by_default,
    an_election_may_be_deleted_while_many_join;
}

/// A follower that is not the heir hears of its eviction by its first look at latest.
const LOOKS: Duration = Duration::from_secs(2);

/// Starts nominees that stand one after another, each on a session of its own.
async fn queue(
    arena: &Arena,
    on_loss: OnLoss,
    length: usize,
) -> Result<Vec<Nomination>, TestFailure> {
    let mut nominations = Vec::new();
    for index in 0..length {
        let client = Client::builder(&arena.servers()).session_timeout(LASTING);
        let client = client.look_interval(LOOKS).connect_timeout(SOON).connect().await?;
        nominations.push(client.election(ELECTION).on_loss(on_loss).nominate()?);
        arena.wait_for_children(index + 1).await?;
    }
    Ok(nominations)
}

/// An operator forces a fail-over by deleting the leader's znode (CURATOR-171). The leader is told
/// at once, the next one leads, and the old leader stands again at the end.
async fn an_evicted_leader_stands_again_at_the_end(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "leader").await?;
    let mut nominations = queue(&arena, OnLoss::StandAgain, 3).await?;
    let leadership = leads(&mut nominations[0]).await?;
    let (last, _) = follows(&nominations[2]).await?;
    arena.evict(leadership.candidate()).await?;
    let reason = soon("the loss is told", leadership.lost()).await?;
    assert_eq!(reason, LostReason::Evicted);
    assert!(!leadership.is_valid());
    let successor = leads(&mut nominations[1]).await?;
    assert!(successor.token() > leadership.token());
    follows_this(&nominations[0], &last).await?;
    assert_eq!(arena.children().await?.len(), 3);

    let again = leadership.transaction().create("/by-the-old-leader", "", CreateMode::Persistent);
    again.commit().await.expect_err("it does not lead any more");
    assert_eq!(arena.admin.exists("/by-the-old-leader").await?, None);
    Ok(())
}

/// An evicted leader with [`OnLoss::End`]: the nomination is over, and says why.
async fn an_evicted_leader_ends_if_it_is_to(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "end").await?;
    let mut nominations = queue(&arena, OnLoss::End, 2).await?;
    let leadership = leads(&mut nominations[0]).await?;
    arena.evict(leadership.candidate()).await?;
    let lost = soon("the loss is told", leadership.lost()).await?;
    assert_eq!(lost, LostReason::Evicted);
    let ended = soon("the nomination ends", nominations[0].elected()).await?;
    let ended = ended.expect_err("it is not to stand again");
    assert_eq!(ended.reason, EndReason::Lost(LostReason::Evicted));
    leads(&mut nominations[1]).await?;
    assert_eq!(arena.children().await?.len(), 1);
    Ok(())
}

/// A follower hears of the end of its own znode, as the heir at once, and else by its first look,
/// although nothing happens to its predecessor (etcd #11456, CURATOR-346).
async fn an_evicted_follower_stands_again(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "follower").await?;
    let mut nominations = queue(&arena, OnLoss::StandAgain, 3).await?;
    let leadership = leads(&mut nominations[0]).await?;
    let (middle, _) = follows(&nominations[1]).await?;
    let (last, _) = follows(&nominations[2]).await?;

    arena.evict(&middle).await?;
    follows_this(&nominations[2], leadership.candidate()).await?;
    follows_this(&nominations[1], &last).await?;

    let (new_last, _) = follows(&nominations[1]).await?;
    assert_ne!(new_last, middle);
    arena.evict(&new_last).await?;
    let newest = reaches(&nominations[1], "it has another candidate", |status| {
        match (&status.role, &status.candidate) {
            (Role::Following { .. }, Some(own)) if *own != new_last => Some(own.clone()),
            _ => None,
        }
    })
    .await?;
    let order: Vec<String> = arena.candidates().await?.into_iter().map(|one| one.name).collect();
    assert_eq!(order, [leadership.candidate(), &last, &newest].map(ToString::to_string));
    assert!(leadership.is_valid());
    Ok(())
}

/// An evicted follower with [`OnLoss::End`]: the nomination is over, and says why.
async fn an_evicted_follower_ends_if_it_is_to(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "gone").await?;
    let mut nominations = queue(&arena, OnLoss::End, 3).await?;
    let leadership = leads(&mut nominations[0]).await?;
    let (middle, _) = follows(&nominations[1]).await?;
    arena.evict(&middle).await?;
    let ended = soon("the nomination ends", nominations[1].elected()).await?;
    let ended = ended.expect_err("it is not to stand again");
    assert_eq!(ended.reason, EndReason::Lost(LostReason::Evicted));
    follows_this(&nominations[2], leadership.candidate()).await?;
    Ok(())
}

/// Returns the requests that neither keep the session alive nor prove the heir's lease.
fn work(counters: &Counters) -> u64 {
    let keeping = [Opcode::PING, Opcode::MULTI, Opcode::SYNC];
    counters.all_requests() - keeping.map(|opcode| counters.requests(opcode)).iter().sum::<u64>()
}

/// A znode's data is written. Each nominee that watches it sets its watch anew, once; the one behind it lists, as if a
/// leader had woken it. Nothing else happens; the watches work on afterwards.
async fn written_data_changes_nothing_but_the_watch(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "data").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let mut leader = arena.client().await?.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let client = arena.client_by(&proxy).await?;
    let mut follower = client.election(ELECTION).nominate()?;
    let (own, _) = follows(&follower).await?;
    client.sync(ELECTION).await?;
    let mut status = follower.updates();
    status.latest_and_update();

    let written = [(leadership.candidate(), 2), (&own, 1)];
    for (candidate, requests) in written.into_iter().chain(written) {
        let before = proxy.counters();
        let path = format!("{ELECTION}/{candidate}");
        arena.admin.set_data(&path, "written", Version::ANY).await?;
        let after = proxy.wait_for(SOON, "the watch is set anew", |counters| {
            counters.replies(Opcode::GET_DATA) > before.replies(Opcode::GET_DATA)
        })?;
        assert_eq!(after.notifications() - before.notifications(), 1);
        assert_eq!(work(&after) - work(&before), requests);
    }
    client.sync(ELECTION).await?;
    assert!(!status.has_changed(), "{:?}", follower.status());
    assert!(leadership.is_valid());
    soon("the leader has resigned", leadership.resign()).await??;
    let successor = leads(&mut follower).await?;
    assert_eq!(successor.candidate(), &own);
    arena.evict(&own).await?;
    assert_eq!(soon("the loss is told", successor.lost()).await?, LostReason::Evicted);
    Ok(())
}

/// Another znode in the election node is no nominee's predecessor, be it older, ephemeral, or
/// numbered; but for one that may be a participant of another format.
async fn what_is_no_candidate_is_ignored(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "foreign").await?;
    arena.create_election_node().await?;
    for (name, mode) in [
        ("0", CreateMode::Persistent),
        ("config", CreateMode::Persistent),
        ("latch-", CreateMode::Persistent),
        ("latch-x", CreateMode::Ephemeral),
        ("lock-", CreateMode::PersistentSequential),
        ("_c_not-an-id-lock-", CreateMode::PersistentSequential),
        ("größe", CreateMode::Container),
    ] {
        arena.admin.create(&format!("{ELECTION}/{name}"), "", mode).await?;
    }
    let mut nominations = queue_behind(&arena, 7).await?;
    let leadership = leads(&mut nominations[0]).await?;
    follows_this(&nominations[1], leadership.candidate()).await?;
    assert_eq!(arena.candidates().await?.len(), 2);
    soon("the leader has resigned", leadership.resign()).await??;
    leads(&mut nominations[1]).await?;
    Ok(())
}

/// A participant that does not see this library's candidates would lead beside them.
async fn a_participant_of_another_format_is_waited_for(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "mixed").await?;
    arena.create_election_node().await?;
    let path = format!("{ELECTION}/lock-");
    let foreign = arena.admin.create(&path, "", CreateMode::EphemeralSequential).await?.path;
    let mut nominations = queue_behind(&arena, 1).await?;
    let (first, second) = nominations.split_at_mut(1);
    let (first, second) = (&mut first[0], &mut second[0]);
    follows(second).await?;
    assert_eq!(first.status().role, Role::Standing);
    arena.admin.delete(&foreign, Version::ANY).await?;
    let leadership = leads(first).await?;
    soon("the leader has resigned", leadership.resign()).await??;
    leads(second).await?;
    Ok(())
}

async fn queue_behind(arena: &Arena, others: usize) -> Result<Vec<Nomination>, TestFailure> {
    let client = arena.client().await?;
    let mut nominations = Vec::new();
    for index in 0..2 {
        nominations.push(client.election(ELECTION).nominate()?);
        arena.wait_for_children(others + index + 1).await?;
    }
    Ok(nominations)
}

/// Deletes the election node and all that is in it, as `deleteall` does, until it is gone.
async fn delete_election(admin: &Client) -> TestResult {
    loop {
        let children = match admin.get_children(ELECTION).await {
            Err(error) if error.is_no_node() => return Ok(()),
            children => children?,
        };
        let mut deletions = JoinSet::new();
        for name in children.iter() {
            let (admin, path) = (admin.clone(), format!("{ELECTION}/{name}"));
            deletions.spawn(async move { admin.delete(&path, Version::ANY).await });
        }
        for deletion in deletions.join_all().await {
            match deletion {
                Err(error) if error.is_no_node() => {}
                deletion => deletion?,
            }
        }
        match admin.delete(ELECTION, Version::ANY).await {
            Err(error)
                if matches!(error.code(), Some(ErrorCode::NO_NODE | ErrorCode::NOT_EMPTY)) => {}
            deletion => deletion?,
        }
    }
}

/// An operator deletes the election node. By the strict policies every nomination ends, and none of
/// them can tell more than that its candidate or the node is gone.
async fn nominations_end_with_the_election_node_if_they_are_to(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "strict").await?;
    arena.create_election_node().await?;
    let mut nominations = Vec::new();
    for _ in 0..3 {
        let election = arena.client().await?.election(ELECTION);
        let strict = election.election_node(ElectionNode::MustExist).on_loss(OnLoss::End);
        nominations.push(strict.nominate()?);
    }
    arena.wait_for_children(3).await?;
    delete_election(&arena.admin).await?;
    for nomination in &nominations {
        ends_with_the_election(nomination).await?;
    }
    assert_eq!(arena.admin.exists(ELECTION).await?, None);
    Ok(())
}

async fn ends_with_the_election(nomination: &Nomination) -> TestResult {
    let reason = reaches(nomination, "the nomination ends", |status| match status.role {
        Role::Ended(reason) => Some(reason),
        _ => None,
    })
    .await?;
    let expected =
        [EndReason::Lost(LostReason::Evicted), EndReason::Failed(NominationError::NoElectionNode)];
    assert!(expected.contains(&reason), "{reason:?}");
    Ok(())
}

/// The same by the default policies: the election node is made again, and one of them leads
/// (CURATOR-724).
async fn nominees_outlive_their_election_node_by_default(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "lenient").await?;
    let mut nominations = queue(&arena, OnLoss::StandAgain, 3).await?;
    let leadership = leads(&mut nominations[0]).await?;
    let mut deletion = arena.admin.transaction();
    for name in arena.children().await? {
        deletion = deletion.delete(&format!("{ELECTION}/{name}"), Version::ANY);
    }
    // All at once: three watched znodes go with one transaction, by which zookeeper-client-rust
    // lost events (its #82).
    deletion.delete(ELECTION, Version::ANY).commit().await?;
    assert_eq!(soon("the loss is told", leadership.lost()).await?, LostReason::Evicted);
    arena.wait_for_children(3).await?;
    let mut leaders = 0;
    for nomination in &nominations {
        let role = reaches(nomination, "it has a place", |status| match &status.role {
            role @ (Role::Leading { .. } | Role::Following { .. }) => Some(role.clone()),
            _ => None,
        })
        .await?;
        leaders += u32::from(matches!(role, Role::Leading { token } if token > leadership.token()));
    }
    assert_eq!(leaders, 1);
    Ok(())
}

/// An election of 1,000 candidates of one session is deleted by hand, while the second half of them
/// is still joining. Every nomination ends, with nothing but the expected reasons; nothing is left
/// on the server, no watch either.
async fn an_election_may_be_deleted_while_many_join(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let arena = Arena::on(server.addr(), "race").await?;
    arena.create_election_node().await?;
    let client = arena.client().await?;
    let election =
        client.election(ELECTION).election_node(ElectionNode::MustExist).on_loss(OnLoss::End);
    let mut nominations = Vec::new();
    for _ in 0..500 {
        nominations.push(election.nominate()?);
    }
    arena.wait_for_children(500).await?;
    for _ in 0..500 {
        nominations.push(election.nominate()?);
    }
    delete_election(&arena.admin).await?;
    for nomination in &nominations {
        ends_with_the_election(nomination).await?;
    }
    assert_eq!(arena.admin.exists(ELECTION).await?, None);
    eventually_async(SOON, "no watch is left", async || {
        server.watch_count().is_ok_and(|watches| watches == 0)
    })
    .await?;
    Ok(())
}

//! Elections of clients with a chroot. An election keeps znodes beside its node, and beside the chroot itself
//! there is no place for them.

use core::time::Duration;

use election_tokio::election::{
    Acknowledgement, ElectionError, EndError, Follow, HandOver, HandOverError, StepDownRequest,
    StepDownRequestError,
};
use election_tokio::error::PathError;
use election_tokio::{Client, CreateMode, Error, ErrorKind, NomineeId, Token};
use zk_test_kit::election::{Arena, LASTING, connect, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    an_election_at_the_chroot_itself_is_refused_and_leaves_nothing,
    the_same_znode_below_a_shorter_chroot_has_all_its_marks_beside_it;
}

/// The znodes of a tree, in their order.
async fn tree(client: &Client) -> Result<Vec<String>, TestFailure> {
    let (mut all, mut left) = (Vec::new(), vec![String::new()]);
    while let Some(path) = left.pop() {
        let listed = if path.is_empty() { "/" } else { &path };
        left.extend(client.get_children(listed).await?.iter().map(|name| format!("{path}/{name}")));
        all.push(path);
    }
    all.sort_unstable();
    Ok(all)
}

async fn with_chroot(arena: &Arena, chroot: &str) -> Result<Client, TestFailure> {
    connect(&format!("{}{chroot}", arena.servers()), LASTING).await
}

fn refused() -> ElectionError {
    ElectionError::InvalidPath { path: "/".to_owned(), error: PathError::Chroot }
}

fn is_at_chroot(error: &Error) -> bool {
    (error.kind(), error.path()) == (ErrorKind::InvalidPath(PathError::Chroot), "/")
}

/// Each feature at its door, whatever it would have written beside the chroot or read there.
async fn an_election_at_the_chroot_itself_is_refused_and_leaves_nothing(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "at-chroot").await?;
    arena.admin.create("/app", "", CreateMode::Persistent).await?;
    // It stands in the same election, so each question has an answer.
    let mut stands = arena.admin.election("/app").nominate()?;
    let token = leads(&mut stands).await?.token();
    let before = tree(&arena.admin).await?;

    let client = with_chroot(&arena, "/app").await?;
    let election = client.election("/");
    assert_eq!(election.nominate().map(drop), Err(refused()));
    let delayed = election.clone().lock_delay(Duration::from_secs(1));
    assert_eq!(delayed.nominate().map(drop), Err(refused()));
    let again = election.take_over(NomineeId::from_bytes([1; 16]));
    assert_eq!(again.map(drop), Err(refused()));
    for follow in [Follow::Leader, Follow::LeaderAndAcknowledgement] {
        assert_eq!(election.observe(follow).map(drop), Err(refused()));
    }
    assert_eq!(election.verify(token).await, Err(refused().into()));
    let asked = election.request_step_down("ops", "", SOON).await;
    assert_eq!(asked, Err(StepDownRequestError::Leader(refused().into())));
    let _behind = arena.admin.election("/app").nominate()?;
    let behind = soon("two stand", async {
        loop {
            let candidates = arena.admin.election("/app").candidates().await?;
            if let [_, behind] = candidates.as_slice() {
                return Ok::<Token, Error>(behind.token);
            }
        }
    })
    .await??;
    let asked = election.hand_over(behind, "ops", "", SOON).await;
    assert_eq!(asked, Err(HandOverError::Leader(refused().into())));
    assert!(election.epoch().await.is_err_and(|error| is_at_chroot(&error)));
    let deleted = election.delete(Duration::ZERO).await;
    assert!(matches!(deleted, Err(EndError::Request { error, .. }) if is_at_chroot(&error)));

    let text = election.nominate().map(drop).map_err(|error| error.to_string());
    assert!(text.is_err_and(|text| text.contains("take a path below it")));
    // Candidates are below the node, and within the chroot.
    assert_eq!(election.candidates().await?.len(), 2);
    let mut after = tree(&arena.admin).await?;
    after.retain(|path| before.contains(path));
    assert_eq!(after, before);
    let beside = arena.admin.get_children("/").await?;
    assert_eq!(beside.iter().collect::<Vec<_>>(), ["app"], "nothing is beside the chroot");
    let children = client.get_children("/").await?;
    assert!(children.iter().all(|name| name.contains("-latch-")), "{children:?}");
    Ok(())
}

/// As the error says.
async fn the_same_znode_below_a_shorter_chroot_has_all_its_marks_beside_it(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "below-chroot").await?;
    arena.admin.create("/app", "", CreateMode::Persistent).await?;
    arena.admin.create("/app/reports", "", CreateMode::Persistent).await?;
    let client = with_chroot(&arena, "/app").await?;
    let mut nomination =
        client.election("/reports").lock_delay(Duration::from_millis(1)).nominate()?;
    let leadership = leads(&mut nomination).await?;
    leadership.acknowledge(b"ready").await?;
    let epoch = leadership.epoch().await?;
    assert_eq!(epoch.path(), "/reports.epoch");

    // Another client calls the same election by the path that it has without the chroot.
    let others = arena.admin.election("/app/reports");
    let mut observer = others.observe(Follow::LeaderAndAcknowledgement)?;
    let is_ready = |seen: &election_tokio::election::Observation| {
        let leader = seen.leader();
        leader.is_some_and(|leader| matches!(leader.acknowledgement, Acknowledgement::Given(_)))
    };
    soon("the acknowledgement is seen", observer.wait_for(is_ready)).await??;
    let seen = others.epoch().await?.expect("the epoch has begun");
    assert_eq!((seen.number(), seen.token()), (epoch.number(), leadership.token()));
    let requested = others.request_step_down("ops", "new disks", SOON).await?;
    assert_eq!(requested, StepDownRequest::Made(leadership.token()));
    let heard = soon("the leader hears of it", leadership.step_down_requested()).await??;
    assert_eq!((heard.by.as_str(), heard.reason.as_str()), ("ops", "new disks"));
    let mut names: Vec<String> =
        client.get_children("/").await?.iter().map(str::to_owned).collect();
    names.sort_unstable();
    let marks = [".acknowledged", ".epoch", ".lock-delay", ".step-down"];
    let marks = marks.map(|suffix| format!("reports{suffix}"));
    assert_eq!(names, [&["reports".to_owned()], &marks[..]].concat());
    assert_eq!(arena.admin.get_children("/").await?.iter().collect::<Vec<_>>(), ["app"]);

    let mut next = client.election("/reports").nominate()?;
    let to = soon("two stand", async {
        loop {
            if let [_, behind] = others.candidates().await?.as_slice() {
                return Ok::<Token, Error>(behind.token);
            }
        }
    })
    .await??;
    let asking = tokio::spawn(async move { others.hand_over(to, "ops", "", SOON).await });
    assert_eq!(soon("it is next", leadership.hand_over(to, SOON)).await??, HandOver::To(to));
    // The leader may have handed over before the other client has looked.
    let asked = soon("it is told", asking).await??;
    assert!(
        matches!(asked, Ok(HandOver::To(by)) if by == to)
            || matches!(asked, Err(HandOverError::LeadsAlready { .. })),
        "{asked:?}"
    );
    assert_eq!(leads(&mut next).await?.token(), to);
    Ok(())
}

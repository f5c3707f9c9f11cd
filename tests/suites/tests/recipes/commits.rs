//! Two-phase commits among clients and processes: one decision, even if any of them dies in the middle.

use core::pin::pin;
use core::time::Duration;
use std::process::Stdio;

use election_tokio::Client;
use election_tokio::commit::{CommitError, CommitState, Decision, SiteState};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::timeout;
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Cut, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    all_sites_learn_one_decision,
    a_site_that_is_cut_off_before_its_vote_aborts,
    a_site_that_is_killed_after_its_vote_comes_back_to_the_decision,
    a_coordinator_that_is_cut_off_is_replaced,
    replies_that_are_lost_change_no_decision;
}

/// That of the example, too.
const TX: &str = "/examples/two-phase-commit/transfer";

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

/// How the sites learn the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A coordinator watches and decides.
    Told,
    /// Each of them does.
    Each,
}

/// Votes for a site, and waits for the decision.
async fn takes_part(
    client: Client,
    site: String,
    vote: Decision,
    form: Form,
) -> Result<Decision, CommitError> {
    let participant = client.two_phase_commit(TX).join(&site).await?;
    let decision = match (vote, form) {
        (Decision::Abort, _) => participant.vote_abort().await?,
        (Decision::Commit, Form::Told) => {
            participant.vote_commit().await?;
            participant.decision().await?
        }
        (Decision::Commit, Form::Each) => {
            participant.vote_commit().await?;
            participant.decide().await?
        }
    };
    participant.acknowledge().await?;
    Ok(decision)
}

async fn is_left_empty(arena: &Arena) -> TestResult {
    let is_gone = async || matches!(arena.admin.exists(TX).await, Ok(None));
    Ok(eventually_async(SOON, "nothing is left of the transaction", is_gone).await?)
}

/// Six sites of three clients, in both forms, with and without one that refuses.
async fn all_sites_learn_one_decision(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "commits").await?;
    let clients = [arena.client().await?, arena.client().await?, arena.client().await?];
    let names: Vec<String> = (0..6).map(|number| format!("site-{number}")).collect();
    for (form, refuses) in [
        (Form::Told, None),
        (Form::Each, None),
        (Form::Told, Some("site-3")),
        (Form::Each, Some("site-3")),
    ] {
        let coordinator = arena.admin.two_phase_commit(TX).begin("content", &names).await?;
        let mut sites = JoinSet::new();
        for (name, client) in names.iter().zip(clients.iter().cycle()) {
            let vote = match refuses {
                Some(refuses) if refuses == name => Decision::Abort,
                _ => Decision::Commit,
            };
            sites.spawn(takes_part(client.clone(), name.clone(), vote, form));
        }
        let expected = refuses.map_or(Decision::Commit, |_| Decision::Abort);
        if form == Form::Told {
            assert_eq!(soon("a decision", coordinator.decided()).await??, expected);
        }
        while let Some(learned) = soon("all learn it", sites.join_next()).await? {
            match learned? {
                Ok(decision) => assert_eq!(decision, expected, "{form:?}"),
                // It came when all was over.
                Err(error) => return Err(error.into()),
            }
        }
        soon("it is over", coordinator.finish()).await??;
        is_left_empty(&arena).await?;
    }
    Ok(())
}

async fn a_site_that_is_cut_off_before_its_vote_aborts(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "commits").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let other = arena.client().await?;
    let coordinator = arena.admin.two_phase_commit(TX).begin("", ["a", "b"]).await?;
    let dead = soon("it is there", cut_off.two_phase_commit(TX).join("a")).await??;
    let alive = soon("it is there", other.two_phase_commit(TX).join("b")).await??;
    alive.vote_commit().await?;
    let status = coordinator.status().await?;
    assert_eq!((status.state, status.gone().count()), (CommitState::Open, 0), "{status}");
    let mut deciding = pin!(coordinator.decided());
    assert!(timeout(Duration::from_millis(300), &mut deciding).await.is_err());
    proxy.refuse();
    proxy.cut();
    assert_eq!(soon("it is gone", deciding).await??, Decision::Abort);
    assert_eq!(soon("it learns it", alive.decision()).await??, Decision::Abort);
    alive.acknowledge().await?;
    proxy.accept()?;
    let late = soon("an answer", dead.vote_commit()).await?;
    assert_eq!(late, Ok(Some(Decision::Abort)), "its vote comes too late");
    dead.acknowledge().await?;
    soon("it is over", coordinator.finish()).await??;
    is_left_empty(&arena).await
}

/// Starts a process that takes part for a site, and waits until it says so.
async fn site(arena: &Arena, seconds: &str, says: &[&str]) -> Result<Child, TestFailure> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_two-phase-commit"));
    command.args([&arena.servers(), "a", seconds]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let stdout = child.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(stdout).lines();
    for expected in says {
        let said = soon(expected, lines.next_line()).await??;
        assert_eq!(said.as_deref(), Some(*expected));
    }
    Ok(child)
}

async fn a_site_that_is_killed_after_its_vote_comes_back_to_the_decision(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "commits").await?;
    let coordinator = arena.admin.two_phase_commit(TX).begin("", ["a", "b"]).await?;
    let mut killed = site(&arena, "600", &["a is there", "a has voted"]).await?;
    killed.kill().await?;
    let is_gone =
        async || coordinator.status().await.is_ok_and(|status| status.gone().count() == 1);
    eventually_async(SOON, "it is seen to be gone", is_gone).await?;
    let status = coordinator.status().await?;
    let first = status.sites.first().map(|site| site.state);
    assert_eq!(first, Some(SiteState::VotedCommit), "{status}");
    let other = arena.client().await?;
    let b = other.two_phase_commit(TX).join("b").await?;
    b.vote_commit().await?;
    assert_eq!(soon("a decision", coordinator.decided()).await??, Decision::Commit);
    b.acknowledge().await?;
    let mut finishing = pin!(coordinator.finish());
    let early = timeout(Duration::from_millis(500), &mut finishing).await;
    assert!(early.is_err(), "it is removed before a site that is bound has learned it");
    let mut again = site(&arena, "0", &["a is there", "a has voted", "a commits"]).await?;
    assert!(soon("it ends", again.wait()).await??.success());
    soon("it is over", finishing).await??;
    is_left_empty(&arena).await
}

async fn a_coordinator_that_is_cut_off_is_replaced(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "commits").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let first = cut_off.two_phase_commit(TX).begin("", ["a", "b"]).await?;
    let mut deciding = pin!(first.decided());
    assert!(timeout(Duration::from_millis(300), &mut deciding).await.is_err());
    proxy.refuse();
    proxy.cut();
    let a = one.two_phase_commit(TX).join("a").await?;
    let b = other.two_phase_commit(TX).join("b").await?;
    a.vote_commit().await?;
    b.vote_commit().await?;
    let mut waiting = Box::pin(a.decision());
    assert!(timeout(Duration::from_millis(500), &mut waiting).await.is_err(), "no party decides");
    let second = other.two_phase_commit(TX).recover().await?;
    assert_eq!(second.id(), first.id());
    assert_eq!(soon("a decision", second.decided()).await??, Decision::Commit);
    assert_eq!(soon("it learns it", waiting).await??, Decision::Commit);
    proxy.accept()?;
    assert_eq!(soon("the first one, too", deciding).await??, Decision::Commit);
    assert_eq!(soon("too late", first.abort()).await??, Decision::Commit);
    a.acknowledge().await?;
    b.acknowledge().await?;
    let (one, other) = (first.finish(), second.finish());
    soon("it is over", async { tokio::try_join!(one, other) }).await??;
    is_left_empty(&arena).await
}

/// Loses the reply of each transaction in turn: the beginning, the joins, the vote, the decision,
/// the end.
async fn replies_that_are_lost_change_no_decision(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "commits").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    for skipped in 0..9 {
        let client = arena.client_by(&proxy).await?;
        let planned = proxy.cut_when(Cut::instead_of_reply_to(Opcode::MULTI).skipping(skipped));
        let transaction = client.two_phase_commit(TX);
        let coordinator = match soon("it is begun", transaction.begin("", ["a"])).await? {
            // The lost reply was a refusal: the ancestors are missing.
            Err(CommitError::BeginUnknown { .. }) if skipped == 0 => {
                transaction.begin("", ["a"]).await?
            }
            begun => begun?,
        };
        let a = soon("it is there", transaction.join("a")).await??;
        let voted = soon("a vote", a.vote_commit()).await??;
        assert_eq!(voted, None, "{skipped}");
        assert_eq!(soon("a decision", coordinator.decided()).await??, Decision::Commit);
        assert_eq!(soon("the decision", a.decision()).await??, Decision::Commit);
        soon("it is acknowledged", a.acknowledge()).await??;
        soon("it is over", coordinator.finish()).await??;
        is_left_empty(&arena).await?;
        drop(planned);
        client.close().await?;
    }
    Ok(())
}

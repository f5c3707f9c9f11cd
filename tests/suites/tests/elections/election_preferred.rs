//! Preferred leaders, on real servers.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use election_tokio::election::{
    CancelReason, Cancelled, Leadership, PreferBetter, RunOptions, TermEnd, WhenPromoted,
};
use tokio::sync::{mpsc, oneshot};
use zk_test_kit::election::{Arena, ELECTION, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    leaders_hand_over_to_better_candidates_until_the_best_leads,
    a_leader_hands_over_to_a_better_candidate_after_its_connection_was_lost;
}

/// How long a better candidate has to stand.
const STOOD: Duration = Duration::from_millis(500);

/// What the work of a member has to tell.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Works(i32),
    /// A candidate with this preference is to lead.
    GivesWay(i32, i32),
}

async fn leaders_hand_over_to_better_candidates_until_the_best_leads(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "preferred").await?;
    let working = Arc::new(AtomicUsize::new(0));
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut runs = Vec::new();
    for preference in [0, -3, 7, 3] {
        let client = arena.client().await?;
        let election = client.election(ELECTION).data("a host").preference(preference);
        let nomination = election.when_promoted(WhenPromoted::WakesNext).nominate()?;
        let (shutdown, is_down) = oneshot::channel::<()>();
        let (tell, working) = (tell.clone(), Arc::clone(&working));
        let work = async move |leadership: Leadership, cancelled: Cancelled| {
            assert_eq!(working.fetch_add(1, Ordering::SeqCst), 0, "two work at once");
            let _ = tell.send(Told::Works(preference));
            if let CancelReason::BetterCandidate(better) = cancelled.wait().await.reason {
                assert!(better.token > leadership.token());
                let _ = tell.send(Told::GivesWay(preference, better.preference.get()));
            }
            working.fetch_sub(1, Ordering::SeqCst);
        };
        let options = RunOptions::new().grace(SOON).resignation(SOON);
        let options = options.prefer(PreferBetter::After(STOOD));
        let run = tokio::spawn(async move {
            let report = nomination.run_with(options, is_down, work).await?;
            Ok::<Vec<TermEnd>, election_tokio::election::RunError<()>>(
                report.terms.iter().map(|term| term.end.clone()).collect(),
            )
        });
        runs.push((shutdown, run));
        arena.wait_for_children(runs.len()).await?;
    }
    // The first one may see another one before the best, by a slow machine; each is better than the last.
    let mut leader = 0;
    assert_eq!(soon("the first works", told.recv()).await?, Some(Told::Works(0)));
    while leader != 7 {
        let heard = soon("it gives way", told.recv()).await?;
        let Some(Told::GivesWay(from, to)) = heard else {
            return Err(io::Error::other(format!("{heard:?}")).into());
        };
        assert!(from == leader && to > from, "{from} gives way to {to}");
        assert_eq!(soon("the next works", told.recv()).await?, Some(Told::Works(to)));
        leader = to;
    }
    let best = arena.candidates().await?.remove(0);
    assert_eq!((best.preference().get(), &best.data[..]), (7, &b"a host preference=7"[..]));
    let (shutdown, run) = runs.remove(0);
    drop(shutdown);
    let ends = soon("the first one's run ends", run).await???;
    assert!(matches!(ends.as_slice(), [TermEnd::HandedOver(_)]), "{ends:?}");
    for (shutdown, run) in runs.into_iter().rev() {
        drop(shutdown);
        soon("a run ends", run).await???;
    }
    arena.wait_until_empty().await
}

async fn a_leader_hands_over_to_a_better_candidate_after_its_connection_was_lost(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "preferred-cut").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let leader = arena.client_by(&proxy).await?;
    let nomination = leader.election(ELECTION).nominate()?;
    let (works, is_working) = oneshot::channel::<()>();
    let (_shutdown, is_down) = oneshot::channel::<()>();
    let mut works = Some(works);
    let work = async move |_: Leadership, cancelled: Cancelled| {
        drop(works.take());
        cancelled.wait().await;
    };
    let options = RunOptions::new().grace(SOON).prefer(PreferBetter::After(STOOD));
    let run = tokio::spawn(nomination.run_with(options, is_down, work));
    let _working = soon("it works", is_working).await?;
    for _ in 0..3 {
        proxy.cut();
    }
    let client = arena.client().await?;
    let mut better = client.election(ELECTION).preference(1).nominate()?;
    let leadership = soon("the better one leads", better.elected()).await??;
    assert!(leadership.is_valid());
    run.abort();
    leadership.resign().await?;
    Ok(())
}

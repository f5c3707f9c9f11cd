//! Leaders that are well, on real servers.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use election_tokio::election::{Cancelled, Checks, Leadership, RunEnd, RunOptions, TermEnd};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use zk_test_kit::election::{Arena, ELECTION, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_leader_that_is_unwell_gives_the_lead_to_one_that_is_well,
    a_leader_that_is_unwell_while_it_is_cut_off_stands_once;
}

/// A member whose check is a flag.
struct Member {
    well: Arc<AtomicBool>,
    shutdown: oneshot::Sender<()>,
    run: JoinHandle<io::Result<(RunEnd, Vec<TermEnd>)>>,
}

/// How many members work, and the most that have worked at once.
#[derive(Default)]
struct Workers {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Member {
    async fn start(arena: &Arena, by: &Proxy, workers: &Arc<Workers>) -> Result<Self, TestFailure> {
        let client = arena.client_by(by).await?;
        let well = Arc::new(AtomicBool::new(true));
        let (shutdown, told) = oneshot::channel();
        let run = tokio::spawn({
            let (well, workers) = (Arc::clone(&well), Arc::clone(workers));
            async move {
                let check = async move || {
                    if well.load(Ordering::SeqCst) { Ok(()) } else { Err("unwell") }
                };
                let checks = Checks::new(check).every(Duration::from_millis(100)).timeout(SOON);
                let work = async move |_: Leadership, cancelled: Cancelled| {
                    let now = workers.now.fetch_add(1, Ordering::SeqCst) + 1;
                    workers.most.fetch_max(now, Ordering::SeqCst);
                    let _ends = Ends(Arc::clone(&workers));
                    cancelled.wait().await;
                    tokio::time::sleep(Duration::from_millis(200)).await;
                };
                let options = RunOptions::new().grace(SOON).resignation(SOON);
                let election = client.election(ELECTION);
                let report = election.run_while_well(checks, options, told, work).await;
                let report = report.map_err(|error| io::Error::other(error.to_string()))?;
                let ends = report.terms.iter().map(|term| term.end.clone()).collect();
                Ok((report.end, ends))
            }
        });
        Ok(Self { well, shutdown, run })
    }

    fn is_well(&self, well: bool) {
        self.well.store(well, Ordering::SeqCst);
    }

    async fn shut_down(self) -> Result<(RunEnd, Vec<TermEnd>), TestFailure> {
        drop(self.shutdown);
        Ok(soon("the run ends", self.run).await???)
    }
}

struct Ends(Arc<Workers>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn a_leader_that_is_unwell_gives_the_lead_to_one_that_is_well(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "well").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let workers = Arc::new(Workers::default());
    let first = Member::start(&arena, &proxy, &workers).await?;
    arena.wait_for_children(1).await?;
    let second = Member::start(&arena, &proxy, &workers).await?;
    arena.wait_for_children(2).await?;
    let before = arena.candidates().await?;
    first.is_well(false);
    arena.wait_for_children(1).await?;
    let after = arena.candidates().await?;
    let left = after.first().map(|candidate| &candidate.name);
    let expected = before.get(1).map(|candidate| &candidate.name);
    assert_eq!(left, expected, "the one that is well is left");
    eventually_async(SOON, "it works", async || workers.now.load(Ordering::SeqCst) == 1).await?;
    second.is_well(false);
    arena.wait_until_empty().await?;
    first.is_well(true);
    arena.wait_for_children(1).await?;
    eventually_async(SOON, "it works", async || workers.now.load(Ordering::SeqCst) == 1).await?;
    assert_eq!(workers.most.load(Ordering::SeqCst), 1, "never two at once");
    let (end, terms) = first.shut_down().await?;
    let unwell = TermEnd::Unwell("unwell".to_owned());
    assert_eq!((end, terms), (RunEnd::Shutdown, vec![unwell.clone(), TermEnd::Shutdown]));
    assert_eq!(second.shut_down().await?, (RunEnd::Shutdown, vec![unwell]));
    arena.wait_until_empty().await
}

/// Its candidate cannot be deleted before the connection is back; the next one comes after it.
async fn a_leader_that_is_unwell_while_it_is_cut_off_stands_once(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "well-cut").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let workers = Arc::new(Workers::default());
    let member = Member::start(&arena, &proxy, &workers).await?;
    eventually_async(SOON, "it works", async || workers.now.load(Ordering::SeqCst) == 1).await?;
    proxy.refuse();
    proxy.cut();
    member.is_well(false);
    eventually_async(SOON, "it works no more", async || workers.now.load(Ordering::SeqCst) == 0)
        .await?;
    member.is_well(true);
    proxy.accept()?;
    let works_alone = async || {
        let children = arena.children().await.map_or(0, |children| children.len());
        assert!(children <= 1, "{children} candidates");
        workers.now.load(Ordering::SeqCst) == 1
    };
    eventually_async(SOON, "it works again", works_alone).await?;
    member.shut_down().await?;
    arena.wait_until_empty().await
}

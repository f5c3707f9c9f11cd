//! Work that a leader runs: its end comes before the end of the lead, whatever ends it.

use core::future::pending;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use election_tokio::election::{
    CancelReason, Cancelled, EndReason, Leadership, LostReason, OnLoss, OnStepDownRequest,
    Resignation, RunEnd, RunOptions, StepDownRequest, TermEnd, WhileSuspended, WorkEnd,
};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use crate::server::{Server, settle, wait};

const GRACE: Duration = Duration::from_secs(4);
const RESIGNATION: Duration = Duration::from_secs(2);
const OPTIONS: RunOptions = RunOptions::new().grace(GRACE).resignation(RESIGNATION);

fn candidates(server: &Server) -> usize {
    server.children("/election").len()
}

#[tokio::test(start_paused = true)]
async fn work_that_returns_ends_the_run_and_then_the_lead() {
    let server = Server::new();
    let client = server.client().await;
    let nomination = client.election("/election").nominate().unwrap();
    // The future of a run may be spawned.
    let run = tokio::spawn({
        let server = server.clone();
        nomination.run(
            pending::<()>(),
            async move |leadership: Leadership, cancelled: Cancelled| {
                wait(1).await;
                assert!(leadership.is_valid() && !cancelled.is_cancelled());
                (leadership.token(), candidates(&server))
            },
        )
    });
    let report = run.await.unwrap().unwrap();
    assert_eq!(report.end, RunEnd::Finished);
    assert!(matches!(report.resignation, Resignation::Done(_)), "{report:?}");
    assert_eq!(candidates(&server), 0);
    let term = report.terms.last().unwrap();
    assert_eq!(term.end, TermEnd::Finished);
    let token = term.token;
    assert_eq!(report.terms.into_value(), Some((token, 1)), "the candidate stood until the end");
}

#[tokio::test(start_paused = true)]
async fn at_the_shutdown_the_work_ends_before_the_candidate_goes() {
    let server = Server::new();
    let client = server.client().await;
    let nomination = client.election("/election").nominate().unwrap();
    let work = async |leadership: Leadership, cancelled: Cancelled| {
        let cancellation = cancelled.wait().await;
        assert_eq!(cancellation.reason, CancelReason::Shutdown);
        assert_eq!(cancellation.deadline, Instant::now() + GRACE);
        sleep(GRACE / 2).await;
        (leadership.is_valid(), candidates(&server))
    };
    let report = nomination.run_with(OPTIONS, wait(30), work).await.unwrap();
    assert_eq!((report.end, candidates(&server)), (RunEnd::Shutdown, 0));
    assert_eq!(report.terms.into_value(), Some((true, 1)));
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_end_within_the_grace_is_dropped_before_the_candidate_goes() {
    let server = Server::new();
    let client = server.client().await;
    let nomination = client.election("/election").nominate().unwrap();
    let at_its_end = Arc::new(Mutex::new(None));
    let work = async |_: Leadership, _: Cancelled| {
        let _noted = OnDrop(|| {
            *at_its_end.lock().unwrap() = Some((Instant::now(), candidates(&server)));
        });
        pending::<()>().await;
    };
    let shutdown = wait(30);
    let before = Instant::now();
    let report = nomination.run_with(OPTIONS, shutdown, work).await.unwrap();
    assert_eq!(report.terms.last().unwrap().work, WorkEnd::GraceExceeded);
    let (ended_at, candidates_then) = at_its_end.lock().unwrap().take().unwrap();
    assert_eq!(candidates_then, 1);
    assert_eq!(ended_at.duration_since(before).as_secs(), 30 + GRACE.as_secs());
    assert_eq!(candidates(&server), 0);
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_before_the_election_runs_no_work() {
    let server = Server::new();
    let client = server.client().await;
    let mut leader = client.election("/election").nominate().unwrap();
    leader.elected().await.unwrap();
    let nomination = client.election("/election").nominate().unwrap();
    let work = async |_: Leadership, _: Cancelled| panic!("it never leads");
    let report = nomination.run_with(OPTIONS, wait(30), work).await.unwrap();
    assert_eq!((report.end, report.terms.count()), (RunEnd::Shutdown, 0));
    assert_eq!(candidates(&server), 1);
}

#[tokio::test(start_paused = true)]
async fn after_an_expiry_the_nominee_stands_again() {
    let server = Server::new();
    let client = server.client().await;
    let nomination = client.election("/election").nominate().unwrap();
    let (sender, receiver) = oneshot::channel();
    let mut sender = Some(sender);
    let work = async |_: Leadership, cancelled: Cancelled| {
        if let Some(sender) = sender.take() {
            // A task goes on when the work is dropped: it hears why.
            tokio::spawn(async move { sender.send(cancelled.wait().await.reason) });
            settle().await;
            server.cut();
            server.expire();
            pending::<()>().await;
        }
    };
    let report = nomination.run_with(OPTIONS, pending::<()>(), work).await.unwrap();
    let terms: Vec<_> = report.terms.iter().collect();
    let lost = LostReason::SessionExpired;
    assert_eq!(terms[0].end, TermEnd::Lost(lost));
    assert_eq!(terms[0].work, WorkEnd::Dropped);
    assert_eq!(terms[1].end, TermEnd::Finished);
    assert!(terms[0].token < terms[1].token);
    assert_eq!(receiver.await, Ok(CancelReason::Lost(lost)));
}

#[tokio::test(start_paused = true)]
async fn what_standing_again_does_not_repair_ends_the_run() {
    for on_loss in [OnLoss::End, OnLoss::StandUntilElected] {
        let server = Server::new();
        let client = server.client().await;
        let nomination = client.election("/election").on_loss(on_loss).nominate().unwrap();
        let work = async |_: Leadership, _: Cancelled| {
            server.cut();
            server.expire();
            pending::<()>().await;
        };
        let error = nomination.run_with(OPTIONS, pending::<()>(), work).await.unwrap_err();
        assert_eq!(error.reason, EndReason::Lost(LostReason::SessionExpired));
        assert_eq!(error.terms.last().unwrap().work, WorkEnd::Dropped);
        assert_eq!(error.to_string(), "election /election, run: the session expired");
    }
    let server = Server::new();
    let client = server.client().await;
    let nomination = client.election("/election").nominate().unwrap();
    let work = async |_: Leadership, _: Cancelled| {
        tokio::spawn(client.clone().close());
        pending::<()>().await;
    };
    let error = nomination.run_with(OPTIONS, pending::<()>(), work).await.unwrap_err();
    assert!(matches!(error.reason, EndReason::ClientClosed(_)), "{error}");
}

/// A work that resigns is over with that.
#[tokio::test(start_paused = true)]
async fn work_that_resigns_ends_the_run() {
    let server = Server::new();
    let client = server.client().await;
    let nomination = client.election("/election").nominate().unwrap();
    let work = async |leadership: Leadership, _: Cancelled| leadership.resign().await;
    let report = nomination.run_with(OPTIONS, pending::<()>(), work).await.unwrap();
    assert_eq!((report.end, candidates(&server)), (RunEnd::Resigned, 0));
    let term = report.terms.last().unwrap();
    assert_eq!(term.end, TermEnd::Lost(LostReason::Resigned));
    assert_eq!(term.work, WorkEnd::Dropped);
}

/// The work goes on without a connection, has a grace before the lease deadline, and none after it.
#[tokio::test(start_paused = true)]
async fn a_suspended_leader_has_its_work_end_before_the_lease_deadline() {
    let server = Server::new();
    let client = server.client().await;
    let nomination = client.election("/election").nominate().unwrap();
    let mut term = 0;
    let (mut deadline, mut cut_at) = (None, Instant::now());
    let work = async |leadership: Leadership, cancelled: Cancelled| {
        term += 1;
        if term == 2 {
            return;
        }
        wait(20).await;
        cut_at = Instant::now();
        deadline = leadership.valid_until();
        server.refuse();
        server.cut();
        let cancellation = cancelled.wait().await;
        assert_eq!(cancellation.reason, CancelReason::Suspended);
        assert!(leadership.is_valid(), "before the deadline");
        assert!(Instant::now() > cut_at, "not at once");
        assert_eq!(Some(cancellation.deadline), deadline);
        sleep((cancellation.deadline - Instant::now()) / 2).await;
        server.accept();
    };
    let report = nomination.run_with(OPTIONS, pending::<()>(), work).await.unwrap();
    let terms: Vec<_> = report.terms.iter().collect();
    assert_eq!((&terms[0].end, terms[0].work), (&TermEnd::Suspended, WorkEnd::Returned(())));
    assert_eq!(terms[1].end, TermEnd::Finished);
    assert!(deadline.is_some());
}

/// Dropped at the deadline at the latest, also if the work never ends by itself.
#[tokio::test(start_paused = true)]
async fn work_is_dropped_at_the_lease_deadline_at_the_latest() {
    for while_suspended in [WhileSuspended::UntilDeadline, WhileSuspended::Stop] {
        for grace in [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(3600)] {
            let server = Server::new();
            let client = server.client().await;
            let election = client.election("/election").while_suspended(while_suspended);
            let nomination = election.nominate().unwrap();
            let ended = Arc::new(Mutex::new(None));
            let mut deadline = None;
            let work = async |leadership: Leadership, _: Cancelled| {
                let _noted = OnDrop(|| *ended.lock().unwrap() = Some(Instant::now()));
                wait(20).await;
                deadline = leadership.valid_until();
                server.refuse();
                server.cut();
                pending::<()>().await;
            };
            let options = OPTIONS.grace(grace);
            let shutdown = wait(3600);
            let report = nomination.run_with(options, shutdown, work).await.unwrap();
            let term = report.terms.last().unwrap();
            let at_the_deadline = TermEnd::Lost(LostReason::LeaseLapsed);
            let has_no_grace = grace.is_zero() && while_suspended == WhileSuspended::UntilDeadline;
            let end = if has_no_grace { at_the_deadline } else { TermEnd::Suspended };
            assert_eq!(term.end, end);
            assert_ne!(term.work, WorkEnd::Returned(()));
            let (ended, deadline) = (ended.lock().unwrap().unwrap(), deadline.unwrap());
            assert!(ended <= deadline, "{:?} late", ended - deadline);
            let is_early = deadline - ended > Duration::from_secs(1);
            let is_at_once = while_suspended == WhileSuspended::Stop && grace.as_secs() < 2;
            assert_eq!(
                is_early, is_at_once,
                "{while_suspended:?} {grace:?}: {ended:?} {deadline:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_when_suspended_is_elected_again_with_the_same_token() {
    let server = Server::new();
    let client = server.client().await;
    let election = client.election("/election").while_suspended(WhileSuspended::Stop);
    let nomination = election.nominate().unwrap();
    let mut terms = 0;
    let work = async |leadership: Leadership, cancelled: Cancelled| {
        terms += 1;
        if terms == 2 {
            return leadership.is_valid();
        }
        wait(20).await;
        let cut_at = Instant::now();
        server.cut();
        assert_eq!(cancelled.wait().await.reason, CancelReason::Suspended);
        assert_eq!(Instant::now(), cut_at, "at once");
        leadership.is_valid()
    };
    let report = nomination.run_with(OPTIONS, pending::<()>(), work).await.unwrap();
    let terms: Vec<_> = report.terms.iter().collect();
    assert_eq!(terms[0].end, TermEnd::Suspended);
    assert_eq!(terms[0].work, WorkEnd::Returned(false), "it is valid no longer");
    assert_eq!((&terms[1].end, terms[1].work), (&TermEnd::Finished, WorkEnd::Returned(true)));
    assert_eq!(terms[0].token, terms[1].token);
}

#[tokio::test(start_paused = true)]
async fn by_the_policy_to_stop_a_leadership_ends_when_it_is_suspended() {
    let server = Server::new();
    let client = server.client().await;
    let election = client.election("/election").while_suspended(WhileSuspended::Stop);
    let mut nomination = election.nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    wait(20).await;
    server.refuse();
    server.cut();
    let loss = leadership.guard(pending::<()>()).await.unwrap_err();
    assert_eq!(loss.lost, LostReason::Suspended);
    assert!(!leadership.is_valid());
    assert!(nomination.try_elected().unwrap().is_none(), "not while it is suspended");
    server.accept();
    let again = nomination.elected().await.unwrap();
    assert_eq!(again.token(), leadership.token());
    assert!(again.is_valid() && !leadership.is_valid());
    again.confirm().await.unwrap();
}

/// The server reads no more, and the connection stays.
#[tokio::test(start_paused = true)]
async fn a_shutdown_while_the_server_hangs_ends_within_its_bounds() {
    let server = Server::new();
    let client = server.client().await;
    let nomination = client.election("/election").nominate().unwrap();
    let (elected, is_elected) = oneshot::channel();
    let mut elected = Some(elected);
    let shutdown = async {
        is_elected.await.unwrap();
        wait(20).await;
        server.read_only_next(0);
    };
    let work = async |_: Leadership, cancelled: Cancelled| {
        let _sent = elected.take().map(|elected| elected.send(()));
        cancelled.wait().await;
        sleep(GRACE / 4).await;
        Instant::now()
    };
    let report = nomination.run_with(OPTIONS, shutdown, work).await.unwrap();
    assert_eq!((report.end, report.resignation), (RunEnd::Shutdown, Resignation::TimedOut));
    let ended_at = report.terms.into_value().unwrap();
    assert!(ended_at.elapsed() <= RESIGNATION + Duration::from_millis(2));
    assert_eq!(candidates(&server), 1);
    server.read_freely();
    wait(10).await;
    assert_eq!(candidates(&server), 0, "the deletion goes on");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_asked_to_step_down_ends_its_work_and_stands_again() {
    let server = Server::new();
    let client = server.client().await;
    let election = client.election("/election");
    let nomination = election.nominate().unwrap();
    let (asks, mut terms) = (election.clone(), 0);
    let work = async |leadership: Leadership, cancelled: Cancelled| {
        terms += 1;
        if terms == 1 {
            settle().await;
            let asked = asks.request_step_down("ops", "new disks", GRACE).await;
            assert_eq!(asked, Ok(StepDownRequest::Made(leadership.token())));
            let CancelReason::StepDownRequested(request) = cancelled.wait().await.reason else {
                panic!("for another reason");
            };
            sleep(GRACE / 2).await;
            assert!(leadership.is_valid(), "until the work has ended");
            return request.by;
        }
        wait(5).await;
        assert!(!cancelled.is_cancelled(), "the request was for another term");
        "nobody".to_owned()
    };
    let report = nomination.run_with(OPTIONS, pending::<()>(), work).await.unwrap();
    let terms: Vec<_> = report.terms.iter().collect();
    assert!(matches!(terms[0].end, TermEnd::SteppedDown(_)), "{terms:?}");
    assert_eq!(terms[0].work, WorkEnd::Returned("ops".to_owned()));
    assert!(terms[0].token < terms[1].token);
}

#[tokio::test(start_paused = true)]
async fn a_request_to_step_down_is_left_to_the_work_by_its_policy() {
    let server = Server::new();
    let client = server.client().await;
    let election = client.election("/election");
    let nomination = election.nominate().unwrap();
    let mut terms = 0;
    let work = async |leadership: Leadership, cancelled: Cancelled| {
        terms += 1;
        if terms == 1 {
            settle().await;
            election.request_step_down("ops", "", GRACE).await.unwrap();
            assert!(timeout(GRACE, cancelled.wait()).await.is_err(), "it is not cancelled");
            leadership.step_down_requested().await.unwrap();
            leadership.step_down().await.unwrap();
        }
    };
    let options = OPTIONS.on_step_down_request(OnStepDownRequest::LeaveToWork);
    let report = nomination.run_with(options, pending::<()>(), work).await.unwrap();
    let terms: Vec<_> = report.terms.iter().collect();
    assert_eq!(terms[0].end, TermEnd::Lost(LostReason::SteppedDown));
    assert_eq!(terms[1].end, TermEnd::Finished);
}

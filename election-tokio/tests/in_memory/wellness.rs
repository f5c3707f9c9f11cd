//! Leaders that are well: one that is not gives the lead up, and one that is not takes none.

use core::future::pending;
use core::num::NonZeroU32;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use election_tokio::Client;
use election_tokio::election::{
    CancelReason, Cancelled, Checks, EndReason, Leadership, Resignation, RunEnd, RunOptions,
    RunReport, RunWhileWellError, TermEnd, WorkEnd,
};
use fastrand::Rng;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::cancellation::{at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const GRACE: Duration = Duration::from_secs(4);
const OPTIONS: RunOptions = RunOptions::new().grace(GRACE);
const EVERY: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(3);
/// Three checks, and the time that the last one takes.
const BOUND: Duration = Duration::from_secs(3 * 5 + 3);

/// The answer of a member's check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Passes,
    Fails,
    Hangs,
}

/// What was seen of a member's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Begins,
    Cancelled,
    Ends,
}

type Report = Result<RunReport<()>, RunWhileWellError<()>>;

struct Member {
    answer: Arc<Mutex<Answer>>,
    seen: Arc<Mutex<Vec<(Seen, Instant)>>>,
    shutdown: Option<oneshot::Sender<()>>,
    run: JoinHandle<Report>,
}

impl Member {
    async fn start(server: &Server, answer: Answer) -> Self {
        Self::start_by(server.client().await, answer).await
    }

    async fn start_by(client: Client, answer: Answer) -> Self {
        let (answer, seen) = (Arc::new(Mutex::new(answer)), Arc::default());
        let (shutdown, told) = oneshot::channel();
        let run = tokio::spawn({
            let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
            async move {
                let check = async move || answered(&answer).await;
                let checks = Checks::new(check).every(EVERY).timeout(TIMEOUT);
                let work = async move |leadership: Leadership, cancelled: Cancelled| {
                    works(&seen, leadership, cancelled).await;
                };
                client.election("/election").run_while_well(checks, OPTIONS, told, work).await
            }
        });
        settle().await;
        Self { answer, seen, shutdown: Some(shutdown), run }
    }

    fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().iter().map(|(seen, _)| *seen).collect()
    }

    fn works(&self) -> bool {
        self.seen().last().is_some_and(|seen| *seen != Seen::Ends)
    }

    /// Returns when this was last seen.
    fn at(&self, wanted: Seen) -> Instant {
        let seen = self.seen.lock().unwrap();
        seen.iter().rev().find(|(seen, _)| *seen == wanted).expect("it was seen").1
    }

    async fn shut_down(mut self) -> Report {
        drop(self.shutdown.take());
        timeout(Duration::from_secs(60), self.run).await.expect("it ends").unwrap()
    }
}

fn checks(answer: Arc<Mutex<Answer>>) -> Checks<impl AsyncFnMut() -> Result<(), &'static str>> {
    Checks::new(async move || answered(&answer).await).every(EVERY).timeout(TIMEOUT)
}

async fn answered(answer: &Mutex<Answer>) -> Result<(), &'static str> {
    let answer = *answer.lock().unwrap();
    match answer {
        Answer::Passes => Ok(()),
        Answer::Fails => Err("the disk is full"),
        Answer::Hangs => pending().await,
    }
}

async fn works(
    seen: &Arc<Mutex<Vec<(Seen, Instant)>>>,
    leadership: Leadership,
    cancelled: Cancelled,
) {
    seen.lock().unwrap().push((Seen::Begins, Instant::now()));
    let _ends = NotesEnd(Arc::clone(seen));
    cancelled.wait().await;
    seen.lock().unwrap().push((Seen::Cancelled, Instant::now()));
    sleep(GRACE / 2).await;
    drop(leadership);
}

/// Notes the end of work that has ended or was dropped.
struct NotesEnd(Arc<Mutex<Vec<(Seen, Instant)>>>);

impl Drop for NotesEnd {
    fn drop(&mut self) {
        self.0.lock().unwrap().push((Seen::Ends, Instant::now()));
    }
}

fn candidates(server: &Server) -> usize {
    server.children("/election").len()
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_unwell_ends_its_work_and_withdraws_until_it_is_well() {
    let server = Server::new();
    let first = Member::start(&server, Answer::Passes).await;
    let second = Member::start(&server, Answer::Passes).await;
    assert!(first.works() && !second.works() && candidates(&server) == 2);
    wait(60).await;
    for answer in [Answer::Fails, Answer::Hangs] {
        let (leader, other) = if first.works() { (&first, &second) } else { (&second, &first) };
        let from = Instant::now();
        leader.answers(answer);
        wait(60).await;
        assert_eq!(leader.seen()[leader.seen().len() - 3..], WHOLE);
        assert!(leader.at(Seen::Cancelled) - from <= BOUND, "{answer:?}");
        assert!(leader.at(Seen::Ends) <= other.at(Seen::Begins), "its work ends first");
        assert!(other.at(Seen::Begins) - leader.at(Seen::Ends) < Duration::from_secs(1));
        assert!(other.works());
        assert_eq!(candidates(&server), 1, "one that is unwell does not stand");
        let is_well = Instant::now();
        leader.answers(Answer::Passes);
        let stands = async {
            while candidates(&server) == 1 {
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(Duration::from_secs(60), stands).await.expect("it stands again");
        assert!(is_well.elapsed() > EVERY, "one check is not enough");
        assert!(is_well.elapsed() <= 2 * EVERY, "two are");
        wait(60).await;
        assert!(other.works() && !leader.works(), "it stands behind the other");
    }
    let report = first.shut_down().await.unwrap();
    assert_eq!((report.end, report.terms.count()), (RunEnd::Shutdown, 2));
    let term = report.terms.iter().next().unwrap();
    assert_eq!((&term.end, term.work), (&unwell("the disk is full"), WorkEnd::Returned(())));
    let report = second.shut_down().await.unwrap();
    let term = report.terms.iter().next().unwrap();
    assert_eq!(term.end, unwell("the check did not end within 3s"));
    assert_eq!(candidates(&server), 0);
}

const WHOLE: [Seen; 3] = [Seen::Begins, Seen::Cancelled, Seen::Ends];

fn unwell(reason: &str) -> TermEnd {
    TermEnd::Unwell(reason.to_owned())
}

#[tokio::test(start_paused = true)]
async fn the_work_of_an_unwell_leader_is_told_why() {
    let server = Server::new();
    let client = server.client().await;
    let answer = Arc::new(Mutex::new(Answer::Passes));
    let mut told = None;
    let work = async |leadership: Leadership, cancelled: Cancelled| {
        *answer.lock().unwrap() = Answer::Fails;
        let cancellation = cancelled.wait().await;
        assert_eq!(cancellation.deadline, Instant::now() + GRACE);
        told = Some(cancellation.reason);
        leadership.confirm().await.expect("it leads on until the work has ended");
        pending::<()>().await;
    };
    let checks = checks(Arc::clone(&answer));
    let election = client.election("/election");
    let report = election.run_while_well(checks, OPTIONS, wait(120), work).await.unwrap();
    assert_eq!(report.terms.last().unwrap().work, WorkEnd::GraceExceeded);
    assert_eq!(told, Some(CancelReason::Unwell("the disk is full".to_owned())));
    assert_eq!(report.terms.count(), 1, "it is the only one, is unwell, and leads no more");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_unwell_from_the_first_does_not_stand_even_alone() {
    for answer in [Answer::Fails, Answer::Hangs] {
        let server = Server::new();
        let member = Member::start(&server, answer).await;
        wait(3600).await;
        assert!(!server.exists("/election"), "not even the election node was made");
        assert!(member.seen().is_empty());
        member.answers(Answer::Passes);
        // A client that had no nominee before proves its first lease by heartbeats.
        wait(60).await;
        assert!(member.works());
        let report = member.shut_down().await.unwrap();
        assert!(matches!(report.resignation, Resignation::Done(_)), "{report:?}");
        let member = Member::start(&server, answer).await;
        let report = member.shut_down().await.unwrap();
        assert_eq!((report.end, report.terms.count()), (RunEnd::Shutdown, 0));
    }
}

/// The first check decides alone: a restart costs no more than one check.
#[tokio::test(start_paused = true)]
async fn one_that_is_well_from_the_first_stands_at_once() {
    let server = Server::new();
    let start = Instant::now();
    let member = Member::start(&server, Answer::Passes).await;
    assert!(member.works() && start.elapsed() < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_is_unwell_is_in_no_ones_way() {
    let server = Server::new();
    let leader = Member::start(&server, Answer::Passes).await;
    let unwell = Member::start(&server, Answer::Passes).await;
    let last = Member::start(&server, Answer::Passes).await;
    unwell.answers(Answer::Hangs);
    wait(30).await;
    assert_eq!(candidates(&server), 2);
    leader.shut_down().await.unwrap();
    settle().await;
    assert!(last.works() && unwell.seen().is_empty());
    last.shut_down().await.unwrap();
    wait(600).await;
    assert!(unwell.seen().is_empty(), "nobody leads rather than one that is unwell");
    unwell.answers(Answer::Passes);
    wait(30).await;
    assert!(unwell.works());
}

/// Two checks of three fail, for an hour: the leader leads on. And one of two passes, for an hour: it does not
/// stand.
#[tokio::test(start_paused = true)]
async fn checks_that_fail_now_and_then_move_nothing() {
    let server = Server::new();
    let client = server.client().await;
    let mut count = 0;
    let check = async || {
        count += 1;
        let passes = match count {
            0..720 => count % 3 == 1,
            720..725 => false,
            725..1440 => count % 2 == 0,
            _ => true,
        };
        if passes { Ok(()) } else { Err("flaps") }
    };
    let terms = Arc::new(Mutex::new(Vec::new()));
    let work = async |_: Leadership, cancelled: Cancelled| {
        let begun = Instant::now();
        cancelled.wait().await;
        terms.lock().unwrap().push((begun, begun.elapsed()));
    };
    let start = Instant::now();
    let checks = Checks::new(check).every(EVERY);
    let election = client.election("/election");
    election.run_while_well(checks, OPTIONS, wait(3 * 3600), work).await.unwrap();
    let terms = terms.lock().unwrap();
    let hour = Duration::from_secs(3600);
    assert_eq!(terms.len(), 2, "{terms:?}");
    assert!(terms[0].1 >= hour && terms[0].1 < hour + 5 * EVERY, "{terms:?}");
    assert!(terms[1].0 - start >= 2 * hour, "{terms:?}");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_member_that_cannot_withdraw() {
    let server = Server::new();
    let _leader = Member::start(&server, Answer::Passes).await;
    // Its session lives on.
    let builder = server.builder().session_timeout(Duration::from_secs(40));
    let follower = Member::start_by(builder.connect().await.unwrap(), Answer::Passes).await;
    assert_eq!(candidates(&server), 2);
    server.refuse();
    server.cut();
    follower.answers(Answer::Fails);
    wait(20).await;
    let report = follower.shut_down().await.unwrap();
    assert_eq!((report.end, report.resignation), (RunEnd::Shutdown, Resignation::TimedOut));
}

/// A nominee that is unwell while no server is in reach stands again once its candidate is gone, and not
/// beside it.
#[tokio::test(start_paused = true)]
async fn an_unwell_member_without_a_connection_leaves_no_second_candidate() {
    let server = Server::new();
    // Its session lives on.
    let builder = server.builder().session_timeout(Duration::from_secs(40));
    let leader = Member::start_by(builder.connect().await.unwrap(), Answer::Passes).await;
    let before = server.children("/election");
    server.refuse();
    server.cut();
    leader.answers(Answer::Fails);
    wait(20).await;
    assert_eq!(leader.seen(), WHOLE, "its work has ended");
    leader.answers(Answer::Passes);
    wait(11).await;
    assert_eq!(server.children("/election"), before, "no server has heard of it yet");
    server.accept();
    for _ in 0..600 {
        sleep(Duration::from_millis(100)).await;
        assert!(candidates(&server) <= 1);
    }
    assert!(leader.works());
    assert_ne!(server.children("/election"), before, "it stands by another candidate");
}

#[tokio::test(start_paused = true)]
async fn what_keeps_a_member_from_standing_is_an_error() {
    let server = Server::new();
    let client = server.client().await;
    let work = async |_: Leadership, _: Cancelled| ();
    let passes = async || Ok::<(), &str>(());
    let run = async |path| {
        let checks = Checks::new(passes);
        client.election(path).run_while_well(checks, OPTIONS, pending::<()>(), work).await
    };
    let error = run("no path").await.unwrap_err();
    assert!(error.to_string().contains("invalid election path"), "{error}");
    client.clone().close().await.unwrap();
    let error = run("/election").await.unwrap_err();
    assert!(matches!(error, RunWhileWellError::Ended(_)), "{error}");
}

/// A member that is unwell when its client is closed would stand by that client never again.
#[tokio::test(start_paused = true)]
async fn a_closed_client_ends_the_run_of_an_unwell_member() {
    for answer in [Answer::Fails, Answer::Hangs] {
        let server = Server::new();
        let client = server.client().await;
        let member = Member::start_by(client.clone(), answer).await;
        client.close().await.unwrap();
        let run = timeout(Duration::from_secs(1), member.run).await.expect("it ends").unwrap();
        let Err(RunWhileWellError::Ended(error)) = run else { panic!("{run:?}") };
        assert!(matches!(error.reason, EndReason::ClientClosed(_)), "{error}");
    }
}

/// Wherever a run is dropped, its candidate goes.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_anywhere_leaves_nothing() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let answer = Arc::new(Mutex::new(Answer::Passes));
        let election = client.election("/election");
        let work = async |_: Leadership, _: Cancelled| ();
        let run = election.run_while_well(checks(answer), OPTIONS, pending::<()>(), work);
        let outcome = run_until(&server, end, run).await;
        wait(2).await;
        assert_eq!(candidates(&server), 0, "{end:?}");
        outcome.is_some()
    })
    .await;
}

/// A step in the life of some members.
#[derive(Clone, Copy, Debug)]
enum Step {
    Answers(usize, Answer),
    Wait(u64),
    Cut,
    Expire,
    Restart(usize),
}

const MEMBERS: usize = 3;

fn step(random: &mut Rng) -> Step {
    let member = random.usize(..MEMBERS);
    match random.u8(..11) {
        0..4 => {
            let answers = [Answer::Passes, Answer::Fails, Answer::Hangs];
            Step::Answers(member, answers[random.usize(..answers.len())])
        }
        4..8 => Step::Wait(random.u64(1..40)),
        8 => Step::Cut,
        9 => Step::Expire,
        _ => Step::Restart(member),
    }
}

/// Members whose checks fail at random, lost connections, expired sessions, restarts.
struct World {
    server: Server,
    members: Vec<Member>,
    /// Since when the check of each member has not passed.
    unwell_since: [Option<Instant>; MEMBERS],
    /// Until when leaders may not know yet that the server has forgotten their sessions before their time.
    forgotten_until: Instant,
}

impl World {
    async fn new() -> Self {
        let server = Server::new();
        let mut members = Vec::new();
        for _ in 0..MEMBERS {
            members.push(Member::start(&server, Answer::Passes).await);
        }
        Self { server, members, unwell_since: [None; MEMBERS], forgotten_until: Instant::now() }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Answers(member, answer) => {
                self.members[member].answers(answer);
                let since = &mut self.unwell_since[member];
                match answer {
                    Answer::Passes => *since = None,
                    Answer::Fails | Answer::Hangs => drop(since.get_or_insert(Instant::now())),
                }
            }
            Step::Wait(seconds) => {
                for _ in 0..seconds {
                    wait(1).await;
                    self.judge();
                }
            }
            Step::Cut => self.server.cut(),
            Step::Expire => {
                self.server.cut();
                self.server.expire();
                self.forgotten_until = Instant::now() + Duration::from_secs(60);
            }
            Step::Restart(member) => {
                self.members[member].run.abort();
                let answer = *self.members[member].answer.lock().unwrap();
                self.members[member] = Member::start(&self.server, answer).await;
            }
        }
    }

    /// No leader that is unwell for longer than its bound, and the grace of its work, works on.
    fn judge(&self) {
        for (member, since) in self.members.iter().zip(self.unwell_since) {
            let is_late = since.is_some_and(|since| since.elapsed() > BOUND + GRACE);
            assert!(!(is_late && member.works()), "it is unwell, and works: {:?}", member.seen());
        }
        let working = self.members.iter().filter(|member| member.works()).count();
        assert!(working <= 1 || Instant::now() < self.forgotten_until, "two work at once");
    }
}

#[tokio::test(start_paused = true)]
async fn members_whose_checks_fail_at_random() {
    for seed in 0..64 {
        let mut random = Rng::with_seed(seed);
        let mut world = World::new().await;
        for _ in 0..random.usize(1..40) {
            world.take(step(&mut random)).await;
        }
        // From now on one is well, and nothing fails any more.
        let well = random.usize(..MEMBERS);
        for member in 0..MEMBERS {
            let answer = if member == well { Answer::Passes } else { Answer::Fails };
            world.take(Step::Answers(member, answer)).await;
        }
        world.take(Step::Wait(120)).await;
        for (at, member) in world.members.iter().enumerate() {
            assert_eq!(
                member.works(),
                at == well,
                "seed {seed}: one that is well leads at the end"
            );
        }
        assert_eq!(candidates(&world.server), 1, "seed {seed}: no other stands");
        for member in world.members {
            member.run.abort();
        }
    }
}

/// The thresholds are the caller's.
#[tokio::test(start_paused = true)]
async fn one_check_is_enough_where_the_thresholds_say_so() {
    let server = Server::new();
    let client = server.client().await;
    let answer = Arc::new(Mutex::new(Answer::Passes));
    let checks = checks(Arc::clone(&answer)).fall(NonZeroU32::MIN).rise(NonZeroU32::MIN);
    assert_eq!(checks.bound(), EVERY + TIMEOUT);
    let work = async |_: Leadership, cancelled: Cancelled| {
        *answer.lock().unwrap() = Answer::Fails;
        let from = Instant::now();
        cancelled.wait().await;
        *answer.lock().unwrap() = Answer::Passes;
        assert!(from.elapsed() <= EVERY);
    };
    let election = client.election("/election");
    let report = election.run_while_well(checks, OPTIONS, wait(300), work).await.unwrap();
    assert!(report.terms.count() >= 25, "{}", report.terms.count());
}

//! Preferred leaders: a leader hands over to a better candidate that has stood for the time.

use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use election_tokio::election::{
    CancelReason, Cancelled, Idle, Leadership, PreferBetter, RunError, RunOptions, RunReport,
    TermEnd, WhenAsked,
};
use election_tokio::{Client, Token, Version};
use fastrand::Rng;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use zk_jute::OpCode;

use crate::server::{Server, settle, wait};

const ELECTION: &str = "/election";
const STOOD: Duration = Duration::from_secs(30);
/// What a hand-over takes besides: the work's own end, and lists while candidates come and go.
const SOON: Duration = Duration::from_secs(10);
/// How long the work takes to end.
const ENDS: Duration = Duration::from_secs(2);

/// A term of a member's work.
#[derive(Clone, Debug)]
struct Worked {
    token: Token,
    begun: Instant,
    /// Why it was told to end, and when.
    told: Option<(CancelReason, Instant)>,
}

type Report = Result<RunReport<()>, RunError<()>>;

struct Member {
    client: Client,
    preference: i32,
    terms: Arc<Mutex<Vec<Worked>>>,
    shutdown: Option<oneshot::Sender<()>>,
    run: JoinHandle<Report>,
}

impl Member {
    async fn start(server: &Server, preference: i32) -> Self {
        Self::start_by(server, preference, PreferBetter::After(STOOD)).await
    }

    async fn start_by(server: &Server, preference: i32, prefer: PreferBetter) -> Self {
        let client = server.client().await;
        let terms: Arc<Mutex<Vec<Worked>>> = Arc::default();
        let (shutdown, told) = oneshot::channel();
        let election = client.election(ELECTION).data("host").preference(preference);
        let nomination = election.nominate().unwrap();
        let options = RunOptions::new().prefer(prefer);
        let work = {
            let terms = Arc::clone(&terms);
            async move |leadership: Leadership, cancelled: Cancelled| {
                let (token, begun) = (leadership.token(), Instant::now());
                terms.lock().unwrap().push(Worked { token, begun, told: None });
                let reason = cancelled.wait().await.reason;
                let told = Some((reason, Instant::now()));
                terms.lock().unwrap().last_mut().unwrap().told = told;
                sleep(ENDS).await;
            }
        };
        let run = tokio::spawn(nomination.run_with(options, told, work));
        settle().await;
        Self { client, preference, terms, shutdown: Some(shutdown), run }
    }

    fn terms(&self) -> Vec<Worked> {
        self.terms.lock().unwrap().clone()
    }

    fn works(&self) -> bool {
        self.terms().last().is_some_and(|term| term.told.is_none())
    }

    async fn shut_down(mut self) -> RunReport<()> {
        drop(self.shutdown.take());
        timeout(Duration::from_secs(60), self.run).await.expect("it ends").unwrap().unwrap()
    }
}

fn candidates(server: &Server) -> usize {
    server.children(ELECTION).len()
}

#[tokio::test(start_paused = true)]
async fn a_leader_hands_over_to_the_best_that_has_stood_for_the_time() {
    let server = Server::new();
    let start = Instant::now();
    let mut members = Vec::new();
    for preference in [0, 5, -3, 9, 9] {
        members.push(Member::start(&server, preference).await);
    }
    assert!(members[0].works());
    let data = members[0].client.election(ELECTION).candidates().await.unwrap();
    assert_eq!(data[1].data, "host preference=5");
    assert_eq!(data[3].preference().get(), 9);
    wait(60).await;
    let terms = members[0].terms();
    let (reason, told) = terms[0].told.clone().expect("it was told");
    assert!(told - start >= STOOD && told - start < STOOD + SOON);
    let CancelReason::BetterCandidate(better) = reason else { panic!("{reason:?}") };
    assert_eq!((better.preference.get(), better.token), (9, data[3].token));
    assert!(members[3].works(), "of equals, the first leads");
    let next = members[3].terms()[0].begun;
    assert!(next >= told + ENDS && next < told + ENDS + SOON / 10, "once the work has ended");
    wait(3600).await;
    assert!(members[3].works() && candidates(&server) == 5, "and there it rests");
    assert!(server.children(ELECTION).iter().all(|name| !name.starts_with("hand-over")));
    let report = members.remove(0).shut_down().await;
    assert!(matches!(&report.terms.last().unwrap().end, TermEnd::HandedOver(to) if *to == better));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_not_to_prefer_leads_on() {
    let server = Server::new();
    let leader = Member::start_by(&server, 0, PreferBetter::Never).await;
    let _better = Member::start(&server, 5).await;
    wait(3600).await;
    assert!(leader.works());
}

/// A better member that never stands for the time leads never, and the leader is not disturbed.
#[tokio::test(start_paused = true)]
async fn better_members_that_come_and_go_move_no_leader() {
    let server = Server::new();
    let leader = Member::start(&server, 0).await;
    for _ in 0..100 {
        let better = Member::start(&server, 5).await;
        wait(STOOD.as_secs() - 2).await;
        better.shut_down().await;
    }
    assert!(leader.works() && leader.terms().len() == 1);
}

/// A better member that dies whenever it leads: the others lead in between, for the time at least.
#[tokio::test(start_paused = true)]
async fn a_better_member_that_dies_whenever_it_leads_moves_the_lead_once_in_the_time() {
    let server = Server::new();
    let start = Instant::now();
    let leader = Member::start(&server, 0).await;
    for _ in 0..20 {
        let better = Member::start(&server, 5).await;
        while !better.works() {
            wait(1).await;
        }
        better.run.abort();
        wait(1).await;
    }
    let moves = u32::try_from(leader.terms().len()).unwrap() - 1;
    assert!(moves >= 19 && start.elapsed() >= STOOD * moves, "{moves} in {:?}", start.elapsed());
    let told = |term: &Worked| term.told.as_ref().map(|(_, told)| *told - term.begun);
    assert!(leader.terms().iter().filter_map(told).all(|led| led >= STOOD));
}

#[tokio::test(start_paused = true)]
async fn a_preference_that_an_operator_changes_counts_from_then() {
    let server = Server::new();
    let leader = Member::start(&server, 0).await;
    let other = Member::start(&server, 5).await;
    wait(20).await;
    let candidate = leader.client.election(ELECTION).candidates().await.unwrap().remove(1);
    let path = format!("{ELECTION}/{}", candidate.name);
    let set = async |data: &str| {
        leader.client.set_data(&path, data.to_owned(), Version::ANY).await.unwrap();
    };
    set("host preference=-5").await;
    wait(600).await;
    assert!(leader.works(), "it is not better any more when its time has come");
    set("host preference=7").await;
    wait(600).await;
    assert!(leader.works(), "what the leader has read stays until it reads again");
    drop(other.shut_down().await);
    let other = Member::start(&server, 7).await;
    wait(60).await;
    assert!(other.works(), "a new candidate is read");
}

/// It goes while the work ends: the leader leads on with its token.
#[tokio::test(start_paused = true)]
async fn a_better_candidate_that_goes_while_the_work_ends_costs_no_lead() {
    let server = Server::new();
    let leader = Member::start(&server, 0).await;
    let worse = Member::start(&server, -5).await;
    let better = Member::start(&server, 5).await;
    while leader.works() {
        sleep(Duration::from_millis(100)).await;
    }
    better.run.abort();
    wait(20).await;
    let terms = leader.terms();
    assert!(leader.works() && terms.len() == 2 && terms[0].token == terms[1].token, "{terms:?}");
    assert!(worse.terms().is_empty(), "none that is worse leads for it");
    let report = leader.shut_down().await;
    assert!(matches!(report.terms.iter().next().unwrap().end, TermEnd::CandidateGone(_)));
}

#[tokio::test(start_paused = true)]
async fn a_leader_hands_over_when_it_is_idle() {
    let server = Server::new();
    let is_idle = Arc::new(AtomicBool::new(false));
    let idle = Idle::new({
        let is_idle = Arc::clone(&is_idle);
        move || is_idle.load(Ordering::SeqCst)
    });
    let leader = Member::start_by(&server, 0, PreferBetter::WhenIdle { stood: STOOD, idle }).await;
    let better = Member::start(&server, 5).await;
    wait(3600).await;
    assert!(leader.works());
    is_idle.store(true, Ordering::SeqCst);
    wait(5).await;
    assert!(better.works());
}

/// One between that stays keeps the better one from leading; the leader leads on, and asks again.
#[tokio::test(start_paused = true)]
async fn a_better_candidate_behind_one_that_stays_leads_once_that_goes() {
    let server = Server::new();
    let leader = Member::start(&server, 0).await;
    let client = server.client().await;
    let stays = client.election(ELECTION).when_asked(WhenAsked::Stays).nominate().unwrap();
    settle().await;
    let better = Member::start(&server, 5).await;
    wait(3600).await;
    assert!(leader.works() && leader.terms().len() == 1);
    stays.withdraw().await.unwrap();
    wait(600).await;
    assert!(better.works());
}

/// A watch of the leader's, and a list a minute.
#[tokio::test(start_paused = true)]
async fn a_preference_costs_a_watch_and_a_list_a_minute_at_rest() {
    let lists = async |prefer: PreferBetter| {
        let server = Server::new();
        let leader = Member::start_by(&server, 0, prefer).await;
        let _others = [Member::start(&server, -1).await, Member::start(&server, -2).await];
        wait(600).await;
        let (lists, reads) = (OpCode::GET_CHILDREN2, OpCode::GET_DATA);
        let before = [server.requests(lists), server.requests(reads)];
        wait(3600).await;
        assert!(leader.works());
        let after = [server.requests(lists), server.requests(reads)];
        (after[0] - before[0], after[1] - before[1], server.watches())
    };
    let without = lists(PreferBetter::Never).await;
    let with = lists(PreferBetter::After(STOOD)).await;
    assert_eq!(with.2, without.2 + 1, "watches");
    let (more, reads) = (with.0 - without.0, with.1.abs_diff(without.1));
    assert!((59..=61).contains(&more), "{more} lists an hour");
    // Looks of the nominees come at random moments.
    assert!(reads <= 20, "{reads} reads an hour");
}

/// Members with preferences that come, go, and stand again with others; lost connections.
#[tokio::test(start_paused = true)]
async fn members_with_preferences_at_random() {
    const MEMBERS: usize = 4;
    for seed in 0..40 {
        let mut random = Rng::with_seed(seed);
        let server = Server::new();
        let mut members = Vec::new();
        for _ in 0..MEMBERS {
            members.push(Some(Member::start(&server, random.i32(-1..3)).await));
        }
        for _ in 0..random.usize(1..25) {
            let at = random.usize(..MEMBERS);
            match random.u8(..8) {
                0..3 => sleep(Duration::from_secs(random.u64(1..60))).await,
                3 => server.cut(),
                4 => drop(members[at].take().map(|member| member.run.abort())),
                5 => {
                    if let Some(member) = members[at].take() {
                        let preference = member.preference;
                        judge(&member.shut_down().await, preference);
                    }
                }
                _ => {
                    if let Some(member) = members[at].take() {
                        member.run.abort();
                    }
                    members[at] = Some(Member::start(&server, random.i32(-1..3)).await);
                }
            }
        }
        // A hand-over for each preference at most, and what each takes.
        sleep((STOOD + 2 * SOON) * 4).await;
        let members: Vec<Member> = members.into_iter().flatten().collect();
        let best = members.iter().map(|member| member.preference).max();
        let working: Vec<i32> =
            members.iter().filter(|it| it.works()).map(|it| it.preference).collect();
        assert_eq!(working, Vec::from_iter(best), "seed {seed}: one of the best leads");
        for member in members {
            let (preference, terms) = (member.preference, member.terms());
            for term in terms {
                if let Some((CancelReason::BetterCandidate(better), told)) = term.told {
                    assert!(better.preference.get() > preference, "seed {seed}: it is better");
                    assert!(told - term.begun >= STOOD, "seed {seed}: it has led for the time");
                }
            }
            judge(&member.shut_down().await, preference);
        }
    }
}

fn judge(report: &RunReport<()>, preference: i32) {
    for term in report.terms.iter() {
        if let TermEnd::HandedOver(better) = &term.end {
            assert!(better.preference.get() > preference);
        }
    }
}

//! Elections on an ensemble with a divided network, and a leader on the wrong side: the divisions
//! that each grade of the lease withstands.
//!
//! The leader's client reaches its server all the time, and its heir's client the other two.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use election_tokio::election::{Leadership, LostReason, Nomination, OnLoss, Role};
use election_tokio::lease::LeaseGrade;
use election_tokio::{Client, ConnectionState, ErrorKind, TransactionError};
use tokio::sync::Mutex;
use tokio::time::Instant;
use zk_test_kit::election::{ELECTION, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::{Claim, Contradiction, History, Tenure, Watchers};
use zk_test_kit::wait::{SOON, eventually, eventually_async};
use zk_test_kit::zookeeper::{LinkedEnsemble, Lost, Member, Options};

/// One at a time: an ensemble is heavy.
static ALONE: Mutex<()> = Mutex::const_new(());

const TIMEOUT: Duration = Duration::from_secs(3);

/// Ticks of 200 ms: a member that is cut off goes on serving for longer than it takes the others to
/// expire a session, and to elect a leader before.
const SYNC_LIMIT: u32 = 50;

/// How often the long form does what.
const LONG_FORM: [(Division, LeaseGrade, usize); 13] = [
    (Division::Follower(Lost::Both), LeaseGrade::Quorum, 30),
    (Division::Follower(Lost::Both), LeaseGrade::Contact, 30),
    (Division::DesertedLeader, LeaseGrade::Quorum, 30),
    (Division::DesertedLeader, LeaseGrade::Sync, 30),
    (Division::Follower(Lost::Both), LeaseGrade::Sync, 10),
    (Division::Follower(Lost::Sent), LeaseGrade::Quorum, 10),
    (Division::Follower(Lost::Received), LeaseGrade::Quorum, 10),
    (Division::Follower(Lost::Sent), LeaseGrade::Contact, 10),
    (Division::Follower(Lost::Received), LeaseGrade::Contact, 10),
    (Division::DesertedLeader, LeaseGrade::Contact, 10),
    (Division::Leader, LeaseGrade::Quorum, 5),
    (Division::Leader, LeaseGrade::Sync, 5),
    (Division::Leader, LeaseGrade::Contact, 5),
];

/// How long the heir may take. Where ZooKeeper's leader is cut off it needs `syncLimit` ticks, an
/// election and the timeout; a busy machine may need a second election.
const PATIENCE: Duration = Duration::from_secs(90);

/// The server of the leader's client, and its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    /// A follower is cut off.
    Follower(Lost),
    /// ZooKeeper's own leader is cut off. All notice after the same time.
    Leader,
    /// ZooKeeper's own leader is cut off, which the others notice at once, and it does not.
    DesertedLeader,
}

/// Whether two leaders, the earlier and the later one, overlapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// So long after the earlier one was last seen valid, the later one was first.
    Apart(Duration),
    /// Both were valid, so long at least.
    Together(Duration),
}

impl Division {
    fn begin(self, ensemble: &LinkedEnsemble, member: Member) {
        match self {
            Self::Follower(lost) => ensemble.cut_off(member, lost),
            Self::Leader => ensemble.cut_off(member, Lost::Both),
            Self::DesertedLeader => ensemble.desert(member),
        }
    }

    /// Whether the member goes on with its clients for as long as it takes to elect the heir. One
    /// that hears of the others' commits ends the session with them, and one that notices its lack
    /// of a quorum ends all connections.
    fn leaves_the_client_alone(self) -> bool {
        !matches!(self, Self::Follower(Lost::Sent) | Self::Leader)
    }

    fn member(self, ensemble: &LinkedEnsemble) -> Result<Member, TestFailure> {
        let ensemble = ensemble.ensemble();
        eventually(SOON, "two members follow the third", || {
            ensemble.leader().is_some() && ensemble.followers().len() == 2
        })?;
        let leader = ensemble.wait_for_leader(SOON)?;
        Ok(match self {
            Self::Follower(_) => *fastrand::choice(&ensemble.followers()).expect("two"),
            Self::Leader | Self::DesertedLeader => leader,
        })
    }
}

/// A leader on one member, its heir on the other two, both in the middle of their heartbeats.
struct Scene<'a> {
    ensemble: &'a LinkedEnsemble,
    member: Member,
    old: Client,
    _nomination: Nomination,
    leadership: Arc<Leadership>,
    _new: Client,
    heir: Nomination,
}

impl<'a> Scene<'a> {
    async fn set(
        ensemble: &'a LinkedEnsemble,
        member: Member,
        grade: LeaseGrade,
    ) -> Result<Self, TestFailure> {
        let others = Member::ALL.into_iter().filter(|other| *other != member);
        let address = |member| ensemble.ensemble().member(member).connect_string();
        let others: Vec<_> = others.map(address).collect();
        let old = client(&address(member), grade).await?;
        let new = client(&others.join(","), grade).await?;
        let mut nomination = old.election(ELECTION).on_loss(OnLoss::End).nominate()?;
        let leadership = Arc::new(leads(&mut nomination).await?);
        // Its server may not have heard of the first one yet.
        new.sync(ELECTION).await?;
        let heir = new.election(ELECTION).nominate()?;
        eventually_async(SOON, "the heir follows, or the leader is none any more", async || {
            let role = heir.status().role;
            matches!(role, Role::Following { predecessor, .. } if predecessor == *leadership.candidate())
                || !leadership.is_valid()
        })
        .await?;
        let both_stand = Instant::now();
        eventually_async(SOON, "the lease rests on heartbeats", async || {
            leadership.valid_until().is_none_or(|until| until > both_stand + TIMEOUT)
        })
        .await?;
        // The division is to fall on any moment between two heartbeats.
        tokio::time::sleep(TIMEOUT.mul_f64(fastrand::f64() / 3.0)).await;
        Ok(Self { ensemble, member, old, _nomination: nomination, leadership, _new: new, heir })
    }

    /// Divides the ensemble, waits for the heir, and tells what was seen meanwhile.
    async fn play(mut self, division: Division, grade: LeaseGrade) -> Result<Outcome, TestFailure> {
        let mut watchers = Watchers::new();
        watchers.watch("old", Arc::clone(&self.leadership));
        division.begin(self.ensemble, self.member);
        let successor = tokio::time::timeout(PATIENCE, self.heir.elected()).await??;
        let together = [Claim::ask("new", &successor), Claim::ask("old", &self.leadership)];
        assert!(together[0].is_some(), "the heir leads");
        if grade == LeaseGrade::Contact && division.leaves_the_client_alone() {
            // The member is cut off, and not the client. A request that waits for the others, as
            // heartbeats do, holds up the answers to pings too, so this client alone is not misled.
            let connection = self.old.connection_updates().latest();
            assert!(matches!(connection, ConnectionState::Connected { .. }), "{connection:?}");
        }
        if grade == LeaseGrade::Quorum {
            let reason = soon("the leadership is lost", self.leadership.lost()).await?;
            assert_eq!(reason, LostReason::LeaseLapsed);
        }
        if together[1].is_some() {
            self.confirms_nothing(division).await?;
        }
        let mut history = watchers.finish();
        history.extend(together.into_iter().flatten());
        Ok(Outcome::of(&history))
    }
}

impl Scene<'_> {
    /// A leader that believes itself valid, and is not alone, would know if it asked. Meanwhile the
    /// watchers see for how long there are two.
    async fn confirms_nothing(&self, division: Division) -> TestResult {
        match soon("the confirmation ends", self.leadership.confirm()).await? {
            Err(TransactionError::Request(error))
                if matches!(error.kind(), ErrorKind::ConnectionLoss | ErrorKind::NotConnected) => {}
            // Its member hears what the others have committed: the end of its candidate.
            Err(TransactionError::NotHeld) if division == Division::Follower(Lost::Sent) => {}
            other => panic!("no quorum can be asked from there, and yet: {other:?}"),
        }
        Ok(())
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        self.ensemble.reunite(self.member);
    }
}

impl Outcome {
    const fn pause(&self) -> Option<Duration> {
        match self {
            Self::Apart(pause) => Some(*pause),
            Self::Together(_) => None,
        }
    }

    fn of(history: &History) -> Self {
        let between = |from: Duration, to: Duration| to.saturating_sub(from);
        match history.tenures().as_deref() {
            Ok([old, new]) => Self::Apart(between(old.valid_until, new.valid_by)),
            Err(Contradiction::TwoLeaders { earlier, later }) => {
                let (Tenure { valid_until, .. }, Tenure { valid_by, .. }) = (&**earlier, &**later);
                Self::Together(between(*valid_by, *valid_until))
            }
            other => panic!("two leaders, one after another or not, and not {other:?}"),
        }
    }
}

async fn client(servers: &str, grade: LeaseGrade) -> Result<Client, TestFailure> {
    let builder = Client::builder(servers).session_timeout(TIMEOUT).lease_grade(grade);
    Ok(builder.connect_timeout(SOON).connect().await?)
}

fn ensemble() -> Result<LinkedEnsemble, TestFailure> {
    Ok(Options::new().sync_limit(SYNC_LIMIT).start_linked_ensemble()?)
}

/// Runs one division. A machine so busy that the lease lapses, or the session, before it begins gets another try.
async fn run(
    ensemble: &LinkedEnsemble,
    division: Division,
    grade: LeaseGrade,
) -> Result<Outcome, TestFailure> {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        let member = division.member(ensemble)?;
        let scene = Scene::set(ensemble, member, grade).await?;
        if scene.leadership.is_valid() {
            let outcome = scene.play(division, grade).await?;
            println!("{division:?}, {grade:?}: {outcome}");
            return Ok(outcome);
        }
    }
    panic!("no lease of {TIMEOUT:?} lasted, with nothing broken yet, in {TRIES} tries");
}

async fn runs(
    ensemble: &LinkedEnsemble,
    division: Division,
    grade: LeaseGrade,
    count: usize,
) -> Result<Vec<Outcome>, TestFailure> {
    let mut outcomes = Vec::new();
    for _ in 0..count {
        outcomes.push(run(ensemble, division, grade).await?);
    }
    Ok(outcomes)
}

/// A follower goes on answering pings by itself, while the ensemble's leader, which hears no more
/// from it, expires its sessions. Heartbeats that it cannot answer alone prove nothing then: the
/// old leader has stopped by its own clock before its heir starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_on_a_follower_that_is_cut_off_stops_before_its_heir_starts() -> TestResult {
    let _alone = ALONE.lock().await;
    let ensemble = ensemble()?;
    for lost in [Lost::Both, Lost::Sent, Lost::Received] {
        assert_apart(run(&ensemble, Division::Follower(lost), LeaseGrade::Quorum).await?);
    }
    assert_apart(run(&ensemble, Division::Follower(Lost::Both), LeaseGrade::Sync).await?);
    Ok(())
}

/// The test above guards against something real: with a lease that rests on pings two nominees
/// lead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_contact_alone_there_are_two_leaders_then() -> TestResult {
    let _alone = ALONE.lock().await;
    let ensemble = ensemble()?;
    assert_together(run(&ensemble, Division::Follower(Lost::Both), LeaseGrade::Contact).await?);
    Ok(())
}

/// ZooKeeper's leader goes on answering, a `sync` too, until it notices that it has no quorum. It
/// commits nothing meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_on_a_deposed_member_stops_before_its_heir_starts() -> TestResult {
    let _alone = ALONE.lock().await;
    let ensemble = ensemble()?;
    for division in [Division::DesertedLeader, Division::Leader] {
        assert_apart(run(&ensemble, division, LeaseGrade::Quorum).await?);
    }
    Ok(())
}

fn assert_together(outcome: Outcome) {
    assert!(matches!(outcome, Outcome::Together(_)), "{outcome}");
}

fn assert_apart(outcome: Outcome) {
    assert!(matches!(outcome, Outcome::Apart(_)), "{outcome}");
}

/// Each division under each grade, many times, and what was seen: `Quorum` has to hold each time,
/// `Sync` where it claims to. `Contact` cannot hold where a follower hears nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the long form: takes half an hour"]
async fn many_divisions_of_each_kind() -> TestResult {
    let _alone = ALONE.lock().await;
    let ensemble = ensemble()?;
    for (division, grade, count) in LONG_FORM {
        let outcomes = runs(&ensemble, division, grade, count).await?;
        println!("{division:?}, {grade:?}: {}", Summary(&outcomes));
        match (division, grade) {
            (_, LeaseGrade::Quorum) | (Division::Follower(_), LeaseGrade::Sync) => {
                outcomes.into_iter().for_each(assert_apart);
            }
            (Division::Follower(Lost::Both | Lost::Received), _) => {
                outcomes.into_iter().for_each(assert_together);
            }
            _ => {}
        }
    }
    Ok(())
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apart(pause) => write!(formatter, "one after another, {pause:?} apart"),
            Self::Together(time) => write!(formatter, "both at once for {time:?}"),
        }
    }
}

struct Summary<'a>(&'a [Outcome]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let together = |outcome: &&Outcome| matches!(outcome, Outcome::Together(_));
        let mut pauses: Vec<_> = self.0.iter().filter_map(Outcome::pause).collect();
        pauses.sort_unstable();
        write!(
            formatter,
            "two leaders in {} of {} runs",
            self.0.iter().filter(together).count(),
            self.0.len()
        )?;
        match (pauses.first(), pauses.get(pauses.len() / 2)) {
            (Some(least), Some(median)) => {
                write!(
                    formatter,
                    "; otherwise apart by {least:?} at least, {median:?} in the median"
                )
            }
            _ => Ok(()),
        }
    }
}

//! Connections that are lost at every request, many in a row: no recipe ends for good because of that.

use core::fmt::Debug;
use core::num::NonZeroU32;
use core::time::Duration;

use election_tokio::commit::CommitError;
use election_tokio::counter::CounterError;
use election_tokio::election::{Blocker, Follow, Observation, Obstacle};
use election_tokio::format::Format;
use election_tokio::group::MembershipState;
use election_tokio::health::NomineeHealth;
use election_tokio::once::{Admission, OnceError, RunState, TakeAgain};
use election_tokio::queue::{PriorityQueue, Queue};
use election_tokio::{Client, CreateMode};
use tokio::time::timeout;
use zk_jute::OpCode;

use crate::cuts::{Cuts, Fate, Place};
use crate::server::Server;
use crate::spans::Journal;

/// The node, which is missing, as its parent is.
const NODE: &str = "/deep/node";

/// More than any recipe counts, whatever it counts.
const MANY: usize = 20;

/// Longer than it takes after the last cut.
const LONG: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Election(Format),
    Lock(Format),
    ReadLock,
    Once,
    Semaphore,
    Barrier,
    DoubleBarrier,
    Queue,
    PriorityQueue,
    Counter,
    Group,
    Commit,
    Observer,
}

impl Kind {
    fn all() -> Vec<Self> {
        let formats = [Format::curator_latch(), Format::kazoo(), Format::go_zookeeper()];
        let mut all: Vec<_> = formats.into_iter().map(Self::Election).collect();
        all.extend([Self::Lock(Format::curator_lock()), Self::Lock(Format::go_zookeeper())]);
        all.extend([Self::ReadLock, Self::Once, Self::Semaphore, Self::Barrier]);
        all.push(Self::DoubleBarrier);
        all.extend([Self::Queue, Self::PriorityQueue, Self::Counter, Self::Group]);
        all.extend([Self::Commit, Self::Observer]);
        all
    }

    /// Uses the recipe, from a missing node to its end.
    async fn use_it(self, client: &Client) -> Result<(), String> {
        match self {
            Self::Election(format) => {
                let election = client.election(NODE).format(format);
                let mut nomination = election.nominate().map_err(text)?;
                let leadership = nomination.elected().await.map_err(text)?;
                leadership.resign().await.map(drop).map_err(text)
            }
            Self::Lock(format) => {
                let guard = client.lock(NODE).format(format).lock().await.map_err(text)?;
                guard.release().await.map(drop).map_err(text)
            }
            Self::ReadLock => {
                let guard = client.read_lock(NODE).lock().await.map_err(text)?;
                guard.release().await.map(drop).map_err(text)
            }
            Self::Once => once(client).await,
            Self::Semaphore => {
                let semaphore = client.semaphore(NODE, NonZeroU32::MIN);
                let permit = semaphore.acquire().await.map_err(text)?;
                permit.release().await.map(drop).map_err(text)
            }
            Self::Barrier => {
                let barrier = client.barrier(NODE);
                barrier.set().await.map_err(text)?;
                barrier.is_set().await.map_err(text)?;
                barrier.lift().await.map_err(text)?;
                barrier.wait().await.map_err(text)
            }
            Self::DoubleBarrier => {
                let entered = client.double_barrier(NODE, 1).enter().await.map_err(text)?;
                entered.leave().await.map_err(text)
            }
            Self::Queue => in_queue(&client.queue(NODE)).await,
            Self::PriorityQueue => in_priority_queue(&client.priority_queue(NODE)).await,
            Self::Counter => match client.counter(NODE).add(1).await {
                // Its outcome cannot be known.
                Ok(_) | Err(CounterError::Unknown { .. }) => Ok(()),
                Err(error) => Err(text(error)),
            },
            Self::Group => {
                let member = client.group(NODE).join("data").await.map_err(text)?;
                member.leave().await.map(drop).map_err(text)
            }
            Self::Commit => commit(client).await,
            Self::Observer => {
                let mut observer = client
                    .election(NODE)
                    .observe(Follow::LeaderAndAcknowledgement)
                    .map_err(text)?;
                let seen = observer.wait_for(|seen| *seen != Observation::Unknown).await;
                match seen.map_err(text)? {
                    Observation::Vacant => Ok(()),
                    other => Err(text(other)),
                }
            }
        }
    }
}

fn text(error: impl Debug) -> String {
    format!("{error:?}")
}

/// Runs a job, until a run is recorded as a success.
async fn once(client: &Client) -> Result<(), String> {
    let job = client.once(NODE, LONG).by("a").take_again(TakeAgain::Interrupted);
    loop {
        let ended = match job.begin().await {
            Ok(Admission::Run(run)) => run.succeeded().await,
            Ok(other) => return Err(text(other)),
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => return Ok(()),
            Err(OnceError::Lost { .. }) => {}
            Err(error) => return Err(text(error)),
        }
        // The end was recorded, and the reply lost, and then the lock.
        if job.last().await.map_err(text)?.is_some_and(|run| run.state == RunState::Succeeded) {
            return Ok(());
        }
    }
}

async fn in_queue(queue: &Queue) -> Result<(), String> {
    let nothing = queue.try_take().await.map_err(text)?;
    let unclaimed = queue.try_claim().await.map_err(text)?;
    assert!(nothing.is_none() && unclaimed.is_none());
    Ok(())
}

async fn in_priority_queue(queue: &PriorityQueue) -> Result<(), String> {
    let nothing = queue.try_take().await.map_err(text)?;
    let unclaimed = queue.try_claim().await.map_err(text)?;
    assert!(nothing.is_none() && unclaimed.is_none());
    Ok(())
}

async fn commit(client: &Client) -> Result<(), String> {
    let transaction = client.two_phase_commit(NODE);
    let coordinator = match transaction.begin("content", ["a"]).await {
        Ok(coordinator) => coordinator,
        // Its outcome cannot be known.
        Err(CommitError::BeginUnknown { .. }) => return Ok(()),
        Err(error) => return Err(text(error)),
    };
    let site = transaction.join("a").await.map_err(text)?;
    site.vote_commit().await.map_err(text)?;
    coordinator.decided().await.map_err(text)?;
    site.acknowledge().await.map_err(text)?;
    coordinator.finish().await.map_err(text)
}

/// Returns what goes wrong.
async fn use_over(kind: Kind, cuts: Cuts) -> Option<String> {
    let server = Server::new();
    let client = server.client().await;
    server.state().cuts = Some(cuts);
    match timeout(LONG, kind.use_it(&client)).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{kind:?} ends over {cuts:?}: {error}")),
        Err(_) => Some(format!("{kind:?} goes on for ever over {cuts:?}")),
    }
}

/// Each of many connections lives for the same number of requests; or is lost at one kind of request.
/// The last one is executed or not.
#[tokio::test(start_paused = true)]
async fn no_recipe_ends_because_of_lost_connections_alone() {
    let opcodes = [
        OpCode::CREATE,
        OpCode::CREATE2,
        OpCode::CREATE_CONTAINER,
        OpCode::DELETE,
        OpCode::EXISTS,
        OpCode::GET_DATA,
        OpCode::SET_DATA,
        OpCode::GET_CHILDREN,
        OpCode::GET_CHILDREN2,
        OpCode::MULTI,
        OpCode::SYNC,
    ];
    let places = (0..8).map(Place::After).chain(opcodes.map(Place::Each));
    let places: Vec<_> = places.collect();
    let mut broken = Vec::new();
    for kind in Kind::all() {
        for place in &places {
            for fate in [Fate::Executed, Fate::Lost] {
                for left in [1, 2, 3, 4, 5, 7, MANY] {
                    broken.extend(use_over(kind, Cuts { place: *place, fate, left }).await);
                }
            }
        }
    }
    assert!(broken.is_empty(), "{} times:\n{}", broken.len(), broken.join("\n"));
}

/// A request over which three connections in a row were lost may be longer than servers take, or unlucky. A
/// nominee, and a contender for a lock, wait, and say so, until it is sent again; and leave at once.
#[tokio::test(start_paused = true)]
async fn a_long_candidate_waits_while_a_limit_is_only_suspected() {
    static DATA: [u8; 20_000] = [7; 20_000];
    const HOURS: Duration = Duration::from_secs(4 * 3600);
    for fate in [Fate::Executed, Fate::Lost] {
        for left in [3, 4, 5] {
            let place = Place::Each(OpCode::CREATE2);
            let server = Server::new();
            let client = server.client().await;
            for node in ["/deep", NODE] {
                client.create(node, "", CreateMode::Persistent).await.unwrap();
            }
            let (journal, _guard) = Journal::begin();
            server.state().cuts = Some(Cuts { place, fate, left });
            let mut nomination = client.election(NODE).data(&DATA[..]).nominate().unwrap();
            let context = format!("{fate:?}, {left}");
            timeout(HOURS, nomination.elected()).await.expect(&context).expect(&context);
            let told = journal.of("event blocked: a request is held back");
            assert_eq!(told.is_empty(), fate == Fate::Executed, "{context}: {told:?}");
            nomination.withdraw().await.expect(&context);

            server.state().cuts = Some(Cuts { place, fate, left });
            let lock = client.lock(NODE).data(&DATA[..]);
            let guard = timeout(HOURS, lock.lock()).await.expect(&context).expect(&context);
            guard.release().await.expect(&context);
        }
    }

    // One that is never taken.
    let server = Server::new();
    let client = server.client().await;
    for node in ["/deep", NODE] {
        client.create(node, "", CreateMode::Persistent).await.unwrap();
    }
    let cuts = Cuts { place: Place::Each(OpCode::CREATE2), fate: Fate::Lost, left: usize::MAX };
    server.state().cuts = Some(cuts);
    let mut nomination = client.election(NODE).data(&DATA[..]).nominate().unwrap();
    assert!(timeout(HOURS, nomination.elected()).await.is_err());
    let health = nomination.probe().health().nominee;
    let is_blocked = |by: &Blocker| *by == Blocker::Obstacle(Obstacle::HeldBack);
    assert!(matches!(&health, NomineeHealth::Blocked { by, .. } if is_blocked(by)), "{health:?}");
    let tried = server.requests(OpCode::CREATE2);
    assert!((5..15).contains(&tried), "{tried} times in four hours");
    nomination.withdraw().await.unwrap();
    assert!(server.children(NODE).is_empty());
}

/// The losses may have been chance, so that a member joins later.
#[tokio::test(start_paused = true)]
async fn a_member_with_long_data_waits_while_a_limit_is_only_suspected() {
    static DATA: [u8; 20_000] = [7; 20_000];
    const HOURS: Duration = Duration::from_secs(4 * 3600);
    for left in [3, 4, 5] {
        let server = Server::new();
        let client = server.client().await;
        client.create("/deep", "", CreateMode::Persistent).await.unwrap();
        client.create(NODE, "", CreateMode::Persistent).await.unwrap();
        let (journal, _guard) = Journal::begin();
        let place = Place::Each(OpCode::CREATE2);
        server.state().cuts = Some(Cuts { place, fate: Fate::Lost, left });
        let group = client.group(NODE);
        let join = group.join_as("long", &DATA[..]);
        let context = format!("{left}");
        let member = timeout(HOURS, join).await.expect(&context).expect(&context);
        assert!(matches!(member.state(), MembershipState::Joined { .. }), "{:?}", member.state());
        let told = journal.of("event held back: connections were lost over a member's znode");
        assert!(!told.is_empty(), "{context}");
        member.leave().await.expect(&context);
    }
}

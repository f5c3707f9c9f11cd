//! The laws of barriers, double barriers, queues and counters. They compare what the users were told
//! with what the servers have committed, in any world that shows both: the simulation, the storm.

mod apart;
mod barrier;
mod counter;
mod double_barrier;
mod plan;
mod queue;
mod tree;

use zk_embedded::{Database, Znode};
use zk_jute::Zxid;

pub use apart::Apart;
pub use barrier::BarrierBook;
pub use counter::CounterBook;
pub use double_barrier::DoubleBarrierBook;
pub use plan::{PlanBook, PlanCounts, SLOTS};
pub use queue::{ItemId, Put, QueueBook};
pub use tree::{NAMES, Part, TREE, TreeBook, TreeCounts};

/// How a law was broken.
pub type Broken = String;

/// A state of what is committed, by its number. The state at which something begins is one that it may
/// rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

/// The barrier of a run. It is the only child of its node's parent, which thereby counts how often it was
/// set and lifted.
pub const BARRIER: &str = "/gate/barrier";
/// The double barrier of a run.
pub const DOUBLE_BARRIER: &str = "/step";
/// The queue of a run, and the one with priorities.
pub const QUEUES: [&str; 2] = ["/queue", "/urgent"];
/// The counter of a run.
pub const COUNTER: &str = "/sum/counter";

/// The knowledge of all recipes of a run.
#[derive(Debug)]
pub struct Books {
    seen: Zxid,
    now: Moment,
    /// The barrier.
    pub barrier: BarrierBook,
    /// The double barrier.
    pub double_barrier: DoubleBarrierBook,
    /// The queues.
    pub queues: [QueueBook; 2],
    /// The counter.
    pub counter: CounterBook,
}

impl Books {
    /// Makes the books of a run, with a double barrier that so many have to enter.
    pub fn new(participants: usize) -> Self {
        let [plain, urgent] = QUEUES;
        Self {
            seen: Zxid::ZERO,
            now: Moment::default(),
            barrier: BarrierBook::default(),
            double_barrier: DoubleBarrierBook::new(participants),
            queues: [QueueBook::new(plain), QueueBook::new(urgent)],
            counter: CounterBook::default(),
        }
    }

    /// Takes in a server's state, if none has shown that much before. The state of one is
    /// committed: each other one shows an earlier state.
    ///
    /// # Errors
    ///
    /// The committed state breaks a law.
    pub fn take_in(&mut self, database: &Database) -> Result<(), Broken> {
        if database.last_zxid() <= self.seen {
            return Ok(());
        }
        self.seen = database.last_zxid();
        let before = self.now;
        self.now = Moment(before.0 + 1);
        self.barrier.take_in(before, self.now, database);
        self.double_barrier.take_in(database)?;
        for queue in &mut self.queues {
            queue.take_in(database)?;
        }
        self.counter.take_in(database)
    }

    /// Returns the state that is committed.
    pub const fn now(&self) -> Moment {
        self.now
    }

    /// Checks the books once nothing is on its way any more.
    ///
    /// # Errors
    ///
    /// An item is gone that no taker was given, or the counter is at another number than its changes make.
    pub fn check_at_rest(&self) -> Result<(), Broken> {
        self.check_at_rest_but(0)
    }

    /// Checks the same, where so many items may have been taken by clients that are gone.
    ///
    /// # Errors
    ///
    /// Those of [`Books::check_at_rest`].
    pub fn check_at_rest_but(&self, untold: usize) -> Result<(), Broken> {
        let lost: Vec<ItemId> = self.queues.iter().flat_map(QueueBook::lost).collect();
        if lost.len() > untold {
            return Err(format!("these items are lost, of which {untold} may be: {lost:?}"));
        }
        self.counter.check_at_rest()
    }

    /// Entries and claims that stand.
    pub fn ephemerals(&self) -> usize {
        let claims = self.queues.iter().map(QueueBook::claims).sum::<usize>();
        self.double_barrier.entries() + claims
    }
}

/// Returns the transaction that created a znode.
fn created(znode: Option<&Znode>) -> Option<Zxid> {
    Some(znode?.stat().czxid)
}

/// Returns the transaction that changed the children of a znode last.
fn children_at(znode: Option<&Znode>) -> Option<Zxid> {
    Some(znode?.stat().pzxid)
}

//! The outcome of a run.

mod many;

use core::fmt;
use core::ops::AddAssign;
use core::time::Duration;
use std::collections::BTreeMap;

use super::clock::Time;
use super::story::Story;
pub use many::{SlotStats, TreeStats};

/// A law of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// Never two valid leaders at one moment of true time.
    OneValidLeader,
    /// Never two valid holders of a lock at one moment of true time, but for readers that share it.
    OneHolder,
    /// Never more valid holders of permits than there are permits.
    Permits,
    /// No contender gets a lock while one stands before it that excludes it.
    FirstInQueue,
    /// A contender gives up for the reason that it has: a lock that was not free, its deadline, its user.
    GaveUpAsTold,
    /// A leader that becomes valid has a greater token than all before; so has a holder of a lock, but
    /// for those that share it.
    TokensGrow,
    /// A leadership that is announced is valid at that moment.
    AnnouncedValid,
    /// A leadership that a host calls held is valid.
    HeldIsValid,
    /// A leader that lost its candidate to an operator is not valid for longer than its timeout.
    EvictionHeard,
    /// No leadership is lost to a lapse while its client's connection and the ensemble are well,
    /// whatever becomes of the client's other candidates.
    LapseWhileWell,
    /// No lease is granted by servers that are not ZooKeeper's, unless its user asks for none.
    NoLeaseThere,
    /// What passes for a lease where none is asked for ends with the connection.
    AdvisoryWhileConnected,
    /// A leadership is valid by a clock that stood still beside another one, and for longer than it did.
    StaleNoLonger,
    /// What was confirmed stood at some moment since it was asked for.
    Confirmed,
    /// The tokens of writes under guard never go back.
    GuardedWritesInOrder,
    /// A nominee never has two candidate znodes in one session.
    OneCandidate,
    /// The end of a candidate wakes one follower at most; that of a writer, all readers behind it.
    OneWakeUp,
    /// No candidate of a nomination that said that it was gone.
    NothingLeftBehind,
    /// A promotion is announced within a few round trips, however old the session is, if all was well
    /// with it for a timeout.
    GrantedInTime,
    /// The events of a session follow their automaton (Curator told RECONNECTED before LOST:
    /// CURATOR-367).
    EventsInOrder,
    /// A nomination ends once, and nothing comes of it afterwards.
    OneEnd,
    /// Each call of a client's user completes once while its host lives, in the order of submission.
    CallsComplete,
    /// The calls of a client's user are refused for want of room when as many are in flight as may
    /// be, and only then.
    CallsBounded,
    /// Each watch of a client's user that is set, and not forgotten, fires once, or tells of each
    /// change, or is lost once: with its session at the latest.
    WatchesTold,
    /// A host hands each recipe back once, with the end that it came to; nothing of it follows.
    RecipesReturned,
    /// Nothing is announced once a client closes, and no event follows the end of its host.
    EndedLast,
    /// A client dials at the pace of its backoff, which begins anew after a connection that lasted, and
    /// only then.
    DialsAtAPace,
    /// A client connects to servers of the list that it was given last.
    ListedServers,
    /// No recipe stands by a server that is cut off from its ensemble.
    NothingByReadOnly,
    /// A round of a recipe that none of the published crates knows has one winner.
    OneWinner,
    /// None passes a barrier before it is lifted; a double barrier before enough have entered, or have
    /// left.
    NotTooEarly,
    /// No item of a queue is lost, or given to two takers, but for those of which a taker is told that
    /// it is not known.
    ItemsOnce,
    /// A counter is changed once by each change, but for those of which it is not known.
    CountedOnce,
    /// A checker that others wrote finds an order of the writes under a guard, of what became of each item, and of the
    /// counter's changes, each at a moment between its beginning and its end.
    Linearizable,
    /// Once an end of an election is acknowledged, no candidate stands from before, and none leads by a
    /// candidate from after it, until the election is reopened; nominees are told of an end that was, and
    /// of it.
    EndedForAll,
    /// A new leader is elected at once if the one before it has said that it ended, and else no sooner
    /// than the lock delay after that one's candidate.
    LockDelay,
    /// The mark that says whose leadership has not ended cleanly is that of the present leader, and goes
    /// with its candidate at a clean end.
    MarkOfTheLeader,
    /// The epoch goes with its election, and never back before; what is written in epochs is written in the
    /// order of tokens.
    EpochsInOrder,
    /// A hand-over promotes the candidate that it names next, or changes nothing.
    HandedOver,
    /// In a hand-over those stand behind, and only those, that are ahead of the candidate that it names,
    /// and consent: at their next look.
    MakesWay,
    /// A plan of slots is even, and moves as few as there can be.
    PlansEven,
    /// A cache is the servers' tree after the transaction that it names, and tells of each change once.
    TreesAsTheyWere,
    /// Once all is well, those that wait at a barrier or for an item go on as soon as they can.
    WokenInTime,
    /// Once all is well, one nominee leads and the others follow, within a bound.
    LeaderInTime,
    /// While nothing happens, each client sends pings or heartbeats and nothing else, at their
    /// rate, and no watch fires.
    Silence,
    /// At most two watches for each nominee on the servers.
    TwoWatches,
    /// Once all clients have left, the election node is empty.
    EmptyInTheEnd,
    /// Time goes on: no two machines keep each other busy.
    Progress,
    /// Nothing panics.
    NoPanic,
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneValidLeader => "two valid leaders",
            Self::OneHolder => "two valid holders",
            Self::Permits => "too many holders of permits",
            Self::FirstInQueue => "a lock out of turn",
            Self::GaveUpAsTold => "a contender that gives up for no reason",
            Self::TokensGrow => "a token that is not greater",
            Self::AnnouncedValid => "a leadership announced without a lease",
            Self::HeldIsValid => "held, as the host says, and not valid",
            Self::EvictionHeard => "a leader long after its eviction",
            Self::LapseWhileWell => "a lease that lapses while all is well",
            Self::NoLeaseThere => "a lease where none is kept",
            Self::AdvisoryWhileConnected => "a leadership valid without a connection",
            Self::StaleNoLonger => "a stale leader for longer than its clock stood still",
            Self::Confirmed => "a confirmation of what was over",
            Self::GuardedWritesInOrder => "a guarded write of an earlier leader",
            Self::OneCandidate => "two candidates of one nominee and session",
            Self::OneWakeUp => "two followers woken by one deletion",
            Self::NothingLeftBehind => "a candidate of a departed nominee",
            Self::GrantedInTime => "a promotion that waits for its lease",
            Self::EventsInOrder => "a session's event out of order",
            Self::OneEnd => "a nomination that goes on after its end",
            Self::CallsComplete => "a call that does not complete once, in order",
            Self::CallsBounded => "a call against the bound on calls",
            Self::WatchesTold => "a watch that is not told of once",
            Self::RecipesReturned => "a recipe that is not handed back once",
            Self::OneWinner => "two winners of one round",
            Self::EndedLast => "something after the end of a client",
            Self::DialsAtAPace => "a reconnect storm",
            Self::ListedServers => "a server that is not in the list",
            Self::NothingByReadOnly => "a recipe that stands by a read-only server",
            Self::NotTooEarly => "a barrier that is passed too early",
            Self::ItemsOnce => "an item that is lost, or given twice",
            Self::CountedOnce => "a change of a counter that is lost, or made twice",
            Self::Linearizable => "a history without an order",
            Self::EndedForAll => "an end of an election that is none",
            Self::LockDelay => "a lock delay that does not pass, or is none",
            Self::MarkOfTheLeader => "a mark that is not the present leader's",
            Self::EpochsInOrder => "an epoch that goes back",
            Self::HandedOver => "a hand-over to another candidate",
            Self::MakesWay => "a nominee that does not make way as it is to",
            Self::PlansEven => "a plan that is uneven, or moves too much",
            Self::TreesAsTheyWere => "a cached tree that never was",
            Self::WokenInTime => "one that waits and is forgotten",
            Self::LeaderInTime => "no settled election in time",
            Self::Silence => "traffic while nothing happens",
            Self::TwoWatches => "too many watches",
            Self::EmptyInTheEnd => "candidates after everybody left",
            Self::Progress => "too many steps",
            Self::NoPanic => "a panic",
        })
    }
}

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The moment of the breach.
    pub at: Time,
    /// Which.
    pub law: Law,
    /// How.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.law, self.at, self.detail)
    }
}

/// The counts of one run, or of several.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Runs.
    pub runs: u64,
    /// Steps of the world.
    pub events: u64,
    /// Leaders that became valid, one after the other.
    pub elections: u64,
    /// The fates of contenders for locks.
    pub locks: LockStats,
    /// The fates of uses of barriers, queues and the counter.
    pub uses: UseStats,
    /// What caches have told of the tree.
    pub trees: TreeStats,
    /// What became of slots.
    pub slots: SlotStats,
    /// The histories that were judged.
    pub histories: HistoryStats,
    /// How elections were operated.
    pub operating: OperatingStats,
    /// Leaderships that were announced.
    pub announced: u64,
    /// Leaderships that were valid by a clock which had stood still, beside another one.
    pub stale: u64,
    /// Leaderships that a quorum has confirmed.
    pub confirmed: u64,
    /// Writes under guard that were applied.
    pub guarded_writes: u64,
    /// Sessions that expired, as their clients heard.
    pub expiries: u64,
    /// Calls that users submitted, operators included.
    pub calls: u64,
    /// Calls that were refused for want of room.
    pub calls_refused: u64,
    /// Times that a watch of a user fired, told of a change, or was lost.
    pub watches_told: u64,
    /// Rounds that were won.
    pub rounds: u64,
    /// Connections that were cut at a request.
    pub cuts: u64,
    /// Connections to servers that were cut off from their ensemble.
    pub read_only_connections: u64,
    /// Times that a leader of the ensemble began to lead.
    pub epochs: u64,
    /// Incidents by kind.
    pub incidents: BTreeMap<&'static str, u64>,
    /// The most dials of a client within ten seconds.
    pub most_dials: usize,
    /// How long the runs took in the world.
    pub virtual_time: Duration,
    /// The longest that it took from the calm to a settled election.
    pub slowest_settling: Duration,
}

/// The fates of contenders for locks.
#[derive(Clone, Copy, Debug, Default)]
pub struct LockStats {
    /// Times that a contender held a lock alone.
    pub alone: u64,
    /// Times that a contender held it as a reader.
    pub shared: u64,
    /// How many of those began while another reader held it.
    pub together: u64,
    /// Times that a contender held a permit.
    pub permits: u64,
    /// The contenders that held a lock after they had waited for it.
    pub handed_over: u64,
    /// The contenders that gave up since the lock was not free, or since their deadline came.
    pub gave_up: u64,
    /// The contenders that held a lock and lost it.
    pub lost: u64,
}

/// The operations in histories that a checker which others wrote has judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistoryStats {
    /// All of them.
    pub operations: u64,
    /// Those with an unknown outcome.
    pub unknown: u64,
}

/// The fates of uses of barriers, queues and the counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct UseStats {
    /// Waits that ended at a barrier that was set when they began.
    pub passed: u64,
    /// Participants that were inside a double barrier.
    pub inside: u64,
    /// The participants that have left it with all others.
    pub left: u64,
    /// Items that were taken.
    pub taken: u64,
    /// Items that were done by a claim.
    pub done: u64,
    /// Items of which that is not known.
    pub items_unknown: u64,
    /// Changes of the counter.
    pub counted: u64,
    /// The changes with an unknown outcome.
    pub counts_unknown: u64,
    /// Waits at a barrier or for an item that ended once all was well, as soon as they could.
    pub woken: u64,
}

/// How elections were operated.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatingStats {
    /// Ends that were acknowledged to their operator.
    pub ended: u64,
    /// Nominations that were told of an end.
    pub told_of_an_end: u64,
    /// Leaders that stepped down for the candidate that was named.
    pub handed_over: u64,
    /// Nominees that stood behind such a candidate.
    pub made_way: u64,
    /// Nominees that let the lock delay pass.
    pub delayed: u64,
    /// Leaders that said that they ended.
    pub ended_cleanly: u64,
    /// Elections of a new leader that had to come a lock delay after the one before.
    pub judged_delays: u64,
    /// Nominees that were elected after their candidate was deleted, since an operator let nobody read it
    /// before: servers report no such end.
    pub elected_unheard: u64,
    /// Leaders whose mark an operator may have deleted in the step of the servers in which it was written.
    pub erased_unseen: u64,
    /// Elections that were deleted, to the knowledge of their operator.
    pub deleted: u64,
    /// Epochs that began.
    pub epochs: u64,
    /// Writes in an epoch that were applied.
    pub writes_in_epochs: u64,
    /// How many of those were in an epoch of an election that was deleted.
    pub writes_in_deleted: u64,
}

impl AddAssign for OperatingStats {
    fn add_assign(&mut self, other: Self) {
        self.ended += other.ended;
        self.told_of_an_end += other.told_of_an_end;
        self.handed_over += other.handed_over;
        self.made_way += other.made_way;
        self.delayed += other.delayed;
        self.ended_cleanly += other.ended_cleanly;
        self.judged_delays += other.judged_delays;
        self.elected_unheard += other.elected_unheard;
        self.erased_unseen += other.erased_unseen;
        self.deleted += other.deleted;
        self.epochs += other.epochs;
        self.writes_in_epochs += other.writes_in_epochs;
        self.writes_in_deleted += other.writes_in_deleted;
    }
}

impl AddAssign for UseStats {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.inside += other.inside;
        self.left += other.left;
        self.taken += other.taken;
        self.done += other.done;
        self.items_unknown += other.items_unknown;
        self.counted += other.counted;
        self.counts_unknown += other.counts_unknown;
        self.woken += other.woken;
    }
}

impl AddAssign for LockStats {
    fn add_assign(&mut self, other: Self) {
        self.alone += other.alone;
        self.shared += other.shared;
        self.together += other.together;
        self.permits += other.permits;
        self.handed_over += other.handed_over;
        self.gave_up += other.gave_up;
        self.lost += other.lost;
    }
}

impl AddAssign<&Self> for Stats {
    fn add_assign(&mut self, other: &Self) {
        self.runs += other.runs;
        self.events += other.events;
        self.elections += other.elections;
        self.locks += other.locks;
        self.uses += other.uses;
        self.trees += other.trees;
        self.slots += other.slots;
        self.histories.operations += other.histories.operations;
        self.histories.unknown += other.histories.unknown;
        self.operating += other.operating;
        self.announced += other.announced;
        self.stale += other.stale;
        self.confirmed += other.confirmed;
        self.guarded_writes += other.guarded_writes;
        self.expiries += other.expiries;
        self.calls += other.calls;
        self.calls_refused += other.calls_refused;
        self.watches_told += other.watches_told;
        self.read_only_connections += other.read_only_connections;
        self.rounds += other.rounds;
        self.cuts += other.cuts;
        self.epochs += other.epochs;
        for (kind, count) in &other.incidents {
            *self.incidents.entry(kind).or_default() += count;
        }
        self.most_dials = self.most_dials.max(other.most_dials);
        self.virtual_time += other.virtual_time;
        self.slowest_settling = self.slowest_settling.max(other.slowest_settling);
    }
}

/// The outcome of one run.
#[derive(Debug)]
pub struct Outcome {
    /// The first law that was broken; the run ends there.
    pub violation: Option<Violation>,
    /// The counts.
    pub stats: Stats,
    /// The story, if it was to be recorded.
    pub story: Story,
}

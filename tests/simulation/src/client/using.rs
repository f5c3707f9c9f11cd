//! Using barriers, queues and the counter.

use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use election_core::NomineeId;
use election_core::barrier::{
    Barrier, BarrierEnd, BarrierTask, DoubleBarrier, DoubleBarrierNotice, DoubleBarrierOptions,
};
use election_core::counter::{CounterChange, CounterEnd, CounterFormat, CounterOp};
use election_core::queue::{ItemWindow, Taker, TakerEnd, TakerNotice, TakerOptions};
use election_session::{Chroot, RecipeEnd, RecipeKey, Site};
use zk_jute::records::{Acl, CreateMode, CreateRequest};
use zk_jute::{SessionId, Vector};
use zk_session::{Completion, Failure, Instant};

use super::CallId;
use super::standing::{Claimant, Standing, StandingNotice, WINDOW};
use super::{Client, Observed};
use crate::checker::Entry;
use crate::recipes::{BARRIER, COUNTER, DOUBLE_BARRIER, ItemId, Moment, Put, QUEUES};
use crate::uses::{Count, Use, Verdict, WhichQueue};

/// The uses of recipes that a client's user wants, and its observations of them.
#[derive(Debug, Default)]
pub(super) struct Using {
    uses: BTreeMap<RecipeKey, Running>,
    puts: BTreeMap<CallId, (WhichQueue, ItemId)>,
    /// The windows that takers have left for the next ones, by queue.
    windows: [Option<ItemWindow<WINDOW>>; 2],
    /// The last value of the counter that the client has seen, in this session.
    counted: Option<(SessionId, i64)>,
}

/// A use that goes on.
#[derive(Debug)]
struct Running {
    id: NomineeId,
    what: Use,
    /// Of the counter.
    op: Option<CounterOp>,
    began: Began,
    /// The item that it claims, and the session that does.
    claim: Option<(ItemId, Option<SessionId>)>,
    verdict: Verdict,
}

/// The committed state when a use began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began {
    pub(crate) at: Moment,
    pub(crate) counter: i64,
}

/// How a use is to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) deadline: Option<Duration>,
    /// How many have to enter the double barrier.
    pub(crate) participants: u32,
    /// The item to put, if the use is a put.
    pub(crate) item: ItemId,
}

/// A notice of a use.
#[derive(Debug)]
pub(crate) enum Told {
    Barrier(Began, BarrierEnd),
    DoubleBarrier(Option<SessionId>, DoubleBarrierNotice),
    Taker(WhichQueue, Option<SessionId>, TakerNotice<ItemId>),
    /// The end of a claim.
    ClaimEnded(WhichQueue, (ItemId, Option<SessionId>), TakerEnd<ItemId>),
    Put(WhichQueue, ItemId, Put),
    Counter {
        op: CounterOp,
        floor: i64,
        seen: i64,
        end: CounterEnd,
    },
    /// The client is gone, and so is its item, or not.
    ItemInDoubt(WhichQueue, ItemId),
    /// The client is gone, and has made its change, or not.
    CountInDoubt(CounterOp),
}

impl Client {
    /// Begins a use.
    pub(crate) fn use_recipe(
        &mut self,
        now: Instant,
        (id, what): (NomineeId, Use),
        began: Began,
        terms: Terms,
    ) {
        if self.is_closed() {
            return;
        }
        let (recipe, op, path) = match what {
            Use::Barrier(task) => (Standing::Barrier(Barrier::new(task)), None, BARRIER),
            Use::DoubleBarrier(when_under_way) => {
                let participants = NonZeroU32::new(terms.participants).unwrap_or(NonZeroU32::MIN);
                let options = DoubleBarrierOptions { participants, when_under_way };
                let recipe = DoubleBarrier::new(id, options);
                (Standing::DoubleBarrier(Box::new(recipe)), None, DOUBLE_BARRIER)
            }
            Use::Put(queue, priority) => return self.put(now, (queue, priority), terms.item),
            Use::Take(queue, purpose, when_empty) => {
                let (format, path) = (queue.format(), queue.path());
                let options = TakerOptions { format, purpose, when_empty };
                let window = self.window(queue, id);
                let taker = Taker::new(id, options, window);
                let claimant = Claimant { taker, verdict: Verdict::default() };
                (Standing::Taker(Box::new(claimant)), None, path)
            }
            Use::Count(count) => {
                let op = self.operation(count);
                let change = CounterChange::new(CounterFormat::Decimal, op);
                (Standing::Counter(Box::new(change)), Some(op), COUNTER)
            }
        };
        let node = path.parse().expect("it is a path");
        let key = self.host.stand(now, recipe, Arc::new(Site::new(&node, &Chroot::default())));
        self.host.set_deadline(key, terms.deadline.map(|within| now + within));
        let (claim, verdict) = (None, Verdict::default());
        self.using.uses.insert(key, Running { id, what, op, began, claim, verdict });
        self.told.push(Observed::Entry(Entry::Stood(key)));
    }

    fn window(&mut self, queue: WhichQueue, taker: NomineeId) -> ItemWindow<WINDOW> {
        let kept = self.using.windows.get_mut(queue.index()).and_then(Option::take);
        let [client, _, _, _, third, last, ..] = taker.to_bytes();
        kept.unwrap_or_else(|| ItemWindow::new(u32::from_be_bytes([client, last, third, last])))
    }

    fn operation(&self, count: Count) -> CounterOp {
        let seen = self.counted();
        match count {
            Count::Get => CounterOp::Get,
            Count::Add(amount) => CounterOp::Add(amount.into()),
            Count::CompareAndAdd(amount) => {
                CounterOp::CompareAndSet { expected: seen, new: seen + i64::from(amount) }
            }
        }
    }

    /// Returns the value of the counter that this session has seen.
    fn counted(&self) -> i64 {
        let own = self.host.session_id();
        let seen = self.using.counted.filter(|(session, _)| Some(*session) == own);
        seen.map_or(0, |(_, number)| number)
    }

    /// Notes the number at which the counter was seen.
    pub(crate) fn has_counted(&mut self, number: i64) {
        self.using.counted = self.host.session_id().map(|session| (session, number));
    }

    pub(super) fn put(&mut self, now: Instant, (queue, priority): (WhichQueue, u16), item: ItemId) {
        let prefix = queue.format().prefix(priority.min(queue.format().greatest_priority()));
        let prefix = prefix.expect("it is not greater than the greatest");
        let (path, data) = (format!("{}/{prefix}", queue.path()), item.to_string());
        let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT_SEQUENTIAL);
        let request = CreateRequest { path: &path, data: Some(data.as_bytes()), acl, mode };
        match self.submit_call(now, &request) {
            Some(call) => drop(self.using.puts.insert(call, (queue, item))),
            None => self.told.push(Observed::Told(
                NomineeId::from_bytes([0; 16]),
                Box::new(Told::Put(queue, item, Put::Refused)),
            )),
        }
    }

    /// Takes in the answer to a call; perhaps a put.
    pub(super) fn see_put(
        &mut self,
        call: CallId,
        outcome: &Result<Completion, Failure>,
    ) -> Option<Observed> {
        let (queue, item) = self.using.puts.remove(&call)?;
        let put = match outcome {
            Ok(_) => Put::Acknowledged,
            Err(Failure::Refused(_) | Failure::NotSent) => Put::Refused,
            Err(_) => Put::InDoubt,
        };
        Some(Observed::Told(NomineeId::from_bytes([0; 16]), Box::new(Told::Put(queue, item, put))))
    }

    /// Whether a recipe is one of these.
    pub(super) fn is_in_use(&self, key: RecipeKey) -> bool {
        self.using.uses.contains_key(&key)
    }

    /// Takes in a step of a use.
    pub(super) fn see_use(&mut self, key: RecipeKey, notice: StandingNotice) -> Option<Observed> {
        let (session, seen) = (self.host.session_id(), self.counted());
        let Running { id, what, op, began, claim, .. } = self.using.uses.get_mut(&key)?;
        let told = match (notice, *what) {
            (StandingNotice::Barrier(end), _) => Told::Barrier(*began, end),
            (StandingNotice::DoubleBarrier(notice), _) => Told::DoubleBarrier(session, notice),
            (StandingNotice::Counter(end), _) => {
                Told::Counter { op: op.take()?, floor: began.counter, seen, end }
            }
            (StandingNotice::Taker(notice), Use::Take(queue, ..)) => {
                match (&notice, claim.take()) {
                    (TakerNotice::Claimed(item), _) => {
                        *claim = Some((item.data, session));
                    }
                    (TakerNotice::Ended(end), Some(claim)) => {
                        let told = Told::ClaimEnded(queue, claim, end.clone());
                        return Some(Observed::Told(*id, Box::new(told)));
                    }
                    (_, kept) => *claim = kept,
                }
                Told::Taker(queue, session, notice)
            }
            _ => return None,
        };
        Some(Observed::Told(*id, Box::new(told)))
    }

    /// Takes in the end of a use.
    pub(super) fn see_use_over(
        &mut self,
        (key, recipe): (RecipeKey, &Standing),
        end: RecipeEnd,
    ) -> Option<Observed> {
        let running = self.using.uses.remove(&key)?;
        if let (Standing::Taker(claimant), Use::Take(queue, ..)) = (recipe, running.what)
            && let Some(window) = self.using.windows.get_mut(queue.index())
        {
            *window = Some(claimant.taker.window().clone());
        }
        let RecipeEnd::HostEnded(_) = end else {
            return None;
        };
        let told = running.in_doubt(Some(recipe))?;
        Some(Observed::Told(running.id, Box::new(told)))
    }

    /// Returns a notice of doubt for each use that hears nothing more, because the process is gone.
    pub(crate) fn in_doubt(&self) -> impl Iterator<Item = (NomineeId, Told)> {
        let uses = self.using.uses.iter();
        uses.filter_map(|(key, running)| {
            Some((running.id, running.in_doubt(self.host.recipe(*key))?))
        })
    }

    /// Ends a use, as a user that has what it wanted, or wants it no longer.
    pub(crate) fn end_use(&mut self, now: Instant, id: NomineeId, verdict: Verdict) {
        let found = self.using.uses.iter_mut().find(|(_, running)| running.id == id);
        let Some((&key, running)) = found else {
            return;
        };
        // A claim that is being finished is not given back: its user goes for another reason.
        if let Some((Standing::Taker(claimant), _)) = self.host.recipe_mut(key)
            && running.verdict != Verdict::Done
        {
            claimant.verdict = verdict;
            running.verdict = verdict;
        }
        self.host.withdraw(now, key);
    }

    /// Returns the uses that go on: what they are, and whether they can do so at the moment.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (NomineeId, Use)> {
        self.using.uses.values().map(|running| (running.id, running.what))
    }

    /// Whether recipes can ask for anything.
    pub(crate) fn is_connected(&self) -> bool {
        self.host.is_connected()
    }
}

impl Running {
    /// Returns the request that was on its way, as a notice of doubt.
    fn in_doubt(&self, recipe: Option<&Standing>) -> Option<Told> {
        match (self.what, recipe) {
            (Use::Count(_), _) => self.op.map(Told::CountInDoubt),
            (Use::Take(queue, ..), Some(Standing::Taker(claimant))) => {
                let taken = claimant.taker.in_doubt().copied();
                let done = self.claim.filter(|_| self.verdict == Verdict::Done);
                let item = taken.or(done.map(|(item, _)| item))?;
                Some(Told::ItemInDoubt(queue, item))
            }
            _ => None,
        }
    }
}

/// Whether a use goes on for as long as nothing changes.
pub(crate) const fn waits(what: Use) -> bool {
    match what {
        Use::Barrier(task) => matches!(task, BarrierTask::Wait),
        Use::Take(_, _, when_empty) => matches!(when_empty, election_core::queue::WhenEmpty::Wait),
        Use::DoubleBarrier(_) | Use::Put(..) | Use::Count(_) => false,
    }
}

impl WhichQueue {
    pub(crate) fn path(self) -> &'static str {
        let [plain, urgent] = QUEUES;
        match self {
            Self::Plain => plain,
            Self::Urgent => urgent,
        }
    }

    pub(crate) const fn format(self) -> election_core::queue::QueueFormat {
        match self {
            Self::Plain => election_core::queue::QueueFormat::guide(),
            Self::Urgent => election_core::queue::QueueFormat::guide_with_priority(),
        }
    }
}

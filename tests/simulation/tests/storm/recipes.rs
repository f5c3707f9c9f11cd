//! Using barriers, queues and the counter, by futures that are dropped at any await point.

use core::time::Duration;

use election_core::barrier::{BarrierEnd, BarrierState, DoubleBarrierEnd};
use election_core::counter::{CounterEnd, CounterOp};
use election_core::queue::TakerEnd;
use election_tokio::barrier::{BarrierError, EnterError, LeaveError};
use election_tokio::counter::{CompareAndSet, CounterError};
use election_tokio::queue::{ClaimLost, PriorityQueue, PutError, Queue, QueueItem, TakeError};
use election_tokio::{Client, NomineeId};
use tokio::time::{Instant, sleep, timeout};
use zk_simulation::recipes::{BARRIER, COUNTER, DOUBLE_BARRIER, ItemId, Put, QUEUES};
use zk_verdict::{CallId, Op};

use crate::laws::PARTICIPANTS;
use crate::life::{LONG, Life};

/// The handles of a process: what a dropped take of theirs has taken they keep for the next one.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    plain: Queue,
    urgent: PriorityQueue,
}

/// The key of the counter in the history.
const COUNTER_KEY: &str = "counter/counter";

/// How a life has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Born {
    Anew,
    /// With the session of another.
    Heir,
}

/// The outcome of one use.
enum Outcome {
    Done,
    /// It was given up, or has found nothing.
    Nothing,
    /// The client is closed.
    Closed,
}

impl Queues {
    pub(crate) fn of(client: &Client) -> Self {
        let [plain, urgent] = QUEUES;
        Self { plain: client.queue(plain), urgent: client.priority_queue(urgent) }
    }
}

impl Life {
    /// Uses all recipes, once the remains of the life before are gone.
    pub(crate) async fn use_all_recipes(
        self,
        queues: Queues,
        [first, second]: [fastrand::Rng; 2],
        born: Born,
    ) {
        if born == Born::Heir {
            self.let_go_of_recipes().await;
        }
        tokio::join!(self.clone().use_recipes(queues, first), self.meet(second));
    }

    /// Uses one after the other.
    pub(crate) async fn use_recipes(self, queues: Queues, mut rng: fastrand::Rng) {
        loop {
            let outcome = match rng.u8(..10) {
                0..=2 => self.barrier(&mut rng).await,
                3..=6 => self.queue(&queues, &mut rng).await,
                _ => self.count(&mut rng).await,
            };
            match outcome {
                Outcome::Done => self.laws.used(self.number),
                Outcome::Nothing => {}
                Outcome::Closed => return,
            }
            sleep(Duration::from_millis(rng.u64(0..200))).await;
        }
    }

    /// Returns how long to wait for a future.
    fn patience(rng: &mut fastrand::Rng) -> Duration {
        match rng.u8(..4) {
            0 => Duration::from_micros(rng.u64(0..20_000)),
            _ => Duration::from_millis(rng.u64(20..2_000)),
        }
    }

    async fn barrier(&self, rng: &mut fastrand::Rng) -> Outcome {
        let barrier = self.client.barrier(BARRIER);
        let (began, _) = self.laws.committed();
        let patience = Self::patience(rng);
        let used = match rng.u8(..8) {
            0 | 1 => {
                timeout(patience, barrier.set()).await.map(|set| set.map(|()| BarrierEnd::Set))
            }
            2 | 3 => {
                let lifted = timeout(patience, barrier.lift()).await;
                lifted.map(|lifted| lifted.map(|()| BarrierEnd::Lifted))
            }
            4 => timeout(patience, barrier.is_set()).await.map(|is_set| {
                let state = |is_set| if is_set { BarrierState::Set } else { BarrierState::Lifted };
                is_set.map(|is_set| BarrierEnd::Is(state(is_set)))
            }),
            _ => timeout(patience, barrier.wait()).await.map(|it| it.map(|()| BarrierEnd::Passed)),
        };
        match used {
            Err(_) => Outcome::Nothing,
            Ok(Ok(end)) => {
                self.laws.with_recipes(|books| books.barrier.ended(began, end));
                Outcome::Done
            }
            Ok(Err(BarrierError::ClientClosed { .. })) => Outcome::Closed,
            Ok(Err(error)) => self.unexpected(&error),
        }
    }

    fn unexpected(&self, error: &dyn core::error::Error) -> Outcome {
        // A server with too much to do refuses before it looks, and a service asks again.
        self.laws.broken(format!("{}: {error}", self.number));
        Outcome::Closed
    }

    async fn queue(&self, queues: &Queues, rng: &mut fastrand::Rng) -> Outcome {
        let patience = Self::patience(rng);
        let is_urgent = rng.u8(..3) == 0;
        match rng.u8(..8) {
            0..=3 => {
                let item = self.laws.next_item();
                let data = item.to_string();
                let queue = usize::from(is_urgent);
                let call = self.laws.invoked(queue_key(queue), Op::Put { item: data.clone() });
                let put = if is_urgent {
                    timeout(patience, queues.urgent.put(rng.u16(..4), data)).await
                } else {
                    timeout(patience, queues.plain.put(data)).await
                };
                self.put((queue, call), item, put.ok().map(|put| put.map(drop)))
            }
            4..=6 => {
                let call = self.take_begins(usize::from(is_urgent));
                let taken = if is_urgent {
                    timeout(patience, queues.urgent.take()).await
                } else {
                    timeout(patience, queues.plain.take()).await
                };
                if let Ok(taken) = taken {
                    return self.taken((usize::from(is_urgent), call), taken.map(Some));
                }
                self.laws.take_is_dropped(self.number);
                Outcome::Nothing
            }
            _ => self.claim(queues, patience, rng).await,
        }
    }

    /// Notes that a take begins. A dropped one may have taken an item, which the next one gets.
    fn take_begins(&self, queue: usize) -> CallId {
        self.laws.invoked(queue_key(queue), Op::Take { item: None })
    }

    fn put(
        &self,
        (queue, call): (usize, CallId),
        item: ItemId,
        put: Option<Result<(), PutError>>,
    ) -> Outcome {
        let (put, outcome) = match put {
            None => (Put::InDoubt, Outcome::Nothing),
            Some(Ok(())) => (Put::Acknowledged, Outcome::Done),
            Some(Err(error)) if error.may_have_happened() => (Put::InDoubt, Outcome::Nothing),
            Some(Err(_)) => (Put::Refused, Outcome::Nothing),
        };
        match put {
            Put::Acknowledged => self.laws.returned(call, Op::Put { item: item.to_string() }),
            Put::Refused => self.laws.refused(call),
            Put::InDoubt => {}
        }
        self.laws.with_recipes(|books| books.queues[queue].put(item, put));
        outcome
    }

    fn taken(
        &self,
        (queue, call): (usize, CallId),
        taken: Result<Option<QueueItem>, TakeError>,
    ) -> Outcome {
        match taken {
            Ok(Some(item)) => {
                self.laws.returned(call, Op::Take { item: Some(id_of(&item).to_string()) });
                self.laws.with_recipes(|books| books.queues[queue].taken(id_of(&item)));
                Outcome::Done
            }
            Ok(None) => {
                self.laws.refused(call);
                Outcome::Nothing
            }
            Err(TakeError::Unknown(item)) => {
                self.laws.with_recipes(|books| {
                    books.queues[queue].in_doubt(id_of(&item));
                    Ok(())
                });
                Outcome::Nothing
            }
            Err(TakeError::ClientClosed { .. }) => Outcome::Closed,
            Err(error) => self.unexpected(&error),
        }
    }

    /// Claims an item, and is done with it, or gives it back, or drops it.
    async fn claim(&self, queues: &Queues, patience: Duration, rng: &mut fastrand::Rng) -> Outcome {
        let claimed = match timeout(patience, queues.plain.claim()).await {
            Err(_) => return Outcome::Nothing,
            Ok(Err(error)) => return self.taken((0, self.take_begins(0)), Err(error)),
            Ok(Ok(claimed)) => claimed,
        };
        let (item, session) = (id_of(claimed.item()), self.client.session_id());
        sleep(Duration::from_millis(rng.u64(0..100))).await;
        match rng.u8(..4) {
            0 => {
                drop(claimed);
                Outcome::Nothing
            }
            1 => {
                let _ = timeout(LONG, claimed.give_back()).await;
                Outcome::Nothing
            }
            _ => {
                // Whatever becomes of this process, it may be done.
                let take = Op::Take { item: Some(item.to_string()) };
                let call = self.laws.invoked(queue_key(0), take.clone());
                self.laws.with_recipes(|books| {
                    books.queues[0].in_doubt(item);
                    Ok(())
                });
                let done = timeout(Self::patience(rng), claimed.done()).await;
                match done.map(|done| done.map_err(|error| error.lost)) {
                    Err(_) | Ok(Err(ClaimLost::Lost | ClaimLost::Unknown)) => Outcome::Nothing,
                    Ok(Ok(())) => {
                        self.laws.returned(call, take);
                        let end = TakerEnd::<()>::Finished;
                        self.laws.with_recipes(|books| {
                            books.queues[0].claim_ended((item, session), &end)
                        });
                        Outcome::Done
                    }
                    Ok(Err(ClaimLost::ClientClosed(_))) => Outcome::Closed,
                    Ok(Err(error)) => self.unexpected(&error),
                }
            }
        }
    }

    async fn count(&self, rng: &mut fastrand::Rng) -> Outcome {
        let counter = self.client.counter(COUNTER);
        let (_, floor) = self.laws.committed();
        let amount = rng.i64(1..200);
        let patience = Self::patience(rng);
        let (op, call, outcome) = match rng.u8(..4) {
            0 => {
                // It may show what the counter was before.
                let got = timeout(patience, counter.get()).await;
                (CounterOp::Get, None, got.map(|got| got.map(CounterEnd::Value)))
            }
            1 => {
                let (expected, new) = (floor, floor + amount);
                let op = CounterOp::CompareAndSet { expected, new };
                self.laws.may_count(op);
                let call = self.laws.invoked(COUNTER_KEY, Op::CompareAndSet { expected, new });
                let set = timeout(patience, counter.compare_and_set(expected, new)).await;
                (
                    op,
                    Some(call),
                    set.map(|set| {
                        set.map(|set| match set {
                            CompareAndSet::Differs(actual) => CounterEnd::Differs { actual },
                            _ => CounterEnd::Changed { before: expected, after: new },
                        })
                    }),
                )
            }
            _ => {
                let op = CounterOp::Add(amount);
                self.laws.may_count(op);
                let call = self.laws.invoked(COUNTER_KEY, Op::Add { by: amount, value: None });
                let added = timeout(patience, counter.add(amount)).await;
                let changed = |after| CounterEnd::Changed { before: after - amount, after };
                (op, Some(call), added.map(|added| added.map(changed)))
            }
        };
        match outcome {
            Err(_) | Ok(Err(CounterError::Unknown { .. })) => Outcome::Nothing,
            Ok(Ok(end)) => {
                self.counted(call, op, end);
                self.laws.with_recipes(|books| {
                    books.counter.in_doubt_no_more(op);
                    books.counter.ended(op, (floor, i64::MIN), end).map(drop)
                });
                Outcome::Done
            }
            Ok(Err(CounterError::ClientClosed { .. })) => Outcome::Closed,
            Ok(Err(error)) => self.unexpected(&error),
        }
    }

    fn counted(&self, call: Option<CallId>, op: CounterOp, end: CounterEnd) {
        let Some(call) = call else {
            return;
        };
        match (op, end) {
            (CounterOp::Add(by), CounterEnd::Changed { after, .. }) => {
                self.laws.returned(call, Op::Add { by, value: Some(after) });
            }
            (CounterOp::CompareAndSet { expected, new }, CounterEnd::Changed { .. }) => {
                self.laws.returned(call, Op::CompareAndSet { expected, new });
            }
            _ => self.laws.refused(call),
        }
    }

    /// Enters and leaves the double barrier, again and again.
    pub(crate) async fn meet(self, mut rng: fastrand::Rng) {
        let barrier = self.client.double_barrier(DOUBLE_BARRIER, PARTICIPANTS);
        loop {
            let entered = match rng.u8(..4) {
                0 => timeout(Self::patience(&mut rng), barrier.enter()).await.ok(),
                1 => {
                    let deadline = Instant::now() + Self::patience(&mut rng);
                    barrier.enter_until(deadline).await.transpose()
                }
                _ => Some(barrier.enter().await),
            };
            match entered {
                None => {}
                Some(Ok(entered)) => {
                    let name: NomineeId = entered.entry().parse().expect("an entry is an id");
                    self.laws.with_recipes(|books| books.double_barrier.is_inside(name));
                    sleep(Duration::from_millis(rng.u64(0..200))).await;
                    if rng.u8(..4) == 0 {
                        drop(entered);
                    } else {
                        match timeout(Self::patience(&mut rng), entered.leave()).await {
                            Err(_) | Ok(Err(LeaveError::AlreadyLost { .. })) => {}
                            Ok(Ok(())) => {
                                let end = (name, None);
                                self.laws.with_recipes(|books| {
                                    books.double_barrier.ended(end, DoubleBarrierEnd::Left)
                                });
                                self.laws.used(self.number);
                            }
                            Ok(Err(LeaveError::ClientClosed { .. })) => return,
                            Ok(Err(error)) => return self.laws.broken(error.to_string()),
                        }
                    }
                }
                Some(Err(EnterError::Barrier(BarrierError::ClientClosed { .. }))) => return,
                Some(Err(error)) => return self.laws.broken(error.to_string()),
            }
            sleep(Duration::from_millis(rng.u64(0..200))).await;
        }
    }

    /// Takes the items that were taken for futures that were dropped: a closed client has told all of them.
    pub(crate) async fn take_what_was_kept(&self, queues: &Queues) {
        let is_kept = |outcome| !matches!(outcome, Outcome::Closed);
        while is_kept(self.taken((0, self.take_begins(0)), queues.plain.try_take().await)) {}
        while is_kept(self.taken((1, self.take_begins(1)), queues.urgent.try_take().await)) {}
        self.laws.takes_are_told(self.number);
    }
}

fn id_of(item: &QueueItem) -> ItemId {
    ItemId::from(&*item.data)
}

/// Returns the key of a queue in the history.
pub(crate) fn queue_key(queue: usize) -> &'static str {
    ["queue/plain", "queue/urgent"][queue]
}

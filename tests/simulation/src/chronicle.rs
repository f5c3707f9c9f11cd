//! The run as a history: writes under a guard, items of queues, changes of the counter; for the verdict of a checker that
//! others wrote.

use std::collections::BTreeMap;

use election_core::NomineeId;
use election_core::counter::{CounterEnd, CounterOp};
use election_core::queue::{TakerEnd, TakerNotice};
use zk_embedded::{Database, Znode};
use zk_verdict::{Call, CallId as Noted, End, History, Op, Verdict, judge};

use super::client::{CallId, Told, Written};
use super::clock::Time;
use super::outcome::HistoryStats;
use super::queue::Queue;
use super::recipes::{ItemId, Put, QUEUES};
use super::uses::{Use, WhichQueue};

/// What has been noted down so far.
#[derive(Debug, Default)]
pub(super) struct Chronicle {
    history: History,
    /// The writes that are not answered, by client.
    writes: BTreeMap<(usize, CallId), Noted>,
    puts: BTreeMap<ItemId, Noted>,
    /// When uses of recipes began.
    begun: BTreeMap<NomineeId, Time>,
}

const COUNTER_KEY: &str = "counter/counter";

impl Chronicle {
    /// Notes that a write under a guard is sent. Its outcome is unknown unless an answer is noted.
    pub(super) fn writes(
        &mut self,
        now: Time,
        (client, call): (usize, CallId),
        what: (Queue, i64),
    ) {
        let (queue, token) = what;
        let key = format!("register{}", queue.resource());
        let noted = self.history.invoke(&key, now.since(Time::ORIGIN), write(token, None));
        self.writes.insert((client, call), noted);
    }

    /// Notes the answer to a write under a guard.
    pub(super) fn wrote(
        &mut self,
        now: Time,
        which: (usize, CallId),
        (token, written): (i64, Written),
    ) {
        let Some(noted) = self.writes.remove(&which) else { return };
        let now = now.since(Time::ORIGIN);
        match written {
            Written::Version(version) => self.history.ok(noted, now, write(token, Some(version))),
            Written::Refused => self.history.fail(noted, now),
            Written::InDoubt => {}
        }
    }

    /// Notes that a use of a recipe begins, to put this item if it is a put.
    pub(super) fn begins(&mut self, now: Time, (id, what): (NomineeId, Use), item: ItemId) {
        self.begun.insert(id, now);
        if let Use::Put(queue, _) = what {
            self.puts(now, queue, item);
        }
    }

    /// Notes that an item is put.
    pub(super) fn puts(&mut self, now: Time, queue: WhichQueue, item: ItemId) {
        let op = Op::Put { item: item.to_string() };
        let noted = self.history.invoke(key_of(queue), now.since(Time::ORIGIN), op);
        self.puts.insert(item, noted);
    }

    /// Notes a notice of a use, or what is in doubt of one whose process is gone.
    pub(super) fn told(&mut self, now: Time, id: NomineeId, told: &Told) {
        match told {
            Told::Put(_, item, put) => self.put(now, *item, *put),
            Told::Taker(queue, _, TakerNotice::Ended(TakerEnd::Taken(item))) => {
                self.took(now, id, (*queue, item.data), Known::Yes);
            }
            Told::Taker(queue, _, TakerNotice::Ended(TakerEnd::Unknown(item))) => {
                self.took(now, id, (*queue, item.data), Known::No);
            }
            Told::ClaimEnded(queue, (item, _), TakerEnd::Finished) => {
                self.took(now, id, (*queue, *item), Known::Yes);
            }
            Told::ClaimEnded(queue, (item, _), TakerEnd::FinishedOnce)
            | Told::ItemInDoubt(queue, item) => {
                self.took(now, id, (*queue, *item), Known::No);
            }
            Told::Counter { op, end, .. } => match end {
                CounterEnd::Changed { after, .. } => {
                    self.counted(now, id, (*op, Some(*after)), Known::Yes);
                }
                CounterEnd::Unknown { .. } | CounterEnd::Withdrawn => {
                    self.counted(now, id, (*op, None), Known::No);
                }
                CounterEnd::Value(_) | CounterEnd::Differs { .. } | CounterEnd::Failed(_) => {}
            },
            Told::CountInDoubt(op) => self.counted(now, id, (*op, None), Known::No),
            Told::Barrier(..)
            | Told::DoubleBarrier(..)
            | Told::Taker(..)
            | Told::ClaimEnded(..) => {}
        }
    }

    fn put(&mut self, now: Time, item: ItemId, put: Put) {
        let Some(noted) = self.puts.remove(&item) else { return };
        let now = now.since(Time::ORIGIN);
        match put {
            Put::Acknowledged => self.history.ok(noted, now, Op::Put { item: item.to_string() }),
            Put::Refused => self.history.fail(noted, now),
            Put::InDoubt => {}
        }
    }

    fn took(
        &mut self,
        now: Time,
        id: NomineeId,
        (queue, item): (WhichQueue, ItemId),
        known: Known,
    ) {
        self.ended(now, id, (key_of(queue), Op::Take { item: Some(item.to_string()) }), known);
    }

    fn counted(
        &mut self,
        now: Time,
        id: NomineeId,
        (op, value): (CounterOp, Option<i64>),
        known: Known,
    ) {
        let op = match op {
            CounterOp::Get => return,
            CounterOp::Add(by) => Op::Add { by, value },
            CounterOp::CompareAndSet { expected, new } => Op::CompareAndSet { expected, new },
        };
        self.ended(now, id, (COUNTER_KEY, op), known);
    }

    /// Adds an operation of a use, from the beginning of the use on.
    fn ended(&mut self, now: Time, id: NomineeId, (key, op): (&str, Op), known: Known) {
        let begun = self.begun.get(&id).copied().unwrap_or(Time::ORIGIN);
        let end = match known {
            Known::Yes => End::Ok(now.since(Time::ORIGIN), op.clone()),
            Known::No => End::Unknown,
        };
        let invoked = begun.since(Time::ORIGIN);
        self.history.add(Call { key: key.to_owned(), invoked, op, end });
    }

    /// Judges the run, with what a server shows in the end.
    ///
    /// # Errors
    ///
    /// The history of some object is not linearizable, or the checker came to no end.
    pub(super) fn judge(&mut self, now: Time, database: &Database) -> Result<HistoryStats, String> {
        let mut stats = HistoryStats::default();
        let mut history = core::mem::take(&mut self.history);
        for (queue, path) in [WhichQueue::Plain, WhichQueue::Urgent].into_iter().zip(QUEUES) {
            let (now, op) = (now.since(Time::ORIGIN), Op::Left { items: items(database, path) });
            let left = history.invoke(key_of(queue), now, op.clone());
            history.ok(left, now, op);
        }
        let judged = judge(&history).map_err(|unfit| unfit.to_string())?;
        for (key, [operations, of_unknown_outcome], verdict) in judged {
            stats.operations += u64::try_from(operations).unwrap_or(u64::MAX);
            stats.unknown += u64::try_from(of_unknown_outcome).unwrap_or(u64::MAX);
            if verdict != Verdict::Linearizable {
                return Err(format!("the history of {key} is {verdict}"));
            }
        }
        Ok(stats)
    }
}

/// Whether an operation is known to have taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Yes,
    No,
}

const fn write(token: i64, version: Option<u64>) -> Op {
    Op::Write { token, base: None, version }
}

const fn key_of(queue: WhichQueue) -> &'static str {
    match queue {
        WhichQueue::Plain => "queue/plain",
        WhichQueue::Urgent => "queue/urgent",
    }
}

/// Returns the items that stand in a queue.
fn items(database: &Database, queue: &str) -> Vec<String> {
    let names = database.znode(queue).into_iter().flat_map(Znode::children);
    let names = names.filter(|name| !name.starts_with("claimed-"));
    let data = names.filter_map(|name| database.znode(&format!("{queue}/{name}"))?.data());
    data.map(|data| String::from_utf8_lossy(data).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use zk_embedded::{Config, Instant, Standalone};

    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn id(number: u8) -> NomineeId {
        NomineeId::from_bytes([number; 16])
    }

    /// Judges a run in the end of which all queues are empty.
    fn verdict(mut chronicle: Chronicle) -> Result<HistoryStats, String> {
        let server =
            Standalone::new(Instant::ORIGIN, &Config::with_tick_time(Duration::from_secs(1)));
        chronicle.judge(at(90), server.database())
    }

    /// A write of the leader with this token.
    fn written(chronicle: &mut Chronicle, number: u64, token: i64, [sent, answered]: [u64; 2]) {
        let which = (0, CallId::numbered(number));
        chronicle.writes(at(sent), which, (Queue::ELECTIONS[0], token));
        chronicle.wrote(at(answered), which, (token, Written::Version(number)));
    }

    #[test]
    fn a_guarded_write_behind_a_later_leaders_is_seen() {
        let mut chronicle = Chronicle::default();
        written(&mut chronicle, 1, 3, [1, 5]);
        written(&mut chronicle, 2, 7, [10, 15]);
        let which = (1, CallId::numbered(3));
        chronicle.writes(at(20), which, (Queue::ELECTIONS[0], 3));
        // Never answered, it may have come to nothing.
        let stats = verdict(core::mem::take(&mut chronicle)).expect("in order");
        assert_eq!((stats.operations, stats.unknown), (5, 1), "two looks at queues included");
        written(&mut chronicle, 1, 7, [1, 5]);
        written(&mut chronicle, 2, 3, [10, 15]);
        verdict(chronicle).expect_err("an earlier leader has written last");
    }

    #[test]
    fn an_item_that_two_are_given_is_seen() {
        let (queue, item) = (WhichQueue::Plain, ItemId(17));
        let put = |chronicle: &mut Chronicle| {
            chronicle.puts(at(1), queue, item);
            chronicle.told(at(2), id(0), &Told::Put(queue, item, Put::Acknowledged));
        };
        let done = Told::ClaimEnded(queue, (item, None), TakerEnd::Finished);
        let mut chronicle = Chronicle::default();
        put(&mut chronicle);
        chronicle.told(at(10), id(1), &done);
        verdict(core::mem::take(&mut chronicle)).expect("one has done it");
        put(&mut chronicle);
        chronicle.told(at(10), id(1), &done);
        chronicle.told(at(20), id(2), &done);
        verdict(core::mem::take(&mut chronicle)).expect_err("two have done it");
        put(&mut chronicle);
        verdict(core::mem::take(&mut chronicle)).expect_err("none has had it, and it is gone");
        put(&mut chronicle);
        chronicle.told(at(10), id(1), &Told::ItemInDoubt(queue, item));
        verdict(chronicle).expect("one may have had it");
    }

    #[test]
    fn a_change_of_the_counter_that_is_lost_is_seen() {
        let changed = |before, after| Told::Counter {
            op: CounterOp::Add(after - before),
            floor: 0,
            seen: 0,
            end: CounterEnd::Changed { before, after },
        };
        let mut chronicle = Chronicle::default();
        chronicle.told(at(5), id(1), &changed(0, 3));
        chronicle.told(at(6), id(2), &changed(3, 7));
        verdict(core::mem::take(&mut chronicle)).expect("one behind the other");
        chronicle.told(at(5), id(1), &changed(0, 3));
        chronicle.told(at(6), id(2), &changed(0, 4));
        verdict(core::mem::take(&mut chronicle)).expect_err("both were made of nothing");
        chronicle.told(at(5), id(1), &Told::CountInDoubt(CounterOp::Add(5)));
        chronicle.told(at(6), id(2), &changed(5, 9));
        verdict(chronicle).expect("what was in doubt was made");
    }
}

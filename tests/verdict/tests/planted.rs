//! A fault of each kind, planted in a history: the checker sees it, and accepts the history without it.
#![forbid(unsafe_code)]
#![expect(clippy::panic, reason = "a test fails by panicking")]

use core::time::Duration;

use zk_verdict::{Call, End, History, Mode, Op, Verdict, judge};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// An operation with its results, from one moment to another.
fn call(key: &str, op: Op, [invoked, ended]: [u64; 2]) -> Call {
    Call { key: key.to_owned(), invoked: ms(invoked), end: End::Ok(ms(ended), op.clone()), op }
}

fn unknown(key: &str, op: Op, invoked: u64) -> Call {
    Call { key: key.to_owned(), invoked: ms(invoked), op, end: End::Unknown }
}

/// Judges the one object of a history, as it is and as it is read back.
fn verdict(calls: impl IntoIterator<Item = Call>) -> Verdict {
    let mut history = History::new();
    history.extend(calls);
    let read: History = history.to_string().parse().expect("its own text");
    let mut verdicts = judge(&history).expect("known kinds");
    let again = judge(&read).expect("known kinds");
    assert_eq!(verdicts, again, "as it is read back");
    assert_eq!(verdicts.len(), 1, "one object");
    verdicts.pop().expect("one").2
}

fn is_fine(calls: impl IntoIterator<Item = Call>) {
    assert_eq!(verdict(calls), Verdict::Linearizable);
}

/// Checks that the operation that ends at this moment is the one that no order explains.
fn is_broken_at(ended: u64, calls: impl IntoIterator<Item = Call>) {
    match verdict(calls) {
        Verdict::Not(finding) => assert_eq!(finding.ended, ms(ended), "{finding:?}"),
        other => panic!("{other}"),
    }
}

mod registers {
    use super::*;

    const KEY: &str = "register/a";

    fn read(token: i64, version: u64, when: [u64; 2]) -> Call {
        call(KEY, Op::Read { token, version: Some(version) }, when)
    }

    fn write(token: i64, [base, version]: [u64; 2], when: [u64; 2]) -> Call {
        call(KEY, Op::Write { token, base: Some(base), version: Some(version) }, when)
    }

    #[test]
    fn a_guarded_write_out_of_order_is_seen() {
        let fine = [write(3, [0, 1], [0, 5]), read(7, 1, [10, 12]), write(7, [1, 2], [20, 25])];
        is_fine(fine.clone());
        let late = call(KEY, Op::Write { token: 3, base: None, version: Some(3) }, [30, 35]);
        is_broken_at(35, fine.clone().into_iter().chain([late]));
        // Beside the later leader's it may have come first.
        let beside = call(KEY, Op::Write { token: 3, base: None, version: Some(1) }, [0, 25]);
        let later = call(KEY, Op::Write { token: 7, base: None, version: Some(2) }, [0, 25]);
        is_fine([beside, later]);
    }

    #[test]
    fn a_lost_write_is_seen() {
        let lost = [read(7, 0, [0, 1]), read(7, 0, [0, 1]), write(7, [0, 1], [2, 3])];
        is_fine(lost.clone());
        is_broken_at(5, lost.into_iter().chain([write(7, [0, 2], [4, 5])]));
    }

    /// The checker is asked part by part: what is wrong is seen in any part, and at a border.
    #[test]
    fn a_long_history_is_judged_as_a_short_one_is() {
        let mut calls = Vec::new();
        for version in 0..1_000_u64 {
            let (token, from) = (i64::try_from(version / 300).expect("small"), version * 10);
            calls.push(write(token, [version, version + 1], [from, from + 5]));
            if version % 50 == 7 {
                calls.push(unknown(
                    KEY,
                    Op::Write { token, base: Some(version), version: None },
                    from,
                ));
            }
        }
        is_fine(calls.clone());
        for at in [1, 200, 402, 998_u64] {
            let early = at * 10 - 1;
            let mut calls = calls.clone();
            calls.push(call(KEY, Op::Read { token: 9, version: Some(at) }, [early - 1, early]));
            let broken = verdict(calls);
            assert!(matches!(broken, Verdict::Not(_)), "behind {at}: {broken}");
        }
    }

    /// A write that is under way for longer than many others belongs to the part in which it takes effect.
    #[test]
    fn a_long_history_is_not_parted_where_something_is_under_way() {
        let sent = unknown(KEY, Op::Write { token: 1, base: None, version: None }, 0);
        let calls = (0..500_u64).map(|at| {
            let made = if at < 450 { at } else { at + 1 };
            write(1, [made, made + 1], [at * 10 + 1, at * 10 + 5])
        });
        is_fine(calls.clone().chain([sent]));
        assert!(matches!(verdict(calls), Verdict::Not(_)));
    }

    #[test]
    fn a_write_with_an_unknown_outcome_takes_effect_later_or_never() {
        let sent = unknown(KEY, Op::Write { token: 3, base: Some(1), version: None }, 6);
        let before = [write(3, [0, 1], [0, 5]), sent];
        is_fine(before.clone().into_iter().chain([read(7, 1, [10, 12])]));
        is_fine(before.clone().into_iter().chain([read(3, 1, [10, 12]), read(7, 2, [20, 22])]));
        // Not before it was sent, and not behind a later leader.
        is_broken_at(4, before.clone().into_iter().chain([read(3, 2, [3, 4])]));
        let behind = [read(7, 1, [10, 12]), read(7, 2, [20, 22])];
        is_broken_at(22, before.into_iter().chain(behind));
    }
}

mod locks {
    use super::*;

    const KEY: &str = "lock/a";

    fn acquired(token: i64, mode: Mode, when: [u64; 2]) -> Call {
        call(KEY, Op::Acquire { token: Some(token), mode }, when)
    }

    fn released(token: i64, from: u64) -> Call {
        unknown(KEY, Op::Release { token }, from)
    }

    #[test]
    fn two_holders_are_seen() {
        let first = [acquired(3, Mode::Alone, [0, 5]), released(3, 20)];
        is_fine(first.clone().into_iter().chain([acquired(7, Mode::Alone, [10, 21])]));
        is_broken_at(19, first.into_iter().chain([acquired(7, Mode::Alone, [10, 19])]));
    }

    #[test]
    fn readers_share_a_lock_and_writers_do_not() {
        let readers = [
            acquired(3, Mode::Shared, [0, 5]),
            acquired(4, Mode::Shared, [0, 6]),
            released(3, 20),
            released(4, 30),
        ];
        is_fine(readers.clone());
        is_broken_at(25, readers.clone().into_iter().chain([acquired(7, Mode::Alone, [10, 25])]));
        is_fine(readers.into_iter().chain([acquired(7, Mode::Alone, [10, 31])]));
    }

    #[test]
    fn tokens_that_do_not_grow_are_seen() {
        let first = [acquired(7, Mode::Alone, [0, 5]), released(7, 8)];
        is_broken_at(21, first.into_iter().chain([acquired(3, Mode::Alone, [10, 21])]));
    }
}

mod queues {
    use super::*;

    const KEY: &str = "queue/a";

    fn item() -> String {
        "17".to_owned()
    }

    fn put(when: [u64; 2]) -> Call {
        call(KEY, Op::Put { item: item() }, when)
    }

    fn taken(when: [u64; 2]) -> Call {
        call(KEY, Op::Take { item: Some(item()) }, when)
    }

    fn left(items: &[&str]) -> Call {
        let items = items.iter().map(ToString::to_string).collect();
        call(KEY, Op::Left { items }, [90, 91])
    }

    #[test]
    fn an_item_taken_twice_is_seen() {
        is_fine([put([0, 5]), taken([3, 6]), left(&[])]);
        is_broken_at(9, [put([0, 5]), taken([3, 6]), taken([3, 9]), left(&[])]);
    }

    #[test]
    fn an_item_that_is_taken_and_stands_is_seen() {
        is_broken_at(6, [put([0, 5]), taken([3, 6]), left(&["17"])]);
        is_broken_at(2, [put([0, 5]), taken([1, 2]), taken([7, 8]), left(&["17"])]);
    }

    #[test]
    fn an_item_of_nobody_is_seen() {
        is_broken_at(2, [put([3, 5]), taken([1, 2]), left(&[])]);
    }

    #[test]
    fn an_item_is_lost_only_to_a_take_with_an_unknown_outcome() {
        is_broken_at(5, [put([0, 5]), left(&[])]);
        is_fine([put([0, 5]), unknown(KEY, Op::Take { item: None }, 7), left(&[])]);
        is_fine([put([0, 5]), unknown(KEY, Op::Take { item: Some(item()) }, 7), left(&[])]);
    }

    #[test]
    fn a_put_with_an_unknown_outcome_takes_effect_later_or_never() {
        let sent = unknown(KEY, Op::Put { item: item() }, 3);
        is_fine([sent.clone(), taken([40, 50]), left(&[])]);
        is_fine([sent.clone(), left(&["17"])]);
        is_fine([sent.clone(), left(&[])]);
        is_broken_at(2, [sent, taken([1, 2]), left(&[])]);
    }
}

mod counters {
    use super::*;

    const KEY: &str = "counter/a";

    fn added(by: i64, value: i64, when: [u64; 2]) -> Call {
        call(KEY, Op::Add { by, value: Some(value) }, when)
    }

    fn sent(by: i64, from: u64) -> Call {
        unknown(KEY, Op::Add { by, value: None }, from)
    }

    #[test]
    fn a_lost_increment_is_seen() {
        is_fine([added(3, 3, [0, 9]), added(4, 7, [0, 9])]);
        is_broken_at(10, [added(3, 3, [0, 9]), added(4, 4, [0, 10])]);
    }

    #[test]
    fn an_increment_made_twice_is_seen() {
        is_broken_at(15, [added(3, 3, [0, 9]), added(4, 10, [10, 15])]);
    }

    #[test]
    fn an_increment_with_an_unknown_outcome_is_made_later_or_never() {
        is_fine([added(3, 3, [0, 9]), sent(5, 1), added(4, 7, [10, 15])]);
        is_fine([added(3, 3, [0, 9]), sent(5, 1), added(4, 12, [10, 15])]);
        is_fine([sent(5, 1), added(3, 3, [3, 9]), added(4, 7, [10, 15]), added(1, 13, [20, 25])]);
        // Once, and not before it was sent.
        is_broken_at(15, [sent(5, 1), added(3, 3, [3, 9]), added(4, 17, [10, 15])]);
        is_broken_at(9, [added(3, 8, [3, 9]), sent(5, 10)]);
    }

    #[test]
    fn many_unknown_outcomes_are_judged() {
        let mut calls: Vec<Call> = (1..=60).map(|at| sent(at, 1)).collect();
        let mut value = 0;
        for at in 0..200 {
            // Every tenth time one of the others has come before.
            value += 7 + if at % 10 == 9 { at / 10 + 1 } else { 0 };
            let from = 10 + 2 * u64::try_from(at).expect("small");
            calls.push(added(7, value, [from, from + 1]));
        }
        is_fine(calls.clone());
        // Which of so many came before which of the others, it does not try in full.
        calls.push(added(7, value, [1000, 1001]));
        assert_eq!(verdict(calls), Verdict::Undecided);
    }
}

mod logs {
    use super::*;

    const KEY: &str = "log/a";

    fn appended(entry: &str, token: i64, when: [u64; 2]) -> Call {
        call(KEY, Op::Append { entry: entry.to_owned(), token }, when)
    }

    fn log(entries: &[&str]) -> Call {
        let entries = entries.iter().map(ToString::to_string).collect();
        call(KEY, Op::Log { entries }, [90, 91])
    }

    #[test]
    fn entries_out_of_the_order_of_their_writes_are_seen() {
        let writes = [appended("a", 0, [0, 5]), appended("b", 0, [4, 9]), appended("c", 0, [6, 9])];
        is_fine(writes.clone().into_iter().chain([log(&["b", "a", "c"])]));
        // The entry c was not begun when a was written.
        is_broken_at(5, writes.into_iter().chain([log(&["b", "c", "a"])]));
    }

    #[test]
    fn a_lost_entry_and_one_of_nobody_are_seen() {
        let writes = [appended("a", 0, [0, 5]), appended("b", 0, [6, 9])];
        is_broken_at(9, writes.clone().into_iter().chain([log(&["a"])]));
        assert!(matches!(
            verdict(writes.into_iter().chain([log(&["a", "b", "c"])])),
            Verdict::Not(_)
        ));
    }

    #[test]
    fn guarded_writes_out_of_order_are_seen() {
        is_fine([appended("a", 3, [0, 9]), appended("b", 7, [0, 9]), log(&["a", "b"])]);
        is_broken_at(8, [appended("a", 3, [0, 8]), appended("b", 7, [0, 9]), log(&["b", "a"])]);
    }

    #[test]
    fn an_entry_with_an_unknown_outcome_stands_later_or_never() {
        let sent = unknown(KEY, Op::Append { entry: "b".to_owned(), token: 0 }, 6);
        let writes = [appended("a", 0, [0, 5]), sent, appended("c", 0, [20, 25])];
        is_fine(writes.clone().into_iter().chain([log(&["a", "c"])]));
        is_fine(writes.clone().into_iter().chain([log(&["a", "b", "c"])]));
        is_fine(writes.clone().into_iter().chain([log(&["a", "c", "b"])]));
        assert!(matches!(
            verdict(writes.into_iter().chain([log(&["b", "a", "c"])])),
            Verdict::Not(_)
        ));
    }
}

#[test]
fn an_object_of_no_kind_is_not_judged() {
    let mut history = History::new();
    history.invoke("stack/a", ms(0), Op::Release { token: 1 });
    judge(&history).expect_err("no kind is called stack");
}

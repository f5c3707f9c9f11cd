//! Runs once in a period: the rule, and the record.

use core::time::Duration;

use election_core::once::{Due, NotARecord, RunRecord, RunState, ServerTime, TakeAgain, due};
use proptest::prelude::*;

const HOUR: Duration = Duration::from_secs(3600);
const NOON: i64 = 1_764_244_800_000;

fn record(state: RunState, began: i64) -> RunRecord<'static> {
    RunRecord { state, began: ServerTime::new(began), by: "a" }
}

fn at(now: i64, last: RunRecord<'_>, again: TakeAgain) -> Due {
    due(ServerTime::new(now), Some(last), HOUR, again)
}

#[test]
fn a_job_that_has_never_run_is_due() {
    for again in [TakeAgain::Never, TakeAgain::Interrupted, TakeAgain::Failed] {
        assert_eq!(due(ServerTime::new(NOON), None, HOUR, again), Due::Now);
    }
    assert_eq!(RunRecord::parse(b""), Ok(None), "an operator emptied it, or its maker died");
}

#[test]
fn a_run_counts_for_one_period_from_its_beginning() {
    let (last, hour) = (record(RunState::Succeeded, NOON), 3_600_000);
    for again in [TakeAgain::Never, TakeAgain::Interrupted, TakeAgain::Failed] {
        let until = Due::At(ServerTime::new(NOON + hour));
        assert_eq!(at(NOON, last, again), until);
        assert_eq!(at(NOON + hour - 1, last, again), until);
        assert_eq!(at(NOON + hour, last, again), Due::Now);
    }
}

#[test]
fn a_run_that_did_not_succeed_is_taken_again_as_the_choice_says() {
    let soon = NOON + 1;
    let is_due = |state, again| at(soon, record(state, NOON), again) == Due::Now;
    let states = [RunState::Begun, RunState::Failed, RunState::Succeeded];
    let choices = |again| states.map(|state| is_due(state, again));
    assert_eq!(choices(TakeAgain::Never), [false, false, false]);
    assert_eq!(choices(TakeAgain::Interrupted), [true, false, false]);
    assert_eq!(choices(TakeAgain::Failed), [true, true, false]);
}

#[test]
fn a_clock_that_was_set_back_delays_a_job_by_one_period_at_most() {
    let (last, hour) = (record(RunState::Succeeded, NOON), 3_600_000);
    let until = Due::At(ServerTime::new(NOON + hour));
    assert_eq!(at(NOON - 1, last, TakeAgain::Never), until, "leaders' clocks differ a little");
    assert_eq!(at(NOON - hour + 1, last, TakeAgain::Never), until);
    assert_eq!(at(NOON - hour, last, TakeAgain::Never), Due::Now);
    assert_eq!(at(i64::MIN, record(RunState::Succeeded, i64::MAX), TakeAgain::Never), Due::Now);
}

#[test]
fn what_is_no_record_is_not_taken_for_one() {
    let foreign: [&[u8]; 9] = [
        b"hello",
        b"\xff\xfe",
        b"run: begun\nbegan: 1\nby: a",
        b"run: begun\nbegan: x\nby: a\n",
        b"run: begun\nbegan: 99999999999999999999\nby: a\n",
        b"run: ended\nbegan: 1\nby: a\n",
        b"run: begun\r\nbegan: 1\r\nby: a\r\n",
        b"began: 1\nrun: begun\nby: a\n",
        b"run: begun\n",
    ];
    for data in foreign {
        assert_eq!(RunRecord::parse(data), Err(NotARecord), "{}", data.escape_ascii());
    }
}

fn any_state() -> impl Strategy<Value = RunState> {
    prop_oneof![Just(RunState::Begun), Just(RunState::Succeeded), Just(RunState::Failed)]
}

fn any_choice() -> impl Strategy<Value = TakeAgain> {
    prop_oneof![Just(TakeAgain::Never), Just(TakeAgain::Interrupted), Just(TakeAgain::Failed)]
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(state in any_state(), began: i64, by: String) {
        let record = RunRecord { state, began: ServerTime::new(began), by: &by };
        let text = record.to_string();
        prop_assert_eq!(RunRecord::parse(text.as_bytes()), Ok(Some(record)));
    }

    #[test]
    fn nothing_that_a_znode_may_have_makes_the_reader_panic(data: Vec<u8>) {
        let _ = RunRecord::parse(&data);
    }

    /// Contenders hold the lock one after the other, at any times of a clock that goes on, and each run ends
    /// somehow. With `Never`, less than a period never lies between the beginnings of two runs; with the
    /// others, only if the first one may be taken again.
    #[test]
    fn no_two_runs_begin_within_a_period_unless_the_first_is_taken_again(
        start in -1_000_000_i64..1_000_000,
        turns in prop::collection::vec((0_i64..5_000, any_state(), any_choice()), 1..40),
        period in 1_u64..10_000,
    ) {
        let period = Duration::from_millis(period);
        let (mut now, mut last) = (start, None::<RunRecord<'_>>);
        for (passed, end, again) in turns {
            now += passed;
            match due(ServerTime::new(now), last, period, again) {
                Due::Now => {
                    if let Some(last) = last {
                        let since = u128::from(now.abs_diff(last.began.get()));
                        let again = match last.state {
                            RunState::Begun => again != TakeAgain::Never,
                            RunState::Failed => again == TakeAgain::Failed,
                            RunState::Succeeded => false,
                        };
                        prop_assert!(again || since >= period.as_millis());
                    }
                    last = Some(record(end, now));
                }
                Due::At(then) => {
                    prop_assert!(ServerTime::new(now) < then, "it would be due by now");
                    prop_assert_eq!(due(then, last, period, again), Due::Now, "it is due then");
                }
            }
        }
    }
}

//! The verdict of checks, over every sequence of outcomes.

use core::num::NonZeroU32;

use election_core::checks::{Condition, Hysteresis, Outcome, Thresholds};

/// How many outcomes a sequence has.
const LENGTH: usize = 12;

fn thresholds(rise: u32, fall: u32) -> Thresholds {
    let number = |number| NonZeroU32::new(number).expect("it is none of 0");
    Thresholds { rise: number(rise), fall: number(fall) }
}

/// Calls `check` with each sequence of outcomes, and the verdicts before and after each of them.
fn each_sequence(thresholds: Thresholds, check: impl Fn(&[Outcome], &[Condition])) {
    for bits in 0..1_u32 << LENGTH {
        let outcome =
            |at: usize| if bits & (1 << at) == 0 { Outcome::Passed } else { Outcome::Failed };
        let outcomes: Vec<Outcome> = (0..LENGTH).map(outcome).collect();
        let mut hysteresis = Hysteresis::new(thresholds);
        let mut verdicts = vec![hysteresis.condition()];
        verdicts.extend(outcomes.iter().map(|outcome| hysteresis.heed(*outcome)));
        check(&outcomes, &verdicts);
    }
}

fn each_threshold(check: impl Fn(usize, usize)) {
    for rise in 1..=4 {
        for fall in 1..=4 {
            check(rise, fall);
        }
    }
}

fn limits(rise: usize, fall: usize) -> Thresholds {
    let number = |number: usize| u32::try_from(number).expect("it is small");
    thresholds(number(rise), number(fall))
}

#[test]
fn the_first_check_decides() {
    each_threshold(|rise, fall| {
        each_sequence(limits(rise, fall), |outcomes, verdicts| {
            let first = match outcomes[0] {
                Outcome::Passed => Condition::Well,
                Outcome::Failed => Condition::Unwell,
            };
            assert_eq!(verdicts[..2], [Condition::Unchecked, first]);
        });
    });
}

/// No member whose checks have failed often enough in a row counts as well, and none whose checks have
/// passed often enough counts as unwell.
#[test]
fn as_many_outcomes_in_a_row_as_the_threshold_says_are_heeded() {
    each_threshold(|rise, fall| {
        each_sequence(limits(rise, fall), |outcomes, verdicts| {
            for end in 1..=LENGTH {
                let ends_in = |outcome, count| {
                    end >= count && outcomes[end - count..end].iter().all(|it| *it == outcome)
                };
                assert!(!ends_in(Outcome::Failed, fall) || verdicts[end] == Condition::Unwell);
                assert!(!ends_in(Outcome::Passed, rise) || verdicts[end] == Condition::Well);
            }
        });
    });
}

/// A verdict changes only by as many outcomes in a row as the threshold says, so no faster.
#[test]
fn fewer_outcomes_than_the_threshold_change_nothing() {
    each_threshold(|rise, fall| {
        each_sequence(limits(rise, fall), |outcomes, verdicts| {
            for end in 2..=LENGTH {
                let (before, after) = (verdicts[end - 1], verdicts[end]);
                let (outcome, count) = match (before, after) {
                    (Condition::Well, Condition::Unwell) => (Outcome::Failed, fall),
                    (Condition::Unwell, Condition::Well) => (Outcome::Passed, rise),
                    _ => continue,
                };
                assert!(end >= count, "after the first check");
                assert!(outcomes[end - count..end].iter().all(|it| *it == outcome));
                assert!(
                    verdicts[end - count..end].iter().all(|it| *it == before),
                    "it did not flap"
                );
            }
        });
    });
}

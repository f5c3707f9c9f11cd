//! Leaders that hand the leadership over to a candidate: those between stand behind it, and it leads next; whatever
//! becomes of any of them, the order holds.

use super::settled;
use crate::contest::{Budget, NO_FAULTS, World};
use crate::explore::merging_loses_nothing_of;
use crate::lab::explore;

#[test]
fn merging_loses_nothing_of_hand_overs() {
    let budget = Budget { hand_overs: 1, ..NO_FAULTS };
    merging_loses_nothing_of("3 settled, handed over", settled(3, budget).lagging(1));
}

/// None stands between, or one or two do.
#[test]
fn leaders_that_hand_the_leadership_over() {
    let budget = Budget { hand_overs: 2, ..NO_FAULTS };
    explore("2 nominees, handed over twice", World::nominees(2, budget).lagging(2));
    explore("3 settled, handed over twice", settled(3, budget).lagging(1));
    let budget = Budget { hand_overs: 1, ..NO_FAULTS };
    explore("4 settled, handed over", settled(4, budget).lagging(1));
}

#[test]
fn leaders_that_hand_over_and_lose_their_connection() {
    let budget = Budget { losses: 1, hand_overs: 1, ..NO_FAULTS };
    explore("3 settled, handed over, 1 loss", settled(3, budget).lagging(1));
}

/// The leader, the candidate that is to lead, or the one between them.
#[test]
fn any_of_them_dies_while_the_leadership_is_handed_over() {
    let budget = Budget { expiries: 1, hand_overs: 1, ..NO_FAULTS };
    explore("3 settled, handed over, 1 expiry", settled(3, budget).lagging(1));
    let budget = Budget { withdrawals: 1, lapses: 1, hand_overs: 1, ..NO_FAULTS };
    explore("3 settled, handed over, 1 withdrawal, 1 lapse", settled(3, budget).lagging(1));
}

#[test]
fn an_operator_is_at_work_while_the_leadership_is_handed_over() {
    let budget = Budget { deletions: 1, hand_overs: 1, ..NO_FAULTS };
    explore("3 settled, handed over, 1 deletion", settled(3, budget).lagging(1));
    let budget = Budget { ends: 1, hand_overs: 1, ..NO_FAULTS };
    explore("3 settled, handed over, ended", settled(3, budget).lagging(1));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_an_operator_deletes_while_the_leadership_is_handed_over() {
    let budget = Budget { deletions: 1, looks: 1, hand_overs: 1, ..NO_FAULTS };
    explore("3 settled, handed over, 1 deletion, 1 look", settled(3, budget).lagging(1));
}

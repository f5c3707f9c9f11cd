mod apart;

extern crate alloc;
use alloc::vec;
use alloc::vec::Vec;

use proptest::collection::vec as any_vec;
use proptest::prelude::*;

use super::*;

type Owners = Vec<Option<usize>>;

fn rebalanced(before: &[Option<usize>], weights: &[u32]) -> Owners {
    let mut owners = before.to_vec();
    let mut shares: Vec<Share> = weights.iter().copied().map(Share::new).collect();
    rebalance(&mut owners, &mut shares);
    for (at, share) in shares.iter().enumerate() {
        assert_eq!(share.held(), held(&owners, at));
    }
    owners
}

fn held(owners: &[Option<usize>], member: usize) -> usize {
    owners.iter().filter(|owner| **owner == Some(member)).count()
}

/// The slots that have had an owner of weight, and get another.
fn moved(before: &[Option<usize>], after: &[Option<usize>]) -> usize {
    before.iter().zip(after).filter(|(before, after)| before.is_some() && before != after).count()
}

/// Whether each member has its part by weight, rounded up or down, and no slot is without an owner.
fn is_even(owners: &[Option<usize>], weights: &[u32]) -> bool {
    let total: u64 = weights.iter().copied().map(u64::from).sum();
    let slots = owners.len() as u64;
    let is_owned = |owner: &Option<usize>| owner.is_some() == (total > 0);
    owners.iter().all(is_owned)
        && weights.iter().enumerate().all(|(at, weight)| {
            let (held, part) = (held(owners, at) as u64, slots * u64::from(*weight));
            total == 0 || (part / total..=part.div_ceil(total)).contains(&held)
        })
}

/// The most slots that stay, of all even assignments there are.
fn most_kept(before: &[Option<usize>], weights: &[u32]) -> usize {
    let members = weights.len();
    let every = before.iter().fold(1, |every, _| every * members);
    let mut most = 0;
    for code in 0..every {
        let digits = core::iter::successors(Some(code), |code| Some(code / members));
        let owners: Owners = digits.take(before.len()).map(|code| Some(code % members)).collect();
        if is_even(&owners, weights) {
            let kept = before.iter().zip(&owners).filter(|(before, after)| before == after);
            most = most.max(kept.count());
        }
    }
    most
}

fn kept(before: &[Option<usize>], after: &[Option<usize>]) -> usize {
    before.iter().zip(after).filter(|(before, after)| before.is_some() && before == after).count()
}

fn small() -> impl Strategy<Value = (Owners, Vec<u32>)> {
    // An owner above the members has gone.
    (any_vec(proptest::option::of(0..6_usize), 0..7), any_vec(0..4_u32, 1..5))
}

fn large() -> impl Strategy<Value = (Owners, Vec<u32>)> {
    (any_vec(proptest::option::of(0..40_usize), 0..300), any_vec(0..9_u32, 0..30))
}

proptest! {
    #[test]
    fn slots_are_even_and_at_rest((before, weights) in large()) {
        let after = rebalanced(&before, &weights);
        prop_assert!(is_even(&after, &weights), "{after:?}");
        prop_assert_eq!(rebalanced(&after, &weights), after);
    }

    #[test]
    fn no_even_assignment_keeps_more((before, weights) in small()) {
        let after = rebalanced(&before, &weights);
        if weights.iter().any(|weight| *weight > 0) {
            prop_assert_eq!(kept(&before, &after), most_kept(&before, &weights));
        }
    }

    #[test]
    fn who_joins_or_goes_moves_its_part_and_none_between_others(
        slots in 0..500_usize,
        members in 1..30_usize,
        at in any::<prop::sample::Index>(),
    ) {
        let without = at.index(members + 1);
        let all = vec![1; members + 1];
        let mut others = all.clone();
        others[without] = 0;
        let before = rebalanced(&vec![None; slots], &others);
        let joined = rebalanced(&before, &all);
        prop_assert!(moved(&before, &joined) <= slots.div_ceil(members + 1));
        let went = rebalanced(&joined, &others);
        prop_assert!(moved(&joined, &went) <= slots.div_ceil(members + 1));
        for ((before, joined), went) in before.iter().zip(&joined).zip(&went) {
            prop_assert!(before == joined || *joined == Some(without));
            prop_assert!(joined == went || *joined == Some(without));
        }
    }

    #[test]
    fn slots_are_dealt_in_turn_and_those_of_one_that_went_are_spread(
        (slots, members) in (0..500_usize, 2..30_usize),
    ) {
        let before = rebalanced(&vec![None; slots], &vec![1; members]);
        prop_assert!(before.iter().enumerate().all(|(at, owner)| *owner == Some(at % members)));
        let mut weights = vec![1; members];
        weights[0] = 0;
        let after = rebalanced(&before, &weights);
        for member in 1..members {
            let gained = held(&after, member) - held(&before, member);
            prop_assert!(gained <= held(&before, 0).div_ceil(members - 1) + 1, "{gained}");
        }
    }
}

#[test]
fn nobody_holds_what_nobody_is_there_for() {
    assert_eq!(rebalanced(&[Some(0), None], &[]), [None, None]);
    assert_eq!(rebalanced(&[Some(0), Some(1)], &[0, 0]), [None, None]);
}

#[test]
fn weights_are_heeded_up_to_their_limits() {
    let most = u32::MAX;
    let owners = rebalanced(&[None; 10], &[most, most, 1]);
    assert_eq!([0, 1, 2].map(|member| held(&owners, member)), [5, 5, 0]);
    let owners = rebalanced(&[None; 12], &[1, 2, 3]);
    assert_eq!([0, 1, 2].map(|member| held(&owners, member)), [2, 4, 6]);
}

#[test]
fn ten_thousand_slots_move_no_more_than_they_have_to() {
    let before = rebalanced(&vec![None; 10_000], &[vec![1; 100], vec![0]].concat());
    let joined = rebalanced(&before, &[1; 101]);
    assert_eq!(moved(&before, &joined), 99, "10,000 / 101, rounded down");
    let went = rebalanced(&joined, &[vec![0], vec![1; 100]].concat());
    assert_eq!(moved(&joined, &went), held(&joined, 0));
}

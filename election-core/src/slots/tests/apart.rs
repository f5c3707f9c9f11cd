use super::*;

/// The slots of groups beyond what one member is to hold of each.
fn together(owners: &[Option<usize>], weights: &[u32], groups: &[usize]) -> usize {
    let members = weights.iter().filter(|weight| **weight > 0).count();
    let (mut start, mut together) = (0, 0);
    for size in groups {
        let end = (start + size).min(owners.len());
        for member in 0..weights.len() {
            let most = (end - start).div_ceil(members.max(1));
            together += held(&owners[start..end], member).saturating_sub(most);
        }
        start = end;
    }
    together
}

fn apart(before: &[Option<usize>], weights: &[u32], groups: &[usize]) -> Owners {
    let mut owners = before.to_vec();
    let mut shares: Vec<Share> = weights.iter().copied().map(Share::new).collect();
    rebalance(&mut owners, &mut shares);
    keep_apart(before, &mut owners, &shares, groups);
    for (at, share) in shares.iter().enumerate() {
        assert_eq!(share.held(), held(&owners, at), "evenness goes first");
    }
    owners
}

/// The sizes of groups; the slots behind them, and no slots, may be in a group.
fn groups() -> impl Strategy<Value = Vec<usize>> {
    any_vec(0..7_usize, 0..40)
}

fn equal() -> impl Strategy<Value = (Owners, Vec<u32>)> {
    // An owner above the members has gone, and some are drained.
    (any_vec(proptest::option::of(0..14_usize), 0..120), any_vec(0..2_u32, 0..12))
}

proptest! {
    #[test]
    fn members_of_equal_weight_hold_groups_apart((before, weights) in equal(), groups in groups()) {
        let after = apart(&before, &weights, &groups);
        prop_assert!(is_even(&after, &weights), "{after:?}");
        prop_assert_eq!(together(&after, &weights, &groups), 0, "{:?}", after);
        prop_assert_eq!(apart(&after, &weights, &groups), after);
    }

    /// With any weights no exchange of two slots is left that would help.
    #[test]
    fn evenness_goes_first_and_no_exchange_is_left((before, weights) in large(), groups in groups()) {
        let before = &before[..before.len().min(40)];
        let mut after = apart(before, &weights, &groups);
        prop_assert!(is_even(&after, &weights), "{after:?}");
        prop_assert_eq!(&apart(&after, &weights, &groups), &after);
        let left = together(&after, &weights, &groups);
        for (one, other) in (0..after.len()).flat_map(|one| (0..one).map(move |other| (one, other))) {
            after.swap(one, other);
            prop_assert!(together(&after, &weights, &groups) >= left, "{one} and {other}: {after:?}");
            after.swap(one, other);
        }
    }

    #[test]
    fn who_joins_or_goes_moves_twice_its_part_at_most(
        (slots, members) in (0..300_usize, 6..20_usize),
        at in any::<prop::sample::Index>(),
        groups in groups(),
    ) {
        let without = at.index(members + 1);
        let all = vec![1; members + 1];
        let mut others = all.clone();
        others[without] = 0;
        // There are members enough for each group.
        let before = apart(&vec![None; slots], &others, &groups);
        let joined = apart(&before, &all, &groups);
        prop_assert!(moved(&before, &joined) <= 2 * moved(&before, &rebalanced(&before, &all)));
        let went = apart(&joined, &others, &groups);
        prop_assert!(moved(&joined, &went) <= 2 * moved(&joined, &rebalanced(&joined, &others)));
    }
}

#[test]
fn groups_of_more_slots_than_members_are_spread() {
    let after = apart(&[Some(0); 5], &[1, 1], &[3, 2]);
    assert_eq!([0, 1].map(|member| held(&after[..3], member)).into_iter().max(), Some(2));
    assert_eq!([0, 1].map(|member| held(&after[3..], member)), [1, 1]);
}

#[test]
fn a_member_of_great_weight_holds_two_of_a_group() {
    let after = apart(&[None; 4], &[9, 1], &[2, 2]);
    assert_eq!([0, 1].map(|member| held(&after, member)), [4, 0]);
}

/// Three copies of 3,333 shards each: neighbours are dealt to different members, so hardly any is exchanged.
#[test]
fn ten_thousand_slots_are_apart_and_move_hardly_more_than_they_have_to() {
    let groups = vec![3; 3_333];
    let before = apart(&vec![None; 9_999], &[vec![1; 100], vec![0]].concat(), &groups);
    assert_eq!(before, rebalanced(&before, &[vec![1; 100], vec![0]].concat()));
    let joined = apart(&before, &[1; 101], &groups);
    assert_eq!(moved(&before, &joined), 99);
    let went = apart(&joined, &[vec![0], vec![1; 100]].concat(), &groups);
    assert_eq!(together(&went, &[vec![0], vec![1; 100]].concat(), &groups), 0);
    assert_eq!(moved(&joined, &went), held(&joined, 0));
}

/// Groups of different sizes and members of different weights, where an exchange makes room for one in an earlier group.
#[test]
fn exchanges_go_on_until_none_is_left() {
    let (weights, groups) = ([4, 7, 4, 8, 1], [4, 6, 4, 6, 1, 2, 4, 1, 4, 6, 2]);
    let mut before = vec![None; 40];
    before[28] = Some(2);
    let after = apart(&before, &weights, &groups);
    assert_eq!(apart(&after, &weights, &groups), after);
}

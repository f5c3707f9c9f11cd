//! Slots: which member of a group is to hold which of them.
//!
//! [`rebalance`] is a function of its arguments alone, so all that share them share its result. A
//! slot is held by a lock: what this says decides who asks for that lock, and nothing else.

mod apart;
#[cfg(test)]
mod tests;

pub use apart::keep_apart;

/// A member's part of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    weight: u32,
    quota: usize,
    held: usize,
}

impl Share {
    /// Makes the share of a member that is to hold twice as many slots as one of half its weight. A
    /// member of weight 0 is drained: it is to hold none.
    pub const fn new(weight: u32) -> Self {
        Self { weight, quota: 0, held: 0 }
    }

    /// Returns the number of slots that the member owns by the last [`rebalance`].
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Returns the part of `slots` that is this member's by its weight, rounded down, and whether a
    /// fraction of a slot was left.
    fn part(&self, slots: usize, weights: u128) -> (usize, bool) {
        // Both factors are below 2^64, and the result is not above `slots`.
        let product = (slots as u128) * u128::from(self.weight);
        let whole = product.checked_div(weights).unwrap_or_default();
        (usize::try_from(whole).unwrap_or(slots), whole * weights != product)
    }
}

/// Gives each slot an owner: on entry `owners` has the index in `shares` of the member that owned
/// each slot before, on return that of the member that is to own it.
///
/// - *Even*: a member's number of slots is its part by weight, rounded up or down. With equal
///   weights no member has two more than another.
/// - *Sticky*: as many slots stay with their owners as an even assignment allows. With equal
///   weights a member that joins or goes moves ⌈slots/members⌉ slots at most, and none between
///   others.
/// - *At rest*: applied to its own result, it changes nothing.
/// - *Dealt in turn*: neighbouring slots that are free go to different members.
///
/// The order of `shares` and `owners` decides which of several such assignments this is: have one
/// order for all, such as that of the names. An owner that is not in `shares`, or has weight 0,
/// keeps nothing. If all have weight 0, no slot has an owner.
pub fn rebalance(owners: &mut [Option<usize>], shares: &mut [Share]) {
    count(owners, shares);
    set_quotas(owners.len(), shares);
    give_up(owners, shares);
    hand_out(owners, shares);
}

/// Counts the slots of each member, and frees those of members that are gone or drained.
fn count(owners: &mut [Option<usize>], shares: &mut [Share]) {
    for share in &mut *shares {
        share.held = 0;
    }
    for owner in owners {
        match owner.and_then(|at| shares.get_mut(at)) {
            Some(share) if share.weight > 0 => share.held += 1,
            _ => *owner = None,
        }
    }
}

/// Rounds each part down, and then as many up as there are slots left: first those of members that
/// hold the slot already, so that it does not move.
fn set_quotas(slots: usize, shares: &mut [Share]) {
    let weights = shares.iter().map(|share| u128::from(share.weight)).sum();
    let mut left = slots;
    for share in &mut *shares {
        share.quota = share.part(slots, weights).0;
        left = left.saturating_sub(share.quota);
    }
    for is_enough in [|share: &Share| share.held > share.quota, |_: &Share| true] {
        for share in &mut *shares {
            let (down, has_fraction) = share.part(slots, weights);
            if left > 0 && has_fraction && share.quota == down && is_enough(share) {
                share.quota += 1;
                left -= 1;
            }
        }
    }
}

/// Frees what members hold above their quotas: their last slots.
fn give_up(owners: &mut [Option<usize>], shares: &mut [Share]) {
    for share in &mut *shares {
        share.held = 0;
    }
    for owner in owners {
        if let Some(share) = owner.and_then(|at| shares.get_mut(at)) {
            if share.held < share.quota {
                share.held += 1;
            } else {
                *owner = None;
            }
        }
    }
}

/// Gives free slots to members below their quotas, one to each in turn.
fn hand_out(owners: &mut [Option<usize>], shares: &mut [Share]) {
    let mut next = 0;
    for owner in owners.iter_mut().filter(|owner| owner.is_none()) {
        let members = (next..shares.len()).chain(0..next);
        let has_room = |&at: &usize| shares.get(at).is_some_and(|share| share.held < share.quota);
        let Some(at) = members.into_iter().find(has_room) else {
            return;
        };
        if let Some(share) = shares.get_mut(at) {
            share.held += 1;
        }
        *owner = Some(at);
        next = at + 1;
    }
}

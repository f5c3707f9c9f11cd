//! Slots that are to be apart: no two of a group with one member, while there are members enough.

use core::ops::Range;

use super::Share;

/// Exchanges slots between members, so that each holds as few of a group as can be: one, while there are as many
/// members as the group has slots, and otherwise its part of them, rounded up.
///
/// `groups` has the sizes of the groups: the first slots are the first group, those behind them the second, and so
/// on; the slots behind the last group are in none. `owners` is a result of [`rebalance`](super::rebalance) by
/// `shares`, and `before` what that began with.
///
/// - *Evenness goes first*: each member has as many slots after this as before. With equal weights that contradicts
///   nothing, and each group is apart. With other weights a member whose part is too great holds two of a group: as
///   long as no exchange of two slots helps.
/// - *Sticky*: of the exchanges that help it takes one that moves the fewest slots. Where a member of
///   equal weight comes or goes, and there are members enough for each group before and after, that adds at most one
///   slot to each that moves anyway.
/// - *At rest*: applied to its own result, after a `rebalance`, it changes nothing.
pub fn keep_apart(
    before: &[Option<usize>],
    owners: &mut [Option<usize>],
    shares: &[Share],
    groups: &[usize],
) {
    let members = shares.iter().filter(|share| share.weight > 0).count();
    if members == 0 {
        return;
    }
    let mut table = Table { before, owners, groups, members };
    // Each exchange lowers the number of slots that are not apart.
    while table.pass() {}
}

struct Table<'a> {
    before: &'a [Option<usize>],
    owners: &'a mut [Option<usize>],
    groups: &'a [usize],
    members: usize,
}

/// A group, or the slots that are in none.
#[derive(Clone, PartialEq, Eq)]
struct Run {
    slots: Range<usize>,
    /// The most slots of it that one member is to hold.
    most: usize,
}

impl<'a> Table<'a> {
    /// Returns the groups, and the slots behind them.
    fn runs(&self) -> impl Iterator<Item = Run> + use<'a> {
        let (slots, members) = (self.owners.len(), self.members);
        let mut start = 0_usize;
        let sizes = self.groups.iter().map(|size| Some(*size)).chain([None]);
        sizes.map(move |size| {
            let end = size.map_or(slots, |size| start.saturating_add(size).min(slots));
            let most = size.map_or(usize::MAX, |_| (end - start).div_ceil(members));
            let run = Run { slots: start..end, most };
            start = end;
            run
        })
    }

    fn owner(&self, slot: usize) -> Option<usize> {
        self.owners.get(slot).copied().flatten()
    }

    /// Returns how many slots of a run a member holds.
    fn held(&self, member: usize, run: &Run) -> usize {
        let owners = self.owners.get(run.slots.clone()).unwrap_or_default();
        owners.iter().filter(|owner| **owner == Some(member)).count()
    }

    /// Returns whether a slot would be another member's than before.
    fn moves(&self, slot: usize, to: usize) -> bool {
        let before = self.before.get(slot).copied().flatten();
        before.is_some_and(|before| before != to)
    }

    /// Goes through all groups once. Returns whether slots were exchanged.
    fn pass(&mut self) -> bool {
        let mut is_changed = false;
        for group in self.runs() {
            for was_moved in [true, false] {
                for slot in group.slots.clone().rev() {
                    let Some(member) = self.owner(slot) else { continue };
                    // Slots that have moved anyway go first.
                    if self.moves(slot, member) == was_moved
                        && self.held(member, &group) > group.most
                        && let Some(other) = self.counterpart((slot, member), &group)
                    {
                        self.owners.swap(slot, other);
                        is_changed = true;
                    }
                }
            }
        }
        is_changed
    }

    /// Returns the slot of another member to exchange for this one: of those that leave fewer slots together, the
    /// first of which the fewest slots move.
    fn counterpart(&self, (slot, member): (usize, usize), group: &Run) -> Option<usize> {
        let mut best = None;
        for run in self.runs().filter(|run| run != group) {
            let is_full = self.held(member, &run) >= run.most;
            for other in run.slots.clone() {
                let Some(owner) = self.owner(other).filter(|owner| *owner != member) else {
                    continue;
                };
                let moved = self.moved((slot, owner), (other, member));
                let is_better = best.is_none_or(|(least, _)| moved < least);
                if is_better
                    && self.held(owner, group) < group.most
                    && (!is_full || self.held(owner, &run) > run.most)
                {
                    best = Some((moved, other));
                }
            }
        }
        best.map(|(_, other)| other)
    }

    /// Returns how many slots an exchange moves, by which two slots come to these members: 2 if as many as without it.
    fn moved(&self, one: (usize, usize), other: (usize, usize)) -> usize {
        let after =
            usize::from(self.moves(one.0, one.1)) + usize::from(self.moves(other.0, other.1));
        let now = usize::from(self.moves(one.0, other.1)) + usize::from(self.moves(other.0, one.1));
        2 + after - now
    }
}

//! The plan: which member is to hold which slot.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use election_core::slots::{Share, keep_apart, rebalance};
use thiserror::Error;

use super::name::SlotName;

/// Which member is to hold which slot.
///
/// Its text is the data of the plan's znode: a line `slots/1`, then a line for each member, with
/// its weight and its slots, and one for slots without an owner:
///
/// ```text
/// slots/1
/// member host-7 1 0 2 4
/// member host-8 1 1 3
/// free
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SlotPlan {
    members: BTreeMap<SlotName, PlannedMember>,
    free: Vec<SlotName>,
}

/// A member in a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PlannedMember {
    /// Its weight: 0 if it is drained.
    pub weight: u32,
    /// The slots that it is to hold.
    pub slots: Vec<SlotName>,
}

/// A text that is no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SlotPlanError {
    /// It is not UTF-8.
    #[error("the plan is not UTF-8")]
    NotUtf8,
    /// It has another form, perhaps that of a later version.
    #[error("the plan does not begin with {HEAD:?}")]
    Head,
    /// A line is neither a member's nor that of free slots.
    #[error("a line of the plan is not one: {0:?}")]
    Line(String),
    /// A member or a slot is there twice.
    #[error("the plan has {0} twice")]
    Twice(SlotName),
}

const HEAD: &str = "slots/1";

impl SlotPlan {
    /// Returns the members, by name.
    pub const fn members(&self) -> &BTreeMap<SlotName, PlannedMember> {
        &self.members
    }

    /// Returns the slots that no member is to hold: all of them, if no member has a weight.
    pub fn free(&self) -> &[SlotName] {
        &self.free
    }

    /// Returns the slots that a member is to hold.
    pub fn slots_of(&self, member: &SlotName) -> &[SlotName] {
        self.members.get(member).map_or(&[], |member| &member.slots)
    }

    /// Returns all slots, each with its owner.
    pub fn owners(&self) -> BTreeMap<&SlotName, Option<&SlotName>> {
        let owned = self
            .members
            .iter()
            .flat_map(|(name, member)| member.slots.iter().map(move |slot| (slot, Some(name))));
        owned.chain(self.free.iter().map(|slot| (slot, None))).collect()
    }

    /// Returns the plan that follows this one for these slots and members with their weights: even, the slots of
    /// each group apart, and with as few slots moved as that allows. `groups` has the sizes of groups: of the first
    /// slots, of those behind them, and so on.
    pub(super) fn next(
        &self,
        (slots, groups): (&[SlotName], &[usize]),
        weights: &BTreeMap<SlotName, u32>,
    ) -> Self {
        let names: Vec<&SlotName> = weights.keys().collect();
        let before = self.owners();
        let index_of = |name: &SlotName| names.binary_search(&name).ok();
        let owner_of = |slot| before.get(slot).copied().flatten().and_then(index_of);
        let owned: Vec<Option<usize>> = slots.iter().map(owner_of).collect();
        let mut owners = owned.clone();
        let mut shares: Vec<Share> = weights.values().copied().map(Share::new).collect();
        rebalance(&mut owners, &mut shares);
        keep_apart(&owned, &mut owners, &shares, groups);
        let mut slots_of = vec![Vec::new(); names.len()];
        let mut free = Vec::new();
        for (slot, owner) in slots.iter().zip(owners) {
            let list = owner.and_then(|at| slots_of.get_mut(at)).unwrap_or(&mut free);
            list.push(slot.clone());
        }
        let members = weights.iter().zip(slots_of);
        let member = |((name, &weight), slots): ((&SlotName, &u32), _)| {
            (name.clone(), PlannedMember { weight, slots })
        };
        Self { members: members.map(member).collect(), free }
    }

    /// Reads the data of a plan's znode.
    ///
    /// # Errors
    ///
    /// It is no plan.
    pub fn decode(data: &[u8]) -> Result<Self, SlotPlanError> {
        core::str::from_utf8(data).map_err(|_| SlotPlanError::NotUtf8)?.parse()
    }

    /// Returns the data of the plan's znode.
    pub fn encode(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }
}

impl FromStr for SlotPlan {
    type Err = SlotPlanError;

    fn from_str(text: &str) -> Result<Self, SlotPlanError> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(SlotPlanError::Head);
        }
        let (mut plan, mut seen) = (Self::default(), BTreeSet::new());
        for line in lines {
            let no_line = || SlotPlanError::Line(line.to_string());
            let mut words = line.split(' ');
            let mut name = || words.next().and_then(|word| word.parse::<SlotName>().ok());
            let kind = name().ok_or_else(no_line)?;
            let member = match &*kind {
                "member" => {
                    let name = name().ok_or_else(no_line)?;
                    let weight = words.next().and_then(|word| word.parse().ok());
                    Some((name, weight.ok_or_else(no_line)?))
                }
                "free" => None,
                _ => return Err(no_line()),
            };
            let slots: Result<Vec<SlotName>, _> = words.map(str::parse).collect();
            let slots = slots.map_err(|_| no_line())?;
            for slot in &slots {
                if !seen.insert(slot.clone()) {
                    return Err(SlotPlanError::Twice(slot.clone()));
                }
            }
            match member {
                Some((name, weight)) => {
                    let member = PlannedMember { weight, slots };
                    if plan.members.insert(name.clone(), member).is_some() {
                        return Err(SlotPlanError::Twice(name));
                    }
                }
                None => plan.free.extend(slots),
            }
        }
        Ok(plan)
    }
}

impl fmt::Display for SlotPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        let list = |slots: &[SlotName], f: &mut fmt::Formatter<'_>| {
            slots.iter().try_for_each(|slot| write!(f, " {slot}"))?;
            writeln!(f)
        };
        for (name, PlannedMember { weight, slots }) in &self.members {
            write!(f, "member {name} {weight}")?;
            list(slots, f)?;
        }
        write!(f, "free")?;
        list(&self.free, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> SlotName {
        text.parse().unwrap()
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let slots: Vec<SlotName> = (0..5).map(|slot| name(&slot.to_string())).collect();
        let weights = [("b", 1), ("a", 1), ("c", 0)];
        let weights = weights.map(|(member, weight)| (name(member), weight)).into();
        let plan = SlotPlan::default().next((&slots, &[]), &weights);
        let text = "slots/1\nmember a 1 0 2 4\nmember b 1 1 3\nmember c 0\nfree\n";
        assert_eq!(plan.to_string(), text);
        assert_eq!(SlotPlan::decode(&plan.encode()), Ok(plan.clone()));
        let drained = plan.next((&slots, &[]), &[(name("c"), 0)].into());
        assert_eq!(drained.free(), slots);
        assert_eq!(SlotPlan::decode(&drained.encode()), Ok(drained));
    }

    #[test]
    fn nonsense_is_no_plan() {
        let line = |text: &str| Err(SlotPlanError::Line(text.to_string()));
        for (text, expected) in [
            ("", Err(SlotPlanError::Head)),
            ("slots/2\nfree\n", Err(SlotPlanError::Head)),
            ("slots/1\nmember a\n", line("member a")),
            ("slots/1\nmember a many\n", line("member a many")),
            ("slots/1\nmember a 1  2\n", line("member a 1  2")),
            ("slots/1\nmember a 1 x/y\n", line("member a 1 x/y")),
            ("slots/1\n\n", line("")),
            ("slots/1\nother\n", line("other")),
            ("slots/1\nmember a 1 0\nfree 0\n", Err(SlotPlanError::Twice(name("0")))),
            ("slots/1\nmember a 1\nmember a 1\n", Err(SlotPlanError::Twice(name("a")))),
        ] {
            assert_eq!(text.parse::<SlotPlan>(), expected, "{text:?}");
        }
        assert_eq!(SlotPlan::decode(&[0xff]), Err(SlotPlanError::NotUtf8));
    }

    #[test]
    fn names_are_parts_of_paths_without_spaces() {
        let long = "x".repeat(SlotName::MAX_LEN);
        for text in ["0", "orders-7", "ä", &long] {
            assert_eq!(name(text).as_str(), text);
        }
        let longer = long.clone() + "x";
        for text in ["", ".", "..", "a/b", "a b", "a\nb", "a\u{a0}b", "\u{0}", &longer] {
            assert!(text.parse::<SlotName>().is_err(), "{text:?}");
        }
    }
}

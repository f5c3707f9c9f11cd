//! The laws of plans of slots: even, and no slot moved that need not be.

use std::collections::BTreeMap;

use election_session::slots::{SlotName, SlotPlan};
use zk_embedded::Database;
use zk_jute::Zxid;
use zk_jute::records::Stat;

use super::{Apart, Broken};

/// The node of the slots of a run.
pub const SLOTS: &str = "/slots";

/// The moves that a plan may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moves {
    /// As few as there can be.
    Fewest,
    /// Some more, to take slots apart.
    Apart,
}

/// The knowledge of the plan.
#[derive(Debug, Default)]
pub struct PlanBook {
    /// The plan that was committed last, and what is known of its znode.
    plan: Option<SlotPlan>,
    znode: Option<Stat>,
    /// The plans that an operator may have written.
    of_operators: Vec<String>,
    apart: Apart,
    /// What was planned so far.
    pub counts: PlanCounts,
}

/// The counts of plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCounts {
    /// Plans that planners wrote.
    pub plans: u64,
    /// The slots that these moved.
    pub moved: u64,
    /// Plans that were not held against the one before: it was deleted or overwritten, or none saw it.
    pub excused: u64,
    /// Plans that had slots to keep apart.
    pub apart: u64,
    /// Plans with a member that was drained.
    pub drained: u64,
}

impl PlanBook {
    /// Makes the book of slots of which these are to be apart.
    pub fn new(apart: Apart) -> Self {
        Self { apart, ..Self::default() }
    }

    /// Returns the slots that are to be apart.
    pub const fn apart(&self) -> &Apart {
        &self.apart
    }

    /// An operator is about to write this where the plan stands.
    pub fn operator_writes(&mut self, text: &str) {
        self.of_operators.push(text.to_owned());
    }

    /// Returns the plan that was committed last, and how it was written.
    pub fn last(&self) -> Option<(&SlotPlan, Zxid)> {
        Some((self.plan.as_ref()?, self.znode?.mzxid))
    }

    /// Takes in what a server shows. Returns a plan that a planner has written since.
    ///
    /// # Errors
    ///
    /// The plan breaks a law.
    pub fn take_in(&mut self, database: &Database) -> Result<Option<SlotPlan>, Broken> {
        let shown = database.znode(&format!("{SLOTS}/plan"));
        let before = self.znode;
        let Some((stat, data)) = shown.map(|it| (it.stat(), it.data().unwrap_or_default())) else {
            return Ok(None);
        };
        if before.is_some_and(|before| stat.mzxid <= before.mzxid) {
            return Ok(None);
        }
        self.znode = Some(stat);
        let text = String::from_utf8_lossy(data);
        let is_of_operator = self.of_operators.iter().any(|written| *written == text);
        let Ok(plan) = text.parse::<SlotPlan>() else {
            // The next one cannot be held against a plan that its planner need not have seen.
            self.plan = None;
            let nonsense = Err(format!("a planner writes nonsense: {text:?}"));
            return if is_of_operator { Ok(None) } else { nonsense };
        };
        let is_next = before.is_some_and(|before| {
            before.czxid == stat.czxid && before.version.get() + 1 == stat.version.get()
        });
        let last = self.plan.replace(plan.clone()).filter(|_| is_next);
        if is_of_operator {
            return Ok(None);
        }
        let moves = if self.apart.is_empty() { Moves::Fewest } else { Moves::Apart };
        self.counts.check(last.as_ref(), &plan, moves)?;
        self.counts.apart += u64::from(moves == Moves::Apart);
        self.apart.check(&plan)?;
        Ok(Some(plan))
    }
}

impl PlanCounts {
    /// Checks a plan of a planner.
    fn check(
        &mut self,
        last: Option<&SlotPlan>,
        plan: &SlotPlan,
        moves: Moves,
    ) -> Result<(), Broken> {
        self.plans += 1;
        self.drained += u64::from(plan.members().values().any(|member| member.weight == 0));
        let parts = Parts::of(plan);
        if let Some(law) = parts.unevenness(plan) {
            return Err(format!("{law} in {plan}"));
        }
        let Some(last) = last else {
            self.excused += 1;
            return Ok(());
        };
        let owners = last.owners();
        let owned = plan.owners();
        let stays = |slot: &SlotName, owner: Option<&SlotName>| {
            owner.is_some() && owners.get(slot).copied().flatten() == owner
        };
        let kept = owned.iter().filter(|(slot, owner)| stays(slot, **owner)).count();
        let others =
            owned.keys().filter(|slot| owners.get(**slot).is_some_and(Option::is_some)).count()
                - kept;
        self.moved += u64::try_from(others).unwrap_or(u64::MAX);
        let most = parts.most_that_can_stay(last, plan);
        if kept < most && moves == Moves::Fewest {
            return Err(format!("{kept} slots stay of {most} that could, from {last} to {plan}"));
        }
        Ok(())
    }
}

/// The parts of members by their weights, reckoned anew: rounded down, and whether a fraction is left.
struct Parts {
    of: BTreeMap<SlotName, (usize, bool)>,
    /// Slots that are over when all parts are rounded down.
    over: usize,
}

impl Parts {
    fn of(plan: &SlotPlan) -> Self {
        let slots = plan.owners().len();
        let weights: usize = plan.members().values().map(|member| weight(member.weight)).sum();
        let part = |own: usize| match weights {
            0 => (0, false),
            _ => (slots * own / weights, !(slots * own).is_multiple_of(weights)),
        };
        let of: BTreeMap<_, _> = plan
            .members()
            .iter()
            .map(|(name, member)| (name.clone(), part(weight(member.weight))))
            .collect();
        let over = slots - of.values().map(|(down, _)| down).sum::<usize>();
        Self { of, over }
    }

    fn unevenness(&self, plan: &SlotPlan) -> Option<String> {
        let is_uneven = |(name, (down, has_fraction)): (&SlotName, &(usize, bool))| {
            let held = plan.slots_of(name).len();
            !(held == *down || (*has_fraction && held == down + 1))
        };
        let has_weight = plan.members().values().any(|member| member.weight > 0);
        let uneven = self.of.iter().find(|it| is_uneven(*it));
        match uneven {
            Some((name, _)) => Some(format!("{name} has no even part")),
            None => (has_weight && !plan.free().is_empty()).then(|| "slots are free".to_owned()),
        }
    }

    /// Returns how many slots could stay with their owners in any even plan.
    fn most_that_can_stay(&self, last: &SlotPlan, plan: &SlotPlan) -> usize {
        let listed = plan.owners();
        let held = |name: &SlotName| {
            last.slots_of(name).iter().filter(|slot| listed.contains_key(slot)).count()
        };
        let down: usize = self.of.iter().map(|(name, (down, _))| held(name).min(*down)).sum();
        let up = self
            .of
            .iter()
            .filter(|(name, (down, has_fraction))| *has_fraction && held(name) > *down);
        down + up.count().min(self.over)
    }
}

fn weight(weight: u32) -> usize {
    usize::try_from(weight).unwrap_or(usize::MAX)
}

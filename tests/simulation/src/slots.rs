//! How clients of a run share slots.

use core::time::Duration;

use election_core::NomineeId;
use election_session::slots::{SlotName, SlotPauses};

use super::recipes::{Apart, SLOTS};

/// The slots of a run.
pub(super) const COUNT: u32 = 6;
/// The node of the candidates of members.
pub(super) const MEMBERS: &str = "/slots/members";
/// The node of the plan.
pub(super) const PLAN: &str = "/slots/plan";

/// The node below which an operator creates one of the name of each member that it drains.
pub(super) const DRAINED: &str = "/slots/drained";

/// The terms on which a client shares slots.
#[derive(Clone, Debug)]
pub(super) struct SlotTerms {
    pub(super) id: NomineeId,
    pub(super) apart: Vec<Vec<SlotName>>,
    pub(super) weight: u32,
    pub(super) pauses: SlotPauses,
    pub(super) give_up_within: Duration,
}

/// How a work on a slot comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkEnds {
    /// Its user drops the guard.
    ByItself,
    /// Its user was asked to.
    AsAsked,
}

impl SlotTerms {
    pub(super) fn draw(rng: &mut fastrand::Rng, id: NomineeId, apart: &Apart) -> Self {
        let mut millis = |of: [u64; 3]| Duration::from_millis(rng.choice(of).unwrap_or(0));
        let pauses =
            SlotPauses { gather: millis([0, 200, 1_000]), spread: millis([200, 1_000, 3_000]) };
        let give_up_within = millis([50, 500, 2_000]);
        let weight = if rng.u8(..4) == 0 { 2 } else { 1 };
        let named = |group: &Vec<u32>| group.iter().copied().map(slot).collect();
        let apart = apart.groups().iter().map(named).collect();
        Self { id, apart, weight, pauses, give_up_within }
    }
}

/// Returns the names of all slots.
pub(super) fn slots() -> impl Iterator<Item = SlotName> {
    (0..COUNT).map(slot)
}

fn slot(number: u32) -> SlotName {
    number.to_string().parse().expect("digits are a name")
}

/// Returns the name of a client among the members.
pub(super) fn member(client: usize) -> SlotName {
    format!("m{client}").parse().expect("it is a name")
}

/// Returns the path that drains a client while it exists.
pub(super) fn drain_of(client: usize) -> String {
    format!("{DRAINED}/{}", member(client))
}

/// Returns the path of a slot's lock.
pub(super) fn lock_of(slot: &str) -> String {
    format!("{SLOTS}/slots/{slot}")
}

/// Returns the path to which the holders of a slot write, each its token.
pub(super) fn ledger_of(slot: &str) -> String {
    format!("/ledger-of-slot-{slot}")
}

//! Slots shared out among members: a plan, its planner, and a holder of what the plan gives it.
//!
//! The plan is one znode that says which member is to hold which slot. One member at a time plans:
//! the leader of an election among them, whose writes are [guarded](election_core::Op) by its
//! candidate and name the version that they replace. All members read the plan. Each slot is a
//! lock, so a plan that is out of date, or nonsense, costs time and never lets two hold one slot.

mod holder;
mod name;
mod plan;
mod planner;

pub use holder::{GuardEnd, SlotHolder, SlotTask};
pub use name::{SlotName, SlotNameError};
pub use plan::{PlannedMember, SlotPlan, SlotPlanError};
pub use planner::{SlotDecision, SlotPauses, SlotPlanner};

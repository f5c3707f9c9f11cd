//! A second verdict on the runs of this repository, by a checker that others wrote.
//!
//! A run notes each operation in a [`History`]: when it was invoked, and when it ended how. [`judge`] asks the
//! checker of linearizability of the crate `todc-utils` (the algorithm of Wing and Gong, as Lowe and Horn and
//! Kroening made it fast) whether there is an order of the operations, each at a moment between its invocation
//! and its end, that the specification of the object allows. What is specified is in [`kinds`].
//!
//! An operation whose outcome is not known may take effect at any moment after its invocation, or never.
#![forbid(unsafe_code)]

extern crate alloc;

mod history;
mod judge;
pub mod kinds;
mod lines;
mod operation;
mod spec;

pub use self::history::{Call, CallId, End, History};
pub use self::judge::{Finding, Unfit, Verdict, judge};
pub use self::lines::NotALine;
pub use self::operation::{Mode, Op};

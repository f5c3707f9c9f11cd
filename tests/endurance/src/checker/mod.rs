//! Counts the writes that are lost, by the kind of guard, while leaders in separate processes write to
//! registers on a real ensemble, under all kinds of faults.
//!
//! Each writer stands for election and, while it leads, reads a register, works for a while, and
//! writes. There are four registers, each with a [`Guard`]. A run should show that the weaker guards
//! lose writes, and the stronger ones lose none: no library can keep a process from acting if it was
//! stopped between its look and its act.

mod faults;
mod guard;
mod picture;
mod process;
mod register;
mod report;
mod run;
mod second;
mod service;
mod verdict;
mod writer;

pub use guard::{Guard, UnknownGuard};
pub use picture::picture;
pub use register::Tally;
pub use run::{CheckError, Settings, check};
pub use verdict::Verdict;
pub use writer::write;

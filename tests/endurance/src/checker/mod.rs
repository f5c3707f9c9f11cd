//! Leaders that are processes of their own write to registers under all kinds of faults, on a real
//! ensemble: how many writes are lost, by what guards them.
//!
//! Each writer stands for election and, while it leads, reads a register, works for a while, and writes.
//! There are four registers, one a [`Guard`]. What is to be seen is that the weaker guards lose writes,
//! since no library can keep a process from acting that was stopped between its look and its act, and
//! that the stronger ones lose none.

mod faults;
mod guard;
mod picture;
mod process;
mod register;
mod report;
mod run;
mod service;
mod verdict;
mod writer;

pub use guard::{Guard, UnknownGuard};
pub use picture::picture;
pub use register::Tally;
pub use run::{CheckError, Settings, check};
pub use verdict::Verdict;
pub use writer::write;

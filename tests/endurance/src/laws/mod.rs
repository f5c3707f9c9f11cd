//! The laws that a run has to obey, each in a file of its own. They are checked after the run, from the
//! records of the clients and the final state of the ensemble. Each law's tests break it.

pub mod holds;
pub mod orders;
pub mod reads;
pub mod seals;
pub mod views;
pub mod vigils;
pub mod writes;

//! What a run has to obey, each law in a file of its own, checked after the run from what the
//! clients recorded and what the ensemble holds in the end. Each law's tests break it.

pub mod holds;
pub mod orders;
pub mod reads;
pub mod seals;
pub mod views;
pub mod vigils;
pub mod writes;

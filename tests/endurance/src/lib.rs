//! Endurance: clients at work on a real ensemble while its members are killed, frozen and restarted,
//! and whether each acknowledged write and each watch was kept.
//!
//! - [`workload`] is what the clients do, a file for each kind of client: each notes down what it
//!   was told, in a [`Record`].
//! - [`faults`] is what happens to the ensemble meanwhile.
//! - [`archive`] reads what the ensemble holds in the end, and clears it away.
//! - [`laws`] hold the one against the other.
//! - [`evidence`] reads in the members' logs what ZooKeeper itself loses.
//! - [`verdict`] weighs what is broken against it.
//! - [`run()`] does all of it; [`provoke_a_loss`] shows what servers can do by themselves.
//!
//! [`checker`] is another run on such an ensemble: it counts the writes that leaders lose, by what guards them.
//!
//! Not published. Unix only. `README.md` beside the manifest says how to run both and what they found.
#![forbid(unsafe_code)]

extern crate alloc;

pub mod archive;
pub mod checker;
pub mod evidence;
pub mod faults;
pub mod laws;
mod provoked;
mod record;
mod run;
mod summary;
mod trees;
pub mod verdict;
pub mod workload;

pub use provoked::provoke_a_loss;
pub use record::Record;
pub use run::{BrokenLaw, run};
pub use summary::Summary;
pub use trees::Diverged;
pub use verdict::{Inconclusive, Verdict};

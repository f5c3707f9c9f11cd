//! Endurance: clients work on a real ensemble while its members are killed, frozen and restarted. The
//! laboratory then checks that each acknowledged write and each watch was kept.
//!
//! - [`workload`] holds the clients, a file for each kind: each client writes down what the servers
//!   tell it, in a [`Record`].
//! - [`faults`] kills, freezes and restarts members meanwhile.
//! - [`archive`] reads the final contents of the ensemble, and clears them away.
//! - [`laws`] compare the records with the contents.
//! - [`histories`] asks a checker that others wrote for a second verdict.
//! - [`evidence`] reads in the members' logs what ZooKeeper itself loses.
//! - [`verdict`] weighs the broken laws against that evidence.
//! - [`run()`] does all of it; [`provoke_a_loss`] shows what servers can do by themselves.
//!
//! [`checker`] is another run on such an ensemble: it counts the writes that leaders lose, by the kind
//! of guard.
//!
//! Not published. Unix only. `README.md` beside the manifest says how to run both and what they found.
#![forbid(unsafe_code)]

extern crate alloc;

pub mod archive;
pub mod checker;
pub mod evidence;
pub mod faults;
pub mod histories;
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

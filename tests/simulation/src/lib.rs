//! The simulation: an ensemble, a network, clients and their clocks in one thread and in virtual
//! time, from one seed.
//!
//! A seed decides a [`Plan`]: how many servers and clients there are, how their clocks run, and which
//! incidents happen at which time. [`run`] plays the plan. The clients run the real `election-session`,
//! the servers run the core of `zk-embedded`, and they exchange the bytes of `zk-jute`. After every
//! step, the simulation checks the [laws](Law) against what is visible from outside the world, in true
//! time. A run that breaks a law is the same each time, can be [shrunk](shrink) and can be told as a
//! [`Story`].
//!
//! [`recipes`] compares what the users of barriers, queues and counters are told with what is
//! committed. The storm (`tests/storm`) uses it, too, and the [`ensemble`].
//!
//! Not published. `README.md` beside the manifest says how to run it and what it found.
#![forbid(unsafe_code)]

extern crate alloc;

mod addition;
mod agenda;
mod checker;
mod chronicle;
mod client;
mod clock;
mod cuts;
mod ending;
pub mod ensemble;
mod heartbeats;
mod incident;
mod keeper;
mod links;
mod locks;
mod many;
mod network;
mod operating;
mod outcome;
mod pipe;
mod plan;
mod profile;
mod queue;
mod reasons;
pub mod recipes;
mod round;
mod run;
mod schedule;
mod server;
mod server_list;
mod shrink;
mod slots;
mod story;
// A recipe that none of the published crates knows.
#[path = "../../../election-session/tests/toy/mod.rs"]
mod toy;
mod uses;
mod world;

pub use addition::Addition;
pub use clock::Time;
pub use cuts::{Cuts, Lost};
pub use ending::{Ending, Moment};
pub use incident::{Ban, Heading, Incident, Others, Place, What, Who, Whom};
pub use links::Impairment;
pub use operating::GivingUp;
pub use outcome::{
    HistoryStats, Law, LockStats, OperatingStats, Outcome, SlotStats, Stats, TreeStats, UseStats,
    Violation,
};
pub use plan::Plan;
pub use profile::{Profile, UnknownName, parse_grade};
pub use queue::Queue;
pub use run::{keep_panics_quiet, run};
pub use server_list::ServerList;
pub use shrink::shrink;
pub use story::{Recording, Story};

//! The laboratory: what the tests of this workspace stand on.
//!
//! - [`zookeeper`] runs real Apache ZooKeeper servers, one or an ensemble of three, and kills,
//!   pauses and restarts them.
//! - [`server`] lets one and the same test run on those and on the embedded server.
//! - [`proxy`] stands between a client and a server, counts the frames that pass and breaks the
//!   connection in chosen ways at chosen frames.
//! - [`raw`] is a small blocking client, written apart from this workspace's codec, so that a
//!   mistake in the codec cannot hide itself.
//! - [`certificates`] makes certificates for servers and clients that speak TLS.
//! - [`election`] gives each test of elections a place of its own and waits for roles, [`nominee`]
//!   runs nominees as processes of their own, [`history`] checks that no two led at once.
//! - [`contender`] checks that no two processes, of whichever library, held one lock at once.
//! - [`checker`] counts the writes that leaders lose under faults, by what guards them.
//! - [`endurance`] sets clients to work on an ensemble, strikes it with faults, and checks that each
//!   acknowledged write and each watch was kept.
//! - [`simulation`] runs the real state machines against an ensemble in virtual time.
//! - [`recipes`] holds what users of barriers, queues and counters are told against what is committed.
//! - [`sasl`] runs servers that know users by SASL, [`identities`] finds out whom a server knows.
//! - [`wait`] waits for a condition, within a bound, instead of sleeping.
//! - [`failure`] lets a test use `?` on any error and still print it in full.
//!
//! Nothing here is published. Unix only. `README.md` beside the manifest shows how to use it.
#![forbid(unsafe_code)]

extern crate alloc;

pub mod certificates;
pub mod checker;
pub mod contender;
pub mod election;
pub mod endurance;
pub mod failure;
pub mod history;
pub mod identities;
pub mod nominee;
pub mod opcode;
mod ports;
pub mod proxy;
pub mod raw;
pub mod recipes;
pub mod sasl;
pub mod server;
pub mod simulation;
// A recipe that none of the published crates knows.
#[path = "../../election-session/tests/toy/mod.rs"]
mod toy;
pub mod wait;
pub mod zookeeper;

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// So do those of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ProjectReadme;

/// And those of the pages about recipes.
#[cfg(doctest)]
#[doc = include_str!("../../docs/barrier.md")]
struct BarrierPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/configuration.md")]
struct ConfigurationPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/counter.md")]
struct CounterPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/double-barrier.md")]
struct DoubleBarrierPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/group-membership.md")]
struct GroupMembershipPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/lock.md")]
struct LockPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/names.md")]
struct NamesPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/operating.md")]
struct OperatingPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/queue.md")]
struct QueuePage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/revocable-lock.md")]
struct RevocableLockPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/semaphore.md")]
struct SemaphorePage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/shared-lock.md")]
struct SharedLockPage;

#[cfg(doctest)]
#[doc = include_str!("../../docs/two-phase-commit.md")]
struct TwoPhaseCommitPage;

/// And those of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/errors.md")]
struct GuideErrors;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/first-program.md")]
struct GuideFirstProgram;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/how-it-works.md")]
struct GuideHowItWorks;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/moving.md")]
struct GuideMoving;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/production.md")]
struct GuideProduction;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/promises.md")]
struct GuidePromises;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/questions.md")]
struct GuideQuestions;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/runtimes.md")]
struct GuideRuntimes;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/testing.md")]
struct GuideTesting;

//! The parts that the suites share, beside the kit: processes that take part in elections, locks
//! and recipes.
//!
//! - [`nominee`] runs nominees as processes of their own.
//! - [`contender`] checks that no two processes, of any libraries, held one lock at once.
//!
//! The rest is in `tests/`, a file or a folder for each suite. `README.md` beside the manifest lists them.
#![forbid(unsafe_code)]

extern crate alloc;

pub mod contender;
pub mod nominee;

/// The examples of the project's README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ProjectReadme;

/// And those of the pages about recipes.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/barrier.md")]
struct BarrierPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/configuration.md")]
struct ConfigurationPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/counter.md")]
struct CounterPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/double-barrier.md")]
struct DoubleBarrierPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/group-membership.md")]
struct GroupMembershipPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/lock.md")]
struct LockPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/names.md")]
struct NamesPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/operating.md")]
struct OperatingPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/queue.md")]
struct QueuePage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/revocable-lock.md")]
struct RevocableLockPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/semaphore.md")]
struct SemaphorePage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/shared-lock.md")]
struct SharedLockPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/slots.md")]
struct SlotsPage;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/two-phase-commit.md")]
struct TwoPhaseCommitPage;

/// And those of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/errors.md")]
struct GuideErrors;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/first-program.md")]
struct GuideFirstProgram;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/how-it-works.md")]
struct GuideHowItWorks;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/moving.md")]
struct GuideMoving;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/production.md")]
struct GuideProduction;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/promises.md")]
struct GuidePromises;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/questions.md")]
struct GuideQuestions;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/runtimes.md")]
struct GuideRuntimes;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/testing.md")]
struct GuideTesting;

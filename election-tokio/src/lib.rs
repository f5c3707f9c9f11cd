//! Leader election on Apache ZooKeeper, and the client below it, for tokio.
//!
#![doc = include_str!("../README.md")]
//!
//! # Recipes
//!
//! | module | begins with | | costs, hazards |
//! |---|---|---|---|
//! | [`election`] | `client.election("/app/leader").nominate()?` | one leader; observers; operators move or end the lead | [page][election-page] |
//! | [`lock`] | `client.lock("/app/lock").lock().await?` | one holder at a time, in the order of asking, or readers together; several at once; revocable | [page][lock-page] |
//! | [`once`] | `client.once("/app/nightly", period).begin().await?` | of machines that start a job, one runs it in a period | [page][once-page] |
//! | [`slots`] | `client.slots("/app/shards", 40).join("host-7")?` | shards, each held by one of the members, evenly | [page][slots-page] |
//! | [`semaphore`] | `client.semaphore("/app/convert", three).acquire().await?` | a fixed number of permits | [page][semaphore-page] |
//! | [`barrier`] | `client.barrier("/app/gate").wait().await?`, `double_barrier` | waiters pass once it is lifted; participants begin and end together | [page][barrier-page] |
//! | [`queue`] | `client.queue("/app/jobs").take().await?`, `priority_queue` | each item to one taker: at most once, or at least once | [page][queue-page] |
//! | [`commit`] | `client.two_phase_commit("/app/tx").join("a").await?` | one decision for all sites | [page][commit-page] |
//! | [`group`] | `client.group("/app/workers").join("10.0.0.5").await?` | members, and views of all of them at one moment | [page][group-page] |
//! | [`config`] | `client.config::<String>("/app/limit").watch()` | a typed value, watched, replaced by its version | [page][config-page] |
//! | [`cache`] | `client.cache("/config").keep()?` | a tree in memory, with a stream of its changes | [page][cache-page] |
//! | [`names`] | `client.names("/app/names").register("db", "10.0.0.5").await?` | a name with one registrar | [page][names-page] |
//! | [`counter`] | `client.counter("/app/done").add(1).await?` | a number; no change is made twice | [page][counter-page] |
//! | [`recipe`] | `client.stand("/rounds/7", machine)?` | a recipe of your own | [page][recipe-page] |
//!
//! A future of a recipe that is dropped leaves no watch and no ephemeral znode behind. Where other libraries
//! have the recipe, the default layout is that of one of them, and [`format`](mod@format) has the others.
//!
//! At the root are the client and its operations. What belongs to them is in [`acl`], [`ensemble`],
//! [`error`], [`health`], [`lease`], [`sasl`], [`session`], [`source`], [`transport`] and [`watch`], and with their
//! features in `tls` and `metrics`.
//!
//! [election-page]: https://github.com/zk-election/zk-election/blob/main/docs/operating.md
//! [lock-page]: https://github.com/zk-election/zk-election/blob/main/docs/lock.md
//! [once-page]: https://github.com/zk-election/zk-election/blob/main/docs/once.md
//! [slots-page]: https://github.com/zk-election/zk-election/blob/main/docs/slots.md
//! [semaphore-page]: https://github.com/zk-election/zk-election/blob/main/docs/semaphore.md
//! [barrier-page]: https://github.com/zk-election/zk-election/blob/main/docs/barrier.md
//! [queue-page]: https://github.com/zk-election/zk-election/blob/main/docs/queue.md
//! [commit-page]: https://github.com/zk-election/zk-election/blob/main/docs/two-phase-commit.md
//! [group-page]: https://github.com/zk-election/zk-election/blob/main/docs/group-membership.md
//! [config-page]: https://github.com/zk-election/zk-election/blob/main/docs/configuration.md
//! [cache-page]: https://github.com/zk-election/zk-election/blob/main/docs/cache.md
//! [names-page]: https://github.com/zk-election/zk-election/blob/main/docs/names.md
//! [counter-page]: https://github.com/zk-election/zk-election/blob/main/docs/counter.md
//! [recipe-page]: https://github.com/zk-election/zk-election/blob/main/docs/guide/src/runtimes.md
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// Enums and structs of this crate may grow: they are `#[non_exhaustive]`, except errors of a single
// case. Each public name has one path: at the root what belongs to the client and its znodes, in a
// module what belongs to a recipe or a theme.

// rustdoc shows the methods of a type in the order of modules: the client's own come first.
mod client;

pub mod election;

pub mod acl;
pub mod barrier;
mod broadcast;
pub mod cache;
mod clock;
mod codec;
pub mod config;
pub mod counter;
mod double_barrier;
mod driver;
pub mod error;
pub mod group;
pub mod health;
mod hearing;
mod held;
mod hub;
mod ids;
pub mod lock;
pub mod names;
pub mod once;
mod ordered_children;
mod path;
mod queues;
pub mod recipe;
pub mod sasl;
pub mod semaphore;
pub mod slots;
pub mod source;
mod spot;
mod standing;
mod state;
mod telemetry;
#[cfg(feature = "tls")]
pub mod tls;
pub mod transport;
mod two_phase_commit;
mod updates;

pub use client::{
    Children, Client, ClientBuilder, CloseError, ConnectError, CreateMode, Created, MultiRead,
    OperationOutcome, ReadOutcome, Transaction, TransactionError, Ttl, TtlError,
};
pub use error::operation::{Error, ErrorKind};
pub use held::GuardedTransaction;
pub use state::{ConnectFailure, ConnectionState};
pub use updates::{NoMoreUpdates, Updates};

pub use bytes::Bytes;
pub use election_core::{NomineeId, Token};
pub use zk_jute::records::Stat;
pub use zk_jute::{ErrorCode, SessionId, Version, Zxid};
pub use zk_session::ZnodePath;

/// Two-phase commit: sites vote, and all of them learn one decision.
///
/// Begin with [`Client::two_phase_commit`]. Steps, costs and limits: [two-phase
/// commit](https://github.com/zk-election/zk-election/blob/main/docs/two-phase-commit.md).
pub mod commit {
    pub use election_core::commit::{
        CommitFailure, CommitState, Decision, InvalidSites, SiteName, SiteNameError, SiteState,
    };

    pub use crate::two_phase_commit::{
        CommitCoordinator, CommitError, CommitParticipant, CommitStatus, SiteStatus, TwoPhaseCommit,
    };
}

/// The members of the ensemble, changing them, and the kinds and versions of servers.
///
/// [`Client::get_config`] reads the members, [`Client::reconfigure`] changes them,
/// [`Client::server_family`] tells the kind of server.
pub mod ensemble {
    pub use zk_session::{Rollback, ServerFamily};

    pub use crate::client::{
        EnsembleConfig, EnsembleMember, EnsembleMemberRole, ParseEnsembleMemberError,
        Reconfiguration, ServerVersion,
    };
}

/// Formats of elections and locks: those of other libraries, the parts to make one of your own, and
/// the results of applying a format to the children of a node.
///
/// [The guide](https://github.com/zk-election/zk-election/blob/main/docs/guide/src/moving.md) lists
/// the libraries.
///
/// ```no_run
/// # fn example(client: election_tokio::Client) {
/// use election_tokio::format::Format;
///
/// // Stands in one queue with the clients of kazoo.
/// let election = client.election("/app/leader").format(Format::kazoo());
/// # }
/// ```
pub mod format {
    pub use election_core::format::{
        Child, Downgrade, Format, IdInName, Label, Layout, LayoutError, Recovery, Revocation,
    };
}

/// Leases: until when a holder may act without asking.
///
/// [`ClientBuilder::lease_grade`] chooses the proof; [the
/// lease](https://github.com/zk-election/zk-election/blob/main/docs/lease.md) says what each grade
/// holds and costs.
pub mod lease {
    pub use election_session::KeepReady;
    pub use zk_session::lease::{HeartbeatPace, LeaseGrade, LeaseMargin, LeaseOutlook};
}

/// Queues: many clients put items, and each item goes to one taker.
///
/// Begin with [`Client::queue`] or [`Client::priority_queue`]. Layouts, costs and limits:
/// [queue](https://github.com/zk-election/zk-election/blob/main/docs/queue.md).
pub mod queue {
    pub use election_core::queue::{
        ItemName, PriorityError, QueueFormat, SiblingQueue, TakerFailure,
    };

    pub use crate::queues::{
        ClaimError, ClaimLost, Claimed, PriorityQueue, PutError, Queue, QueueItem, TakeError,
    };
}

/// Sessions: how one ends, what follows, and handing one over to another process.
///
/// [`ClientBuilder`] sets what is here; [`Client::detach`] makes the ticket. Bounds and what goes
/// along: [from one process to the
/// next](https://github.com/zk-election/zk-election/blob/main/docs/client.md#from-one-process-to-the-next).
///
/// ```no_run
/// # async fn old(client: election_tokio::Client, nomination: election_tokio::election::Nomination)
/// #     -> Result<(String, election_tokio::NomineeId), Box<dyn std::error::Error>> {
/// let id = nomination.id();
/// let ticket = client.detach()?.expose(); // holds the session's password
/// drop(nomination); // after the detach: before it, this would delete the candidate
/// # Ok((ticket, id)) }
/// # async fn new(ticket: String, id: election_tokio::NomineeId)
/// #     -> Result<(), Box<dyn std::error::Error>> {
/// use election_tokio::Client;
/// use election_tokio::session::IfGone;
///
/// let builder = Client::builder("zk1:2181,zk2:2181/app");
/// let client = builder.resume(ticket.parse()?, IfGone::Fail).connect().await?;
/// let mut nomination = client.election("/leader").take_over(id)?;
/// let leadership = nomination.elected().await?; // the same candidate, the same token
/// # Ok(()) }
/// ```
pub mod session {
    pub use election_session::{IfGone, OnExpiry};
    pub use zk_session::{
        Backoff, Expiry, Limits, ReadOnlyServers, SessionEnd, SessionTicket, SilentServers,
        WhileDisconnected,
    };

    pub use crate::client::NoSession;
}

/// Watches: those that fire once, and those that stay.
///
/// [`Client::get_data_and_watch`] and [`Client::add_watch`] leave one. What each kind reports:
/// [watches](https://github.com/zk-election/zk-election/blob/main/docs/client.md#watches).
///
/// ```no_run
/// # async fn example(client: election_tokio::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use election_tokio::watch::{WatchMode, WatchUpdate};
///
/// let mut watch = client.add_watch("/config", WatchMode::PersistentRecursive).await?;
/// // Read here: the watch yields each change from now on.
/// while let Some(update) = watch.next().await {
///     match update? {
///         WatchUpdate::Changed { path, event } => println!("{path}: {}", event.kind),
///         WatchUpdate::ChangesMissed => println!("read all of it again"),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub mod watch {
    pub use zk_jute::records::{EventType, WatcherType};
    pub use zk_session::WatchMode;

    pub use crate::client::{OneshotWatch, PersistentWatch, WatchEvent, WatchLost, WatchUpdate};
}

/// Metrics, by the facade of the crate [`metrics`](https://docs.rs/metrics).
#[cfg(feature = "metrics")]
pub mod metrics {
    pub use crate::telemetry::metrics::describe_metrics;
}

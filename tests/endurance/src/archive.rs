//! The contents of the ensemble.

use core::time::Duration;

use election_tokio::{Client, CreateMode, Error, Zxid};
use zk_test_kit::election::{LASTING, connect};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{Ensemble, Member};

use super::laws::seals::Seal;
use super::laws::writes::Entry;
use super::workload::{
    ELECTION, FLAGS, ITEMS, LEDGER, LOCKS, PAIRS, SEALS, SLOTS, left, marks, page_path, right,
    seals,
};

/// Candidates and flags of sessions that expired may take as long as that.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// All that was written to stay, where it is.
#[derive(Debug, Default)]
pub struct Archive {
    /// Each entry and its place; those of one kind in the order in which they were written.
    pub found: Vec<(Entry, String)>,
    /// The entries that leaders wrote, in order.
    pub seals: Vec<Seal>,
    /// The entries of holders that held a lock alone, by lock.
    pub seals_of_locks: [Vec<Seal>; LOCKS.len()],
}

/// Two znodes that were to be written together were not.
#[derive(Debug, thiserror::Error)]
#[error("{pair}: left {left:?}, right {right:?}, and the {marks} marks end with {mark:?}")]
pub struct Torn {
    pair: String,
    left: (i32, String),
    right: (i32, String),
    marks: usize,
    mark: String,
}

/// Something is left behind.
#[derive(Debug, thiserror::Error)]
#[error("left behind: {0:?}")]
pub struct LeftBehind(Vec<String>);

/// Creates the znodes that the workload starts from.
pub(super) async fn lay_out(servers: &str) -> TestResult {
    let client = connect(servers, LASTING).await?;
    for path in [LEDGER, ITEMS, FLAGS, SEALS].into_iter().chain(LOCKS.map(seals)) {
        create(&client, path).await?;
    }
    create(&client, &page_path(0)).await?;
    for pair in PAIRS {
        for path in [pair.to_owned(), left(pair), right(pair), marks(pair)] {
            create(&client, &path).await?;
        }
    }
    client.close().await?;
    Ok(())
}

async fn create(client: &Client, path: &str) -> TestResult {
    client.create(path, "", CreateMode::Persistent).await?;
    Ok(())
}

impl Archive {
    /// Reads everything.
    ///
    /// # Errors
    ///
    /// [`Torn`], data that no client wrote, or no answer.
    pub async fn read(client: &Client) -> Result<Self, TestFailure> {
        let mut archive = Self::default();
        client.sync("/").await?;
        for page in children(client, LEDGER).await? {
            let (data, _) = client.get_data(&page).await?;
            for (line, entry) in core::str::from_utf8(&data)?.lines().enumerate() {
                archive.found.push((entry.parse()?, format!("{page}:{}", line + 1)));
            }
        }
        for path in [ITEMS.to_owned(), marks(PAIRS[0]), marks(PAIRS[1])] {
            for item in children(client, &path).await? {
                archive.found.push((text(client, &item).await?.1.parse()?, item));
            }
        }
        let entries = read_seals(client, SEALS).await?;
        archive.seals = archive.take_in(entries);
        // A member writes to several folders in turn, each other client to one.
        let mut of_slots = Vec::new();
        for (at, lock) in LOCKS.into_iter().enumerate() {
            let entries = read_seals(client, seals(lock)).await?;
            let kept = if lock.starts_with(SLOTS) {
                let kept = entries.iter().map(|entry| entry.seal).collect();
                of_slots.extend(entries);
                kept
            } else {
                archive.take_in(entries)
            };
            if let Some(place) = archive.seals_of_locks.get_mut(at) {
                *place = kept;
            }
        }
        of_slots.sort_by_key(|entry| entry.created);
        archive.take_in(of_slots);
        for pair in PAIRS {
            check_pair(client, pair).await?;
        }
        Ok(archive)
    }

    /// Takes entries in, in their order.
    fn take_in(&mut self, entries: Vec<Sealed>) -> Vec<Seal> {
        let seals = entries.iter().map(|entry| entry.seal).collect();
        self.found.extend(entries.into_iter().map(|entry| (entry.seal.entry, entry.path)));
        seals
    }
}

/// An entry that a leader or a holder wrote.
struct Sealed {
    /// By which transaction.
    created: Zxid,
    seal: Seal,
    path: String,
}

async fn read_seals(client: &Client, at: &str) -> Result<Vec<Sealed>, TestFailure> {
    let mut entries = Vec::new();
    for path in children(client, at).await? {
        let (data, stat) = client.get_data(&path).await?;
        let seal = core::str::from_utf8(&data)?.parse()?;
        entries.push(Sealed { created: stat.czxid, seal, path });
    }
    Ok(entries)
}

/// Written together: of one version, the same data, and a mark for each time.
async fn check_pair(client: &Client, pair: &str) -> TestResult {
    let (left, right) = (text(client, &left(pair)).await?, text(client, &right(pair)).await?);
    let all = children(client, &marks(pair)).await?;
    let mark = match all.last() {
        Some(last) => text(client, last).await?.1,
        None => String::new(),
    };
    let whole = left == right && usize::try_from(left.0)? == all.len() && left.1 == mark;
    let (pair, marks) = (pair.to_owned(), all.len());
    if whole { Ok(()) } else { Err(Torn { pair, left, right, marks, mark }.into()) }
}

/// Waits until what was ephemeral is gone, and clears away the rest.
///
/// # Errors
///
/// [`LeftBehind`], or an ephemeral znode outlives its session.
pub async fn clear(client: &Client) -> TestResult {
    let members = format!("{SLOTS}/members");
    for path in [FLAGS, ELECTION, &members].into_iter().chain(LOCKS) {
        let what = format!("nothing is left in {path}");
        eventually_async(PATIENCE, &what, async || {
            client.sync(path).await.is_ok()
                && children(client, path).await.is_ok_and(|children| children.is_empty())
        })
        .await?;
    }
    for path in [LEDGER, ITEMS, FLAGS, SEALS, ELECTION]
        .into_iter()
        .chain(PAIRS)
        .chain(LOCKS)
        .chain(LOCKS.map(seals))
        .chain([SLOTS])
    {
        // A lost connection leaves a part: it is deleted by the next attempt.
        eventually_async(PATIENCE, &format!("{path} is deleted"), async || {
            client.delete_tree(path).await.map_or_else(|error| error.is_no_node(), |_| true)
        })
        .await?;
    }
    let left = children(client, "").await?;
    if left == ["/zookeeper"] { Ok(()) } else { Err(LeftBehind(left).into()) }
}

/// Waits until no server holds a watch, or an ephemeral znode, of any client.
pub async fn wait_until_forgotten(ensemble: &Ensemble) -> TestResult {
    for member in Member::ALL {
        for metric in ["zk_watch_count", "zk_ephemerals_count"] {
            let what = format!("{metric} of {member:?} is 0");
            eventually_async(SOON, &what, async || {
                ensemble.member(member).metric(metric).is_ok_and(|count| count == 0)
            })
            .await?;
        }
    }
    Ok(())
}

/// Returns the paths of a znode's children, in order.
pub(super) async fn children(client: &Client, path: &str) -> Result<Vec<String>, Error> {
    let parent = if path.is_empty() { "/" } else { path };
    let children = client.get_children(parent).await?;
    let mut children: Vec<_> = children.iter().map(|name| format!("{path}/{name}")).collect();
    children.sort_unstable();
    Ok(children)
}

async fn text(client: &Client, path: &str) -> Result<(i32, String), TestFailure> {
    let (data, stat) = client.get_data(path).await?;
    Ok((stat.version.get(), core::str::from_utf8(&data)?.to_owned()))
}

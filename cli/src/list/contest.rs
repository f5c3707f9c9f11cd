//! Shows the znodes of a contest in their order.

use election_tokio::election::Sequence;
use election_tokio::format::Child;
use election_tokio::lock::Access;

use super::gathering;
use super::items;
use super::kind::{LEASES, LOCKS};
use super::lookup::Lookup;
use super::queue::{Contender, Queue};
use super::row::{Behind, Role, Row, blocks};
use super::table::{ELECTION, LOCK, Listing, SEMAPHORE};
use crate::args::{FormatName, Kind, QueueFormatName, Reading};
use crate::console;
use crate::failure::Failure;

/// The children of a node, in the order in which they are shown.
#[derive(Default)]
struct Children {
    contenders: Vec<(Sequence, Access, String)>,
    /// Znodes that are in no order.
    others: Vec<(Role, String)>,
}

impl Children {
    fn of(names: Vec<String>, format: FormatName) -> Self {
        let mut children = Self::default();
        for name in names {
            let role = match format.format().child(&name) {
                Child::Contender { access, sequence } => {
                    children.contenders.push((sequence, access, name));
                    continue;
                }
                Child::Foreign => Role::Foreign,
                Child::Exhausted => Role::Exhausted,
                Child::Tombstone => Role::Tombstone,
                Child::Other => continue,
            };
            children.others.push((role, name));
        }
        children.contenders.sort_unstable();
        children.others.sort_unstable_by(|(_, one), (_, other)| one.cmp(other));
        children
    }
}

/// The extent of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Rows,
    /// Nothing. The kind of contest if the names or the arguments give one.
    Nothing(Option<Kind>),
}

impl Listed {
    fn of(rows: usize, kind: Option<Kind>) -> Self {
        if rows == 0 { Self::Nothing(kind) } else { Self::Rows }
    }
}

/// Shows the znodes. It keeps one znode's data at a time, because other clients decide how much they write.
pub(super) async fn show(
    lookup: &Lookup<'_>,
    reading: Reading,
    json: bool,
) -> Result<Listed, Failure> {
    let names = lookup.names("").await?;
    if reading == Reading::Recognised {
        if let Some(format) = QueueFormatName::recognised(&names) {
            let rows = items::show(lookup, names, format, json).await?;
            return Ok(Listed::of(rows, None));
        }
        if gathering::is_gathering(&names) {
            return Ok(Listed::of(gathering::show(lookup, names, json).await?, None));
        }
    }
    let format = match reading {
        Reading::Election => Some(FormatName::CuratorLatch),
        Reading::As(format) => Some(format),
        Reading::Recognised => lookup.recognised(&names).await?,
    };
    let Some(format) = format else {
        // A table without a title and a line says nothing; scripts want their array.
        if json {
            Listing::new(json, None, ELECTION).end()?;
        }
        return Ok(Listed::Nothing(None));
    };
    let columns = match format.kind() {
        Kind::Election => ELECTION,
        Kind::Lock => LOCK,
        Kind::Semaphore => SEMAPHORE,
    };
    let title = format!("{}, in the format {format}", format.kind());
    let title = (reading != Reading::Election).then_some(title);
    let listing = Listing::new(json, title, columns);
    let rows = match format.kind() {
        Kind::Election | Kind::Lock => show_queue(lookup, names, format, listing).await?,
        Kind::Semaphore => show_semaphore(lookup, listing).await?,
    };
    Ok(Listed::of(rows, Some(format.kind())))
}

/// Shows an election, or a lock.
async fn show_queue(
    lookup: &Lookup<'_>,
    names: Vec<String>,
    format: FormatName,
    mut listing: Listing,
) -> Result<usize, Failure> {
    let Children { contenders, others } = Children::of(names, format);
    let is_election = format.kind() == Kind::Election;
    let is_mixed = others.iter().any(|(role, _)| *role == Role::Foreign);
    let blocked = if is_election && is_mixed { lookup.blocked_first(format).await? } else { None };
    let mut queue = Queue::default();
    let mut shown: Vec<String> = Vec::new();
    for (sequence, access, name) in contenders {
        let Some((data, stat)) = lookup.data(&name).await? else { continue };
        let session = stat.ephemeral_owner;
        let behind = queue.add(Contender { access, sequence, session });
        let blocks = blocks(&stat, format.format().parse(&name).is_ok());
        let blocked_by = blocked
            .as_ref()
            .filter(|(token, _)| token.get() == stat.czxid.get())
            .map(|(_, by)| by.to_string());
        let role = match (behind, is_election) {
            (None, true) if blocked_by.is_some() => Role::Blocked,
            (None, true) => Role::Leader,
            (Some(_), true) => Role::Follower,
            (None, false) => Role::Holder,
            (Some(_), false) => Role::Waits,
        };
        let row = Row { blocks, ..Row::new(name.clone(), &stat, &data, role) }.with_role(role);
        listing.add(&Row {
            access: (!is_election).then(|| access.into()),
            behind: behind.and_then(|place| behind_at(place, &shown)),
            format: Some(format.to_string()),
            blocked_by,
            ..row
        })?;
        shown.push(name);
    }
    show_others(lookup, others, &mut listing).await?;
    if let Some((_, by)) = blocked {
        console::remark(format_args!("the first candidate does not lead: blocked by {by}"));
    }
    listing.end()
}

fn behind_at(place: usize, shown: &[String]) -> Option<Behind> {
    Some(Behind { place, znode: shown.get(place.checked_sub(1)?)?.clone() })
}

/// Shows the permits, and then the contenders that wait for one. At most one contender has its
/// turn, and takes a permit: its znode is the last of the permits', and held once there is room for
/// it.
async fn show_semaphore(lookup: &Lookup<'_>, mut listing: Listing) -> Result<usize, Failure> {
    // In this order, because a contender gives up its turn when it has its permit.
    let turns = Below::read(lookup, LOCKS, FormatName::CuratorLock).await?;
    let permits = Below::read(lookup, LEASES, FormatName::CuratorSemaphore).await?;
    let in_turn = turns.first_owner(lookup).await?;
    let last = permits.children.contenders.len().saturating_sub(1);
    for (index, (_, _, name)) in permits.children.contenders.iter().enumerate() {
        if let Some(row) = permits.row(lookup, name).await? {
            let is_in_turn = index == last && in_turn.as_ref() == Some(&row.session);
            let role = if is_in_turn { Role::Next } else { Role::Holder };
            listing.add(&row.with_role(role))?;
        }
    }
    let mut ahead: Option<Behind> = None;
    for (_, _, name) in &turns.children.contenders {
        if let Some(row) = turns.row(lookup, name).await? {
            let role = if ahead.is_none() { Role::Next } else { Role::Waits };
            let row = Row { behind: ahead.take(), ..row.with_role(role) };
            let place = listing.add(&row)?;
            ahead = Some(Behind { place, znode: row.znode });
        }
    }
    for below in [permits, turns] {
        let others = below.children.others.into_iter();
        let others = others.map(|(role, name)| (role, format!("{}/{name}", below.node)));
        show_others(lookup, others.collect(), &mut listing).await?;
    }
    listing.end()
}

/// The contenders below one of the two nodes of a semaphore.
struct Below {
    node: &'static str,
    format: FormatName,
    children: Children,
}

impl Below {
    async fn read(
        lookup: &Lookup<'_>,
        node: &'static str,
        format: FormatName,
    ) -> Result<Self, Failure> {
        let children = Children::of(lookup.names(node).await?, format);
        Ok(Self { node, format, children })
    }

    /// Returns the session of the first one, in words.
    async fn first_owner(&self, lookup: &Lookup<'_>) -> Result<Option<String>, Failure> {
        for (_, _, name) in &self.children.contenders {
            if let Some(stat) = lookup.stat(&format!("{}/{name}", self.node)).await? {
                return Ok(Some(stat.ephemeral_owner.to_string()));
            }
        }
        Ok(None)
    }

    /// Returns the row of a child; `None` if the child has gone meanwhile.
    async fn row(&self, lookup: &Lookup<'_>, name: &str) -> Result<Option<Row>, Failure> {
        let znode = format!("{}/{name}", self.node);
        let Some((data, stat)) = lookup.data(&znode).await? else { return Ok(None) };
        let blocks = blocks(&stat, self.format.format().parse(name).is_ok());
        let row = Row::new(znode, &stat, &data, Role::Waits);
        Ok(Some(Row { format: Some(FormatName::CuratorSemaphore.to_string()), blocks, ..row }))
    }
}

/// Shows the znodes that are in no order.
async fn show_others(
    lookup: &Lookup<'_>,
    others: Vec<(Role, String)>,
    listing: &mut Listing,
) -> Result<(), Failure> {
    for (role, name) in others {
        if let Some((data, stat)) = lookup.data(&name).await? {
            listing.add(&Row::new(name, &stat, &data, role))?;
        }
    }
    Ok(())
}

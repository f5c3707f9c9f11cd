//! Reading what is at a path.

use core::future::Future;
use core::time::Duration;

use election_tokio::format::Child;
use election_tokio::{Access, Bytes, Client, Error, Sequence, Stat};

use super::kind::recognised;
use super::queue::{Contender, Queue};
use super::row::{Behind, Role, Row, blocks};
use super::table::{ELECTION, LOCK, Listing};
use crate::args::{FormatName, Reading};
use crate::failure::Failure;

/// Reads below a path, and waits for each answer so long at most.
pub(super) struct Lookup<'a> {
    pub(super) client: &'a Client,
    pub(super) path: &'a str,
    pub(super) timeout: Duration,
}

/// The children of a node, in the order in which they are shown.
#[derive(Default)]
struct Children {
    contenders: Vec<(Sequence, Access, String)>,
    /// In no order.
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

impl Lookup<'_> {
    /// Shows the znodes, and tells how many there were. The data of one is kept at a time: others decide
    /// how much they write.
    pub(super) async fn show(&self, reading: Reading, json: bool) -> Result<usize, Failure> {
        let names = self.names().await?;
        let format = match reading {
            Reading::Election => FormatName::CuratorLatch,
            Reading::As(format) => format,
            // Of nothing, any will do.
            Reading::Recognised => recognised(&names).unwrap_or(FormatName::CuratorLatch),
        };
        let kind = if format.is_of_elections() { "election" } else { "lock" };
        let title =
            (reading != Reading::Election).then(|| format!("{kind}, in the format {format}"));
        let columns = if format.is_of_elections() { ELECTION } else { LOCK };
        let listing =
            if json { Listing::Json { shown: 0 } } else { Listing::table(title, columns) };
        self.show_queue(names, format, listing).await
    }

    async fn show_queue(
        &self,
        names: Vec<String>,
        format: FormatName,
        mut listing: Listing,
    ) -> Result<usize, Failure> {
        let Children { contenders, others } = Children::of(names, format);
        let mut queue = Queue::default();
        let mut shown: Vec<String> = Vec::new();
        for (sequence, access, name) in contenders {
            let Some((data, stat)) = self.data(&name).await? else { continue };
            let session = stat.ephemeral_owner;
            let (_, behind) = queue.add(Contender { access, sequence, session });
            let blocks = blocks(&stat, format.format().parse(&name).is_ok());
            let role = match (blocks, behind, format.is_of_elections()) {
                (Some(_), ..) => Role::Blocks,
                (None, None, true) => Role::Leader,
                (None, Some(_), true) => Role::Follower,
                (None, None, false) => Role::Holder,
                (None, Some(_), false) => Role::Waits,
            };
            let behind = behind.and_then(|place| {
                Some(Behind { place, znode: shown.get(place.checked_sub(1)?)?.clone() })
            });
            listing.add(&Row {
                access: (!format.is_of_elections()).then(|| access.into()),
                behind,
                format: Some(format.to_string()),
                blocks,
                ..Row::new(name.clone(), &stat, &data, role)
            })?;
            shown.push(name);
        }
        for (role, name) in others {
            if let Some((data, stat)) = self.data(&name).await? {
                listing.add(&Row::new(name, &stat, &data, role))?;
            }
        }
        listing.end()
    }

    /// The children; of a node that does not exist, none.
    async fn names(&self) -> Result<Vec<String>, Failure> {
        match self.within(self.client.get_children(self.path)).await {
            Ok(children) => Ok(children.iter().map(str::to_owned).collect()),
            Err(Failure::Operation(error)) if error.is_no_node() => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }

    /// `None` if the child has gone meanwhile.
    async fn data(&self, name: &str) -> Result<Option<(Bytes, Stat)>, Failure> {
        let path = match self.path {
            "/" => format!("/{name}"),
            parent => format!("{parent}/{name}"),
        };
        match self.within(self.client.get_data(&path)).await {
            Ok(read) => Ok(Some(read)),
            Err(Failure::Operation(error)) if error.is_no_node() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Waits for an answer.
    async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let answer = tokio::time::timeout(self.timeout, answer).await;
        Ok(answer.map_err(|_| Failure::NoAnswer(self.timeout))??)
    }
}

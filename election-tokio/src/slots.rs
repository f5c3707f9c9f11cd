//! Slots: shards, partitions, queues, each worked on by exactly one of several processes, evenly.
//!
//! Begin with [`Client::slots`]. Costs and limits: [slots](https://github.com/zk-election/zk-election/blob/main/docs/slots.md).

mod driver;
mod error;
mod event;
mod guard;
mod list;
mod member;
mod planning;
mod run;
mod table;

use core::fmt;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

pub use election_session::slots::{
    PlannedMember, SlotName, SlotNameError, SlotPlan, SlotPlanError,
};

pub use error::SlotsError;
pub use event::SlotEvent;
pub use guard::SlotGuard;
pub use list::SlotList;
pub use member::SlotMember;
pub use table::{SlotHolding, SlotTable};

use crate::acl::Acls;
use crate::client::{Client, CreateMode};
use crate::error::Place;
use crate::lock::Lock;
use crate::path::{check_path, child_path};
use election_session::slots::SlotPauses;
use zk_jute::Version;

/// The slots below a path; made by [`Client::slots`]. Each is held by one member at most, by a lock
/// of its own, and a plan shares them out evenly.
#[derive(Clone)]
#[must_use = "slots do nothing until they are joined or looked at"]
pub struct Slots {
    client: Client,
    path: Arc<str>,
    list: SlotList,
    apart: Arc<[Vec<SlotName>]>,
    weight: u32,
    pauses: SlotPauses,
    give_up_within: Duration,
    acls: Acls,
}

impl Client {
    /// Returns the slots below a path: by a number, which names them from `0` on, or by a list of
    /// names.
    pub fn slots(&self, path: &str, list: impl Into<SlotList>) -> Slots {
        Slots {
            client: self.clone(),
            path: path.into(),
            list: list.into(),
            apart: Arc::new([]),
            weight: 1,
            pauses: SlotPauses { gather: Duration::from_secs(1), spread: Duration::from_secs(1) },
            give_up_within: Duration::from_secs(30),
            acls: Acls::open(),
        }
    }
}

impl Slots {
    /// Drains a member: it gives up its slots, in order, and gets none, in this process or a later
    /// one, until it is [admitted](Slots::admit) again. Without a connection this waits for one.
    ///
    /// Cancel safe: the member may still be drained.
    ///
    /// # Errors
    ///
    /// The name or the path is invalid, or the server refuses it.
    pub async fn drain(&self, member: &str) -> Result<(), SlotsError> {
        let path = self.drained_member(member)?;
        let (client, mode) = (&self.client, CreateMode::Persistent);
        let created = client.repeated(|| client.create_with_parents(&path, "", mode, &self.acls));
        match created.await {
            Ok(_) => Ok(()),
            Err(error) if error.is_node_exists() => Ok(()),
            Err(error) => Err(SlotsError::Request { at: self.place("drain"), error }),
        }
    }

    /// Ends the draining of a member: it gets slots again.
    ///
    /// Cancel safe: the member may still be admitted.
    ///
    /// # Errors
    ///
    /// The name or the path is invalid, or the server refuses it.
    pub async fn admit(&self, member: &str) -> Result<(), SlotsError> {
        let path = self.drained_member(member)?;
        match self.client.repeated(|| self.client.delete(&path, Version::ANY)).await {
            Ok(()) => Ok(()),
            Err(error) if error.is_no_node() => Ok(()),
            Err(error) => Err(SlotsError::Request { at: self.place("admit"), error }),
        }
    }

    /// Returns the place of an error.
    fn place(&self, step: &'static str) -> Place {
        Place::new("slots", &self.path, step)
    }

    fn drained_member(&self, member: &str) -> Result<String, SlotsError> {
        let member: SlotName = member.parse()?;
        self.checked()?;
        Ok(child_path(&self.drained_path(), member))
    }

    fn checked(&self) -> Result<(), SlotsError> {
        let invalid = |error| SlotsError::InvalidPath { path: self.path.to_string(), error };
        check_path(&self.members_path()).map_err(invalid)
    }

    fn members_path(&self) -> String {
        child_path(&self.path, "members")
    }

    fn drained_path(&self) -> String {
        child_path(&self.path, "drained")
    }

    fn plan_path(&self) -> String {
        child_path(&self.path, "plan")
    }

    fn lock(&self, slot: &SlotName) -> Lock {
        let path = child_path(&child_path(&self.path, "slots"), slot);
        self.client.lock(&path).acls(self.acls.clone())
    }
}

/// Settings.
impl Slots {
    /// Sets the member's part: one of weight 2 holds twice as many slots as one of weight 1 (default:
    /// 1). With 0 it holds none, and may still plan.
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Keeps the slots of each group apart: no member holds two of a group while there are as many
    /// members as it has slots, and otherwise as few as can be (default: no groups). Copies of one
    /// shard are such a group. Evenness goes first: a member of great [weight](Slots::weight) may have
    /// two. The groups of the member that plans count.
    ///
    /// # Errors
    ///
    /// A text is no name, is not in the list of slots, or is in the groups twice.
    pub fn apart<S: AsRef<str>>(
        mut self,
        groups: impl IntoIterator<Item = impl IntoIterator<Item = S>>,
    ) -> Result<Self, SlotsError> {
        let listed: BTreeSet<&SlotName> = self.list.names().iter().collect();
        let mut seen = BTreeSet::new();
        let mut slot = |text: S| {
            let name: SlotName = text.as_ref().parse()?;
            if !listed.contains(&name) {
                return Err(SlotsError::NotListed(name));
            }
            if !seen.insert(name.clone()) {
                return Err(SlotsError::NotApart(name));
            }
            Ok(name)
        };
        let groups = groups.into_iter().map(|group| group.into_iter().map(&mut slot).collect());
        self.apart = groups.collect::<Result<_, SlotsError>>()?;
        Ok(self)
    }

    /// Sets how long after a member's coming it gets its slots (default: one second), so that many
    /// that start together are planned together. The setting of the member that plans counts.
    pub fn gather_for(mut self, gather: Duration) -> Self {
        self.pauses.gather = gather;
        self
    }

    /// Sets how long after a member's going others get its slots (default: one second): a member
    /// of the same name that comes within it has them still, and none moves. The setting of the
    /// member that plans counts. Where no member that has gone is known to be dead, a planner that
    /// has just begun waits this long.
    pub fn spread_after(mut self, spread: Duration) -> Self {
        self.pauses.spread = spread;
        self
    }

    /// Sets how long the work on a slot may take to end once the slot is another member's (default:
    /// 30 seconds). Then the slot's lock is released, and its [`SlotGuard`] is lost.
    pub fn give_up_within(mut self, give_up_within: Duration) -> Self {
        self.give_up_within = give_up_within;
        self
    }

    /// Sets the access list of the znodes (default: every client may do everything). Members that
    /// share slots have to be able to read, write and delete all of them.
    pub fn acls(mut self, acls: Acls) -> Self {
        self.acls = acls;
        self
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, weight, pauses, .. } = self;
        let mut shown = f.debug_struct("Slots");
        shown.field("path", path).field("weight", weight).field("pauses", pauses);
        shown.finish_non_exhaustive()
    }
}

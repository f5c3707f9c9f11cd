//! The law of the queue: no item is lost, and no item is given to two takers.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use election_core::NomineeId;
use election_core::queue::{TakerEnd, TakerNotice};
use zk_embedded::{Database, Znode};
use zk_jute::{SessionId, Zxid};

use super::Broken;

/// Tells the items of a run apart: each is put once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u32);

/// The knowledge of a queue.
#[derive(Debug)]
pub struct QueueBook {
    node: &'static str,
    children_at: Zxid,
    /// The items that stand, by the names of the znodes.
    standing: BTreeMap<String, (Zxid, ItemId)>,
    /// The sessions that have the claims that stand, by the names of the items.
    claims: BTreeMap<String, SessionId>,
    fates: BTreeMap<ItemId, Fate>,
    taken: u64,
    finished: u64,
    unknown: u64,
}

/// The place of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// It was never in the queue.
    #[default]
    Nowhere,
    Queue,
    Gone,
}

/// The fate of an item.
#[derive(Debug, Default)]
struct Fate {
    place: Place,
    /// A put of it has failed for good.
    refused: bool,
    /// It was given to one taker, or done.
    given: bool,
    /// A taker was told that it may have it, or is gone and may have had it.
    in_doubt: bool,
    /// The sessions that have had a claim to it, and the one that had it as it went.
    claimants: BTreeSet<SessionId>,
    last_claimant: Option<SessionId>,
}

impl QueueBook {
    pub(super) const fn new(node: &'static str) -> Self {
        Self {
            node,
            children_at: Zxid::ZERO,
            standing: BTreeMap::new(),
            claims: BTreeMap::new(),
            fates: BTreeMap::new(),
            taken: 0,
            finished: 0,
            unknown: 0,
        }
    }

    pub(super) fn take_in(&mut self, database: &Database) -> Result<(), Broken> {
        let Some(node) = database.znode(self.node) else {
            return Ok(());
        };
        let children_at = node.stat().pzxid;
        if children_at == self.children_at {
            return Ok(());
        }
        self.children_at = children_at;
        let former = core::mem::take(&mut self.claims);
        let names: BTreeSet<&str> = node.children().collect();
        for name in &names {
            let znode = database.znode(&format!("{}/{name}", self.node));
            let Some(stat) = znode.map(Znode::stat) else {
                continue;
            };
            if let Some(item) = name.strip_prefix("claimed-") {
                self.claims.insert(item.to_owned(), stat.ephemeral_owner);
            } else if self.standing.get(*name).is_none_or(|(czxid, _)| *czxid != stat.czxid) {
                let id = znode.and_then(Znode::data).and_then(ItemId::parse);
                let Some(id) = id else {
                    return Err(format!("{name} in {} is no item", self.node));
                };
                self.standing.insert((*name).to_owned(), (stat.czxid, id));
                self.appears(id)?;
            }
        }
        let Self { standing, fates, claims, .. } = self;
        for (name, (_, id)) in &*standing {
            let Some(fate) = fates.get_mut(id) else {
                continue;
            };
            // Where both went in one step, the claim stood until then.
            fate.last_claimant = claims.get(name).or_else(|| former.get(name)).copied();
            fate.claimants.extend(fate.last_claimant);
        }
        standing.retain(|name, (_, id)| {
            let is_there = names.contains(name.as_str());
            if let Some(fate) = fates.get_mut(id).filter(|_| !is_there) {
                fate.place = Place::Gone;
            }
            is_there
        });
        Ok(())
    }

    fn appears(&mut self, id: ItemId) -> Result<(), Broken> {
        let fate = self.fates.entry(id).or_default();
        if fate.place != Place::Nowhere || fate.refused {
            let why = if fate.refused { "and its put was refused" } else { "once more" };
            return Err(format!("{id} is put, {why}"));
        }
        fate.place = Place::Queue;
        Ok(())
    }

    /// Items that stand.
    pub fn len(&self) -> usize {
        self.standing.len()
    }

    /// Whether no item stands.
    pub fn is_empty(&self) -> bool {
        self.standing.is_empty()
    }

    /// Claims that stand.
    pub fn claims(&self) -> usize {
        self.claims.len()
    }

    /// Returns how many were taken, done, and are in doubt.
    pub const fn counts(&self) -> (u64, u64, u64) {
        (self.taken, self.finished, self.unknown)
    }

    /// Returns the znodes by which a session claims items of this queue, but for the claims of these takers.
    pub fn claims_of(
        &self,
        session: SessionId,
        but: &[NomineeId],
        database: &Database,
    ) -> Vec<String> {
        let in_queue =
            |path: &str| Some(path.strip_prefix(self.node)?.strip_prefix('/')?.to_owned());
        let names: Vec<String> = database.ephemerals_of(session).filter_map(in_queue).collect();
        // The characters behind the first 23 count sessions.
        let own: Vec<String> =
            but.iter().map(|id| id.to_string().chars().take(23).collect()).collect();
        let is_own = |pin: &str| own.iter().any(|id| pin.starts_with(id.as_str()));
        let pins = names.iter().filter_map(|name| name.split_once('/'));
        let kept: BTreeSet<&str> =
            pins.filter(|(_, pin)| is_own(pin)).map(|(item, _)| item).collect();
        let is_left = |name: &&String| match name.split_once('/') {
            Some((_, pin)) => !is_own(pin),
            None => !kept.contains(name.strip_prefix("claimed-").unwrap_or(name)),
        };
        names.iter().filter(is_left).map(|name| format!("{}/{name}", self.node)).collect()
    }

    /// Checks the answer to a put.
    ///
    /// # Errors
    ///
    /// It was acknowledged, and the item was never there; or it was refused, and the item is.
    pub fn put(&mut self, id: ItemId, outcome: Put) -> Result<(), Broken> {
        let fate = self.fates.entry(id).or_default();
        match outcome {
            Put::Acknowledged if fate.place == Place::Nowhere => {
                Err(format!("{id} is put, and was never there"))
            }
            Put::Refused if fate.place != Place::Nowhere => {
                Err(format!("{id} is refused, and was there"))
            }
            Put::Refused => {
                fate.refused = true;
                Ok(())
            }
            Put::Acknowledged | Put::InDoubt => Ok(()),
        }
    }

    /// Checks a notice of a taker of this session.
    ///
    /// # Errors
    ///
    /// The notice is not so: an item that it has stands, or another taker has it.
    pub fn told(
        &mut self,
        session: Option<SessionId>,
        notice: &TakerNotice<ItemId>,
    ) -> Result<(), Broken> {
        match notice {
            TakerNotice::Claimed(item) => self.claimed(item.data, session),
            TakerNotice::Ended(TakerEnd::Taken(item)) => self.taken(item.data),
            TakerNotice::Ended(TakerEnd::Unknown(item)) => {
                self.in_doubt(item.data);
                Ok(())
            }
            TakerNotice::Ended(TakerEnd::Failed(failure)) => {
                Err(format!("a taker failed: {failure:?}"))
            }
            TakerNotice::Waiting | TakerNotice::Ended(_) => Ok(()),
        }
    }

    /// Checks a claim that a taker is given.
    ///
    /// # Errors
    ///
    /// Its session never had that claim.
    pub fn claimed(&mut self, id: ItemId, session: Option<SessionId>) -> Result<(), Broken> {
        let fate = self.fates.get(&id);
        let is_own = |fate: &Fate| session.is_some_and(|own| fate.claimants.contains(&own));
        if fate.is_some_and(is_own) {
            return Ok(());
        }
        Err(format!("{id} is claimed, and the session never had the claim"))
    }

    /// Checks an item that a taker is given.
    ///
    /// # Errors
    ///
    /// The item stands, or another taker was given it.
    pub fn taken(&mut self, id: ItemId) -> Result<(), Broken> {
        self.taken += 1;
        self.given(id)
    }

    /// Checks the end of a taker's claim to an item in that session.
    ///
    /// # Errors
    ///
    /// The item was done by a claim that was lost, or was done by another taker, too, or stands.
    pub fn claim_ended<D>(
        &mut self,
        (id, session): (ItemId, Option<SessionId>),
        end: &TakerEnd<D>,
    ) -> Result<(), Broken> {
        match end {
            TakerEnd::Finished => {
                self.finished += 1;
                self.given(id)?;
                let last = self.fates.get(&id).and_then(|fate| fate.last_claimant);
                if last == session {
                    return Ok(());
                }
                Err(format!("{id} is done by {session:?}, and {last:?} had the claim"))
            }
            TakerEnd::FinishedOnce => {
                self.in_doubt(id);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn given(&mut self, id: ItemId) -> Result<(), Broken> {
        let fate = self.fates.entry(id).or_default();
        if fate.place != Place::Gone {
            return Err(format!("{id} is taken or done, and stands"));
        }
        if core::mem::replace(&mut fate.given, true) {
            return Err(format!("{id} is taken or done twice"));
        }
        Ok(())
    }

    /// Whether a taker has had it is not known.
    pub fn in_doubt(&mut self, id: ItemId) {
        self.unknown += 1;
        self.fates.entry(id).or_default().in_doubt = true;
    }

    /// Items that are gone, and that no taker was told of.
    pub(super) fn lost(&self) -> impl Iterator<Item = ItemId> {
        let is_lost = |fate: &Fate| fate.place == Place::Gone && !fate.given && !fate.in_doubt;
        self.fates.iter().filter(move |(_, fate)| is_lost(fate)).map(|(id, _)| *id)
    }
}

/// The fate of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The item is in the queue.
    Acknowledged,
    /// It is not, and never will be.
    Refused,
    /// It may be.
    InDoubt,
}

impl ItemId {
    /// Returns the item with this data.
    pub fn parse(data: &[u8]) -> Option<Self> {
        core::str::from_utf8(data).ok()?.parse().ok().map(Self)
    }
}

/// Of no item, if there is none with this data.
impl From<&[u8]> for ItemId {
    fn from(data: &[u8]) -> Self {
        Self::parse(data).unwrap_or(Self(u32::MAX))
    }
}

/// The data of the item.
impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

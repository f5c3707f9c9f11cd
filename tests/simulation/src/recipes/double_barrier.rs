//! The law of the double barrier: no participant is inside before enough have entered, and none has
//! left before all have.

use std::collections::BTreeMap;

use election_core::NomineeId;
use election_core::barrier::DoubleBarrierEnd;
use zk_embedded::{Database, Znode};
use zk_jute::{SessionId, Zxid};

use super::{Broken, DOUBLE_BARRIER, created};

const READY: &str = "ready";

/// The knowledge of a double barrier.
#[derive(Debug)]
pub struct DoubleBarrierBook {
    participants: usize,
    children_at: Zxid,
    entries: BTreeMap<String, Entry>,
    ready: Option<Zxid>,
    /// Enough stood at one moment since the last round ended.
    enough: bool,
    /// The entries that stood when each round was opened.
    rounds: Vec<BTreeMap<String, Zxid>>,
    /// The participants that have said that nothing is left of them, and the session in which they
    /// did.
    departed: BTreeMap<String, Option<SessionId>>,
    inside: u64,
    left: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    czxid: Zxid,
    owner: SessionId,
}

impl DoubleBarrierBook {
    pub(super) const fn new(participants: usize) -> Self {
        Self {
            participants,
            children_at: Zxid::ZERO,
            entries: BTreeMap::new(),
            ready: None,
            enough: false,
            rounds: Vec::new(),
            departed: BTreeMap::new(),
            inside: 0,
            left: 0,
        }
    }

    pub(super) fn take_in(&mut self, database: &Database) -> Result<(), Broken> {
        let Some(node) = database.znode(DOUBLE_BARRIER) else {
            return Ok(());
        };
        let children_at = node.stat().pzxid;
        if children_at == self.children_at {
            return Ok(());
        }
        self.children_at = children_at;
        let before = core::mem::take(&mut self.entries);
        for name in node.children().filter(|name| *name != READY) {
            let stat = database.znode(&format!("{DOUBLE_BARRIER}/{name}")).map(Znode::stat);
            let Some(stat) = stat else {
                continue;
            };
            let entry = Entry { czxid: stat.czxid, owner: stat.ephemeral_owner };
            let is_new = before.get(name).is_none_or(|former| former.czxid != entry.czxid);
            if is_new && self.departed.get(name) == Some(&Some(entry.owner)) {
                return Err(format!("{name} enters after its end"));
            }
            self.entries.insert(name.to_owned(), entry);
        }
        // One step may have created some and deleted others.
        let mut stood: BTreeMap<String, Zxid> =
            before.into_iter().map(|(name, entry)| (name, entry.czxid)).collect();
        stood.extend(self.entries.iter().map(|(name, entry)| (name.clone(), entry.czxid)));
        self.enough |= stood.len() >= self.participants;
        let ready = created(database.znode(&format!("{DOUBLE_BARRIER}/{READY}")));
        let former = core::mem::replace(&mut self.ready, ready);
        match ready {
            Some(opened) if former != ready => {
                if !self.enough {
                    let stood = stood.len();
                    return Err(format!(
                        "a round is opened by {stood}, where {} are to enter",
                        self.participants
                    ));
                }
                stood.retain(|_, czxid| *czxid < opened);
                self.rounds.push(stood);
                self.enough = false;
            }
            None if former.is_some() => self.enough = self.entries.len() >= self.participants,
            _ => {}
        }
        Ok(())
    }

    /// Returns the entries that stand.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Participants that were inside, and those that have left with all the others.
    pub const fn counts(&self) -> (u64, u64) {
        (self.inside, self.left)
    }

    /// Returns the path of the entry at this place, by name, if there is any.
    pub fn entry_at(&self, number: u8) -> Option<String> {
        let place = usize::from(number) % self.entries.len().max(1);
        self.entries.keys().nth(place).map(|name| format!("{DOUBLE_BARRIER}/{name}"))
    }

    /// Returns the paths of the entries of a session but for those of these participants.
    pub fn entries_of(&self, session: SessionId, but: &[NomineeId]) -> Vec<String> {
        let but: Vec<String> = but.iter().map(ToString::to_string).collect();
        let of_it = self.entries.iter().filter(|(_, entry)| entry.owner == session);
        let of_it = of_it.filter(|(name, _)| !but.contains(name));
        of_it.map(|(name, _)| format!("{DOUBLE_BARRIER}/{name}")).collect()
    }

    /// Checks the notice to a participant that enough have entered.
    ///
    /// # Errors
    ///
    /// No round was opened while its entry stood.
    pub fn is_inside(&mut self, participant: NomineeId) -> Result<(), Broken> {
        let name = participant.to_string();
        self.inside += 1;
        match self.round_of(&name) {
            Some(_) => Ok(()),
            None => Err(format!("{name} is inside, and no round was opened with it")),
        }
    }

    fn round_of(&self, name: &str) -> Option<&BTreeMap<String, Zxid>> {
        self.rounds.iter().rev().find(|round| round.contains_key(name))
    }

    /// Checks the end of a participant, in this session.
    ///
    /// # Errors
    ///
    /// It has left before all others have, or its entry is left. That of a session which is over goes
    /// with that session, perhaps a moment after the client hears of it.
    pub fn ended(
        &mut self,
        (participant, session): (NomineeId, Option<SessionId>),
        end: DoubleBarrierEnd,
    ) -> Result<(), Broken> {
        let name = participant.to_string();
        match end {
            DoubleBarrierEnd::Left => {
                self.left += 1;
                let stands = |other: &String, czxid: &Zxid| {
                    self.entries.get(other).is_some_and(|entry| entry.czxid == *czxid)
                };
                let mut round = self.round_of(&name).into_iter().flatten();
                let is_inside =
                    |other: &String, czxid: &Zxid| *other != name && stands(other, czxid);
                if let Some((other, _)) = round.find(|(other, czxid)| is_inside(other, czxid)) {
                    return Err(format!("{name} has left, and {other} is inside"));
                }
            }
            DoubleBarrierEnd::LeftAlone
            | DoubleBarrierEnd::GaveUp(_)
            | DoubleBarrierEnd::UnderWay => {}
            // It may be another session that has its entry.
            DoubleBarrierEnd::Lost(_) => return Ok(()),
            DoubleBarrierEnd::Failed(failure) => {
                return Err(format!("a double barrier failed: {failure}"));
            }
        }
        let is_left = |entry: &Entry| Some(entry.owner) == session;
        if self.entries.get(&name).is_some_and(is_left) {
            return Err(format!("{name} is over, and its entry is left"));
        }
        self.departed.insert(name, session);
        Ok(())
    }
}

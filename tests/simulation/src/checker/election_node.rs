//! The ensemble's commits for one queue: candidates, or the znodes of contenders, and the writes of
//! leaders or holders.

use std::collections::{BTreeMap, BTreeSet};

use election_core::{NomineeId, Token};
use zk_embedded::{Database, Znode};
use zk_jute::{SessionId, Zxid};

use super::{Broken, excludes, name, of_every_attempt};
use crate::clock::Time;
use crate::outcome::Law;
use crate::queue::Queue;

/// A candidate znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) nominee: NomineeId,
    pub(crate) owner: SessionId,
    pub(crate) czxid: Zxid,
}

/// An election node as the most advanced member shows it. A committed change stays: every other
/// member shows an earlier state.
#[derive(Debug)]
pub(super) struct ElectionNode {
    pub(super) queue: Queue,
    seen: Zxid,
    children_at: Zxid,
    written: Zxid,
    /// Changes of the election node's own life start it afresh.
    life: Option<Zxid>,
    /// When it was seen to be removed.
    removed: Vec<Time>,
    known: BTreeMap<String, Candidate>,
    strangers: usize,
    departed: BTreeMap<NomineeId, Option<SessionId>>,
    /// Candidates that an operator has asked to be deleted.
    condemned: BTreeSet<Zxid>,
    /// Candidates that an operator has asked to be hidden.
    hidden: BTreeMap<Zxid, NomineeId>,
    /// The candidates that were deleted by that, and when.
    evicted: BTreeMap<Token, Time>,
    /// The nominees that have had to queue behind another one, with any of their znodes.
    queued: BTreeSet<NomineeId>,
    last_write: i64,
    pub(super) guarded_writes: u64,
}

/// A change of the election node, for the story.
#[derive(Debug)]
pub(crate) enum Change {
    Created(Candidate),
    Deleted(Candidate),
}

impl ElectionNode {
    pub(super) fn new(queue: Queue) -> Self {
        Self {
            queue,
            seen: Zxid::ZERO,
            children_at: Zxid::ZERO,
            written: Zxid::ZERO,
            life: None,
            removed: Vec::new(),
            known: BTreeMap::new(),
            strangers: 0,
            departed: BTreeMap::new(),
            condemned: BTreeSet::new(),
            hidden: BTreeMap::new(),
            evicted: BTreeMap::new(),
            queued: BTreeSet::new(),
            last_write: 0,
            guarded_writes: 0,
        }
    }

    /// Takes in a member's state, if no member has shown that much before.
    pub(super) fn take_in(
        &mut self,
        now: Time,
        database: &Database,
        changes: &mut Vec<Change>,
    ) -> Result<(), Broken> {
        if database.last_zxid() <= self.seen {
            return Ok(());
        }
        self.seen = database.last_zxid();
        self.take_in_resource(database)?;
        let node = database.znode(self.queue.node());
        let stat = node.map(Znode::stat);
        let life = stat.map(|stat| stat.czxid);
        let children_at = stat.map_or(Zxid::ZERO, |stat| stat.pzxid);
        if children_at == self.children_at && life == self.life {
            return Ok(());
        }
        if self.life.is_some() && life != self.life {
            self.removed.push(now);
        }
        (self.children_at, self.life) = (children_at, life);
        let names: BTreeSet<&str> = node.into_iter().flat_map(Znode::children).collect();
        // Also what was deleted since may have stood when others were created.
        let mut before: Vec<Candidate> = self.known.values().cloned().collect();
        let Self { queue, known, condemned, evicted, .. } = self;
        known.retain(|candidate_name, candidate| {
            let path = queue.child(candidate_name);
            let stat = database.znode(&path).map(Znode::stat);
            let stands = stat.is_some_and(|stat| stat.czxid == candidate.czxid);
            if !stands {
                let by_operator =
                    condemned.contains(&candidate.czxid) && database.has_session(candidate.owner);
                if by_operator {
                    evicted.insert(Token::new(candidate.czxid.get()), now);
                }
                changes.push(Change::Deleted(candidate.clone()));
            }
            stands
        });
        self.strangers = 0;
        for candidate_name in names {
            if self.known.contains_key(candidate_name) {
                continue;
            }
            match (nominee_of(candidate_name), database.znode(&self.queue.child(candidate_name))) {
                (Some(nominee), Some(znode)) => {
                    let stat = znode.stat();
                    let (owner, czxid) = (stat.ephemeral_owner, stat.czxid);
                    let candidate = Candidate { nominee, owner, czxid };
                    changes.push(Change::Created(candidate.clone()));
                    before.push(candidate.clone());
                    self.created(candidate_name, candidate)?;
                }
                _ => self.strangers += 1,
            }
        }
        self.note_queued(&before);
        Ok(())
    }

    /// Notes which of these stand, or have stood, behind another one that excludes them.
    fn note_queued(&mut self, all: &[Candidate]) {
        let is_behind = |own: &Candidate| {
            all.iter().any(|other| other.czxid < own.czxid && excludes(other.nominee, own.nominee))
        };
        let behind = all.iter().filter(|own| is_behind(own)).map(|own| own.nominee);
        self.queued.extend(behind);
    }

    /// Whether the contender has ever had to queue.
    pub(super) fn has_queued(&self, nominee: NomineeId) -> bool {
        self.queued.contains(&nominee)
    }

    /// Returns a candidate that stands before the candidate with this token, and excludes it.
    pub(super) fn rival_before(&self, own: NomineeId, token: Token) -> Option<&str> {
        let stands = |candidate: &Candidate| candidate.czxid.get() == token.get();
        self.known.values().find(|candidate| stands(candidate))?;
        let rival = self
            .known
            .iter()
            .find(|(_, other)| other.czxid.get() < token.get() && excludes(other.nominee, own));
        rival.map(|(name, _)| name.as_str())
    }

    /// Returns the candidate that a contender waits for: the nearest that stands before its znode and excludes it.
    pub(super) fn predecessor(&self, nominee: NomineeId) -> Option<&str> {
        let own = self.known.values().find(|candidate| candidate.nominee == nominee)?;
        let before = self
            .known
            .iter()
            .filter(|(_, other)| other.czxid < own.czxid && excludes(other.nominee, nominee));
        before.max_by_key(|(_, other)| other.czxid).map(|(name, _)| name.as_str())
    }

    /// Returns the first candidate that this contender cannot hold beside.
    pub(super) fn first_rival(&self, nominee: NomineeId) -> Option<&str> {
        let rivals = self.known.iter().filter(|(_, other)| excludes(other.nominee, nominee));
        rivals.min_by_key(|(_, other)| other.czxid).map(|(name, _)| name.as_str())
    }

    /// Returns how many hold, or are about to: those that stand behind none that excludes them.
    pub(super) fn front(&self) -> usize {
        let known = self.known.values();
        known
            .filter(|own| {
                let mut others = self.known.values();
                !others.any(|other| other.czxid < own.czxid && excludes(other.nominee, own.nominee))
            })
            .count()
    }

    fn created(&mut self, candidate_name: &str, candidate: Candidate) -> Result<(), Broken> {
        let Candidate { nominee, owner, .. } = candidate;
        if self.departed.get(&nominee) == Some(&Some(owner)) {
            let detail = format!("{candidate_name} of {}, which has left", name(nominee));
            return Err((Law::NothingLeftBehind, detail));
        }
        let other =
            self.known.iter().find(|(_, other)| other.nominee == nominee && other.owner == owner);
        if let Some((other, _)) = other {
            let detail = format!("{candidate_name} and {other} of {}", name(nominee));
            return Err((Law::OneCandidate, detail));
        }
        self.known.insert(candidate_name.to_owned(), candidate);
        Ok(())
    }

    /// Checks a nomination that ended, and said that its candidate is gone, or never was. Those of
    /// earlier sessions may be left, until these have expired for good: a leader of the ensemble
    /// that has lost its quorum tells of an end that its successor knows nothing of.
    pub(super) fn departed(
        &mut self,
        nominee: NomineeId,
        session: Option<SessionId>,
    ) -> Result<(), Broken> {
        self.departed.insert(nominee, session);
        let left = self.known.iter().find(|(_, candidate)| {
            candidate.nominee == nominee && Some(candidate.owner) == session
        });
        match left {
            Some((candidate, _)) => {
                let detail = format!("{candidate} of {}, which has left", name(nominee));
                Err((Law::NothingLeftBehind, detail))
            }
            None => Ok(()),
        }
    }

    /// Returns how often it was removed since that moment.
    pub(super) fn removals(&self, since: Time) -> usize {
        self.removed.iter().filter(|at| **at >= since).count()
    }

    /// Notes that an operator asks for the deletion of a candidate.
    pub(super) fn condemn(&mut self, candidate: &str) {
        self.condemned.extend(self.known.get(candidate).map(|candidate| candidate.czxid));
    }

    /// Notes that an operator lets no client read a candidate any more.
    pub(super) fn hide(&mut self, candidate: &str) {
        if let Some(Candidate { nominee, czxid, .. }) = self.known.get(candidate) {
            self.hidden.insert(*czxid, *nominee);
        }
    }

    /// Whether an operator has ever hidden a candidate of this nominee.
    pub(super) fn was_hidden(&self, nominee: NomineeId) -> bool {
        self.hidden.values().any(|hidden| *hidden == nominee)
    }

    /// Returns the candidates that no client may read.
    pub(super) fn hidden(&self) -> impl Iterator<Item = &str> {
        let hidden = self.known.iter().filter(|(_, known)| self.hidden.contains_key(&known.czxid));
        hidden.map(|(name, _)| name.as_str())
    }

    pub(super) fn is_hidden(&self, token: Token) -> bool {
        self.hidden.contains_key(&Zxid::new(token.get()))
    }

    /// Returns the time at which an operator deleted the candidate with this token, if one did. No
    /// lease protects a leader from that: its successor leads at once, and it hears of it as soon
    /// as it can.
    pub(super) fn evicted_at(&self, token: Token) -> Option<Time> {
        self.evicted.get(&token).copied()
    }

    /// Returns the candidates, in the order of their names.
    pub(super) fn known(&self) -> &BTreeMap<String, Candidate> {
        &self.known
    }

    /// Returns the candidates in the order of their creation.
    pub(super) fn in_order(&self) -> Vec<&str> {
        let mut known: Vec<_> = self.known.iter().collect();
        known.sort_by_key(|(_, candidate)| candidate.czxid);
        known.into_iter().map(|(candidate, _)| candidate.as_str()).collect()
    }

    fn take_in_resource(&mut self, database: &Database) -> Result<(), Broken> {
        let Some(znode) = database.znode(self.queue.resource()) else {
            return Ok(());
        };
        let written = znode.stat().mzxid;
        if core::mem::replace(&mut self.written, written) == written {
            return Ok(());
        }
        let Some(token) = znode.data().and_then(|data| data.try_into().ok()) else {
            return Ok(());
        };
        let token = i64::from_be_bytes(token);
        self.guarded_writes += 1;
        let last = core::mem::replace(&mut self.last_write, token);
        if token < last {
            let detail = format!("{token} was written after {last}");
            return Err((Law::GuardedWritesInOrder, detail));
        }
        Ok(())
    }
}

/// Returns the nominee of a candidate, which any of its attempts may have created.
pub(super) fn nominee_of(candidate: &str) -> Option<NomineeId> {
    let id: NomineeId = candidate.strip_prefix("_c_")?.get(..36)?.parse().ok()?;
    Some(of_every_attempt(id))
}

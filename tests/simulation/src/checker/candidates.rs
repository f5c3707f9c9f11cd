//! The candidates of all elections, and the znodes of all contenders for locks.

use std::collections::BTreeSet;

use election_core::format::Format;
use election_core::name::Sequence;
use election_core::{NomineeId, Token};
use zk_embedded::Database;
use zk_jute::{SessionId, Zxid};

use super::election_node::{Candidate, Change, ElectionNode};
use super::{Broken, queue_of};
use crate::clock::Time;
use crate::queue::Queue;

/// The committed candidates of all queues.
#[derive(Debug)]
pub(crate) struct Candidates {
    nodes: Vec<ElectionNode>,
}

impl Candidates {
    pub(crate) fn new() -> Self {
        Self { nodes: Queue::ALL.map(ElectionNode::new).into() }
    }

    /// Takes in what a member shows.
    pub(crate) fn take_in(
        &mut self,
        now: Time,
        database: &Database,
        changes: &mut Vec<Change>,
    ) -> Result<(), Broken> {
        self.nodes.iter_mut().try_for_each(|node| node.take_in(now, database, changes))
    }

    /// Notes that a nomination ended, and said that its candidate is gone, or never was.
    pub(crate) fn departed(
        &mut self,
        nominee: NomineeId,
        session: Option<SessionId>,
    ) -> Result<(), Broken> {
        let queue = queue_of(nominee);
        let nodes = self.nodes.iter_mut();
        // A contender for a permit has its turn beside it.
        let mut of_it = nodes.filter(|node| {
            node.queue == queue || queue == Queue::SEMAPHORE && node.queue == Queue::TURNS
        });
        of_it.try_for_each(|node| node.departed(nominee, session))
    }

    /// Notes that an operator asks for the deletion of a candidate.
    pub(crate) fn condemn(&mut self, queue: Queue, candidate: &str) {
        if let Some(node) = self.nodes.get_mut(queue.index()) {
            node.condemn(candidate);
        }
    }

    /// Notes that an operator lets no client read a candidate any more.
    pub(crate) fn hide(&mut self, queue: Queue, candidate: &str) {
        if let Some(node) = self.nodes.get_mut(queue.index()) {
            node.hide(candidate);
        }
    }

    /// Returns the candidates that no client may read.
    pub(crate) fn hidden(&self) -> Vec<(Queue, String)> {
        let hidden = |node: &ElectionNode| {
            let queue = node.queue;
            node.hidden().map(|name| (queue, name.to_owned())).collect::<Vec<_>>()
        };
        self.nodes.iter().flat_map(hidden).collect()
    }

    /// Whether the candidate with this token was hidden by an operator.
    pub(crate) fn is_hidden(&self, token: Token) -> bool {
        self.nodes.iter().any(|node| node.is_hidden(token))
    }

    /// Whether an operator has ever hidden a candidate of this nominee.
    pub(crate) fn was_hidden(&self, nominee: NomineeId) -> bool {
        let node = self.nodes.get(queue_of(nominee).index());
        node.is_some_and(|node| node.was_hidden(nominee))
    }

    /// Returns how often the node in which this nominee has its candidates was removed since that moment.
    pub(crate) fn removals(&self, nominee: NomineeId, since: Time) -> usize {
        let queue = queue_of(nominee);
        let concerns = |of: Queue| of == queue || queue == Queue::SEMAPHORE && of == Queue::TURNS;
        let nodes = self.nodes.iter().filter(|node| concerns(node.queue));
        nodes.map(|node| node.removals(since)).sum()
    }

    /// Whether there is a candidate of this nominee.
    pub(crate) fn stands_for(&self, nominee: NomineeId) -> bool {
        let node = self.nodes.get(queue_of(nominee).index());
        node.is_some_and(|node| node.known().values().any(|known| known.nominee == nominee))
    }

    /// Whether there is a candidate of this name.
    pub(crate) fn stands(&self, queue: Queue, candidate: &str) -> bool {
        let node = self.nodes.get(queue.index());
        node.is_some_and(|node| node.known().contains_key(candidate))
    }

    /// Returns the time at which an operator deleted the candidate with this token, if one did. No
    /// lease protects a leader from that: its successor leads at once, and it hears of it as soon
    /// as it can.
    pub(crate) fn evicted_at(&self, token: Token) -> Option<Time> {
        self.nodes.iter().find_map(|node| node.evicted_at(token))
    }

    /// Returns the number of candidates.
    pub(crate) fn count(&self, queue: Queue) -> usize {
        self.nodes.get(queue.index()).map_or(0, |node| node.known().len())
    }

    /// Returns the number of candidates in all elections.
    pub(crate) fn count_all(&self) -> usize {
        self.nodes.iter().map(|node| node.known().len()).sum()
    }

    /// Returns the candidates of an election in the order of their creation.
    pub(crate) fn in_order(&self, queue: Queue) -> Vec<&str> {
        self.nodes.get(queue.index()).map_or_else(Vec::new, ElectionNode::in_order)
    }

    /// One that was created before this transaction.
    pub(crate) fn created_before(&self, queue: Queue, zxid: Zxid) -> Option<&str> {
        let known = self.nodes.get(queue.index())?.known().iter();
        // None leads by a number that recurs.
        let mut numbered = known.filter(|(name, _)| Format::curator_latch().parse(name).is_ok());
        numbered.find(|(_, candidate)| candidate.czxid < zxid).map(|(name, _)| name.as_str())
    }

    /// The token of a candidate that stands.
    pub(crate) fn token_of(&self, queue: Queue, candidate: &str) -> Option<Token> {
        let known = self.nodes.get(queue.index())?.known().get(candidate);
        known.map(|candidate| Token::new(candidate.czxid.get()))
    }

    /// The nominees between the first one and this place, if a candidate has it.
    pub(crate) fn ahead_of(&self, queue: Queue, place: Sequence) -> Vec<NomineeId> {
        let known = self.nodes.get(queue.index()).into_iter().flat_map(ElectionNode::known);
        let numbered = known.filter_map(|(name, candidate)| {
            Some((Format::curator_latch().parse(name).ok()?.sequence(), candidate.nominee))
        });
        let mut numbered: Vec<_> = numbered.collect();
        numbered.sort_unstable();
        if numbered.iter().all(|(number, _)| *number != place) {
            return Vec::new();
        }
        let ahead = numbered.into_iter().skip(1).take_while(|(number, _)| *number < place);
        ahead.map(|(_, nominee)| nominee).collect()
    }

    /// Whether this contender has ever had to queue behind another one.
    pub(crate) fn has_queued(&self, nominee: NomineeId) -> bool {
        let node = self.nodes.get(queue_of(nominee).index());
        node.is_some_and(|node| node.has_queued(nominee))
    }

    /// Returns how many permits stand that were made before this one.
    pub(crate) fn permits_before(&self, token: Token) -> usize {
        let node = self.nodes.get(Queue::SEMAPHORE.index());
        let known = node.into_iter().flat_map(|node| node.known().values());
        known.filter(|known| known.czxid.get() < token.get()).count()
    }

    /// Returns a candidate that stands before the znode of this contender with this token, and
    /// excludes it.
    pub(crate) fn rival_before(&self, own: NomineeId, token: Token) -> Option<&str> {
        self.nodes.get(queue_of(own).index())?.rival_before(own, token)
    }

    /// Returns the candidate that this contender waits for, as things stand.
    pub(crate) fn predecessor(&self, nominee: NomineeId) -> Option<&str> {
        let queue = match queue_of(nominee) {
            Queue::SEMAPHORE => Queue::TURNS,
            queue => queue,
        };
        self.nodes.get(queue.index())?.predecessor(nominee)
    }

    /// Returns the first candidate that this contender cannot hold beside.
    pub(crate) fn first_rival(&self, nominee: NomineeId) -> Option<&str> {
        self.nodes.get(queue_of(nominee).index())?.first_rival(nominee)
    }

    /// Returns how many have their turn.
    pub(crate) fn front(&self, queue: Queue) -> usize {
        self.nodes.get(queue.index()).map_or(0, ElectionNode::front)
    }

    /// Returns the znodes of these contenders in this session.
    pub(crate) fn of(&self, session: SessionId, contenders: &BTreeSet<NomineeId>) -> Vec<String> {
        let is_meant =
            |known: &Candidate| known.owner == session && contenders.contains(&known.nominee);
        let nodes = self.nodes.iter();
        let paths = nodes.flat_map(|node| {
            let known = node.known().iter().filter(|(_, known)| is_meant(known));
            known.map(|(name, _)| node.queue.child(name))
        });
        paths.collect()
    }

    /// Writes under guard that were applied.
    pub(crate) fn guarded_writes(&self) -> u64 {
        self.nodes.iter().map(|node| node.guarded_writes).sum()
    }
}

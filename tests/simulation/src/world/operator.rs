//! The operator's actions on the elections.

use zk_embedded::Znode;
use zk_jute::records::Permissions;

use super::World;
use crate::checker::Broken;
use crate::client::Chore;
use crate::incident::{Ban, Place, What};
use crate::queue::Queue;
use crate::server::Host;

impl World<'_> {
    pub(super) fn operate(&mut self, what: What) -> Result<(), Broken> {
        let chores: Vec<Chore> = match what {
            What::Evict(place) => {
                let candidate = self.candidate_at(place);
                candidate.map(|(queue, name)| self.evict(queue, &name)).into_iter().collect()
            }
            What::WriteCandidate(place) => {
                let candidate = self.candidate_at(place);
                let write = |(queue, name): (Queue, String)| queue.child(name);
                candidate.map(|it| Chore::Write(write(it))).into_iter().collect()
            }
            What::Hide(place) => {
                self.conduct.reasons_mut().access_list_changed();
                let candidate = self.candidate_at(place);
                candidate.map(|(queue, name)| self.hide(queue, &name)).into_iter().collect()
            }
            What::Forbid(queue, ban) => {
                let queue = Queue::election(queue, self.plan.elections);
                self.conduct.reasons_mut().access_list_changed();
                self.bans.push((queue, ban));
                vec![self.access_to(queue)]
            }
            What::BreakLock(lock, number) => {
                let znode = self.znode_at(Queue::lock(lock), number);
                znode.map(|(queue, name)| self.evict(queue, &name)).into_iter().collect()
            }
            What::WriteContender(lock, number) => {
                let znode = self.znode_at(Queue::lock(lock), number);
                znode.map(|(queue, name)| Chore::Write(queue.child(name))).into_iter().collect()
            }
            What::RemoveLock(lock) => self.remove(Queue::lock(lock)),
            What::DeleteEntry(number) => {
                let double_barrier = self.uses.as_ref().map(|book| &book.books.double_barrier);
                let entry = double_barrier.and_then(|book| book.entry_at(number));
                entry.map(Chore::Delete).into_iter().collect()
            }
            What::RemoveElectionNode(queue) => {
                self.remove(Queue::election(queue, self.plan.elections))
            }
            What::EraseMark(queue) => {
                let queue = Queue::election(queue, self.plan.elections);
                vec![self.erase_mark(queue)]
            }
            What::CreateStranger(number) => {
                let queue = Queue::election(number, self.plan.elections);
                vec![Chore::Create(queue.child(format_args!("stranger-{number}")))]
            }
            _ => Vec::new(),
        };
        self.give(&chores)
    }

    /// Returns the candidate that is meant, if there is any.
    fn candidate_at(&self, Place { election, number }: Place) -> Option<(Queue, String)> {
        self.znode_at(Queue::election(election, self.plan.elections), number)
    }

    /// Returns the znode that is meant, if there is any.
    fn znode_at(&self, queue: Queue, number: u8) -> Option<(Queue, String)> {
        let candidates = self.candidates.in_order(queue);
        let index = usize::from(number) % candidates.len().max(1);
        candidates.get(index).map(|name| (queue, (*name).to_owned()))
    }

    fn evict(&mut self, queue: Queue, candidate: &str) -> Chore {
        self.candidates.condemn(queue, candidate);
        Chore::Delete(queue.child(candidate))
    }

    fn hide(&mut self, queue: Queue, candidate: &str) -> Chore {
        self.candidates.hide(queue, candidate);
        Chore::Permit(queue.child(candidate), all_but(Permissions::READ))
    }

    /// Puts the rest in order, as the operator: candidates that no client may read, operations that
    /// are forbidden, election nodes without a number left.
    pub(super) fn tidy(&mut self) -> Result<(), Broken> {
        let hidden = self.candidates.hidden();
        let mut chores: Vec<_> =
            hidden.into_iter().map(|(queue, name)| self.evict(queue, &name)).collect();
        for queue in core::mem::take(&mut self.exhausted) {
            let strangers = self.strangers(queue);
            chores.extend(self.remove(queue));
            chores.extend(strangers);
            chores.push(Chore::Delete(queue.node().to_owned()));
        }
        chores.extend(self.signs_left());
        chores.extend(self.hand_over_marks_left());
        if self.conduct.reasons().access_changes() {
            chores.extend(Queue::ELECTIONS.map(|queue| self.access_to(queue)));
        }
        self.give(&chores)
    }

    /// Returns the deletions of the children that would keep an election node from being removed.
    fn strangers(&self, queue: Queue) -> Vec<Chore> {
        let node = Host::newest(&self.hosts).and_then(|database| database.znode(queue.node()));
        let children = node.into_iter().flat_map(Znode::children);
        children.map(|name| Chore::Delete(queue.child(name))).collect()
    }

    /// Lets every client do this again, as the operator, unless it is forbidden for another reason.
    pub(super) fn permit(&mut self, queue: Queue, ban: Ban) -> Result<(), Broken> {
        let lifted = self.bans.iter().position(|other| *other == (queue, ban));
        if let Some(index) = lifted {
            self.bans.remove(index);
        }
        let chore = self.access_to(queue);
        self.give(&[chore])
    }

    /// Returns the access list that the election node is to have at the moment.
    fn access_to(&self, queue: Queue) -> Chore {
        Chore::Permit(queue.node().to_owned(), self.permissions_of(queue))
    }

    /// Returns what the election node is to permit to every client at the moment.
    fn permissions_of(&self, queue: Queue) -> Permissions {
        let bans = self.bans.iter().filter(|(banned, _)| *banned == queue);
        all_but(bans.fold(Permissions::NONE, |banned, (_, ban)| banned | permission(*ban)))
    }

    /// Returns why the elections are not settled where the servers store another access list of an
    /// election node than the operator wrote last: the operator's connection broke before its write.
    pub(super) fn access_left(&self) -> Option<String> {
        if !self.conduct.reasons().access_changes() {
            return None;
        }
        let newest = Host::newest(&self.hosts)?;
        let is_other = |queue: &Queue| {
            let permissions = self.permissions_of(*queue);
            let node = newest.znode(queue.node());
            node.is_some_and(|node| {
                node.access().entries().any(|acl| acl.permissions != permissions)
            })
        };
        let other = Queue::ELECTIONS.into_iter().find(is_other);
        other.map(|queue| format!("the access list of {queue} is not restored"))
    }

    /// Returns an election node, with the candidates in it.
    fn remove(&mut self, queue: Queue) -> Vec<Chore> {
        let candidates = self.candidates.in_order(queue);
        let candidates: Vec<_> = candidates.into_iter().map(str::to_owned).collect();
        let evicted = candidates.iter().map(|name| self.evict(queue, name));
        let mut chores: Vec<_> = evicted.collect();
        chores.push(Chore::Delete(queue.node().to_owned()));
        chores
    }

    pub(super) fn create_resources(&mut self) {
        let locks: &[Queue] = if self.plan.locks.is_some() { &Queue::LOCKS } else { &[] };
        let queues = Queue::ELECTIONS.iter().chain(locks);
        let registers: &[Queue] =
            if self.plan.writes_in_epochs() { &Queue::ELECTIONS } else { &[] };
        let resources = queues.map(|queue| queue.resource());
        let resources = resources.chain(registers.iter().map(|queue| queue.register()));
        let resources = resources.map(|path| Chore::Create(path.to_owned()));
        let resources: Vec<Chore> = resources.chain(self.resources_of_slots()).collect();
        let created = self.give(&resources);
        debug_assert!(created.is_ok(), "nothing has happened yet");
    }

    pub(super) fn give(&mut self, chores: &[Chore]) -> Result<(), Broken> {
        let operator = self.operator();
        if let Some(process) = self.processes.get_mut(operator) {
            let now = process.now(self.now);
            if let Some(client) = &mut process.client {
                for chore in chores {
                    client.operate(now, chore);
                }
            }
        }
        self.settle_client(operator)
    }
}

const fn permission(ban: Ban) -> Permissions {
    match ban {
        Ban::List => Permissions::READ,
        Ban::Create => Permissions::CREATE,
    }
}

fn all_but(banned: Permissions) -> Permissions {
    Permissions::new(Permissions::ALL.get() & !banned.get())
}

//! The requests of users and operators to a client.

use core::time::Duration;

use election_core::election::{Nominee, Policy, WhenAsked};
use election_core::format::Access;
use election_core::name::CandidateName;
use election_core::{NomineeId, Token};
use election_session::{Grant, RecipeKey};
use zk_jute::records::{
    Acl, CheckVersionRequest, CreateMode, CreateRequest, DeleteRequest, MultiOp, MultiRequest,
    Permissions, SetAclRequest, SetDataRequest,
};
use zk_jute::{Vector, Version};
use zk_session::Instant;

use super::Client;
use crate::checker::{access_of, queue_of};
use crate::locks::Claim;
use crate::queue::{Kind, Queue};
use crate::recipes::ItemId;
use crate::uses::WhichQueue;

/// A nomination, or a contender for a lock, as its user asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand {
    pub(crate) id: NomineeId,
    pub(crate) queue: Queue,
    pub(crate) terms: Terms,
}

/// A nomination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nomination {
    pub(crate) id: NomineeId,
    pub(crate) queue: Queue,
    pub(crate) policy: Policy,
    pub(crate) when_asked: WhenAsked,
}

/// The requests of its user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Terms {
    Nominee(Policy, WhenAsked),
    Lock {
        claim: Claim,
        /// By the clock of the client.
        deadline: Option<Instant>,
    },
}

/// Something done to a queue from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    Delete(String),
    Write(String),
    Create(String),
    /// Puts an item.
    Put(WhichQueue, ItemId),
    /// Gives every client these permissions on a znode, and no others.
    Permit(String, Permissions),
}

/// A leader's write that is made, and not submitted yet.
#[derive(Debug)]
pub(super) struct GuardedWrite {
    pub(super) due: Instant,
    key: RecipeKey,
    token: Token,
    candidate: CandidateName,
}

impl Stand {
    pub(super) const fn nomination(&self) -> Option<Nomination> {
        let Self { id, queue, terms } = *self;
        match terms {
            Terms::Nominee(policy, when_asked) => {
                Some(Nomination { id, queue, policy, when_asked })
            }
            Terms::Lock { .. } => None,
        }
    }
}

impl Client {
    pub(crate) fn nominate(&mut self, now: Instant, nomination: Nomination) {
        if !self.is_closed() {
            self.stand(now, Nominee::new(nomination.id, nomination.policy), nomination);
        }
    }

    pub(crate) fn withdraw(&mut self, now: Instant, key: RecipeKey) {
        if let Some(seen) = self.seen.get_mut(&key) {
            seen.was_withdrawn = true;
        }
        self.host.withdraw(now, key);
    }

    /// Lets each leader that is valid, and each that holds a lock alone, write its token to the resource
    /// of its queue, if its znode stands. The write waits that long for room.
    pub(crate) fn work(&mut self, now: Instant, wait: Duration) {
        if self.host.lease_deadline().is_none_or(|deadline| deadline <= now) {
            return;
        }
        let leaders = self.queued().filter_map(|(key, queued)| {
            let Grant::Announced { token } = *self.host.view(key)?.grant else {
                return None;
            };
            let is_alone = access_of(queued.id) == Access::Exclusive
                && queue_of(queued.id).kind() != Kind::Semaphore;
            let candidate = queued.znode.filter(|_| is_alone)?;
            let candidate = candidate.clone();
            Some(GuardedWrite { due: now + wait, key, token, candidate })
        });
        let leaders: Vec<_> = leaders.collect();
        self.writes.extend(leaders);
        self.write_if_due(now);
    }

    /// Submits the writes that have waited long enough, each if its leader still leads.
    pub(super) fn write_if_due(&mut self, now: Instant) {
        let (due, waiting) =
            core::mem::take(&mut self.writes).into_iter().partition(|write| write.due <= now);
        self.writes = waiting;
        for write in due {
            self.submit_write(now, &write);
        }
    }

    fn submit_write(&mut self, now: Instant, write: &GuardedWrite) {
        let GuardedWrite { key, token, candidate, .. } = write;
        let Some(seen) = self.seen.get(key).filter(|_| self.leads_by(now, *key, *token)) else {
            return;
        };
        let queue = seen.stand.queue;
        let (path, version) = (queue.child(candidate), Version::ANY);
        let (resource, data) = (queue.resource(), token.get().to_be_bytes());
        let operations = [
            MultiOp::Check(CheckVersionRequest { path: &path, version }),
            MultiOp::SetData(SetDataRequest { path: resource, data: Some(&data), version }),
        ];
        if let Some(call) = self.submit_call(now, &MultiRequest::new(&operations)) {
            self.note_write(call, queue, *token);
        }
    }

    /// Whether the leadership of this token is valid at this moment.
    pub(super) fn leads_by(&self, now: Instant, key: RecipeKey, token: Token) -> bool {
        let is_proved = self.host.lease_deadline().is_some_and(|deadline| now < deadline);
        let grant = self.host.view(key).map(|view| *view.grant);
        is_proved && grant == Some(Grant::Announced { token })
    }

    pub(crate) fn operate(&mut self, now: Instant, chore: &Chore) {
        let version = Version::ANY;
        // An operator looks at what became of it and asks again, or not.
        match chore {
            Chore::Delete(path) => self.submit(now, &DeleteRequest { path, version }),
            Chore::Write(path) => {
                let request = SetDataRequest { path, data: Some(b"operator"), version };
                self.submit(now, &request);
            }
            Chore::Create(path) => {
                let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
                let request = CreateRequest { path, data: Some(&[]), acl, mode };
                self.submit(now, &request);
            }
            Chore::Put(queue, item) => self.put(now, (*queue, 0), *item),
            Chore::Permit(path, permissions) => {
                let acl = [Acl { permissions: *permissions, ..Acl::OPEN }];
                let acl = Vector::new(&acl);
                let request = SetAclRequest { path, acl, version };
                self.submit(now, &request);
            }
        }
    }
}

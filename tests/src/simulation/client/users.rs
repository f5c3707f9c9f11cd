//! What users ask a client for, and operators.

use core::time::Duration;
use std::collections::BTreeMap;

use election_core::{CandidateName, NomineeId, Policy, Token};
use zk_jute::records::{
    Acl, CheckVersionRequest, CreateMode, CreateRequest, DeleteRequest, MultiOp, MultiRequest,
    Permissions, SetAclRequest, SetDataRequest,
};
use zk_jute::{Vector, Version};
use zk_session::Instant;

use super::nomination::{Happening, Nomination, NominationKey, Stimulus};
use super::{Client, Observed, OnExpiry, Tag};
use crate::simulation::election::Election;

/// A nomination, as its user asks for it.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulation) struct Stand {
    pub(in crate::simulation) id: NomineeId,
    pub(in crate::simulation) election: Election,
    pub(in crate::simulation) policy: Policy,
}

/// Something done to the election from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::simulation) enum Chore {
    Delete(String),
    Write(String),
    Create(String),
    /// Gives everybody these permissions on a znode, and no others.
    Permit(String, Permissions),
}

/// A leader's write that is made, and not submitted yet.
#[derive(Debug)]
pub(super) struct GuardedWrite {
    pub(super) due: Instant,
    key: NominationKey,
    token: Token,
    candidate: CandidateName,
}

impl Client {
    pub(in crate::simulation) fn nominate(
        &mut self,
        now: Instant,
        stand: Stand,
        observed: &mut Vec<Observed>,
    ) {
        if self.session.ended().is_some() || self.on_expiry == OnExpiry::Close {
            return;
        }
        let key = self.next_key();
        self.begin(now, Nomination::new(key, stand), observed);
    }

    fn begin(&mut self, now: Instant, nomination: Nomination, observed: &mut Vec<Observed>) {
        let key = nomination.key;
        self.nominations.insert(key, nomination);
        if let Some(session) = self.session.id().filter(|_| self.session.is_connected()) {
            let stimulus = Stimulus::Happened(Happening::Connected(session));
            self.stimulate(now, key, stimulus, observed);
        }
    }

    pub(super) fn next_key(&mut self) -> NominationKey {
        self.last_nomination += 1;
        NominationKey(self.last_nomination)
    }

    pub(in crate::simulation) fn withdraw(
        &mut self,
        now: Instant,
        key: NominationKey,
        observed: &mut Vec<Observed>,
    ) {
        self.stimulate(now, key, Stimulus::Withdraw, observed);
    }

    /// Closes the session. Nobody leads from here on.
    pub(in crate::simulation) fn close(&mut self, now: Instant) {
        self.on_expiry = OnExpiry::Close;
        self.session.close(now);
        self.heartbeats = None;
        let (leaving, ending) = core::mem::take(&mut self.nominations)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(_, other)| other.is_leaving() || other.is_over());
        self.nominations = leaving;
        for (_, mut nomination) in ending {
            nomination.client_ends();
            self.ending.push(nomination);
        }
    }

    /// Lets each leader that is valid write its token to the resource of its election, if its
    /// candidate stands. The write waits that long for room.
    pub(in crate::simulation) fn work(&mut self, now: Instant, wait: Duration) {
        if self.session.lease_deadline().is_none_or(|deadline| deadline <= now) {
            return;
        }
        let leaders = self.nominations.iter().filter_map(|(key, nomination)| {
            let (token, candidate) = nomination.announced()?;
            Some(GuardedWrite { due: now + wait, key: *key, token, candidate: candidate.clone() })
        });
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
        let Some(nomination) = self.nominations.get(key) else {
            return;
        };
        if !self.leads_by(now, nomination, *token) {
            return;
        }
        let (path, version) = (nomination.election.child(candidate), Version::ANY);
        let (resource, data) = (nomination.election.resource(), token.get().to_be_bytes());
        let operations = [
            MultiOp::Check(CheckVersionRequest { path: &path, version }),
            MultiOp::SetData(SetDataRequest { path: resource, data: Some(&data), version }),
        ];
        // Whether it was applied shows on the server.
        let _ = self.session.submit(now, Tag::Nobody, &MultiRequest::new(&operations));
    }

    /// Whether the leadership of this token is valid at this moment.
    fn leads_by(&self, now: Instant, nomination: &Nomination, token: Token) -> bool {
        let is_proved = self.session.lease_deadline().is_some_and(|deadline| now < deadline);
        is_proved && nomination.announced().is_some_and(|(current, _)| current == token)
    }

    pub(in crate::simulation) fn operate(&mut self, now: Instant, chore: &Chore) {
        let version = Version::ANY;
        // An operator looks at what became of it and asks again, or not.
        let _ = match chore {
            Chore::Delete(path) => {
                self.session.submit(now, Tag::Nobody, &DeleteRequest { path, version })
            }
            Chore::Write(path) => {
                let request = SetDataRequest { path, data: Some(b"operator"), version };
                self.session.submit(now, Tag::Nobody, &request)
            }
            Chore::Create(path) => {
                let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
                let request = CreateRequest { path, data: Some(&[]), acl, mode };
                self.session.submit(now, Tag::Nobody, &request)
            }
            Chore::Permit(path, permissions) => {
                let acl = [Acl { permissions: *permissions, ..Acl::OPEN }];
                let acl = Vector::new(&acl);
                let request = SetAclRequest { path, acl, version };
                self.session.submit(now, Tag::Nobody, &request)
            }
        };
    }
}

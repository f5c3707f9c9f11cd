//! The events that may cost a client its lease, and the time since.

use core::time::Duration;

use election_core::{NomineeId, Token};

use super::World;
use crate::checker::{Broken, name};
use crate::client::Client;
use crate::clock::Time;
use crate::incident::{Incident, What};
use crate::outcome::Law;

/// A server that refuses requests for so long costs no lease.
const BRIEF: Duration = Duration::from_millis(100);

/// How many heartbeats are sent for a promotion: the confirmation of the one that was under way, and a check.
const MOST_UNASKED: u32 = 2;

/// The processes that have their connections, or their clocks, impaired by an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Afflicted {
    Nobody,
    Client(usize),
    Everybody,
}

/// The incidents that go on, and when the last of them was over.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    causes: u32,
    last: Time,
}

/// The troubles of all clients.
#[derive(Debug)]
pub(super) struct Troubles {
    ensemble: Trouble,
    clients: Vec<Trouble>,
}

impl Trouble {
    fn has_been_over_since(self, moment: Time) -> bool {
        self.causes == 0 && self.last < moment
    }
}

impl Troubles {
    pub(super) fn new(clients: usize) -> Self {
        Self { ensemble: Trouble::default(), clients: vec![Trouble::default(); clients] }
    }

    pub(super) fn begin(&mut self, afflicted: Afflicted) {
        if let Some(trouble) = self.of(afflicted) {
            trouble.causes += 1;
        }
    }

    pub(super) fn end(&mut self, now: Time, afflicted: Afflicted) {
        if let Some(trouble) = self.of(afflicted) {
            trouble.causes = trouble.causes.saturating_sub(1);
            trouble.last = now;
        }
    }

    /// Notes an event that is over at once.
    pub(super) fn note(&mut self, now: Time, afflicted: Afflicted) {
        if let Some(trouble) = self.of(afflicted) {
            trouble.last = now;
        }
    }

    fn of(&mut self, afflicted: Afflicted) -> Option<&mut Trouble> {
        match afflicted {
            Afflicted::Nobody => None,
            Afflicted::Client(client) => self.clients.get_mut(client),
            Afflicted::Everybody => Some(&mut self.ensemble),
        }
    }

    /// Whether nothing of the kind has happened to the client after that moment.
    pub(super) fn spare_since(&self, client: usize, moment: Time) -> bool {
        let client = self.clients.get(client).copied().unwrap_or_default();
        client.has_been_over_since(moment) && self.ensemble.has_been_over_since(moment)
    }
}

impl World<'_> {
    pub(super) fn afflicted(&self, Incident { what, lasts, .. }: Incident) -> Afflicted {
        match what {
            What::ImpairClient(who, ..)
            | What::CutRequests(who, _)
            | What::BreakOff(who)
            | What::PauseClient(who)
            | What::HoldMachine(who)
            | What::LoseClient(who) => Afflicted::Client(self.who(who)),
            // A client that asks again soon gets its answer in time, unless answers take long.
            What::Throttle(_) if lasts <= BRIEF && self.plan.is_near() => Afflicted::Nobody,
            // A heartbeat that names a znode which an operator deletes or hides is refused, and goes out again for
            // another one: a lease bears that once, unless answers take long.
            What::Evict(_)
            | What::Hide(_)
            | What::Forbid(..)
            | What::RemoveElectionNode(_)
            | What::EndElection(_)
            | What::DeleteElection(_)
            | What::BreakLock(..)
            | What::RemoveLock(_)
                if !self.plan.is_near() =>
            {
                Afflicted::Everybody
            }
            What::ImpairMember(..)
            | What::Throttle(_)
            | What::RaiseBounds(_)
            | What::LosePeers(..)
            | What::Depose
            | What::CrashMember(_)
            | What::ShutDown(_)
            | What::StepWallClock(_)
            | What::EndSession(_)
            | What::CrashAll
            | What::PauseMember(_) => Afflicted::Everybody,
            // Named one by one: a new fault has to say which leases it may cost.
            What::LoseReplies(_)
            | What::CrashClient(_)
            | What::Withdraw(_)
            | What::CloseClient(_)
            | What::EndClient(..)
            | What::ListServers(..)
            | What::Nominate(..)
            | What::HandOver(..)
            | What::Refuse(_)
            | What::RefuseButDeposed
            | What::Evict(_)
            | What::WriteCandidate(_)
            | What::Hide(_)
            | What::Forbid(..)
            | What::RemoveElectionNode(_)
            | What::CreateStranger(_)
            | What::BreakLock(..)
            | What::WriteContender(..)
            | What::RemoveLock(_)
            | What::DeleteEntry(_)
            | What::EndElection(_)
            | What::DeleteElection(_)
            | What::HandLeadOver(_)
            | What::GiveUpLead(..)
            | What::EraseMark(_) => Afflicted::Nobody,
        }
    }

    /// Checks that a lease, which has lapsed with these leaderships, had a reason to.
    ///
    /// Within a timeout and a half, several heartbeats can be sent and answered. If the client kept
    /// its connection for so long, and neither it nor the ensemble was in any trouble, then the
    /// lease should have been proved. That other candidates of the client were deleted meanwhile is
    /// no reason to lose this one's leadership.
    pub(super) fn check_lapsed(
        &self,
        client: usize,
        leaders: &[(NomineeId, Token)],
    ) -> Result<(), Broken> {
        let Some(process) = self.processes.get(client) else {
            return Ok(());
        };
        let span = process.timeout() * 3 / 2;
        let Some(moment) = self.now.before(span) else {
            return Ok(());
        };
        let is_well = process.connected_at.is_some_and(|at| at < moment)
            && self.troubles.spare_since(client, moment);
        let mut lost = leaders.iter().filter(|(_, token)| self.may_stay(*token));
        match lost.next() {
            Some((nominee, _)) if is_well => {
                let detail =
                    format!("{}, for {} ms all was well", name(*nominee), span.as_millis());
                Err((Law::LapseWhileWell, detail))
            }
            _ => Ok(()),
        }
    }

    /// Checks a nominee that is announced.
    pub(super) fn check_granted_in_time(
        &mut self,
        client: usize,
        nominee: NomineeId,
    ) -> Result<(), Broken> {
        let process = self.processes.get_mut(client);
        let promoted_at = process.and_then(|process| process.promoted.remove(&nominee));
        let promoted_at = promoted_at.filter(|_| self.plan.like.is_none());
        promoted_at.map_or(Ok(()), |at| self.check_wait(client, nominee, at))
    }

    /// Checks those that are promoted, and not announced yet.
    pub(super) fn check_awaiting_lease(&self, client: usize) -> Result<(), Broken> {
        let process = self.processes.get(client).filter(|it| !it.promoted.is_empty());
        // No lease is granted on servers that are not ZooKeeper's.
        let Some(process) = process.filter(|_| self.plan.like.is_none()) else {
            return Ok(());
        };
        for nominee in process.client.iter().flat_map(Client::awaiting_lease) {
            if let Some(promoted_at) = process.promoted.get(&nominee) {
                self.check_wait(client, nominee, *promoted_at)?;
            }
        }
        Ok(())
    }

    /// Checks what a promoted nominee has waited for. If all was well with its client for a timeout before, and
    /// since, its lease was ready: the nominee waited for a check that had to be committed, after a heartbeat that may have been
    /// on its way. However long these took, only an answer that was slower than a lease bears may let the nominee wait
    /// longer, until the next answer: before that the session cannot know that it was slow only once.
    fn check_wait(
        &self,
        client: usize,
        nominee: NomineeId,
        promoted_at: Time,
    ) -> Result<(), Broken> {
        let Some(process) = self.processes.get(client) else {
            return Ok(());
        };
        let timeout = process.timeout();
        let Some(moment) = promoted_at.before(timeout) else {
            return Ok(());
        };
        // Where a candidate may not be read, heartbeats are refused, and prove nothing.
        let is_well = process.connected_at.is_some_and(|at| at < moment)
            && process.refused_at.is_none_or(|at| at < moment)
            && self.troubles.spare_since(client, moment);
        // Three round trips, and what the links add to each.
        let is_near = (self.plan.latency * 2 + self.plan.lateness) * 60 < timeout;
        if !is_well || !is_near {
            return Ok(());
        }
        let terms = process.terms(self.plan.lateness);
        let wait = process.heartbeats.wait(promoted_at, self.now, terms);
        if wait.idle > self.plan.lateness || wait.unasked > MOST_UNASKED {
            let took = self.now.since(promoted_at).as_millis();
            let detail = format!("{}, {took} ms, {wait:?}", name(nominee));
            return Err((Law::GrantedInTime, detail));
        }
        Ok(())
    }

    /// Whether the operator has left this candidate alone.
    fn may_stay(&self, token: Token) -> bool {
        self.candidates.evicted_at(token).is_none() && !self.candidates.is_hidden(token)
    }
}

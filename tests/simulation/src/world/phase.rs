//! The course of a run: incidents, then a settled election, then silence, then all clients leave.

use core::time::Duration;

use election_core::NomineeId;
use election_core::election::Role;
use zk_embedded::Database;
use zk_session::lease::LeaseOutlook;

use super::{Event, World};
use crate::checker::{Broken, Contract, name, queue_of};
use crate::client::Client;
use crate::clock::Time;
use crate::outcome::Law;
use crate::queue::Queue;
use crate::server::{Condition, Host};

#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Until the plan's calm.
    Incidents,
    /// Until the election is settled and stays so. It has been settled since the one moment, and
    /// is to be at the other.
    Settling {
        since: Time,
        until: Time,
    },
    /// All that wait for something get it, and go on until this moment; they have since the other.
    Waking {
        over: Time,
        until: Time,
    },
    /// Nothing happens, until this moment.
    Silence {
        from: Time,
        until: Time,
    },
    /// Until no client is left, at the latest at this moment.
    Leaving {
        until: Time,
    },
    Over,
}

/// How often the world looks whether a phase is over.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl World<'_> {
    /// Whether users still start, restart and nominate by themselves.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. } | Phase::Over)
    }

    pub(super) fn look(&mut self) -> Result<(), Broken> {
        let now = self.now;
        match self.phase {
            Phase::Incidents => {
                self.tell("***", || "everything is well again".to_owned());
                self.check_no_lease()?;
                self.tidy()?;
                self.mend_members();
                self.end_meetings();
                let until = now + self.settling_time();
                self.phase = Phase::Settling { since: now, until };
            }
            Phase::Settling { since, until } => self.look_at_election(since, until)?,
            Phase::Waking { over, until } => self.look_at_waking(over, until)?,
            Phase::Silence { from, until } if now >= until => {
                self.check_silence(from)?;
                self.check_watches()?;
                self.tell("***", || "everybody leaves".to_owned());
                self.begin_leaving();
            }
            Phase::Leaving { until } => match self.remaining() {
                None => self.phase = Phase::Over,
                Some(why) if now >= until => return Err((Law::EmptyInTheEnd, why)),
                Some(_) => {}
            },
            Phase::Silence { .. } | Phase::Over => {}
        }
        self.agenda.add(now + LOOK_EVERY, Event::Look);
        Ok(())
    }

    /// Looks at the election. A loss that was under way at the calm may still come to light: a
    /// session that was not heard of for too long, a lease that was not proved in time. After a
    /// timeout and two ticks it has.
    fn look_at_election(&mut self, since: Time, until: Time) -> Result<(), Broken> {
        let now = self.now;
        if !self.exhausted.is_empty() {
            self.tidy()?;
        }
        let proof = self.longest * 11 / 10 + self.plan.tick * 2;
        match self.unsettled() {
            None if now.since(since) >= proof => {
                self.stats.slowest_settling = since.since(self.plan.calm_at);
                self.tell("***", || "settled".to_owned());
                self.begin_waking()?;
            }
            Some(why) if now >= until => return Err((Law::LeaderInTime, why)),
            None if since >= until => {
                return Err((Law::LeaderInTime, "it goes on changing".to_owned()));
            }
            None => {}
            Some(_) => {
                self.note_change();
                self.tidy()?;
            }
        }
        self.applied = Host::newest(&self.hosts).map(Database::last_zxid).unwrap_or_default();
        Ok(())
    }

    /// Notes that the election is not settled, or not any more.
    pub(super) fn note_change(&mut self) {
        if let Phase::Settling { since, .. } = &mut self.phase {
            *since = self.now;
        }
    }

    /// Returns why the elections are not settled: one is settled when one nominee leads validly,
    /// all others follow, and nothing is left of those that are gone.
    fn unsettled(&self) -> Option<String> {
        let mut elections = Queue::ELECTIONS.into_iter();
        elections
            .find_map(|queue| self.unsettled_in(queue))
            .or_else(|| Queue::LOCKS.into_iter().find_map(|queue| self.unsettled_lock(queue)))
            .or_else(|| self.unsettled_use())
            .or_else(|| self.unsettled_tree())
            .or_else(|| self.unsettled_share())
            .or_else(|| self.hand_over_left())
            .or_else(|| self.access_left())
            .or_else(|| self.debtor())
            .or_else(|| self.stale_member())
    }

    /// Returns the client that still looks for the remains of a failed nomination.
    fn debtor(&self) -> Option<String> {
        let clients = self.processes.iter().filter_map(|process| process.client.as_ref());
        let debtor = clients.flat_map(Client::debtors).next();
        debtor.map(|nominee| format!("{} owes a cleanup", name(nominee)))
    }

    fn unsettled_in(&self, queue: Queue) -> Option<String> {
        let (mut standing, mut leading) = (0, 0);
        let clients = self.processes.iter().filter_map(|process| process.client.as_ref());
        let is_of = |nominee: NomineeId| queue_of(nominee) == queue;
        for (nominee, role) in clients.flat_map(Client::nominees).filter(|(id, _)| is_of(*id)) {
            standing += 1;
            match role {
                Role::Leading { .. } => leading += 1,
                Role::Following { predecessor, .. }
                    if self.candidates.stands(queue, &predecessor.text()) => {}
                other => return Some(format!("{} is {other:?}", name(nominee))),
            }
        }
        let valid = self.processes.iter().flat_map(|process| process.valid(self.now));
        let valid = valid.filter(|(nominee, _)| is_of(*nominee)).count();
        let candidates = self.candidates.count(queue);
        let is_proved = valid == leading || valid < leading && self.is_told_to_wait(queue);
        if leading != standing.min(1) || !is_proved {
            let counted = format!("{leading} lead, {valid} of them validly, of {standing}");
            return Some(format!("{counted} in {queue}"));
        }
        (candidates != standing)
            .then(|| format!("{standing} nominees have {candidates} candidates in {queue}"))
    }

    /// Whether the nominee that leads is told that its lease cannot be kept at this distance from the
    /// servers.
    pub(super) fn is_told_to_wait(&self, queue: Queue) -> bool {
        self.processes.iter().any(|process| {
            let Some(client) = &process.client else {
                return false;
            };
            let outlook = client.lease_outlook(process.now(self.now));
            let mut nominees = client.nominees();
            matches!(outlook, LeaseOutlook::RoundTripTooLong { .. } | LeaseOutlook::NoLease { .. })
                && nominees.any(|(nominee, role)| {
                    queue_of(nominee) == queue && matches!(role, Role::Leading { .. })
                })
        })
    }

    /// Returns a member that does not show the last look's state of another. Clients that watch
    /// something on it are not settled.
    fn stale_member(&self) -> Option<String> {
        let stale = self.hosts.iter().position(|host| host.database().last_zxid() < self.applied);
        stale.map(|server| format!("server {} lags", server + 1))
    }

    /// Wakes all that wait at a barrier, or for an item.
    fn begin_waking(&mut self) -> Result<(), Broken> {
        if self.wake_all()? {
            self.phase = Phase::Waking { over: self.now, until: self.now + self.waking_time() };
        } else {
            self.check_accounts()?;
            self.begin_silence()?;
        }
        Ok(())
    }

    fn waking_time(&self) -> Duration {
        Duration::from_millis(2_500) + self.plan.latency * 40 + self.plan.lateness * 20
    }

    /// Checks, after a while in which all went on, that nothing is on its way, and that none is
    /// forgotten.
    fn look_at_waking(&mut self, over: Time, until: Time) -> Result<(), Broken> {
        let now = self.now;
        // A handshake that came late has moved a session.
        let is_connected = |since: Time| since < over;
        let is_steady = self.processes.iter().all(|process| {
            process.client.is_none() || process.connected_at.is_some_and(is_connected)
        });
        match self.forgotten() {
            // The request that was to wake it may not have been sent.
            Some(_) if !is_steady => {
                self.wake_all()?;
                self.phase = Phase::Waking { over: now, until: now + self.waking_time() };
            }
            Some(why) if now >= until => return Err((Law::WokenInTime, why)),
            Some(_) => self.phase = Phase::Waking { over, until },
            None if now >= until + self.waking_time() => {
                self.check_accounts()?;
                self.begin_silence()?;
            }
            None => {}
        }
        Ok(())
    }

    fn begin_silence(&mut self) -> Result<(), Broken> {
        self.check_marks()?;
        self.check_trees()?;
        for process in &mut self.processes {
            process.traffic = super::process::Traffic::default();
        }
        let until = self.now + self.longest * 3;
        self.phase = Phase::Silence { from: self.now, until };
        Ok(())
    }

    pub(super) fn is_silent(&self) -> bool {
        matches!(self.phase, Phase::Silence { .. })
    }

    /// Checks the silence: at most one ping or heartbeat at a time, a confirmation with each heartbeat, commits for a
    /// leader and an heir alone, and a request of each nominee when its client looks whether anything was missed; one
    /// more at its first look, by which a follower begins to watch its own candidate.
    fn check_silence(&self, from: Time) -> Result<(), Broken> {
        let span = self.now.since(from);
        for (client, process) in self.processes.iter().enumerate() {
            self.conduct.contract(client).map_or(Ok(()), Contract::check_at_rest)?;
            let traffic = process.traffic;
            // A handshake that came late has moved the session, and the next write finds out.
            if traffic.losses == 1 {
                continue;
            }
            let interval = process.heartbeat_interval().as_millis().max(1);
            let most = u32::try_from(span.as_millis() / interval).unwrap_or(u32::MAX) + 2;
            let looks = span.as_millis() * 4 / 3 / self.plan.look_every.as_millis().max(1) + 1;
            let looks = u32::try_from(looks).unwrap_or(u32::MAX);
            let parts = |client: &Client| client.parts() + client.parts_of_share();
            let nominees = process.client.as_ref().map_or(0, parts);
            let nominees = u32::try_from(nominees).unwrap_or(u32::MAX);
            // A lease that cannot be kept is proved anew again and again.
            let beats = if self.plan.is_prompt() { 2 * most } else { 3 * most };
            // Heartbeats that check a hidden candidate are refused, and each time its nominee looks.
            let clients_nominees = process.client.iter().flat_map(Client::nominees);
            let hidden = clients_nominees.filter(|(id, _)| self.candidates.was_hidden(*id)).count();
            let refused = if hidden > 0 { beats } else { 0 };
            let checks =
                if !self.plan.is_prompt() || hidden > 0 {
                    beats
                } else if process.client.as_ref().is_some_and(|client| {
                    client.needs_the_lease(|of, znode| self.is_first(of, znode))
                }) {
                    most
                } else {
                    0
                };
            if traffic.others > (looks + 1) * nominees + refused
                || traffic.notifications > 0
                || traffic.pings > most
                || traffic.syncs + traffic.checks > beats
                || traffic.checks > checks
            {
                let detail = format!(
                    "client {} in {} ms: {traffic:?}, at most {most} pings expected, {checks} checks, \
                     {looks} looks of {nominees}",
                    client + 1,
                    span.as_millis()
                );
                return Err((Law::Silence, detail));
            }
        }
        Ok(())
    }

    fn begin_leaving(&mut self) {
        // A session that is abandoned lives on for its timeout, rounded up to a tick.
        let until = self.now + self.longest * 3 / 2 + self.plan.tick * 2;
        self.phase = Phase::Leaving { until: until + Duration::from_secs(5) };
        for client in 0..self.plan.nominees.len() {
            let at = self.now + Duration::from_millis(self.rng.u64(0..2_000));
            self.agenda.add(at, Event::Leave(client));
        }
    }

    /// Ends the client, in one way or another.
    pub(super) fn leave(&mut self, client: usize) -> Result<(), Broken> {
        match self.rng.u8(0..3) {
            0 => {
                self.leave_share(client);
                self.withdraw(client)
            }
            1 => self.close_client(client).map(drop),
            _ => {
                self.crash_for_good(client);
                Ok(())
            }
        }
    }

    /// Returns the remains of the clients that left.
    fn remaining(&self) -> Option<String> {
        let clients = self.processes.iter().filter(|process| process.condition != Condition::Down);
        let standing: usize = clients
            .filter_map(|process| process.client.as_ref())
            .map(|client| client.nominees().count())
            .sum();
        let candidates = self.candidates.count_all() + self.hand_overs_left() + self.shares_left();
        (standing > 0 || candidates > 0)
            .then(|| format!("{standing} that queue, and {candidates} znodes, are left"))
    }
}

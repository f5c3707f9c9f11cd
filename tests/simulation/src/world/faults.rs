//! Incidents: the beginning and the end of each.

use core::time::Duration;

use zk_embedded::Throttling;

use super::trouble::Afflicted;
use super::{Event, Process, World};
use crate::checker::Broken;
use crate::cuts::{Cuts, Cutting};
use crate::incident::{Ban, Heading, Incident, Others, What};
use crate::links::{Impairment, NodeId, Way};
use crate::network::ConnKey;
use crate::queue::Queue;
use crate::server::Condition;

/// The undoing of an incident at its end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Undo {
    Repair(Way, Impairment),
    /// Let a process go on.
    Resume(NodeId),
    /// Start a process again.
    Restart(NodeId),
    /// Let a server take connections again.
    Accept(NodeId),
    /// Let another process go on with a session.
    TakeOver(usize),
    /// Let replies pass again.
    Answer(usize),
    /// Cut no more connections at requests.
    Connect(usize),
    /// Let answers come to their end again.
    Complete(usize),
    /// Let a server do what it is asked for.
    Unburden(NodeId),
    /// Lets every client do it again.
    Permit(Queue, Ban),
    /// Reopen an election.
    Reopen(Queue),
    /// Let a client go by the whole list of servers.
    ListAll(usize),
    /// Do not let a client end any more.
    Keep(usize),
    /// It is all over.
    Spare(Afflicted),
}

impl World<'_> {
    pub(super) fn incident_begins(&mut self, index: usize) -> Result<(), Broken> {
        let Some(incident) = self.plan.incidents.get(index).copied() else {
            return Ok(());
        };
        let Incident { lasts, what, .. } = incident;
        *self.stats.incidents.entry(what.kind()).or_default() += 1;
        self.tell("***", || what.to_string());
        let afflicted = self.afflicted(incident);
        self.troubles.note(self.now, afflicted);
        let mut undo = self.befall(what)?;
        if !undo.is_empty() {
            self.troubles.begin(afflicted);
            undo.push(Undo::Spare(afflicted));
            self.undo.insert(index, undo);
            self.agenda.add(self.now + lasts, Event::End(index));
        }
        Ok(())
    }

    pub(super) fn incident_ends(&mut self, index: usize) -> Result<(), Broken> {
        if let Some(incident) = self.plan.incidents.get(index) {
            self.tell("***", || format!("over: {}", incident.what));
        }
        for undo in self.undo.remove(&index).unwrap_or_default() {
            match undo {
                Undo::Repair(way, impairment) => self.network.repair(self.now, way, impairment),
                Undo::Resume(node) => self.resume(node),
                Undo::Restart(node) => self.restart(node)?,
                Undo::TakeOver(client) => self.take_over(client)?,
                Undo::ListAll(client) => self.list_all(client)?,
                Undo::Keep(client) => {
                    if let Some(process) = self.processes.get_mut(client) {
                        process.ending = None;
                    }
                }
                Undo::Unburden(node) => self.set_throttling(node, Throttling::Off),
                Undo::Permit(queue, ban) => self.permit(queue, ban)?,
                Undo::Reopen(queue) => self.reopen(queue)?,
                Undo::Spare(afflicted) => self.troubles.end(self.now, afflicted),
                Undo::Answer(client) => {
                    if let Some(process) = self.processes.get_mut(client) {
                        process.unanswered = process.unanswered.saturating_sub(1);
                    }
                }
                Undo::Connect(client) => {
                    if let Some(process) = self.processes.get_mut(client) {
                        process.cutting = None;
                    }
                }
                Undo::Complete(client) => {
                    if let Some(process) = self.processes.get_mut(client) {
                        process.broken_off = process.broken_off.saturating_sub(1);
                    }
                }
                Undo::Accept(node) => {
                    if let Some(host) = self.host(node) {
                        host.refusals = host.refusals.saturating_sub(1);
                    }
                }
            }
        }
        Ok(())
    }

    fn befall(&mut self, what: What) -> Result<Vec<Undo>, Broken> {
        let servers = self.hosts.len();
        match what {
            What::LoseClient(who) => {
                let node = NodeId(servers + self.who(who));
                self.lose_connections(node);
            }
            What::ImpairClient(who, heading, impairment) => {
                let node = NodeId(servers + self.who(who));
                let all = (0..servers).map(NodeId).collect();
                return Ok(self.impair(node, all, heading, impairment));
            }
            What::LoseReplies(who) => return Ok(self.lose_replies(self.who(who))),
            What::CutRequests(who, cuts) => return Ok(self.cut_requests(self.who(who), cuts)),
            What::BreakOff(who) => return Ok(self.break_off(self.who(who))),
            What::CrashClient(who) => return Ok(self.crash(NodeId(servers + self.who(who)))),
            What::HoldMachine(who) => return Ok(self.hold(servers + self.who(who))),
            What::PauseClient(who) => return Ok(self.pause(NodeId(servers + self.who(who)))),
            What::Withdraw(who) => self.withdraw(self.who(who))?,
            What::CloseClient(who) => return self.close_client(self.who(who)),
            What::Nominate(who, queue) => {
                self.nominate(self.who(who), Queue::election(queue, self.plan.elections))?;
            }
            What::HandOver(who, timeout) => return self.hand_over(self.who(who), timeout),
            What::EndClient(who, how, when) => return self.end_client(self.who(who), how, when),
            What::ListServers(who, list) => return self.list_servers(self.who(who), list),
            What::Refuse(whom) => return Ok(self.refuse(vec![self.whom(whom)])),
            What::RefuseButDeposed => return Ok(self.refuse(self.all_but_deposed())),
            What::Forbid(queue, ban) => {
                self.operate(what)?;
                return Ok(vec![Undo::Permit(Queue::election(queue, self.plan.elections), ban)]);
            }
            What::Evict(_)
            | What::WriteCandidate(_)
            | What::Hide(_)
            | What::RemoveElectionNode(_)
            | What::CreateStranger(_)
            | What::BreakLock(..)
            | What::WriteContender(..)
            | What::RemoveLock(_)
            | What::DeleteEntry(_)
            | What::EraseMark(_) => self.operate(what)?,
            What::EndElection(_)
            | What::DeleteElection(_)
            | What::HandLeadOver(_)
            | What::GiveUpLead(..) => return self.operate_election(what),
            _ => return self.befall_members(what),
        }
        Ok(Vec::new())
    }

    fn befall_members(&mut self, what: What) -> Result<Vec<Undo>, Broken> {
        match what {
            What::ImpairMember(whom, others, heading, impairment) => {
                let node = self.whom(whom);
                let others = self.others(node, others);
                return Ok(self.impair(node, others, heading, impairment));
            }
            What::LosePeers(whom, others) => self.lose_peers(self.whom(whom), others),
            What::Throttle(whom) => return Ok(self.throttle(self.whom(whom))),
            What::RaiseBounds(within) => self.raise_bounds(within),
            What::Depose => return Ok(self.depose()),
            What::CrashMember(whom) => return Ok(self.crash(self.whom(whom))),
            What::ShutDown(whom) => return self.shut_down(self.whom(whom)),
            What::StepWallClock(step) => self.step_wall_clock(step)?,
            What::EndSession(who) => {
                let session = self.processes.get(self.who(who)).and_then(Process::session);
                self.end_sessions(&session.into_iter().collect::<Vec<_>>())?;
            }
            What::CrashAll => {
                let servers = self.hosts.len();
                return Ok((0..servers).flat_map(|node| self.crash(NodeId(node))).collect());
            }
            What::PauseMember(whom) => return Ok(self.pause(self.whom(whom))),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn lose_peers(&mut self, node: NodeId, others: Others) {
        for other in self.others(node, others) {
            self.network.lose_peer(self.now, Way { from: node, to: other });
        }
    }

    fn lose_replies(&mut self, client: usize) -> Vec<Undo> {
        let Some(process) = self.processes.get_mut(client) else {
            return Vec::new();
        };
        process.unanswered += 1;
        vec![Undo::Answer(client)]
    }

    fn cut_requests(&mut self, client: usize, cuts: Cuts) -> Vec<Undo> {
        let Some(process) = self.processes.get_mut(client) else {
            return Vec::new();
        };
        process.cutting = Some(Cutting::new(cuts, self.plan.seed ^ self.now.millis()));
        vec![Undo::Connect(client)]
    }

    fn break_off(&mut self, client: usize) -> Vec<Undo> {
        let Some(process) = self.processes.get_mut(client) else {
            return Vec::new();
        };
        process.broken_off += 1;
        vec![Undo::Complete(client)]
    }

    fn impair(
        &mut self,
        node: NodeId,
        others: Vec<NodeId>,
        heading: Heading,
        impairment: Impairment,
    ) -> Vec<Undo> {
        let ways = others.into_iter().flat_map(|other| Self::ways(node, other, heading));
        ways.map(|way| {
            self.network.impair(way, impairment);
            Undo::Repair(way, impairment)
        })
        .collect()
    }

    fn refuse(&mut self, nodes: Vec<NodeId>) -> Vec<Undo> {
        for node in &nodes {
            if let Some(host) = self.host(*node) {
                host.refusals += 1;
            }
        }
        nodes.into_iter().map(Undo::Accept).collect()
    }

    fn depose(&mut self) -> Vec<Undo> {
        let Some(chief) = self.chief() else {
            return Vec::new();
        };
        let others = self.others(chief, Others::All);
        for other in &others {
            self.network.lose_peer(self.now, Way { from: chief, to: *other });
        }
        self.impair(chief, others, Heading::In, Impairment::Held)
    }

    fn lose_connections(&mut self, node: NodeId) {
        for key in self.network.connections_of(node) {
            self.network.lose(self.now, key);
        }
    }

    fn pause(&mut self, node: NodeId) -> Vec<Undo> {
        if self.condition(node) != Condition::Running {
            return Vec::new();
        }
        self.set_condition(node, Condition::Paused);
        vec![Undo::Resume(node)]
    }

    /// Stops a client with its clock, which goes on before the process does.
    fn hold(&mut self, node: usize) -> Vec<Undo> {
        let undo = self.pause(NodeId(node));
        let client = self.client_of(NodeId(node)).filter(|_| !undo.is_empty());
        if let Some(process) = client.and_then(|client| self.processes.get_mut(client)) {
            process.clock_stops(self.now);
        }
        undo
    }

    /// Resumes a process. Its first act is to answer each caller that asks whether it leads; then
    /// it takes in the bytes that waited, and last it does what is due.
    fn resume(&mut self, node: NodeId) {
        if self.condition(node) != Condition::Paused {
            return;
        }
        self.set_condition(node, Condition::Running);
        if let Some(process) =
            self.client_of(node).and_then(|client| self.processes.get_mut(client))
        {
            process.clock_goes_on(self.now);
            process.resumed_at = self.now;
            let announced =
                process.client.as_ref().is_some_and(|client| client.announced().count() > 0);
            let valid = process.valid(self.now).next().is_some();
            if announced {
                let answer = if valid { "yes" } else { "no" };
                let name = self.name(node);
                self.tell(&name, || format!("asked whether it leads, says {answer}"));
            }
        }
        self.network.resumed(self.now, node);
        for (at, pipe) in core::mem::take(&mut self.network.due) {
            self.agenda.add(at, Event::Deliver(pipe));
        }
        self.agenda.add(self.now, Event::Wake(node));
    }

    pub(super) fn crash(&mut self, node: NodeId) -> Vec<Undo> {
        if self.condition(node) == Condition::Down {
            return Vec::new();
        }
        let connections: Vec<ConnKey> = self.network.connections_of(node);
        if let Some(client) = self.client_of(node) {
            for key in connections {
                self.network.close_client(self.now, key);
            }
            self.leave_in_doubt(client);
            if let Some(process) = self.processes.get_mut(client) {
                process.clock_goes_on(self.now);
                process.crash();
                process.line = None;
            }
        } else {
            for key in connections {
                self.network.close_member(self.now, key);
            }
            for other in self.others(node, Others::All) {
                self.network.reset_peer(self.now, Way { from: node, to: other });
            }
            if let Some(host) = self.host(node) {
                host.crash();
                host.wake_at = None;
            }
        }
        vec![Undo::Restart(node)]
    }

    pub(super) fn restart(&mut self, node: NodeId) -> Result<(), Broken> {
        if let Some(client) = self.client_of(node) {
            let is_over = self.processes.get(client).is_none_or(Process::is_over);
            return if is_over { self.stand(client) } else { Ok(()) };
        }
        if self.condition(node) != Condition::Down {
            return Ok(());
        }
        let now = self.now;
        if let Some(host) = self.host(node) {
            host.restart(now);
        }
        self.settle_host(node)
    }

    fn set_condition(&mut self, node: NodeId, condition: Condition) {
        if let Some(host) = self.hosts.get_mut(node.0) {
            (host.condition, host.wake_at) = (condition, None);
        } else if let Some(process) =
            self.client_of(node).and_then(|client| self.processes.get_mut(client))
        {
            (process.condition, process.wake_at) = (condition, None);
        }
    }

    /// Returns the time after which an act that ended by itself is tried once more.
    pub(super) fn a_while(&mut self) -> Duration {
        Duration::from_millis(self.rng.u64(200..3_000))
    }
}

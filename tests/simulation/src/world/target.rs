//! The target of an incident, chosen at the time of the incident.

use super::World;
use crate::ensemble::MemberRole;
use crate::incident::{Heading, Others, Who, Whom};
use crate::links::{NodeId, Way};
use crate::network::PipeId;
use crate::server::{Condition, Host};

impl World<'_> {
    /// Returns the number of the client that is meant.
    pub(super) fn who(&self, who: Who) -> usize {
        let candidates = self.plan.nominees.len();
        let found = match who {
            Who::Number(number) => Some(usize::from(number) % candidates.max(1)),
            Who::Leader => self.client_that(|process| process.valid(self.now).next().is_some()),
            Who::Follower => self.client_that(|process| {
                process.client.as_ref().is_some_and(|client| {
                    let mut nominees = client.nominees();
                    nominees.any(|(_, role)| {
                        matches!(role, election_core::election::Role::Following { .. })
                    })
                })
            }),
        };
        found.unwrap_or(0)
    }

    fn client_that(&self, is_meant: impl Fn(&super::Process) -> bool) -> Option<usize> {
        self.processes.iter().position(is_meant)
    }

    /// Returns the member that is meant.
    pub(super) fn whom(&self, whom: Whom) -> NodeId {
        let count = self.hosts.len().max(1);
        match whom {
            Whom::Number(number) => NodeId(usize::from(number) % count),
            Whom::Chief => self.chief().unwrap_or(NodeId(0)),
            Whom::Serving => self.server_of_the_leader().unwrap_or(NodeId(0)),
            Whom::Follower(number) => {
                let chief = self.chief();
                let is_follower = |node: &NodeId| Some(*node) != chief;
                if let Some(server) = self.server_of_the_leader().filter(is_follower) {
                    return server;
                }
                let followers: Vec<_> = (0..count).map(NodeId).filter(is_follower).collect();
                let index = usize::from(number) % followers.len().max(1);
                followers.get(index).copied().unwrap_or(NodeId(0))
            }
        }
    }

    /// Returns the members that are meant, as seen from another.
    pub(super) fn others(&self, node: NodeId, others: Others) -> Vec<NodeId> {
        let all = (0..self.hosts.len()).map(NodeId).filter(|other| *other != node);
        match others {
            Others::All => all.collect(),
            Others::Chief => {
                let chief = self.chief();
                all.filter(|other| Some(*other) == chief).collect()
            }
            Others::Number(number) => {
                let number = usize::from(number) % self.hosts.len().max(1);
                all.filter(|other| other.0 == number).collect()
            }
        }
    }

    /// Returns the ways between a process and another, in this direction.
    pub(super) fn ways(node: NodeId, other: NodeId, heading: Heading) -> Vec<Way> {
        let out = Way { from: node, to: other };
        match heading {
            Heading::In => vec![out.back()],
            Heading::Out => vec![out],
            Heading::Both => vec![out, out.back()],
        }
    }

    /// Returns the member that leads the ensemble; the one that serves, if several think that they
    /// do.
    pub(super) fn chief(&self) -> Option<NodeId> {
        let mut best = None;
        for (node, host) in self.hosts.iter().enumerate() {
            let leads = host.role() == Some(MemberRole::Leading);
            if leads && host.condition != Condition::Down {
                let applied = host.database().last_zxid();
                if best.is_none_or(|(most, _)| applied > most) {
                    best = Some((applied, NodeId(node)));
                }
            }
        }
        best.map(|(_, node)| node)
    }

    /// Returns all members but those that lead an ensemble which has another leader by now; none if
    /// there is no such member.
    pub(super) fn all_but_deposed(&self) -> Vec<NodeId> {
        let chief = self.chief();
        let is_deposed = |(node, host): &(usize, &Host)| {
            host.role() == Some(MemberRole::Leading) && chief != Some(NodeId(*node))
        };
        let (deposed, others): (Vec<_>, Vec<_>) =
            self.hosts.iter().enumerate().partition(is_deposed);
        let others = others.into_iter().map(|(node, _)| NodeId(node));
        others.filter(|_| !deposed.is_empty()).collect()
    }

    fn server_of_the_leader(&self) -> Option<NodeId> {
        let process =
            self.processes.iter().find(|process| process.valid(self.now).next().is_some());
        let line = process?.line?;
        self.network.way(PipeId::Up(line)).map(|way| way.to)
    }
}

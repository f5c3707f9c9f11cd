//! The lists of servers that clients use, and the servers that clients ask whether they take writes.

use core::time::Duration;

use zk_session::{ProbeAnswer, ServerIndex};

use super::faults::Undo;
use super::{Event, World};
use crate::checker::Broken;
use crate::client::Client;
use crate::links::{NodeId, Way};
use crate::outcome::Law;
use crate::server_list::ServerList;

impl World<'_> {
    /// Gives a client this list of servers, for a while.
    pub(super) fn list_servers(
        &mut self,
        client: usize,
        list: ServerList,
    ) -> Result<Vec<Undo>, Broken> {
        let nodes = list.nodes(self.hosts.len());
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        self.hand_list(client, nodes)?;
        Ok(vec![Undo::ListAll(client)])
    }

    /// Gives a client the whole ensemble.
    pub(super) fn list_all(&mut self, client: usize) -> Result<(), Broken> {
        let all = (0..self.hosts.len()).map(NodeId).collect();
        self.hand_list(client, all)
    }

    fn hand_list(&mut self, client: usize, list: Vec<NodeId>) -> Result<(), Broken> {
        if let Some(process) = self.processes.get_mut(client) {
            process.hand_list(list);
            process.take_list(self.now);
        }
        self.settle_client(client)
    }

    /// Returns the process at a place in the list that the client goes by.
    pub(super) fn listed(
        &self,
        client: usize,
        ServerIndex(place): ServerIndex,
    ) -> Result<NodeId, Broken> {
        let list = self.processes.get(client).map_or(&[][..], |process| &process.servers);
        let unlisted = || (Law::ListedServers, format!("place {place} of {list:?}"));
        list.get(place).copied().ok_or_else(unlisted)
    }

    /// Asks the servers that the client wants to be asked whether they take writes.
    pub(super) fn probe(&mut self, client: usize) -> Result<(), Broken> {
        while let Some(process) = self.processes.get_mut(client)
            && let Some(server) = process.client.as_mut().and_then(Client::poll_probe)
        {
            let way = Way { from: process.node, to: self.listed(client, server)? };
            let answered_at = self.now + self.plan.latency * 2 + ROUND_TRIP;
            if !self.network.is_held(way) && !self.network.is_held(way.back()) {
                self.agenda.add(answered_at, Event::Probed(client, server, way.to));
            }
        }
        Ok(())
    }

    /// Answers the question by the list that counted when it was asked.
    pub(super) fn probed(
        &mut self,
        client: usize,
        server: ServerIndex,
        node: NodeId,
    ) -> Result<(), Broken> {
        let answer = match self.hosts.get(node.0) {
            Some(host) if host.takes_writes() => ProbeAnswer::ReadWrite,
            _ => ProbeAnswer::Other,
        };
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(());
        };
        let now = process.now(self.now);
        if let Some(running) = &mut process.client {
            running.handle_probed(now, server, answer);
        }
        self.settle_client(client)
    }
}

/// The time that a question and its answer take.
const ROUND_TRIP: Duration = Duration::from_millis(2);

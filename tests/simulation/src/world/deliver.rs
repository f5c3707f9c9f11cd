//! Delivers data, wakes processes, and sends their output.

use core::time::Duration;

use zk_embedded::Transmit;
use zk_session::TransportCommand;

use super::process::DIAL_WINDOW;
use super::traffic::{Changes, changes_something, frames};
use super::{Event, World};
use crate::checker::Broken;
use crate::client::Client;
use crate::clock::Time;
use crate::cuts::Cut;
use crate::ensemble::PeerOutput;
use crate::links::{NodeId, Way};
use crate::network::{ConnKey, Down, Peer, PipeId, Up};
use crate::outcome::Law;
use crate::server::{Condition, Host, node_of};

impl World<'_> {
    pub(super) fn deliver(&mut self, pipe: PipeId) -> Result<(), Broken> {
        self.network.disarm(pipe);
        let Some(way) = self.network.way(pipe).filter(|way| !self.network.is_held(*way)) else {
            return Ok(());
        };
        match (self.condition(way.to), pipe) {
            (Condition::Paused, PipeId::Up(key)) => {
                // The host takes connections by itself.
                if self.network.is_unaccepted(self.now, key) {
                    self.network.accept(self.now, key);
                }
                return Ok(());
            }
            (Condition::Paused, _) => return Ok(()),
            (Condition::Running | Condition::Down, _) => {}
        }
        match pipe {
            PipeId::Up(key) => {
                while let Some(up) = self.network.next_up(self.now, key) {
                    self.arrived_at_member(way, key, up);
                }
                self.settle_host(way.to)?;
            }
            PipeId::Down(key) => {
                while let Some(down) = self.network.next_down(self.now, key) {
                    self.arrived_at_client(way.to, key, down)?;
                }
            }
            PipeId::Peer(way) => {
                while let Some(peer) = self.network.next_peer(self.now, way) {
                    self.arrived_from_peer(way, peer);
                }
                self.settle_host(way.to)?;
            }
        }
        self.network.arm(self.now, pipe);
        Ok(())
    }

    fn arrived_at_member(&mut self, way: Way, key: ConnKey, up: Up) {
        let now = self.now;
        let Some(host) = self.hosts.get_mut(way.to.0) else {
            // No process listens at this address.
            return self.network.close_member(now, key);
        };
        match up {
            Up::Open if host.takes_connections() => {
                self.network.accept(now, key);
                if host.open(now, key, way.from).is_err() {
                    self.network.close_member(now, key);
                }
            }
            Up::Open => self.network.close_member(now, key),
            Up::Bytes(bytes) if host.condition == Condition::Running => {
                host.receive(now, key, &bytes);
            }
            Up::Closed if host.condition == Condition::Running => host.close(key),
            Up::Bytes(_) | Up::Closed => {}
        }
    }

    fn arrived_from_peer(&mut self, way: Way, peer: Peer) {
        let now = self.now;
        let Some(host) = self.hosts.get_mut(way.to.0) else {
            return;
        };
        match peer {
            Peer::Message(message) if host.condition == Condition::Running => {
                host.handle_peer(now, way.from, message);
            }
            Peer::Reset if host.condition == Condition::Running => {
                host.handle_peer_reset(now, way.from);
            }
            // The host says that no process is there.
            Peer::Message(_) => self.network.reset_peer(now, way.back()),
            Peer::Reset => {}
        }
    }

    fn arrived_at_client(&mut self, node: NodeId, key: ConnKey, down: Down) -> Result<(), Broken> {
        let Some(client) = self.client_of(node) else {
            return Ok(());
        };
        let Some(process) = self.processes.get_mut(client) else {
            return Ok(());
        };
        process.take_list(self.now);
        let now = process.now(self.now);
        let Some(running) = process.client.as_mut().filter(|_| process.line == Some(key)) else {
            return Ok(());
        };
        let is_broken_off = process.broken_off > 0 && process.connected_at.is_some();
        match down {
            Down::Bytes(_) if is_broken_off => {
                process.line = None;
                running.handle_closed(now);
                self.network.close_client(self.now, key);
            }
            Down::Opened => running.handle_opened(now),
            Down::Bytes(bytes) => {
                process.heartbeats.take_in_received(self.now, &bytes);
                running.handle_bytes(now, &bytes);
            }
            Down::Closed => {
                process.line = None;
                running.handle_closed(now);
            }
        }
        if let Some(ending) = process.ending.take() {
            self.end(client, ending);
        }
        self.settle_client(client)
    }

    pub(super) fn wake(&mut self, node: NodeId) -> Result<(), Broken> {
        let now = self.now;
        if let Some(client) = self.client_of(node) {
            let Some(process) = self.processes.get_mut(client) else {
                return Ok(());
            };
            if !process.is_up() || process.wake_at.is_some_and(|at| at > now) {
                return Ok(());
            }
            process.wake_at = None;
            process.take_list(now);
            let at = process.now(now);
            if let Some(running) = &mut process.client {
                running.handle_timeout(at);
            }
            return self.settle_client(client);
        }
        let Some(host) = self.host(node) else {
            return Ok(());
        };
        if host.condition != Condition::Running || host.wake_at.is_some_and(|at| at > now) {
            return Ok(());
        }
        host.wake_at = None;
        host.handle_timeout(now);
        self.settle_host(node)
    }

    /// Hands out what a client's session has to say, and sends what it wants sent.
    pub(super) fn settle_client(&mut self, client: usize) -> Result<(), Broken> {
        let Some(process) = self.processes.get_mut(client) else {
            return Ok(());
        };
        let now = process.now(self.now);
        let Some(running) = &mut process.client else {
            return Ok(());
        };
        let mut observed = core::mem::take(&mut self.observed);
        running.dispatch(now, &mut observed);
        let exchanged = self.exchange(client).and_then(|()| self.probe(client));
        for what in &observed {
            self.observe(client, what)?;
        }
        observed.clear();
        self.observed = observed;
        self.check_awaiting_lease(client)?;
        if self.operated.is_some() {
            self.check_waiting(client)?;
        }
        self.reschedule_client(client);
        exchanged
    }

    fn exchange(&mut self, client: usize) -> Result<(), Broken> {
        while let Some(process) = self.processes.get_mut(client)
            && let Some(transport) = process.client.as_mut().and_then(Client::poll_transport)
        {
            if let Some(line) = process.line.take() {
                self.network.close_client(self.now, line);
            }
            let from = process.node;
            if let TransportCommand::Connect(server) = transport {
                let to = self.listed(client, server)?;
                let line = self.network.dial(self.now, Way { from, to });
                if let Some(process) = self.processes.get_mut(client) {
                    process.line = Some(line);
                    process.heartbeats.begin();
                    let dials = process.dials(self.now);
                    self.check_dials(client, dials)?;
                }
            }
        }
        let Some(process) = self.processes.get_mut(client) else {
            return Ok(());
        };
        let Some(running) = &mut process.client else {
            return Ok(());
        };
        self.buffer.clear();
        running.poll_transmit(&mut self.buffer);
        if let (Some(line), false) = (process.line, self.buffer.is_empty()) {
            let bytes = self.buffer.split().freeze();
            let changes = match (self.plan.uses, self.plan.operating) {
                (None, None) => Changes::Znodes,
                _ => Changes::Anything,
            };
            let unanswered = process.unanswered > 0 && changes_something(changes, &bytes);
            let cut = process.cutting.as_mut().and_then(|cutting| cutting.cut(frames(&bytes)));
            self.stats.cuts += u64::from(cut.is_some());
            self.count_sent(client, &bytes);
            if cut == Some(Cut::BeforeRequest) {
                self.network.lose(self.now, line);
                return Ok(());
            }
            self.network.send_up(self.now, line, bytes);
            if unanswered || cut == Some(Cut::BeforeReply) {
                self.network.leave_unanswered(line);
            }
        }
        Ok(())
    }

    /// Checks that a client does not dial too often. At the cap it dials twice a second. On the way there, from a
    /// connection that lasted, it dials each server seven times; connections that last come at most once a second,
    /// and take most of it.
    fn check_dials(&mut self, client: usize, dials: usize) -> Result<(), Broken> {
        self.stats.most_dials = self.stats.most_dials.max(dials);
        let most = 40 + 20 * self.hosts.len();
        if dials <= most {
            return Ok(());
        }
        let span = DIAL_WINDOW.as_secs();
        let detail = format!("client {} dialled {dials} times in {span} s", client + 1);
        Err((Law::DialsAtAPace, detail))
    }

    fn reschedule_client(&mut self, client: usize) {
        let Some(process) = self.processes.get_mut(client) else {
            return;
        };
        let next = process.client.as_ref().and_then(Client::poll_timeout);
        let late = u64::try_from(self.plan.lateness.as_millis()).unwrap_or(0);
        let late = Duration::from_millis(if late == 0 { 0 } else { self.rng.u64(0..=late) });
        let next = next.map(|at| process.clock.when(at.elapsed()).max(self.now) + late);
        if let Some(next) = earlier(next, process.wake_at) {
            process.wake_at = Some(next);
            self.agenda.add(next, Event::Wake(process.node));
        }
    }

    /// Sends what a server wants sent, and takes in what it has applied.
    pub(super) fn settle_host(&mut self, node: NodeId) -> Result<(), Broken> {
        let now = self.now;
        if self.condition(node) != Condition::Running {
            return Ok(());
        }
        while self.transmit(node) | self.talk_to_peers(node) {}
        self.note_progress(node)?;
        let Some(host) = self.host(node) else {
            return Ok(());
        };
        let next = host.next_timeout().map(|at| at.max(now));
        if let Some(next) = earlier(next, host.wake_at) {
            host.wake_at = Some(next);
            self.agenda.add(next, Event::Wake(node));
        }
        Ok(())
    }

    /// Whether there was something to send to clients.
    fn transmit(&mut self, node: NodeId) -> bool {
        let mut buffer = core::mem::take(&mut self.buffer);
        buffer.clear();
        let mut sent = false;
        while let Some(host) = self.hosts.get_mut(node.0)
            && let Some((key, transmit)) = host.poll_client(self.now, &mut buffer)
        {
            sent = true;
            if !buffer.is_empty() {
                let bytes = buffer.split().freeze();
                self.count_received(key, &bytes);
                self.network.send_down(self.now, key, bytes);
            }
            if transmit == Transmit::Close {
                self.network.close_member(self.now, key);
                if let Some(host) = self.host(node) {
                    host.close(key);
                }
            }
        }
        self.buffer = buffer;
        sent
    }

    /// Whether there was something to say to other members.
    fn talk_to_peers(&mut self, node: NodeId) -> bool {
        let mut said = false;
        while let Some(output) = self.host(node).and_then(Host::poll_peer) {
            said = true;
            match output {
                PeerOutput::Send { to, message } => {
                    let way = Way { from: node, to: node_of(to) };
                    self.network.send_peer(self.now, way, message);
                }
                PeerOutput::Reset { peer } => {
                    self.network.reset_peer(self.now, Way { from: node, to: node_of(peer) });
                }
            }
        }
        said
    }
}

/// Returns the next moment to wake up, unless that is on the agenda.
fn earlier(next: Option<Time>, known: Option<Time>) -> Option<Time> {
    next.filter(|next| known.is_none_or(|known| *next < known))
}

//! The operator's actions on the servers.

use core::time::Duration;

use zk_embedded::Throttling;

use super::faults::Undo;
use super::{Event, World};
use crate::ensemble::{Server, TouchLoss};
use crate::links::NodeId;
use crate::server::Host;

/// The longest session timeout that servers grant once their bound is raised, in ticks.
const RAISED: u32 = 20;

impl World<'_> {
    /// Stops all members, and starts them one by one within this time, with a higher bound on session
    /// timeouts. Members with different bounds would break the contract of the lease: clients ask for
    /// more than the old bound.
    pub(super) fn raise_bounds(&mut self, within: Duration) {
        let members = u32::try_from(self.hosts.len()).unwrap_or(1).max(1);
        let turn = within / members;
        for (node, number) in (0..self.hosts.len()).map(NodeId).zip(0..) {
            let at = self.now + turn * number;
            self.agenda.add(self.now, Event::Reconfigure(node));
            self.agenda.add(at + turn / 2, Event::Restart(node));
        }
    }

    pub(super) fn reconfigure(&mut self, node: NodeId) {
        self.crash(node);
        let bounds = self.plan.tick * 2..=self.plan.tick * RAISED;
        if let Some(Host { server: Server::Member(member), .. }) = self.host(node) {
            member.set_session_timeouts(bounds);
        }
    }

    /// Lets members lose no touch of a session from now on.
    pub(super) fn mend_members(&mut self) {
        for host in &mut self.hosts {
            if let Server::Member(member) = &mut host.server {
                member.set_touch_loss(TouchLoss::default());
                member.set_touch_skew(Duration::ZERO);
            }
        }
    }

    /// Makes a server too busy for a while: it refuses requests unread.
    pub(super) fn throttle(&mut self, node: NodeId) -> Vec<Undo> {
        self.set_throttling(node, Throttling::On);
        vec![Undo::Unburden(node)]
    }

    pub(super) fn set_throttling(&mut self, node: NodeId, throttling: Throttling) {
        if let Some(host) = self.host(node) {
            match &mut host.server {
                Server::Alone(server) => server.set_throttling(throttling),
                Server::Member(member) => member.set_throttling(throttling),
            }
        }
    }
}

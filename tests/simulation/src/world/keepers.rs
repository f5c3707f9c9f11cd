//! Servers that are not ZooKeeper's: sessions end early, no lease is granted, and an advisory one ends with
//! the connection.

use core::time::Duration;

use zk_jute::SessionId;

use super::World;
use super::faults::Undo;
use super::process::Process;
use crate::checker::{Broken, name};
use crate::links::NodeId;
use crate::network::PipeId;
use crate::outcome::Law;

impl World<'_> {
    /// A member ends the sessions of its clients, and is gone, to be started again.
    pub(super) fn shut_down(&mut self, node: NodeId) -> Result<Vec<Undo>, Broken> {
        let is_served = |line| {
            let way = self.network.way(PipeId::Up(line));
            way.is_some_and(|way| way.to == node)
        };
        let served = self.processes.iter().filter(|it| it.line.is_some_and(is_served));
        let sessions: Vec<SessionId> = served.filter_map(Process::session).collect();
        self.end_sessions(&sessions)?;
        Ok(self.crash(node))
    }

    /// The servers end these sessions, by whatever member leads them.
    pub(super) fn end_sessions(&mut self, sessions: &[SessionId]) -> Result<(), Broken> {
        let chief = self.chief().unwrap_or(NodeId(0));
        let now = self.now;
        if let Some(host) = self.host(chief) {
            host.end_sessions(now, sessions);
        }
        self.settle_host(chief)
    }

    pub(super) fn step_wall_clock(&mut self, step: Duration) -> Result<(), Broken> {
        let chief = self.chief().unwrap_or(NodeId(0));
        if let Some(host) = self.host(chief) {
            host.step_wall_clock(step);
        }
        self.settle_host(chief)
    }

    /// What is valid where no lease is granted: nothing, or, where it was asked for, what lasts no longer
    /// than the connection.
    pub(super) fn check_advisory(&self) -> Result<(), Broken> {
        let now = self.now;
        for (client, process) in self.processes.iter().enumerate() {
            let valid = process.valid(now).next();
            if let (Some((nominee, _)), None) = (valid, process.connected_at) {
                let detail = format!("{} of client {}", name(nominee), client + 1);
                return Err((Law::AdvisoryWhileConnected, detail));
            }
            let held = process.slots(now).next();
            if let (Some((slot, _)), None) = (held, process.connected_at) {
                let detail = format!("slot {slot} of client {}", client + 1);
                return Err((Law::AdvisoryWhileConnected, detail));
            }
        }
        Ok(())
    }

    /// Checks that no lease was granted by servers that keep none.
    pub(super) fn check_no_lease(&self) -> Result<(), Broken> {
        if self.plan.like.is_none() || self.plan.is_advisory() || self.stats.announced == 0 {
            return Ok(());
        }
        let detail = format!("{} leaderships were announced", self.stats.announced);
        Err((Law::NoLeaseThere, detail))
    }
}

//! Sessions that go from one process to the next.

use core::time::Duration;

use super::faults::Undo;
use super::{Event, World};
use crate::checker::{Broken, Contract};
use crate::client::Observed;
use crate::clock::Clock;
use crate::server::Condition;

impl World<'_> {
    /// Ends a process that gives its session up; its successor goes on with the session, and asks
    /// for another timeout.
    pub(super) fn hand_over(
        &mut self,
        client: usize,
        timeout: Duration,
    ) -> Result<Vec<Undo>, Broken> {
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(Vec::new());
        };
        let now = process.now(self.now);
        let Some(running) = &mut process.client else {
            return Ok(Vec::new());
        };
        let Some(detached) = running.detach(now) else {
            return Ok(Vec::new());
        };
        // The host's remaining events concern its caller alone: the nominations go on.
        let mut observed = Vec::new();
        running.dispatch(now, &mut observed);
        for what in &observed {
            match what {
                Observed::Entry(entry) => self.conduct.enter(client, *entry)?,
                Observed::Told(id, told) => self.observe_use(client, *id, told)?,
                _ => {}
            }
        }
        self.conduct.contract(client).map_or(Ok(()), Contract::check_over)?;
        self.conduct.handed_over(detached.owing());
        if let Some(operated) = &mut self.operated {
            operated.handed_to_another_process(client);
        }
        let Some(process) = self.processes.get_mut(client) else {
            return Ok(Vec::new());
        };
        process.detach(detached, timeout);
        let node = process.node;
        for key in self.network.connections_of(node) {
            self.network.close_client(self.now, key);
        }
        Ok(vec![Undo::TakeOver(client)])
    }

    /// Starts another process, which goes on with the session on a machine with another clock,
    /// unless one has begun anew.
    pub(super) fn take_over(&mut self, client: usize) -> Result<(), Broken> {
        let clock = Clock::draw(&mut self.rng, self.plan.drift);
        let Some(process) = self.processes.get_mut(client) else {
            return Ok(());
        };
        if process.condition != Condition::Down {
            return Ok(());
        }
        let Some(detached) = process.detached.take() else {
            return Ok(());
        };
        process.resume(self.now, clock, detached);
        let node = process.node;
        self.conduct.started(client);
        self.agenda.add(self.now, Event::Wake(node));
        let who = self.name(node);
        self.tell(&who, || "another process goes on with the session".to_owned());
        self.settle_client(client)
    }
}

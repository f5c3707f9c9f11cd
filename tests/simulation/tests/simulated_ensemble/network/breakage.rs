//! Faults between members, and of them.

use core::ops::RangeInclusive;

use zk_simulation::ensemble::{Member, MemberId};

use super::{Network, State};
use crate::wires::Stragglers;

impl Network {
    pub(crate) fn delay(&mut self, from: MemberId, to: MemberId, millis: RangeInclusive<u64>) {
        self.wires.delay((from, to), millis.start() * 1000..=millis.end() * 1000);
    }

    /// Messages may outlive the connection that they were sent on.
    pub(crate) fn let_stragglers_arrive(&mut self) {
        self.wires.set_stragglers(Stragglers::Arrive);
    }

    pub(crate) fn cut_one_way(&mut self, from: MemberId, to: MemberId) {
        self.wires.cut((from, to));
    }

    /// Cuts a member off from all others.
    pub(crate) fn isolate(&mut self, id: MemberId) {
        for other in self.ids() {
            self.wires.cut((id, other));
            self.wires.cut((other, id));
        }
    }

    /// Lets messages through again; those that were held back arrive, late.
    pub(crate) fn heal(&mut self) {
        self.wires.heal();
    }

    /// Breaks the connection of two members in the middle, and tells both ends.
    pub(crate) fn break_connection(&mut self, one: MemberId, other: MemberId) {
        self.wires.snap(self.now, (one, other), &mut self.random);
    }

    /// Ends the process; the others see their connections with it end.
    pub(crate) fn crash(&mut self, id: MemberId) {
        self.fail(id);
        for other in self.ids().into_iter().filter(|other| *other != id) {
            self.wires.end(self.now, (id, other), &mut self.random);
        }
    }

    /// Cuts the power of the machine: no other member hears of it.
    pub(crate) fn fail(&mut self, id: MemberId) {
        self.servers.get_mut(&id).expect("a member").state = State::Crashed;
        for other in self.ids().into_iter().filter(|other| *other != id) {
            self.wires.lose((id, other));
        }
        for client in self.clients.iter_mut().filter(|client| client.member() == Some(id)) {
            client.lose_connection();
        }
    }

    pub(crate) fn pause(&mut self, id: MemberId) {
        let server = self.servers.get_mut(&id).expect("a member");
        if server.state == State::Running {
            server.state = State::Paused;
        }
    }

    /// Resumes a paused member, and starts a crashed one again.
    pub(crate) fn resume(&mut self, id: MemberId) {
        let server = self.servers.get_mut(&id).expect("a member");
        let before = core::mem::replace(&mut server.state, State::Running);
        if before == State::Crashed {
            self.with(id, Member::restart);
        }
    }
}

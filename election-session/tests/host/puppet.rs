//! A recipe that does what a test says, and writes down what it is fed.

use std::collections::VecDeque;

use election_core::{
    Change, Check, Command, Create, CreateMode, Delete, Event, ExpectedVersion, Failure, Hold,
    Incarnation, Multi, NewZnode, Op, Output, Part, Payload, Phase, Recipe, Ticket, Watch, Write,
    Znode,
};
use election_session::RecipeKey;

use crate::lab::Lab;

#[derive(Debug)]
pub(crate) struct Puppet {
    pub(crate) fed: Vec<Fed>,
    pub(crate) hold: Hold,
    pub(crate) heartbeat: Option<&'static str>,
    /// The commands that await a watch event.
    pub(crate) awaited: Vec<Ticket>,
    pub(crate) phase: Phase,
    /// Whether the server did not look at its last request.
    pub(crate) is_throttled: bool,
    orders: VecDeque<Order>,
    steps: u32,
}

/// An event that a recipe was fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    Connected,
    Disconnected,
    SessionExpired,
    LeaseLapsed,
    Look,
    Deadline,
    Reply(Result<(), Failure>),
    Children(usize),
    Changed(Change),
    Withdrawn,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Create(&'static str),
    CreateNode,
    Barrier,
    List,
    Read(&'static str, Watch),
    Exists(&'static str),
    /// A check of the node, and the deletion of a sibling.
    CheckAndDelete(&'static str),
    Write(&'static str, &'static [u8]),
    Delete(&'static str),
}

impl Puppet {
    pub(crate) fn new() -> Self {
        Self {
            fed: Vec::new(),
            hold: Hold::None,
            heartbeat: None,
            awaited: Vec::new(),
            phase: Phase::Standing,
            is_throttled: false,
            orders: VecDeque::new(),
            steps: 0,
        }
    }

    pub(crate) fn checking(child: &'static str) -> Self {
        Self { heartbeat: Some(child), ..Self::new() }
    }

    /// Sets the command that the recipe gives at its next deadline.
    pub(crate) fn order_later(&mut self, order: Order) {
        self.orders.push_back(order);
    }

    fn step(&mut self, fed: Fed) -> Output<'_, Fed> {
        self.fed.push(fed);
        let order = if fed == Fed::Deadline { self.orders.pop_front() } else { None };
        let command = order.map(|order| {
            let ticket = Ticket::request(Incarnation::FIRST, self.steps);
            self.steps += 1;
            if let Order::Read(..) = order {
                self.awaited.push(ticket);
            }
            Command { ticket, op: op(order) }
        });
        Output { command, notice: Some(fed) }
    }
}

impl Recipe for Puppet {
    type Notice = Fed;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Fed> {
        use election_core::Reply;

        let fed = match event {
            Event::Connected { .. } => Fed::Connected,
            Event::Disconnected => Fed::Disconnected,
            Event::SessionExpired => Fed::SessionExpired,
            Event::LeaseLapsed => Fed::LeaseLapsed,
            Event::Look => Fed::Look,
            Event::Deadline => Fed::Deadline,
            Event::Reply { result: Ok(Reply::Children(names)), .. } => Fed::Children(names.count()),
            Event::Reply { result, .. } => Fed::Reply(result.map(|_| ())),
            Event::Changed { change, .. } => Fed::Changed(change),
        };
        self.step(fed)
    }

    fn withdraw(&mut self) -> Output<'_, Fed> {
        self.phase = Phase::Over;
        self.step(Fed::Withdrawn)
    }

    fn phase(&self) -> Phase {
        self.phase
    }

    fn hold(&self) -> Hold {
        self.hold
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        self.heartbeat.map(Znode::child)
    }

    fn waits_for_look(&self) -> bool {
        self.is_throttled
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        self.awaited.contains(&ticket)
    }
}

fn op<'a>(order: Order) -> Op<'a> {
    let (mode, version) = (CreateMode::Ephemeral, ExpectedVersion::Any);
    match order {
        Order::Create(name) => {
            let znode = NewZnode::Named(Znode::child(name));
            Op::Create(Create { znode, mode, data: Payload::Kept(0) })
        }
        Order::CreateNode => Op::CreateNode,
        Order::Barrier => Op::Barrier,
        Order::List => Op::List { parent: Znode::Node, watch: Watch::None },
        Order::Read(name, watch) => Op::Read { znode: Znode::child(name), watch },
        Order::Exists(suffix) => Op::Exists { znode: Znode::Sibling(suffix), watch: Watch::None },
        Order::CheckAndDelete(suffix) => {
            let check = Check { znode: Znode::Node, version };
            let delete = Delete { znode: Znode::Sibling(suffix), version };
            Op::Multi(Multi::of([Part::Check(check), Part::Delete(delete)]))
        }
        Order::Write(name, data) => {
            let (znode, data) = (Znode::child(name), Payload::Bytes(data));
            Op::Write(Write { znode, version, data })
        }
        Order::Delete(name) => {
            let znode = Znode::Grandchild { child: "below", name: name.into() };
            Op::Delete(Delete { znode, version })
        }
    }
}

impl Lab<Puppet> {
    pub(crate) fn puppet(&mut self, key: RecipeKey) -> &mut Puppet {
        self.host.recipe_mut(key).expect("it is not over").0
    }

    /// Makes a recipe take a step, with this command.
    pub(crate) fn order(&mut self, key: RecipeKey, order: Order) {
        self.puppet(key).order_later(order);
        self.nudge(key);
    }

    /// Makes a recipe take a step.
    pub(crate) fn nudge(&mut self, key: RecipeKey) {
        self.host.set_deadline(key, Some(self.now));
        self.tick();
    }

    /// Returns the events that a recipe was fed since the last call.
    pub(crate) fn fed(&mut self, key: RecipeKey) -> Vec<Fed> {
        core::mem::take(&mut self.puppet(key).fed)
    }
}

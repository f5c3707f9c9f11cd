//! Takers at an ensemble with servers that lag: the possible steps, and their effects.

use election_core::queue::{ItemWindow, QueueFormat, Taker, TakerEnd, TakerOptions};
use election_core::{NomineeId, Phase, Recipe as _, SessionId, Ticket};

use crate::queues::server::{Answer, ItemZnode, Order, Request, Tree};

/// The data of an item for these takers: its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data(pub u32);

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.try_into().map(u32::from_be_bytes).expect("four bytes"))
    }
}

pub type SmallTaker = Taker<Data, 2>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    pub puts: u8,
    pub losses: u8,
    pub expiries: u8,
    /// Other sessions that are handed out while the old one lives.
    pub swaps: u8,
    pub withdrawals: u8,
    pub throttles: u8,
    /// Items that are written to.
    pub writes: u8,
    /// Items that a taker of another kind takes, without a look at their version.
    pub foreign: u8,
    pub looks: u8,
    /// Claims that are given back.
    pub returns: u8,
    /// Transactions about a claim that a server refuses for want of permission.
    pub refusals: u8,
    /// Claims of takers that hold them, which an operator deletes without the children of items.
    pub evictions: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Connect(usize),
    ConnectToNewSession(usize),
    LearnOfExpiry(usize),
    Disconnect(usize),
    Execute(usize),
    Advance(usize),
    Hear(usize),
    ApplyInDoubt(usize, usize),
    DropInDoubt(usize),
    Expire(usize),
    ExpireFormer(usize),
    Withdraw(usize),
    Throttle(usize),
    Refuse(usize),
    Look(usize),
    Finish(usize),
    Again(usize),
    Put,
    Write(u32),
    ForeignTakes(u32),
    Evict(usize),
}

impl Step {
    pub fn is_calm(self, world: &World) -> bool {
        match self {
            Self::Connect(_)
            | Self::LearnOfExpiry(_)
            | Self::Execute(_)
            | Self::Advance(_)
            | Self::Hear(_)
            | Self::ApplyInDoubt(..)
            | Self::DropInDoubt(_)
            | Self::ExpireFormer(_)
            | Self::Finish(_)
            | Self::Again(_) => true,
            Self::Disconnect(i) => !world.clients[i].session_lives,
            Self::Look(i) => world.clients[i].needs_look(),
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    New,
    Up,
    Down,
}

#[derive(Clone, Debug)]
pub struct Client {
    pub taker: SmallTaker,
    pub options: TakerOptions,
    /// Takes after this one.
    pub takes: u8,
    pub link: Link,
    pub session: SessionId,
    pub session_lives: bool,
    pub request: Option<(Ticket, Request)>,
    pub due: Option<(Ticket, Answer, usize)>,
    pub watch: Option<Ticket>,
    pub in_doubt: Vec<(SessionId, Request)>,
    /// Which of the world's trees its server has applied, and which it has shown.
    pub applied: usize,
    pub seen: usize,
    pub is_waiting: bool,
    pub withdrawn: bool,
    /// The items that it was told to have taken, in order.
    pub taken: Vec<u32>,
    pub ended: Option<TakerEnd<Data>>,
    /// The items that its server showed when its take began, and whenever it was connected since.
    pub shown: Option<Vec<u32>>,
}

#[derive(Clone, Debug)]
pub struct World {
    /// The committed states, oldest first.
    pub trees: Vec<Tree>,
    pub clients: Vec<Client>,
    pub budget: Budget,
    pub next: u32,
    pub max_lag: usize,
    /// Items that are gone by right, and by what.
    pub accounted: Vec<(u32, Account)>,
    pub fault: Option<String>,
    /// Whether a deletion may be executed long after its session was given up.
    pub may_stray: bool,
    /// Whether a taker may fail: for want of permission, or of its claim.
    pub may_be_refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Account {
    Taken,
    Unknown,
    Finished,
    /// A taker that had claimed it has done it.
    Done,
    Foreign,
}

pub const SESSIONS: i64 = 100;

impl World {
    pub fn new(takers: &[(TakerOptions, u8)], items: u32, budget: Budget) -> Self {
        let znode = |number| ItemZnode {
            number,
            version: 0,
            owner: None,
            pins: Vec::new(),
            is_parent: false,
        };
        let order = match takers {
            [(options, _), ..] if options.format.has_priority() => Order::ByPriority,
            _ => Order::ByNumber,
        };
        let items_now = (0..items).map(znode).collect();
        let tree = Tree {
            has_node: true,
            order,
            created: items,
            items: items_now,
            claims: Vec::new(),
            transaction: 1,
        };
        let client = |(index, (options, takes)): (usize, &(TakerOptions, u8))| {
            let seed = u32::try_from(index).expect("few") + 1;
            Client {
                taker: Taker::new(id(index, 0), *options, ItemWindow::new(seed)),
                options: *options,
                takes: takes - 1,
                link: Link::New,
                session: SessionId::new(SESSIONS * (i64::from(seed))),
                session_lives: true,
                request: None,
                due: None,
                watch: None,
                in_doubt: Vec::new(),
                applied: 0,
                seen: 0,
                is_waiting: false,
                withdrawn: false,
                taken: Vec::new(),
                ended: None,
                shown: None,
            }
        };
        Self {
            trees: vec![tree],
            clients: takers.iter().enumerate().map(client).collect(),
            budget,
            next: items,
            max_lag: 1,
            accounted: Vec::new(),
            fault: None,
            may_stray: budget.swaps > 0,
            may_be_refused: budget.refusals > 0 || budget.evictions > 0,
        }
    }

    pub fn lagging(mut self, max_lag: usize) -> Self {
        self.max_lag = max_lag;
        self
    }

    /// Adds items that a taker cannot have: one that goes with a session of none of these takers,
    /// one with a child, or no node at all.
    pub fn with(mut self, change: impl FnOnce(&mut Tree)) -> Self {
        change(&mut self.trees[0]);
        self
    }

    pub fn tip(&self) -> &Tree {
        self.trees.last().expect("one")
    }

    pub fn end(&self) -> usize {
        self.trees.len() - 1
    }

    pub fn fail(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for i in 0..self.clients.len() {
            self.steps_of(i, &mut steps);
        }
        let budget = self.budget;
        if budget.puts > 0 && self.tip().has_node {
            steps.push(Step::Put);
        }
        for item in &self.tip().items {
            if budget.writes > 0 {
                steps.push(Step::Write(item.number));
            }
            if budget.foreign > 0 && item.pins.is_empty() && !item.is_parent {
                steps.push(Step::ForeignTakes(item.number));
            }
        }
        steps
    }

    fn steps_of(&self, i: usize, steps: &mut Vec<Step>) {
        let (client, budget) = (&self.clients[i], self.budget);
        for k in 0..client.in_doubt.len() {
            steps.push(Step::ApplyInDoubt(i, k));
        }
        if !client.in_doubt.is_empty() {
            steps.push(Step::DropInDoubt(i));
        }
        if self.has_former(i) {
            steps.push(Step::ExpireFormer(i));
        }
        if client.taker.phase() == Phase::Over {
            if client.takes > 0 {
                steps.push(Step::Again(i));
            }
            return;
        }
        let (up, lives) = (client.link == Link::Up, client.session_lives);
        let mut offer = |step, is_possible: bool| {
            if is_possible {
                steps.push(step);
            }
        };
        offer(Step::Connect(i), !up && lives);
        offer(Step::LearnOfExpiry(i), !up && !lives);
        let down = client.link == Link::Down && lives;
        offer(Step::ConnectToNewSession(i), down && budget.swaps > 0);
        offer(Step::Disconnect(i), up && (budget.losses > 0 || !lives));
        offer(Step::Expire(i), client.link != Link::New && lives && budget.expiries > 0);
        let is_next = up && client.due.is_none();
        let request = client.request.as_ref().filter(|_| is_next);
        offer(Step::Execute(i), request.is_some_and(|(_, request)| lives || request.reads()));
        offer(Step::Throttle(i), request.is_some() && lives && budget.throttles > 0);
        let is_about_a_claim = request.is_some_and(|(_, request)| request.is_about_a_claim());
        offer(Step::Refuse(i), is_about_a_claim && lives && budget.refusals > 0);
        offer(Step::Advance(i), up && client.applied < self.end());
        let is_due = |(_, _, position): &(Ticket, Answer, usize)| *position <= client.applied;
        offer(Step::Hear(i), up && client.due.as_ref().is_some_and(is_due));
        let holds = client.taker.holds_claim();
        let returns = if holds { budget.returns } else { budget.withdrawals };
        offer(Step::Withdraw(i), !client.withdrawn && returns > 0);
        offer(Step::Finish(i), holds);
        let target = client.taker.target().map(|item| item.number().get());
        let is_claimed = target.is_some_and(|item| self.tip().is_claimed(item));
        offer(Step::Evict(i), holds && is_claimed && budget.evictions > 0);
        offer(Step::Look(i), up && (budget.looks > 0 || client.needs_look()));
    }

    fn has_former(&self, i: usize) -> bool {
        let client = &self.clients[i];
        let tip = self.tip();
        let pins = tip.items.iter().flat_map(|item| &item.pins);
        let claims = tip.claims.iter().map(|(_, session, _)| session);
        let doubts = client.in_doubt.iter().map(|(session, _)| session);
        pins.map(|(_, session, _)| session).chain(claims).chain(doubts).any(|s| client.had(*s))
    }
}

impl Client {
    /// Whether only a look makes it go on.
    pub fn needs_look(&self) -> bool {
        let is_asking = self.request.is_some() || self.due.is_some();
        let owes = self.taker.phase() == Phase::CleaningUp && !is_asking;
        self.taker.waits_for_look() || owes
    }

    pub fn had(&self, session: SessionId) -> bool {
        session.get() / SESSIONS == self.session.get() / SESSIONS && session < self.session
    }
}

pub fn id(index: usize, take: u8) -> NomineeId {
    let index = u8::try_from(index).expect("few");
    NomineeId::from_bytes([index, take, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0])
}

pub const FORMAT: QueueFormat = QueueFormat::guide();

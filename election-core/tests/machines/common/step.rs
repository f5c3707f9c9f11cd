//! The next possible steps in a world.

use election_core::election::Role;
use election_core::{Phase, Recipe, SessionId};

use super::World;
use super::client::{Client, FOREIGN, Link, SESSIONS};
use super::server::{Access, Entry, Kind, Name, Request};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client's link comes up: in a session that it had, at a server that has applied no more
    /// than this session has seen.
    Connect(usize),
    /// The same, but the server hands out a new session while the old one lives on.
    ConnectToNewSession(usize),
    /// The client asks for its session, and learns that it is dead.
    LearnOfExpiry(usize),
    Disconnect(usize),
    /// The client's next request is executed; a read by a server that lacks so many of the
    /// committed changes, which is also when its reply arrives.
    Execute(usize, usize),
    /// The client's next request is not looked at, since its server has too much to do.
    Throttle(usize),
    /// The client's next request, a list or a deletion, is refused for want of permission.
    Refuse(usize),
    /// The next reply or change that the client's server has for it arrives.
    Hear(usize),
    /// A request of a lost connection is executed.
    ApplyInDoubt(usize, usize),
    /// The requests of lost connections will never be executed.
    DropInDoubt(usize),
    /// The client receives what came on a lost connection.
    DeliverStraggler(usize, usize),
    /// The session of a client expires, whether it is connected or not.
    Expire(usize),
    /// Sessions expire that the client had before.
    ExpireFormer(usize),
    Withdraw(usize),
    /// The client's process ends without a word, and another one goes on with its session and its
    /// nominee's id.
    HandOver(usize),
    /// The time has passed that the user of a lock gave.
    Deadline(usize),
    /// The user of a writer that holds has it go on as a reader.
    Downgrade(usize),
    /// Another client asks a contender to let go.
    RequestRevoke(Name),
    /// A writer that is no client of the world's goes on as a reader.
    ForeignDowngrades(Name),
    /// A contender that is no client of the world's lets go.
    ForeignLeaves(Name),
    LeaseLapse(usize),
    /// A watch of the client is gone without having fired, and its driver says so.
    LoseWatch(usize, usize),
    /// The client looks for what a lost event would have told.
    Look(usize),
    OperatorBars(Name),
    OperatorDeletes(Name),
    OperatorWrites(Name),
    OperatorWipes,
    /// An operator begins to end the election.
    OperatorEnds,
    /// It lists, or deletes the next candidate.
    OperatorGoesOn,
    OperatorIsKilled,
    OperatorReopens,
    /// A leader begins to hand the leadership over to this candidate.
    LeaderHandsOver(usize, Name),
    HandOverGoesOn,
}

impl Step {
    /// Whether the step is none of the world's budget: it happens by itself, sooner or later.
    pub fn is_calm(self, world: &World) -> bool {
        match self {
            Self::Connect(_)
            | Self::LearnOfExpiry(_)
            | Self::Execute(..)
            | Self::Hear(_)
            | Self::ApplyInDoubt(..)
            | Self::DropInDoubt(_)
            | Self::ForeignLeaves(_)
            | Self::OperatorGoesOn
            | Self::HandOverGoesOn
            | Self::ExpireFormer(_) => true,
            Self::Disconnect(i) => !world.clients[i].session_lives,
            Self::Look(i) => {
                let client = &world.clients[i];
                world.has_missed_something(client) || world.is_asked(client)
            }
            Self::ConnectToNewSession(_)
            | Self::DeliverStraggler(..)
            | Self::Expire(_)
            | Self::Withdraw(_)
            | Self::HandOver(_)
            | Self::Deadline(_)
            | Self::Downgrade(_)
            | Self::RequestRevoke(_)
            | Self::ForeignDowngrades(_)
            | Self::LeaseLapse(_)
            | Self::LoseWatch(..)
            | Self::Throttle(_)
            | Self::Refuse(_)
            | Self::OperatorBars(_)
            | Self::OperatorDeletes(_)
            | Self::OperatorWrites(_)
            | Self::OperatorWipes
            | Self::OperatorEnds
            | Self::OperatorIsKilled
            | Self::LeaderHandsOver(..)
            | Self::OperatorReopens => false,
        }
    }
}

/// The next thing that a client hears.
pub enum Heard {
    Reply,
    /// The server applies the log up to and with the entry at this position.
    Entry(usize),
}

impl World {
    /// Every step that can be taken.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for client in self.clients.iter().filter(|client| !client.is_idle_for_good()) {
            self.calm_steps_of(client, &mut steps);
            self.faults_of(client, &mut steps);
        }
        for client in &self.clients {
            let owners = || self.server.tip.znodes.iter().map(|znode| znode.owner);
            if owners().any(|owner| is_former(client, owner)) {
                steps.push(Step::ExpireFormer(client.index));
            }
        }
        for znode in &self.server.tip.znodes {
            if znode.owner == FOREIGN {
                steps.push(Step::ForeignLeaves(znode.name));
                if self.budget.downgrades > 0 && znode.name.kind == Kind::Write {
                    steps.push(Step::ForeignDowngrades(znode.name));
                }
            }
            if self.budget.requests > 0 && znode.owner != FOREIGN {
                steps.push(Step::RequestRevoke(znode.name));
            }
            if self.budget.deletions > 0 {
                steps.push(Step::OperatorDeletes(znode.name));
            }
            if self.budget.writes > 0 {
                steps.push(Step::OperatorWrites(znode.name));
            }
            if self.budget.bars > 0 && znode.access == Access::Open {
                steps.push(Step::OperatorBars(znode.name));
            }
        }
        if self.budget.wipes > 0 && self.server.tip.has_election_node {
            steps.push(Step::OperatorWipes);
        }
        self.steps_of_the_ending(&mut steps);
        self.steps_of_the_hand_over(&mut steps);
        steps
    }

    fn calm_steps_of(&self, client: &Client, steps: &mut Vec<Step>) {
        let i = client.index;
        match client.link {
            Link::Up => {
                if self.next_heard(client).is_some() {
                    steps.push(Step::Hear(i));
                }
                self.executions(client, steps);
            }
            Link::New => steps.push(Step::Connect(i)),
            Link::Down if client.session_lives => steps.push(Step::Connect(i)),
            Link::Down => steps.push(Step::LearnOfExpiry(i)),
        }
        for k in 0..client.in_doubt.len() {
            steps.push(Step::ApplyInDoubt(i, k));
        }
        if !client.in_doubt.is_empty() {
            steps.push(Step::DropInDoubt(i));
        }
    }

    /// A read is offered once for each answer that it can get, by the server that is farthest
    /// behind: whatever a server can do that is ahead of it, that one can do later.
    fn executions(&self, client: &Client, steps: &mut Vec<Step>) {
        let Some((_, request)) = client.requests.front() else {
            return;
        };
        if !request.reads() {
            if client.session_lives {
                steps.push(Step::Execute(client.index, 0));
            }
            return;
        }
        if !client.due.is_empty() {
            return;
        }
        let nearest = match self.next_heard(client) {
            Some(Heard::Entry(position)) => position,
            Some(Heard::Reply) | None => self.server.end(),
        };
        let mut answers = Vec::new();
        for position in client.applied..=nearest {
            let answer = self.server.read(position, *request, client.session);
            if !answers.contains(&answer) {
                answers.push(answer);
                steps.push(Step::Execute(client.index, self.server.end() - position));
            }
        }
    }

    fn faults_of(&self, client: &Client, steps: &mut Vec<Step>) {
        let i = client.index;
        let mut offer = |step, is_possible: bool| {
            if is_possible {
                steps.push(step);
            }
        };
        let budget = self.budget;
        let (up, lives) = (client.is_up(), client.session_lives);
        let down = client.link == Link::Down;
        offer(Step::ConnectToNewSession(i), down && lives && budget.swaps > 0);
        offer(Step::Disconnect(i), up && (budget.losses > 0 || !lives));
        offer(Step::Expire(i), (up || down) && lives && budget.expiries > 0);
        for k in 0..client.stragglers.len() {
            offer(Step::DeliverStraggler(i, k), budget.stragglers > 0);
        }
        let stands = !client.withdrawn && !client.is_ended();
        offer(Step::Withdraw(i), stands && budget.withdrawals > 0);
        offer(Step::HandOver(i), (up || down) && stands && budget.handovers > 0);
        let has_deadline = stands && (client.nominee.is_lock() || client.leads());
        offer(Step::Deadline(i), has_deadline && budget.deadlines > 0);
        let is_writer = client.leads() && client.kind() == Kind::Write;
        offer(Step::Downgrade(i), is_writer && budget.own_downgrades > 0);
        offer(Step::LeaseLapse(i), client.leads() && budget.lapses > 0);
        for k in 0..client.watchers.len() {
            offer(Step::LoseWatch(i, k), budget.lost_watches > 0);
        }
        let next = client.requests.front().filter(|_| up && lives && client.due.is_empty());
        offer(Step::Throttle(i), next.is_some() && budget.throttles > 0);
        let needs_permission =
            |request: &Request| matches!(request, Request::List | Request::Delete(..));
        let is_refusable = next.is_some_and(|(_, request)| needs_permission(request));
        offer(Step::Refuse(i), is_refusable && budget.refusals > 0);
        let looks = budget.looks > 0 || self.is_asked(client) || self.has_missed_something(client);
        offer(Step::Look(i), up && looks);
    }

    pub fn next_heard(&self, client: &Client) -> Option<Heard> {
        if !client.is_up() {
            return None;
        }
        let due = client.due.front().map_or(usize::MAX, |due| due.position);
        for position in client.applied..=self.server.end() {
            if due <= position {
                return Some(Heard::Reply);
            }
            let concerns = match self.server.log.get(position) {
                Some(Entry::SessionClosed(session)) => *session == client.session,
                entry => entry.and_then(|entry| entry.told()).is_some_and(|(name, _)| {
                    client.watchers.iter().any(|watcher| watcher.name == name)
                        && self.server.is_told(position, name)
                }),
            };
            if concerns {
                return Some(Heard::Entry(position));
            }
        }
        None
    }

    /// Whether the client waits for a look: for an event that was dropped, or a request that was
    /// not looked at, or a search or a deletion that was refused; or as a follower that has no watch on its own
    /// candidate yet, which an operator has deleted.
    pub fn has_missed_something(&self, client: &Client) -> bool {
        if !self.is_quiet(client) {
            return false;
        }
        if client.nominee.waits_for_look() || client.nominee.phase() == Phase::CleaningUp {
            return true;
        }
        let predecessor = match client.nominee.role() {
            Role::Following { predecessor, .. } => Some(Name::parse(&predecessor.text())),
            _ => None,
        };
        let is_evicted_unheard = predecessor.is_some()
            && client.candidate().is_some_and(|own| {
                !client.watchers.iter().any(|watcher| watcher.name == own)
                    && self.server.find(own).is_none()
            });
        let foreign = client.nominee.foreign_child().map(Name::parse);
        let mut awaited = predecessor.into_iter().chain(client.candidate()).chain(foreign);
        is_evicted_unheard || awaited.any(|name| self.server.unheard.contains(&name))
    }

    /// Whether nothing that the client asked for or watches is on its way.
    pub fn is_quiet(&self, client: &Client) -> bool {
        client.is_up() && client.requests.is_empty() && self.next_heard(client).is_none()
    }

    /// Whether the client's server has something for it.
    pub fn has_news(&self, client: usize) -> bool {
        self.next_heard(&self.clients[client]).is_some()
    }
}

pub fn is_former(client: &Client, session: SessionId) -> bool {
    session.get() / SESSIONS == client.session.get() / SESSIONS && session < client.session
}

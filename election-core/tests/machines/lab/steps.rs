//! The next possible steps.

use election_core::{Hold, Phase, Recipe as _};

use super::client::{Actor, Client, Link, Rights, Sent};
use super::server::{Access, Effect, Position};
use super::{Lab, Model, Right};

#[derive(Debug)]
pub enum Step<M: Model> {
    Connect(usize),
    Execute(usize),
    /// The client's server applies the next commit that matters to it, or the rest of it.
    Apply(usize),
    /// It applies so many commits, and answers a read from there.
    ReadAt(usize, usize),
    /// It applies only the next part of it, and stays there for a while.
    ApplyPart(usize),
    LearnExpiry(usize),
    /// A session of a process that is no more, or that was given up, expires.
    Bury(usize),
    Look(usize),
    ApplyInDoubt(usize),
    /// A write of such a session is executed.
    ApplyGhost(usize),
    /// The right to delete is given back.
    Permit(usize),
    Disconnect(usize),
    Expire(usize),
    Lie(usize),
    Swap(usize),
    Kill(usize),
    Withdraw(usize, Actor),
    Deadline(usize, Actor),
    Lapse(usize, Actor),
    LoseWatch(usize, usize),
    DropWatch(usize, usize),
    Throttle(usize),
    HoldBack(usize),
    FindTooLarge(usize),
    Refuse(usize),
    Forbid(usize, Right),
    /// A message of a lost connection comes after all.
    Straggle(usize, usize),
    OperatorDeletes(M::Name),
    OperatorWrites(M::Name),
    OperatorBars(M::Name),
    Act(M::Act),
}

// Not derived, which would ask for `M: Copy`.
impl<M: Model> Copy for Step<M> {}

#[expect(clippy::expl_impl_clone_on_copy, reason = "a derived one would ask for `M: Clone`")]
impl<M: Model> Clone for Step<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Model> Lab<M> {
    /// Returns the steps, and of each whether it is taken sooner or later.
    pub fn steps(&self) -> Vec<(Step<M>, bool)> {
        let mut steps = Vec::new();
        for (i, client) in self.clients.iter().enumerate() {
            if client.is_done() {
                let is_in_doubt = !client.in_doubt.is_empty();
                steps.extend(is_in_doubt.then_some((Step::ApplyInDoubt(i), false)));
                continue;
            }
            self.calm_steps(i, client, &mut steps);
            self.faults(i, client, &mut steps);
        }
        for (k, ghost) in self.ghosts.iter().enumerate() {
            steps.push((Step::Bury(k), true));
            if !ghost.writes.is_empty() {
                steps.push((Step::ApplyGhost(k), false));
            }
        }
        self.operator(&mut steps);
        steps.extend(M::acts(self).into_iter().map(|(act, is_calm)| (Step::Act(act), is_calm)));
        steps
    }

    fn calm_steps(&self, i: usize, client: &Client<M>, steps: &mut Vec<(Step<M>, bool)>) {
        let mut add = |is_possible: bool, step| {
            if is_possible {
                steps.push((step, true));
            }
        };
        let is_dead = client.link == Link::Dead;
        add(client.rights == Rights::NotTo(Right::Delete) && !is_dead, Step::Permit(i));
        match client.link {
            Link::Dead => {}
            Link::Down if !client.session_lives => add(true, Step::LearnExpiry(i)),
            Link::New => add(!client.is_over(), Step::Connect(i)),
            Link::Down => add(true, Step::Connect(i)),
            Link::Up => {
                add(client.next_heard(&self.server).is_some(), Step::Apply(i));
                let next = client.requests.front().filter(|_| client.due.is_none());
                if M::APPLIES_WHAT_MATTERS && next.is_some_and(|sent| sent.request.reads()) {
                    self.reads(client).into_iter().for_each(|at| add(true, Step::ReadAt(i, at)));
                } else {
                    add(next.is_some(), Step::Execute(i));
                }
                let learns = client.requests.is_empty() || client.closed_after.is_some();
                add(!client.session_lives && learns, Step::LearnExpiry(i));
                add(self.needs_look(i), Step::Look(i));
            }
        }
    }

    /// Returns the places from which a read can be answered, one for each answer: that by the server that is farthest
    /// behind, since it can still do whatever the others can.
    fn reads(&self, client: &Client<M>) -> Vec<usize> {
        let Some(Sent { request, .. }) = client.requests.front() else { return Vec::new() };
        let next = client.next_heard(&self.server).map(|next| next - 1);
        let (mut places, mut answers) = (Vec::new(), Vec::new());
        for commits in client.applied.commits..=next.unwrap_or_else(|| self.server.end()) {
            let answer = self.server.read::<M>(Position::after(commits), request, client.session);
            if !answers.contains(&answer) {
                answers.push(answer);
                places.push(commits);
            }
        }
        places
    }

    fn faults(&self, i: usize, client: &Client<M>, steps: &mut Vec<(Step<M>, bool)>) {
        let budget = self.budget;
        if client.link == Link::Dead {
            return;
        }
        let mut add = |is_possible: bool, step| {
            if is_possible {
                steps.push((step, false));
            }
        };
        let is_up = client.is_up();
        let has_session = client.session_lives && client.link != Link::New;
        add(!client.in_doubt.is_empty(), Step::ApplyInDoubt(i));
        add(budget.losses > 0 && is_up, Step::Disconnect(i));
        add(budget.expiries > 0 && has_session, Step::Expire(i));
        add(budget.lies > 0 && has_session, Step::Lie(i));
        add(budget.swaps > 0 && has_session && client.link == Link::Down, Step::Swap(i));
        add(budget.crashes > 0 && has_session, Step::Kill(i));
        add(budget.looks > 0 && is_up, Step::Look(i));
        for k in 0..client.late.len() {
            add(budget.stragglers > 0 && is_up, Step::Straggle(i, k));
        }
        let has_user = M::has_user(client);
        for (actor, machine) in client.machines.iter() {
            let stands = matches!(machine.phase(), Phase::Standing | Phase::Leaving) && has_user;
            add(budget.withdrawals > 0 && stands, Step::Withdraw(i, *actor));
            add(budget.deadlines > 0 && stands, Step::Deadline(i, *actor));
            add(budget.lapses > 0 && machine.hold() != Hold::None, Step::Lapse(i, *actor));
        }
        for k in 0..client.watches.len() {
            add(budget.lost_watches > 0, Step::LoseWatch(i, k));
            add(budget.dropped_watches > 0, Step::DropWatch(i, k));
        }
        let next = client.requests.front().filter(|_| is_up);
        add(budget.throttles > 0 && next.is_some(), Step::Throttle(i));
        let may_be_long =
            |sent: &Sent<_>| sent.request.has_data() && M::may_be_too_long(self, i, sent);
        let is_long = next.is_some_and(may_be_long) && client.due.is_none();
        add(budget.held_back > 0 && is_long, Step::HoldBack(i));
        add(budget.too_large > 0 && is_long, Step::FindTooLarge(i));
        let is_refusable = next.is_some_and(|sent| M::may_be_refused(self, i, sent));
        let is_free = client.session_lives && client.due.is_none();
        add(budget.refusals > 0 && is_refusable && is_free, Step::Refuse(i));
        for right in self.rights {
            let is_busy = !client.is_over() && client.link != Link::New;
            add(budget.prohibitions > 0 && is_busy, Step::Forbid(i, *right));
        }
        let is_effect = |effect: &&Effect<_>| !matches!(effect, Effect::Barred(_));
        let parts = self.server.log.get(client.applied.commits);
        let parts = parts.map_or(0, |commit| commit.iter().filter(is_effect).count());
        add(budget.halves > 0 && is_up && client.applied.parts + 1 < parts, Step::ApplyPart(i));
    }

    fn operator(&self, steps: &mut Vec<(Step<M>, bool)>) {
        for (name, znode) in self.tip() {
            if !M::is_operators(self, *name) {
                continue;
            }
            let mut add = |is_possible: bool, step| {
                if is_possible {
                    steps.push((step, false));
                }
            };
            let is_leaf = !self.server.tip.keys().any(|child| M::parent(*child) == Some(*name));
            add(self.budget.deletions > 0 && is_leaf, Step::OperatorDeletes(*name));
            add(self.budget.writes > 0, Step::OperatorWrites(*name));
            let is_open = znode.access == Access::Open;
            add(self.budget.bars > 0 && is_open, Step::OperatorBars(*name));
        }
    }
}

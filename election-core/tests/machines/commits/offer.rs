//! The steps that a world can take next.

use super::client::{Client, Course, Link};
use super::step::{Budget, Step};
use super::world::World;

impl World {
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (i, client) in self.clients.iter().enumerate() {
            self.calm_steps(i, client, &mut steps);
            self.faults(i, client, &mut steps);
        }
        for (k, ghost) in self.ghosts.iter().enumerate() {
            steps.push(Step::Bury(k));
            if !ghost.writes.is_empty() {
                steps.push(Step::ApplyGhost(k));
            }
        }
        steps
    }

    fn calm_steps(&self, i: usize, client: &Client, steps: &mut Vec<Step>) {
        if client.may_begin_again() {
            steps.push(Step::BeginAgain(i));
        }
        let is_done = client.course == Course::Done && client.is_over();
        match client.link {
            Link::New if is_done => {}
            Link::Down if !client.session_lives => steps.push(Step::LearnExpiry(i)),
            Link::New | Link::Down => steps.push(Step::Connect(i)),
            Link::Up => {
                if client.applied < self.server.end() {
                    steps.push(Step::Apply(i));
                }
                if !client.requests.is_empty() && client.due.is_none() {
                    steps.push(Step::Execute(i));
                }
                if !client.session_lives && client.requests.is_empty() {
                    steps.push(Step::LearnExpiry(i));
                }
                if client.needs_look() {
                    steps.push(Step::Look(i));
                }
            }
        }
    }

    fn faults(&self, i: usize, client: &Client, steps: &mut Vec<Step>) {
        let Budget { losses, expiries, crashes, withdrawals, throttles, .. } = self.budget;
        let is_up = client.is_up();
        let has_session = client.session_lives && client.link != Link::New;
        let is_busy = !client.is_over() && client.link != Link::New;
        let mut add = |is_possible: bool, step: Step| {
            if is_possible {
                steps.push(step);
            }
        };
        add(!client.in_doubt.is_empty(), Step::ApplyInDoubt(i));
        add(losses > 0 && is_up && is_busy, Step::Disconnect(i));
        add(expiries > 0 && has_session && is_busy, Step::Expire(i));
        add(crashes > 0 && has_session && is_busy, Step::Kill(i));
        let is_at = matches!(client.course, Course::At(_));
        add(withdrawals > 0 && is_busy && is_at, Step::Withdraw(i));
        add(self.budget.refusals > 0 && is_up && client.has_refusable(), Step::Refuse(i));
        add(throttles > 0 && is_up && !client.requests.is_empty(), Step::Throttle(i));
        if self.budget.lost_watches > 0 {
            steps.extend((0..client.watches.len()).map(|k| Step::LoseWatch(i, k)));
        }
    }

    #[expect(clippy::unused_self, reason = "the search asks every world")]
    pub const fn is_calm(&self, step: Step) -> bool {
        matches!(
            step,
            Step::Connect(_)
                | Step::Execute(_)
                | Step::Apply(_)
                | Step::LearnExpiry(_)
                | Step::Look(_)
                | Step::BeginAgain(_)
                | Step::Bury(_)
        )
    }
}

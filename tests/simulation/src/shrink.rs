//! Cuts a plan down to the incidents that are needed to break the same law.

use core::time::Duration;

use super::clock::Time;
use super::outcome::{Law, Violation};
use super::plan::Plan;
use super::run::run;
use super::story::Recording;

/// Runs that a plan may cost.
const TRIES: u32 = 600;

/// Returns a smaller plan that breaks the same law as this one, which broke it.
pub fn shrink(plan: &Plan, violation: &Violation) -> Plan {
    let mut search = Search { law: violation.law, best: plan.clone(), tries: TRIES };
    loop {
        let before = search.tries;
        let smaller = search.drop_incidents()
            | search.simplify(|plan| plan.work_every = None)
            | search.simplify(|plan| plan.calls = None)
            | search.simplify(|plan| plan.locks = None)
            | search.simplify(|plan| plan.uses = None)
            | search.simplify(|plan| plan.drift = 0)
            | search.simplify(|plan| plan.nominees.truncate(plan.nominees.len().saturating_sub(1)))
            | search.end_earlier(violation.at)
            | search.shorten_incidents();
        if !smaller || search.tries == 0 || search.tries == before {
            return search.best;
        }
    }
}

struct Search {
    law: Law,
    best: Plan,
    tries: u32,
}

impl Search {
    /// Drops incidents, many at once at first.
    fn drop_incidents(&mut self) -> bool {
        let mut any = false;
        let mut size = self.best.incidents.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < self.best.incidents.len() {
                let mut plan = self.best.clone();
                let until = (from + size).min(plan.incidents.len());
                plan.incidents.drain(from..until);
                if self.accept(plan) {
                    any = true;
                } else {
                    from += size;
                }
            }
            size /= 2;
        }
        any
    }

    fn shorten_incidents(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.best.incidents.len() {
            let mut plan = self.best.clone();
            if let Some(incident) = plan.incidents.get_mut(index)
                && incident.what.lasts()
                && incident.lasts > Duration::from_millis(50)
            {
                incident.lasts /= 2;
                any |= self.accept(plan);
            }
        }
        any
    }

    /// Lets everything be well soon after the last incident that counts, or after the violation.
    fn end_earlier(&mut self, violation: Time) -> bool {
        let last = self.best.incidents.last().map_or(Time::ORIGIN, |last| last.at);
        let moments = [last + Duration::from_secs(1), violation + Duration::from_millis(1)];
        let mut any = false;
        for calm_at in moments {
            if calm_at < self.best.calm_at {
                any |= self.simplify(|plan| {
                    plan.calm_at = calm_at;
                    plan.incidents.retain(|incident| incident.at < calm_at);
                    for incident in &mut plan.incidents {
                        incident.lasts = incident.lasts.min(calm_at.since(incident.at));
                    }
                });
            }
        }
        any
    }

    fn simplify(&mut self, change: impl FnOnce(&mut Plan)) -> bool {
        let mut plan = self.best.clone();
        let size = measure(&plan);
        change(&mut plan);
        measure(&plan) < size && !plan.nominees.is_empty() && self.accept(plan)
    }

    fn accept(&mut self, plan: Plan) -> bool {
        if self.tries == 0 {
            return false;
        }
        self.tries -= 1;
        let broken = run(&plan, Recording::Off).violation;
        let same = broken.is_some_and(|broken| broken.law == self.law);
        if same {
            self.best = plan;
        }
        same
    }
}

fn measure(plan: &Plan) -> impl PartialOrd + use<> {
    let extras = usize::from(plan.work_every.is_some())
        + usize::from(plan.calls.is_some())
        + usize::from(plan.locks.is_some())
        + usize::from(plan.uses.is_some())
        + usize::from(plan.drift > 0);
    let lasting: Duration = plan.incidents.iter().map(|incident| incident.lasts).sum();
    (extras + plan.nominees.len() + plan.incidents.len(), plan.calm_at, lasting)
}

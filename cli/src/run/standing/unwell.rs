//! Whether the nominee is well, and what follows.

use election_tokio::election::Role;

use super::{Candidacy, Certainty, Nominee, Standing};
use crate::run::event::ElectionEvent;
use crate::run::wellness::State;

impl Nominee {
    /// Returns what to do for a nominee that stands and is not well.
    pub(super) fn heed_unwell(&mut self, role: &Role) -> Standing {
        match (&self.state, role) {
            (State::Unusable(exit), _) => Standing::Unusable(*exit),
            (_, Role::Ended(reason)) => self.ended(*reason),
            (_, Role::Leading { .. } | Role::Suspended { .. }) if self.has_led() => {
                match self.leads(Certainty::of(role)) {
                    Standing::Leading { until } => Standing::AskedToStepDown { until: Some(until) },
                    Standing::InDoubt { until } => Standing::AskedToStepDown { until },
                    standing => standing,
                }
            }
            // It may be elected at this moment, and COMMAND does not begin.
            _ => Standing::Unwell,
        }
    }

    /// Takes in the outcome of the checks. One that is unwell is so until it has withdrawn.
    pub(super) fn heed_wellness(&mut self) {
        let state = self.wellness.state();
        let withdraws = matches!(self.state, State::Unwell(_))
            && matches!(self.candidacy, Candidacy::Standing { .. });
        if state == self.state || withdraws {
            return;
        }
        match &state {
            State::Well => self.recorder.record(&ElectionEvent::Well {}),
            State::Unwell(reason) => {
                self.recorder.record(&ElectionEvent::Unwell { reason: reason.clone() });
            }
            State::Unchecked | State::Unusable(_) => {}
        }
        self.state = state;
    }

    /// Returns what to do for a nominee that does not stand.
    pub(super) fn stands_aside(&mut self) -> Standing {
        match (&self.candidacy, &self.state) {
            (Candidacy::Ended(reason), _) => {
                let reason = *reason;
                self.ended(reason)
            }
            (_, State::Well) => Standing::Well,
            (_, State::Unusable(exit)) => Standing::Unusable(*exit),
            (_, State::Unchecked | State::Unwell(_)) => Standing::Waiting,
        }
    }
}

//! Machines that are held while the world goes on: what a lease is worth by a clock that stood still.

use std::collections::BTreeMap;

use election_core::{NomineeId, Token};

use super::World;
use crate::checker::{Broken, Valid, excludes, name, queue_of};
use crate::client::{Observed, Question};
use crate::clock::Time;
use crate::outcome::Law;
use crate::queue::{Kind, Queue};

/// What is known of leaderships that may be over, and not by the clocks of their machines.
#[derive(Debug, Default)]
pub(super) struct Stale {
    /// Since when they are valid by their clocks beside another one.
    since: BTreeMap<(NomineeId, Token), Time>,
    /// The questions whether a leader leads that are not answered, of each client, and whether it stood.
    asked: BTreeMap<(usize, Question), (Queue, Stood)>,
}

/// Whether a candidate stood when its leader asked whether it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stood {
    Yes,
    No,
}

impl World<'_> {
    /// A leadership that is valid by a clock which stood still, and would not be if it had gone on, may
    /// stand beside another one for as long as the clock stood still, and no longer.
    pub(super) fn check_stale(&mut self) -> Result<(), Broken> {
        let (now, valid) = (self.now, &self.valid);
        let mut stale = Vec::new();
        for process in &self.processes {
            let stood_still = process.stood_still(now);
            if stood_still.is_zero() || !process.is_up() {
                continue;
            }
            for (nominee, token) in process.valid(now) {
                let is_other = |other: &&Valid| {
                    queue_of(other.nominee) == queue_of(nominee)
                        && (other.nominee, other.token) != (nominee, token)
                        && queue_of(nominee).kind() != Kind::Semaphore
                        && excludes(other.nominee, nominee)
                };
                if valid.iter().any(|other| is_other(&other))
                    && self.candidates.evicted_at(token).is_none()
                {
                    stale.push(((nominee, token), stood_still));
                }
            }
        }
        let known = core::mem::take(&mut self.stale.since);
        for (leader, stood_still) in stale {
            let since = known.get(&leader).copied();
            self.stats.stale += u64::from(since.is_none());
            let since = since.unwrap_or(now);
            self.stale.since.insert(leader, since);
            if now.since(since) > stood_still {
                let stale = now.since(since).as_millis();
                let detail = format!(
                    "{} for {stale} ms, where its clock stood still for {} ms",
                    name(leader.0),
                    stood_still.as_millis()
                );
                return Err((Law::StaleNoLonger, detail));
            }
        }
        Ok(())
    }

    /// Whatever a clock says, what a quorum confirms is so: the candidate stood during the question.
    pub(super) fn observe_confirmation(
        &mut self,
        client: usize,
        what: &Observed,
    ) -> Result<(), Broken> {
        match what {
            Observed::AsksToConfirm { question, queue, candidate } => {
                let stands = self.candidates.stands(*queue, candidate);
                let stood = if stands { Stood::Yes } else { Stood::No };
                self.stale.asked.insert((client, *question), (*queue, stood));
            }
            Observed::Confirmed(question) => {
                self.stats.confirmed += 1;
                if let Some((queue, Stood::No)) = self.stale.asked.remove(&(client, *question)) {
                    let detail = format!("client {} in {queue}", client + 1);
                    return Err((Law::Confirmed, detail));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

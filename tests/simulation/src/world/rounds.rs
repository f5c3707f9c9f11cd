//! Clients play rounds of a recipe that none of the published crates knows.

use super::{Event, World};
use crate::client::Chore;
use crate::round::{NAMES, Round};

impl World<'_> {
    /// Plays a round: all clients that run play, the operator gives the sign, and the next round
    /// follows; from the calm on no client plays any more.
    pub(super) fn play(&mut self, round: Round) -> Result<(), super::Broken> {
        let Some(rounds) = self.plan.rounds else {
            return Ok(());
        };
        let is_over = self.now >= self.plan.calm_at;
        for (client, name) in (0..self.operator()).zip(NAMES) {
            let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up())
            else {
                continue;
            };
            let now = process.now(self.now);
            if let Some(running) = &mut process.client {
                if is_over {
                    running.stop_playing(now);
                } else {
                    running.play(now, round, name);
                }
            }
            self.settle_client(client)?;
        }
        if is_over {
            return Ok(());
        }
        self.agenda.add(self.now + rounds.every, Event::Play(round.next()));
        self.give(&[Chore::Create(round.sign())])
    }
}

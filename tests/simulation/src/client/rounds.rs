//! Rounds of the recipe that none of the published crates knows.

use std::sync::Arc;

use election_core::{Phase, Recipe};
use election_session::{Chroot, RecipeKey, Site};
use zk_session::Instant;

use super::standing::Standing;
use super::{Client, Observed};
use crate::checker::Entry;
use crate::round::Round;
use crate::toy::Player;

/// How many players a round takes.
const ENOUGH: usize = 2;

impl Client {
    /// Plays this round under this name.
    pub(crate) fn play(&mut self, now: Instant, round: Round, name: &'static str) {
        if self.is_closed() {
            return;
        }
        let node = round.node().parse().expect("it is a path");
        let site = Arc::new(Site::new(&node, &Chroot::default()));
        let player = Standing::Player(Player::new(name, ENOUGH));
        let key = self.host.stand(now, player, site);
        self.rounds.insert(key, round);
        self.told.push(Observed::Entry(Entry::Stood(key)));
    }

    /// Withdraws all players.
    pub(crate) fn stop_playing(&mut self, now: Instant) {
        let players: Vec<RecipeKey> = self.rounds.keys().copied().collect();
        for key in players {
            let phase = self.host.recipe(key).map(Recipe::phase);
            if phase == Some(Phase::Standing) {
                self.host.withdraw(now, key);
            }
        }
    }
}

//! The operated election in the calm: each end of a term has the outcome that it promises.

use core::time::Duration;

use tokio::time::{Instant, sleep};

use crate::laws::{Elected, Wish};
use crate::life::LONG;
use crate::operated::{Finish, LOCK_DELAY, Operator};
use crate::process::Order;
use crate::scene::PROCESSES;
use crate::storm::Storm;

const STEP: Duration = Duration::from_millis(20);
/// How long it takes at most until another one leads: the rest of a session, a look of each that is to
/// make way, the lock delay, a lease.
const SUCCESSION: Duration = LONG.saturating_mul(2);

impl Storm {
    /// Ends terms in each way, kills a leader, and ends the election.
    pub(crate) async fn operate_in_the_calm(&mut self, operator: &Operator) {
        let ways = [Finish::HandOver, Finish::StepDown, Finish::StepDownUncleanly, Finish::Resign];
        for finish in ways {
            let Some(before) = self.another_leads(None).await else {
                return;
            };
            self.scene.laws.wish(Wish::End(finish));
            self.succeeds(before, finish != Finish::StepDownUncleanly).await;
            if let (Finish::HandOver, Some(why)) = (finish, self.scene.laws.refusal(before.token)) {
                self.scene.laws.broken(format!("in the calm {before:?} hands nothing over: {why}"));
            }
        }
        let Some(before) = self.another_leads(None).await else {
            return;
        };
        if self.scene.orders[before.process].send(Order::Crash).await.is_ok() {
            self.succeeds(before, false).await;
        }
        operator.end().await;
        sleep(LONG).await;
        if let Some(leader) = self.scene.laws.operated_leader() {
            self.scene.laws.broken(format!("in the calm {leader:?} leads after the end"));
        }
        let told = self.scene.laws.told();
        if told != PROCESSES {
            self.scene.laws.broken(format!("in the calm {told} processes are told of the end"));
        }
        operator.reopen().await;
        self.another_leads(None).await;
    }

    /// Checks that another one leads next, at once if the leader before it has said that it ended, and a
    /// lock delay later if it has not.
    async fn succeeds(&self, before: Elected, has_ended: bool) {
        let Some(next) = self.another_leads(Some(before)).await else {
            return;
        };
        let Some(gone_at) = self.scene.laws.gone_at(before.token) else {
            return self.scene.laws.broken(format!("{next:?} leads, and {before:?} stands"));
        };
        let waited = next.at - gone_at;
        if has_ended != (waited < LOCK_DELAY) {
            self.scene
                .laws
                .broken(format!("in the calm {next:?} leads {waited:?} after {before:?}"));
        }
    }

    /// Waits until one leads, and not by that leadership.
    async fn another_leads(&self, before: Option<Elected>) -> Option<Elected> {
        let deadline = Instant::now() + SUCCESSION;
        while Instant::now() < deadline && self.scene.laws.what_is_broken().is_none() {
            let leader = self.scene.laws.operated_leader();
            let other = leader.filter(|leader| Some(leader.token) != before.map(|one| one.token));
            if other.is_some() {
                return other;
            }
            sleep(STEP).await;
        }
        self.scene.laws.broken(format!("in the calm none leads after {before:?}"));
        None
    }
}

//! A run of checked members alone: a storm in which they fall ill and recover, and a calm with directed harm.

use core::time::Duration;
use std::sync::Arc;

use election_tokio::Token;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use zk_embedded::Profile;

use crate::clerk::Clerk;
use crate::laws::{Answer, Laws, Tally};
use crate::network::{Port, Weather};
use crate::others::Promise;
use crate::scene::{CALM, Cast, PROCESSES, Scene};
use crate::setting::LONGEST;
use crate::well::{Policy, WELL};

/// How long it takes at most until one of the best leads: the time for which it has to stand, one between that gives
/// way at its look, and a hand-over that is tried once more.
const RESTED: Duration = LONGEST.saturating_mul(10);
/// How long a withdrawal takes, and the next one's election.
const SOON: Duration = Duration::from_millis(500);
/// The most leaders that a calm begins with: those that have not noticed yet that they are unwell, or that their session is
/// over, and one for each preference.
const MOST_LEADERS: usize = PROCESSES + 2;

pub(crate) struct Ailing {
    scene: Scene,
    ailments: JoinHandle<()>,
    ailments_end: Arc<Notify>,
}

impl Ailing {
    pub(crate) async fn pass(servers: Profile, seed: u64) -> Result<Tally, String> {
        let mut ailing = Self::begin(servers, seed).await;
        let laws = ailing.scene.laws.clone();
        ailing.scene.rage().await;
        ailing.clear_up().await;
        ailing.scene.end_processes().await;
        let left = ailing.scene.servers.children(WELL);
        if !left.is_empty() {
            laws.broken(format!("these are left behind: {left:?}"));
        }
        laws.judge();
        ailing.scene.all_is_over();
        let setting = &ailing.scene.setting;
        laws.what_is_broken()
            .map_or_else(|| Ok(laws.tally()), |law| Err(format!("{law} ({setting:?})")))
    }

    async fn begin(servers: Profile, seed: u64) -> Self {
        let mut scene = Scene::begin(servers, seed, Cast::Checked);
        let way = scene.spared_way();
        // It makes the ledgers, and ends.
        drop(Clerk::begin(&way, 1, scene.rng.fork()).await);
        let ailments_end = Arc::new(Notify::new());
        let (laws, rng) = (scene.laws.clone(), scene.rng_of_health.fork());
        let ailments = tokio::spawn(fall_ill(laws, rng, Arc::clone(&ailments_end)));
        scene.add_processes();
        Self { scene, ailments, ailments_end }
    }

    /// Mends everything, and checks the calm: of those that are well one leads, the best after a time, and nothing is
    /// written.
    async fn clear_up(&mut self) {
        let laws = self.scene.laws.clone();
        laws.tell(|| "it clears up".to_owned());
        laws.members_are_to_rest();
        self.ailments_end.notify_one();
        self.scene.mend().await;
        if let Err(error) = (&mut self.ailments).await {
            return laws.broken(error.to_string());
        }
        let well = self.scene.rng_of_health.usize(..PROCESSES);
        for process in 0..PROCESSES {
            let is_well = process == well || self.scene.rng_of_health.bool();
            self.is_well(process, is_well);
        }
        sleep(CALM + RESTED).await;
        if self.scene.setting.promise() == Promise::Nothing {
            return self.the_well_stand_and_none_leads().await;
        }
        self.the_best_leads();
        let elected = laws.elected_in_calm();
        if elected > MOST_LEADERS {
            laws.broken(format!("{elected} lead one after the other until it is calm"));
        }
        laws.count(|tally| tally.most_in_calm = tally.most_in_calm.max(elected as u64));
        let (leader, tree) = (laws.well_leader(), self.scene.tree_below(WELL));
        sleep(LONGEST * 4).await;
        self.leads_on(leader);
        let later = self.scene.tree_below(WELL);
        if later != tree {
            laws.broken(format!("in the calm {later:#?} follows {tree:#?}"));
        }
        (0..PROCESSES).for_each(|process| self.is_well(process, true));
        sleep(RESTED).await;
        self.the_best_leads();
        for answer in [Answer::Fails, Answer::Hangs] {
            self.the_leader_falls_ill(answer).await;
        }
        self.the_leader_falls_ill_and_is_cut_off().await;
        self.all_fall_ill().await;
    }

    /// Checks that for want of a lease none leads, while those stand that are well.
    async fn the_well_stand_and_none_leads(&self) {
        for are_well in [true, false] {
            self.only_the_well_stand();
            self.leads_on(None);
            (0..PROCESSES).for_each(|process| self.is_well(process, are_well));
            sleep(RESTED).await;
        }
        self.only_the_well_stand();
    }

    fn is_well(&self, process: usize, is_well: bool) {
        let answer = if is_well { Answer::Passes } else { Answer::Fails };
        self.scene.laws.is_to_answer(process, answer);
    }

    fn leads_on(&self, leader: Option<(usize, Token)>) {
        self.scene.laws.one_well_leader_at_most();
        let later = self.scene.laws.well_leader();
        if later != leader {
            let law = format!("in the calm {later:?} leads after {leader:?} (process, token)");
            self.scene.laws.broken(law);
        }
    }

    /// Checks that those that are well stand, each by one candidate, and that one of the best leads, unless the leader
    /// is never to give way.
    fn the_best_leads(&self) {
        let laws = &self.scene.laws;
        laws.one_well_leader_at_most();
        self.only_the_well_stand();
        let standing = laws.well_candidates();
        let Some((leader, token)) = laws.well_leader() else {
            return laws.broken(format!("in the calm none leads of {standing:?}"));
        };
        let best = standing.values().map(|one| one.preference).max();
        let own = standing.get(&token).map(|own| own.preference);
        if own != best && self.scene.setting.checked[leader].policy != Policy::Never {
            laws.broken(format!(
                "in the calm {leader} leads by {token} and not the best: {standing:?}"
            ));
        }
    }

    fn only_the_well_stand(&self) {
        let laws = &self.scene.laws;
        let well = (0..PROCESSES).filter(|process| laws.answer_of(*process) == Answer::Passes);
        let well: Vec<usize> = well.collect();
        let standing = laws.well_candidates();
        let mut found: Vec<usize> = standing.values().map(|one| one.process).collect();
        found.sort_unstable();
        // A mark of a hand-over that was given up stays until the next one, or until the session ends.
        let children = self.scene.servers.children(WELL);
        let others = children.iter().filter(|name| !name.contains("-latch-")).count();
        if found != well || children.len() - others != well.len() || others > 1 {
            laws.broken(format!(
                "in the calm {well:?} are well, and these stand: {children:?}, {standing:?}"
            ));
        }
    }

    /// The leader's checks fail: its work ends, it withdraws, and the next one leads in time. It recovers, and leads
    /// again only if it is better.
    async fn the_leader_falls_ill(&self, answer: Answer) {
        let laws = &self.scene.laws;
        let Some((leader, token)) = laws.well_leader() else { return };
        let own = laws.well_candidates().get(&token).map(|own| own.preference);
        laws.is_to_answer(leader, answer);
        let terms = &self.scene.setting.checked[leader];
        sleep(terms.bound() + terms.grace + SOON).await;
        // A better one may be about to lead already, so one of the others may be about to stand anew.
        let standing = laws.well_candidates();
        if standing.values().any(|one| one.process == leader) {
            laws.broken(format!("{leader} is unwell, and stands: {standing:?}"));
        }
        let next = laws.last_at_work();
        if next.is_none_or(|(process, _)| process == leader) {
            laws.broken(format!("{leader} is unwell, and {next:?} was the last to lead"));
        }
        sleep(RESTED).await;
        self.the_best_leads();
        let next = laws.well_leader();
        let best = laws.well_candidates().values().map(|one| one.preference).max();
        self.is_well(leader, true);
        sleep(RESTED).await;
        self.the_best_leads();
        if own <= best {
            self.leads_on(next);
        }
    }

    /// No server hears of it that the leader has fallen ill: its work ends all the same, and it stands once when it
    /// is back.
    async fn the_leader_falls_ill_and_is_cut_off(&self) {
        let laws = &self.scene.laws;
        let Some((leader, _)) = laws.well_leader() else { return };
        let way = &self.scene.ways[leader];
        way.change(|weather| weather.port = Port::Closed);
        way.cut();
        laws.is_to_answer(leader, Answer::Fails);
        let terms = &self.scene.setting.checked[leader];
        sleep(terms.bound() + terms.grace + SOON).await;
        laws.one_well_leader_at_most();
        sleep(RESTED).await;
        self.the_best_leads();
        way.change(Weather::clear_up);
        self.is_well(leader, true);
        sleep(RESTED * 2).await;
        self.the_best_leads();
    }

    /// None leads rather than one that is unwell.
    async fn all_fall_ill(&self) {
        (0..PROCESSES).for_each(|process| self.is_well(process, false));
        let terms = self.scene.setting.checked.iter();
        let longest = terms.map(|own| own.bound() + own.grace).max().unwrap_or_default();
        for pause in [longest + SOON, RESTED] {
            sleep(pause).await;
            self.only_the_well_stand();
            self.leads_on(None);
        }
        (0..PROCESSES).for_each(|process| self.is_well(process, true));
        sleep(RESTED).await;
        self.the_best_leads();
    }
}

/// Lets members fall ill, recover and waver, until that is to end.
async fn fall_ill(laws: Laws, mut rng: fastrand::Rng, end: Arc<Notify>) {
    loop {
        let pause = Duration::from_millis(rng.u64(50..2_000));
        tokio::select! {
            biased;
            () = end.notified() => return,
            () = sleep(pause) => {}
        }
        let answer = match rng.u8(..8) {
            0 | 1 => Answer::Fails,
            2 => Answer::Hangs,
            3 => Answer::Flickers,
            _ => Answer::Passes,
        };
        laws.is_to_answer(rng.usize(..PROCESSES), answer);
    }
}

//! The laws of leaders that are checked and give way: none that is unwell works or stands, and none is disturbed
//! but for a better one that has stood for the time.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use election_core::preference::Preference;
use election_tokio::Token;
use election_tokio::election::{CancelReason, Leadership};
use tokio::time::Instant;
use zk_embedded::{Database, Znode};
use zk_jute::Zxid;
use zk_verdict::Mode;

use super::grants::{Grants, Look};
use super::{Laws, Season};
use crate::life::LONG;
use crate::well::{Terms, WELL, member};

/// How late a work may end: a turn of its task.
const TURN: Duration = Duration::from_millis(2);

/// The answer of a member's check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Answer {
    #[default]
    Passes,
    Fails,
    Hangs,
    /// It passes or fails.
    Flickers,
}

/// The state of a member.
#[derive(Clone, Copy, Debug, Default)]
struct Health {
    answer: Answer,
    /// Since when no check passes.
    unwell_since: Option<Instant>,
}

impl Health {
    fn is_unwell_for(self, time: Duration) -> bool {
        self.unwell_since.is_some_and(|since| since.elapsed() > time)
    }
}

/// A candidate, as the servers show it.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) process: usize,
    pub(crate) preference: Preference,
    shown_at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct WellBook {
    season: Season,
    health: BTreeMap<usize, Health>,
    /// How long each process that works may work on once it is unwell.
    working: BTreeMap<usize, Duration>,
    pub(super) leaders: Grants<(), Leadership>,
    last: Option<(usize, Token)>,
    /// A leader that is to end its work for this candidate.
    heir: Option<(Token, Token)>,
    /// The last transaction of any server.
    seen: Zxid,
    standing: BTreeMap<Token, Standing>,
    ever_stood: BTreeMap<Token, Standing>,
    /// The tokens of those that were elected in the calm.
    elected_in_calm: BTreeSet<Token>,
}

impl Laws {
    /// From now on no member leaves of its own accord, and works write nothing.
    pub(crate) fn members_are_to_rest(&self) {
        self.book().well.season = Season::Calm;
    }

    pub(crate) fn season_of_wellness(&self) -> Season {
        self.book().well.season
    }

    pub(crate) fn answer_of(&self, process: usize) -> Answer {
        self.book().well.health.entry(process).or_default().answer
    }

    pub(crate) fn is_to_answer(&self, process: usize, answer: Answer) {
        self.tell(|| format!("the check of {process} {answer:?}"));
        let mut book = self.book();
        let health = book.well.health.entry(process).or_default();
        let since = health.unwell_since.take();
        health.unwell_since = match answer {
            Answer::Passes | Answer::Flickers => None,
            Answer::Fails | Answer::Hangs => since.or_else(|| Some(Instant::now())),
        };
        health.answer = answer;
    }

    /// Takes in what a server shows of the election, if it is more than any has shown before.
    pub(crate) fn well_shows(&self, database: &Database) {
        let mut all = self.book();
        let book = &mut all.well;
        if database.last_zxid() <= book.seen {
            return;
        }
        book.seen = database.last_zxid();
        let children = database.znode(WELL).into_iter().flat_map(Znode::children);
        let candidates = children.filter(|name| name.contains("-latch-"));
        let found = candidates.filter_map(|name| {
            let znode = database.znode(&format!("{WELL}/{name}"))?;
            let token = Token::new(znode.stat().czxid.get());
            let data = znode.data().unwrap_or_default();
            let name = core::str::from_utf8(Preference::strip(data)).ok()?;
            let process = name.strip_prefix('m')?.parse().ok()?;
            let preference = Preference::of(data);
            Some((token, Standing { process, preference, shown_at: Instant::now() }))
        });
        let mut before = core::mem::take(&mut book.standing);
        let mut law = None;
        for (token, found) in found {
            let known = before.remove(&token);
            let is_new = known.is_none();
            let standing = known.unwrap_or(found);
            let health = book.health.get(&standing.process).copied().unwrap_or_default();
            if is_new && health.is_unwell_for(LONGEST_BOUND + LONG) {
                law = Some(format!(
                    "{} stands by {token}, and is unwell: {health:?}",
                    standing.process
                ));
            }
            book.ever_stood.insert(token, standing.clone());
            book.standing.insert(token, standing);
        }
        if let Some(law) = law {
            all.broken(law);
        }
    }

    /// Checks a leader whose work begins.
    pub(crate) fn work_begins(&self, process: usize, leadership: &Arc<Leadership>, terms: &Terms) {
        let token = leadership.token();
        self.tell(|| format!("process {process} works by {token}"));
        self.is_given(process, token);
        let mut book = self.book();
        let unwell = book.well.is_unwell_in((process, token), terms);
        let is_alone = self.exclude_each_other();
        let out_of_turn = || book.well.is_out_of_turn((process, token)).filter(|_| is_alone);
        let law = unwell.or_else(out_of_turn);
        if let Some(law) = law {
            book.broken(law);
        }
        let is_heir = book.well.heir.is_some_and(|(_, to)| to == token);
        book.tally.gave_way += u64::from(is_heir);
        let well = &mut book.well;
        let last = well.last.replace((process, token));
        well.heir = well.heir.filter(|(from, _)| *from == token);
        well.working.insert(process, terms.bound() + terms.grace + TURN);
        well.leaders.push((), process, leadership);
        if well.season == Season::Calm {
            well.elected_in_calm.insert(token);
        }
        book.tally.well_leaders += u64::from(last != Some((process, token)));
        drop(book);
        self.one_well_leader_at_most();
    }

    pub(crate) fn work_is_over(&self, process: usize) {
        self.book().well.working.remove(&process);
    }

    /// Checks the reason for which a work is to end.
    pub(crate) fn work_is_told(
        &self,
        process: usize,
        token: Token,
        terms: &Terms,
        reason: &CancelReason,
    ) {
        let mut book = self.book();
        let CancelReason::BetterCandidate(better) = reason else { return };
        book.tally.told_of_better += 1;
        let own = book.well.ever_stood.get(&token).map(|own| own.preference);
        let stood = terms.policy.stood();
        let law = match book.well.ever_stood.get(&better.token) {
            None => Some("which never stood"),
            Some(heir) if heir.preference != better.preference => Some("which has another one"),
            Some(heir) if own.is_some_and(|own| heir.preference <= own) => {
                Some("which is not better")
            }
            Some(heir) if stood.is_none_or(|stood| heir.shown_at.elapsed() < stood) => {
                Some("which has not stood for the time")
            }
            Some(_) => None,
        };
        if let Some(law) = law {
            book.broken(format!(
                "{process} of {own:?} ({token}) is to give way to {better:?}, {law}"
            ));
        }
        book.well.heir = Some((token, better.token));
    }

    /// Checks, at any moment, that one leads at most, and that none that is unwell works on.
    pub(crate) fn one_well_leader_at_most(&self) {
        let mut book = self.book();
        let Look { valid, risen } = book.well.leaders.look();
        for (.., token) in valid.iter().filter(|_| self.exclude_each_other()) {
            book.chronicle.holds(("lock/well".to_owned(), Mode::Alone), *token);
        }
        if valid.len() > 1 && self.exclude_each_other() {
            book.broken(format!("two lead by a check: {valid:?} (process, token)"));
        }
        if let Some(process) = risen {
            book.broken(format!("{process} leads again by a leadership that was over"));
        }
        let health = |process| book.well.health.get(process).copied().unwrap_or_default();
        let mut working = book.well.working.iter();
        let late = working.find(|(process, longest)| health(process).is_unwell_for(**longest));
        if let Some((process, longest)) = late {
            let law = format!("{process} is unwell for more than {longest:?}, and works");
            book.broken(law);
        }
    }

    /// Returns the process that works, and its token; `None` unless it is one alone that is valid.
    pub(crate) fn well_leader(&self) -> Option<(usize, Token)> {
        let mut book = self.book();
        let Look { valid, .. } = book.well.leaders.look();
        match *valid {
            [((), process, token)] => Some((process, token)),
            _ => None,
        }
    }

    /// Returns the process whose work began last, and its token.
    pub(crate) fn last_at_work(&self) -> Option<(usize, Token)> {
        self.book().well.last
    }

    /// Returns the candidates that stand.
    pub(crate) fn well_candidates(&self) -> BTreeMap<Token, Standing> {
        self.book().well.standing.clone()
    }

    /// Returns how many were elected in the calm so far.
    pub(crate) fn elected_in_calm(&self) -> usize {
        self.book().well.elected_in_calm.len()
    }
}

/// The longest time until an unwell member is to end its work, and has ended it, of all terms.
const LONGEST_BOUND: Duration = Duration::from_millis(3 * 500 + 300 + 1500);

impl WellBook {
    /// Returns the law that a work breaks which begins where the member is unwell.
    fn is_unwell_in(&self, (process, token): (usize, Token), terms: &Terms) -> Option<String> {
        let health = self.health.get(&process).copied().unwrap_or_default();
        let is_unwell = health.is_unwell_for(terms.bound() + TURN);
        is_unwell.then(|| format!("{process} begins to work by {token}, and is unwell: {health:?}"))
    }

    /// Returns the law that a work breaks which begins out of turn.
    fn is_out_of_turn(&self, (process, token): (usize, Token)) -> Option<String> {
        let last = self.last;
        if let Some((last_process, last)) = last {
            if token < last || (token == last && process != last_process) {
                return Some(format!("{} works by {token}, after {last}", member(process)));
            }
            if token != last && self.standing.contains_key(&last) {
                return Some(format!("{token} is elected, and {last} stands"));
            }
        }
        let (from, to) = self.heir?;
        let is_passed_over = token != from && token != to && self.standing.contains_key(&to);
        is_passed_over.then(|| format!("{token} is elected after {from}, and not its heir {to}"))
    }
}

//! The laws of the operated election: its end ends it for all, an heir leads, and a lock delay passes.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use election_core::format::Format;
use election_tokio::election::Leadership;
use election_tokio::{Token, Version, Zxid};
use tokio::time::{Instant, sleep};
use zk_embedded::{Database, Znode};

use super::Laws;
use super::grants::{Grants, Look};
use crate::epochs::{EndsBy, REGISTER};
use crate::operated::{Finish, LOCK_DELAY, OPERATED};
use crate::setting::LONGEST;

/// How long after an acknowledged end a nominee may still be elected that a server has promoted which
/// lags: until the lease is over, and the nominee has looked twice.
const LAGS: Duration = LONGEST.saturating_mul(4);

/// The wishes of the storm to the leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It does as it likes.
    #[default]
    Free,
    /// It leads on.
    LeadOn,
    /// It ends its term.
    End(Finish),
}

#[derive(Debug, Default)]
pub(super) struct OperatedBook {
    ends_by: EndsBy,
    /// The creation of the election node.
    life: Option<Zxid>,
    /// The creation of the epoch's znode, and its version.
    epoch: Option<(Zxid, Version)>,
    /// The greatest token that was written in an epoch.
    written: i64,
    wish: Wish,
    pub(super) leaders: Grants<(), Leadership>,
    /// The last transaction of any server.
    seen: Zxid,
    /// The sign that it is ended.
    sign: Option<Zxid>,
    standing: BTreeSet<Token>,
    /// When a server has first shown a candidate gone.
    gone: BTreeMap<Token, Instant>,
    last: Option<Elected>,
    /// The terms that no leader has ended: it was killed, or has lost it.
    unended: BTreeSet<Token>,
    ended: BTreeSet<Token>,
    killed: BTreeSet<usize>,
    /// A leader that has stepped down, for this candidate.
    heir: Option<(Token, Token)>,
    /// Why the leadership was not handed over.
    refusal: Option<(Token, String)>,
    acknowledged_at: Option<Instant>,
    /// The processes that were told of the last end.
    told: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Elected {
    pub(crate) process: usize,
    pub(crate) token: Token,
    pub(crate) at: Instant,
}

impl Laws {
    /// Takes in what a server shows of the election, if it is more than any has shown before.
    pub(crate) fn operated_shows(&self, database: &Database) {
        let mut all = self.book();
        let book = &mut all.operated;
        if database.last_zxid() <= book.seen {
            return;
        }
        book.seen = database.last_zxid();
        let format = Format::curator_latch();
        let sign = format!("{OPERATED}/{}", format.end_mark().unwrap_or_default());
        book.sign = database.znode(&sign).map(|znode| znode.stat().czxid);
        let children = database.znode(OPERATED).into_iter().flat_map(Znode::children);
        let candidates = children.filter(|name| name.contains("-latch-"));
        let paths = candidates.map(|name| format!("{OPERATED}/{name}"));
        let tokens = paths.filter_map(|path| {
            database.znode(&path).map(|znode| Token::new(znode.stat().czxid.get()))
        });
        let standing: BTreeSet<Token> = tokens.collect();
        for token in book.standing.difference(&standing) {
            book.gone.insert(*token, Instant::now());
        }
        book.standing = standing;
        let law = book.epoch_shows(database).or_else(|| book.register_shows(database));
        if let Some(law) = law {
            all.broken(law);
        }
    }

    pub(crate) fn operated_is_to_end_by(&self, ends_by: EndsBy) {
        self.book().operated.ends_by = ends_by;
    }

    pub(crate) fn operated_ends_by(&self) -> EndsBy {
        self.book().operated.ends_by
    }

    /// Checks a nominee that is told that it leads.
    pub(crate) fn operated_by(&self, process: usize, leadership: &Arc<Leadership>) {
        let (token, now) = (leadership.token(), Instant::now());
        self.tell(|| format!("process {process} leads the operated election: {token}"));
        self.is_given(process, token);
        let mut book = self.book();
        let last = book.operated.last;
        if !self.exclude_each_other()
            && last.is_some_and(|last| token < last.token)
            && book.operated.gone.contains_key(&token)
        {
            // A server that lagged has elected it: its session had ended unforeseen.
            book.operated.leaders.push((), process, leadership);
            return;
        }
        book.operated.last = Some(Elected { process, token, at: now });
        if let Some(law) = book.operated.wrong_in((process, token), last, now) {
            book.broken(law);
        }
        if let Some(last) = last.filter(|last| last.token != token) {
            let is_kept = !book.operated.ended.contains(&last.token);
            book.tally.delays_kept += u64::from(is_kept);
            book.tally.led_by_heirs += u64::from(book.operated.heir == Some((last.token, token)));
        }
        book.operated.heir = None;
        book.tally.operated += 1;
        book.operated.leaders.push((), process, leadership);
        drop(book);
        self.operated_by_one_at_most();
    }

    /// Checks, at any moment, that one leads at most, and none that has ceased to.
    pub(crate) fn operated_by_one_at_most(&self) {
        let mut book = self.book();
        let Look { valid, risen } = book.operated.leaders.look();
        if valid.len() > 1 && self.exclude_each_other() {
            book.broken(format!("two lead the operated election: {valid:?} (process, token)"));
        }
        if let Some(process) = risen {
            book.broken(format!("{process} leads again by a leadership that was over"));
        }
    }

    /// Returns the one that leads it, if its leadership is valid.
    pub(crate) fn operated_leader(&self) -> Option<Elected> {
        let mut book = self.book();
        let (.., token) = *book.operated.leaders.look().valid.last()?;
        book.operated.last.filter(|last| last.token == token)
    }

    /// Returns when the candidate with this token was seen gone.
    pub(crate) fn gone_at(&self, token: Token) -> Option<Instant> {
        self.book().operated.gone.get(&token).copied()
    }

    pub(crate) fn wish(&self, wish: Wish) {
        self.book().operated.wish = wish;
    }

    /// Waits until the leader is to end its term.
    pub(crate) async fn next_finish(&self, rng: &mut fastrand::Rng) -> Finish {
        let mut free = 0;
        let term = rng.u64(0..60);
        loop {
            sleep(Duration::from_millis(50)).await;
            match self.take_wish() {
                Wish::End(finish) => return finish,
                Wish::LeadOn => {}
                Wish::Free if free < term => free += 1,
                Wish::Free => {
                    return match rng.u8(..8) {
                        0 => Finish::Resign,
                        1 => Finish::StepDown,
                        2 => Finish::Drop,
                        3 => Finish::StepDownUncleanly,
                        _ => Finish::HandOver,
                    };
                }
            }
        }
    }

    /// Returns the wish; one term alone is to end by it.
    fn take_wish(&self) -> Wish {
        let wish = &mut self.book().operated.wish;
        match *wish {
            Wish::End(_) => core::mem::replace(wish, Wish::LeadOn),
            lasting @ (Wish::Free | Wish::LeadOn) => lasting,
        }
    }

    /// The leader has not ended its term by itself, or its work may go on.
    pub(crate) fn term_is_lost(&self, token: Token) {
        self.book().operated.unended.insert(token);
    }

    /// A process lets go of its leadership.
    pub(crate) fn term_is_over(&self, process: usize, token: Token) {
        let mut book = self.book();
        let book = &mut book.operated;
        if !book.killed.contains(&process) && !book.unended.contains(&token) {
            book.ended.insert(token);
        }
    }

    /// The servers hear nothing of the ends of a process any more.
    pub(crate) fn is_killed(&self, process: usize) {
        self.book().operated.killed.insert(process);
    }

    pub(crate) fn is_born(&self, process: usize) {
        self.book().operated.killed.remove(&process);
    }

    pub(crate) fn handed_over(&self, from: Token, to: Token) {
        let mut book = self.book();
        (book.operated.heir, book.operated.refusal) = (Some((from, to)), None);
        book.tally.operated_handed_over += 1;
    }

    pub(crate) fn not_handed_over(&self, from: Token, why: &str) {
        self.book().operated.refusal = Some((from, why.to_owned()));
    }

    /// Returns why this leadership was not handed over.
    pub(crate) fn refusal(&self, from: Token) -> Option<String> {
        let refusal = self.book().operated.refusal.clone();
        refusal.filter(|(of, _)| *of == from).map(|(_, why)| why)
    }

    pub(crate) fn told_of_an_end(&self, process: usize) {
        let mut book = self.book();
        book.operated.told.insert(process);
        book.tally.told_of_an_end += 1;
    }

    /// Checks that no candidate stands from before an end that is acknowledged.
    pub(crate) fn end_is_acknowledged(&self) {
        self.tell(|| "the operated election is ended".to_owned());
        let mut book = self.book();
        book.tally.ends += 1;
        book.operated.acknowledged_at = Some(Instant::now());
        book.operated.told.clear();
        let Some(sign) = book.operated.sign else {
            return book.broken("an end is acknowledged, and leaves no sign".to_owned());
        };
        let mut left = book.operated.standing.iter().copied();
        if let Some(left) = left.find(|token| token.get() < sign.get()) {
            book.broken(format!("{left} stands from before the end at {sign:?}"));
        }
    }

    pub(crate) fn reopens(&self) {
        self.tell(|| "the operated election is reopened".to_owned());
        self.book().operated.acknowledged_at = None;
    }

    /// Returns how many processes were told of the last end.
    pub(crate) fn told(&self) -> usize {
        self.book().operated.told.len()
    }
}

impl OperatedBook {
    /// The epoch goes with its election node, and never goes back before.
    fn epoch_shows(&mut self, database: &Database) -> Option<String> {
        let stat = |path: &str| database.znode(path).map(Znode::stat);
        let life = stat(OPERATED).map(|stat| stat.czxid);
        let epoch = stat(&format!("{OPERATED}.epoch")).map(|stat| (stat.czxid, stat.version));
        let before = (core::mem::replace(&mut self.life, life), self.epoch);
        self.epoch = epoch;
        match (before, epoch) {
            ((Some(before), Some(last)), epoch) if Some(before) == life => {
                let goes_on =
                    epoch.is_some_and(|(made, version)| made == last.0 && version >= last.1);
                (!goes_on)
                    .then(|| format!("the epoch goes from {last:?} to {epoch:?} in one election"))
            }
            _ => None,
        }
    }

    /// What is written in epochs, is written in the order of tokens.
    fn register_shows(&mut self, database: &Database) -> Option<String> {
        let text = core::str::from_utf8(database.znode(REGISTER)?.data()?).ok()?;
        let token: i64 = text.parse().ok()?;
        let last = core::mem::replace(&mut self.written, token);
        (token < last).then(|| format!("{token} was written in an epoch after {last}"))
    }

    /// Returns the law that an election breaks, if it does.
    fn wrong_in(
        &self,
        (process, token): (usize, Token),
        last: Option<Elected>,
        now: Instant,
    ) -> Option<String> {
        if let Some(over) = self.acknowledged_at.map(|at| at + LAGS)
            && now > over
        {
            return Some(format!("{process} is elected with {token}, long after the end"));
        }
        if let Some((from, to)) = self.heir
            && token != to
            && !self.gone.contains_key(&to)
        {
            return Some(format!("{token} is elected after {from}, and not its heir {to}"));
        }
        let last = last?;
        // A leader that was suspended is elected again.
        if token == last.token && process == last.process {
            return None;
        }
        if token <= last.token {
            return Some(format!("{token} is elected after {}", last.token));
        }
        let Some(gone_at) = self.gone.get(&last.token) else {
            return Some(format!("{token} is elected, and {} stands", last.token));
        };
        // Of a leader of an election that was deleted, nothing is known any more.
        let is_of_another = self.life.is_some_and(|life| last.token.get() < life.get());
        if !is_of_another && !self.ended.contains(&last.token) && now < *gone_at + LOCK_DELAY {
            let waited = now - *gone_at;
            return Some(format!(
                "{token} is elected {waited:?} after {}, which has not said that it ended",
                last.token
            ));
        }
        None
    }
}

//! The laws of ended elections, hand-overs and lock delays, held against what is committed.

mod book;
mod epochs;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use election_core::election::{Cause, End, Notice};
use election_core::name::Sequence;
use election_core::{NomineeId, Token};
use zk_embedded::Database;
use zk_jute::{SessionId, Zxid};

pub(crate) use self::book::mark_of;
use self::book::{Book, Erasures, Gone};
pub(crate) use self::epochs::epoch_of;
use super::election_node::Change;
use super::{Broken, Candidates, name, queue_of};
use crate::client::Leader;
use crate::clock::Time;
use crate::outcome::{Law, OperatingStats};
use crate::queue::Queue;

/// What is known of all elections of a run.
#[derive(Debug)]
pub(crate) struct Operated {
    lock_delay: Duration,
    seen: Zxid,
    books: [Book; 3],
    nominated: BTreeMap<NomineeId, Time>,
    /// Those that are not asked any more what their loss was.
    withdrawn: BTreeSet<NomineeId>,
    pub(crate) stats: OperatingStats,
}

/// What a leader has said of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// It has ended.
    Ended,
    /// It has ended, and may have been over before.
    EndedLate,
    /// Its work may go on.
    GoesOn,
}

/// A mark of a hand-over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) queue: Queue,
    pub(crate) to: Sequence,
    pub(crate) since: Time,
}

impl Operated {
    pub(crate) fn new(lock_delay: Duration) -> Self {
        Self {
            lock_delay,
            seen: Zxid::ZERO,
            books: Queue::ELECTIONS.map(Book::new),
            nominated: BTreeMap::new(),
            withdrawn: BTreeSet::new(),
            stats: OperatingStats::default(),
        }
    }

    fn book(&mut self, queue: Queue) -> Option<&mut Book> {
        self.books.get_mut(queue.index())
    }

    /// Takes in what a member shows, and which candidates have come and gone by that. The sessions are
    /// those that clients have now.
    pub(crate) fn take_in(
        &mut self,
        now: Time,
        database: &Database,
        (changes, sessions): (&[Change], &[SessionId]),
        candidates: &Candidates,
    ) -> Result<(), Broken> {
        if database.last_zxid() <= self.seen {
            return Ok(());
        }
        self.seen = database.last_zxid();
        for book in &mut self.books {
            self.stats.erased_unseen += book.take_in(now, database, candidates);
            book.epoch.take_in(book.queue, database, &mut self.stats)?;
        }
        let gone = changes.iter().filter_map(|change| match change {
            Change::Deleted(candidate) => Some(candidate),
            Change::Created(_) => None,
        });
        for candidate in gone {
            let queue = queue_of(candidate.nominee);
            let Some(book) = self.books.get_mut(queue.index()) else {
                continue;
            };
            let token = Token::new(candidate.czxid.get());
            let (nominee, sign) = (candidate.nominee, book.sign);
            book.gone.insert(token, Gone { at: now, nominee, sign });
            // A session that its client believes to be over may live: what it has left is a ghost.
            let lives =
                database.has_session(candidate.owner) && sessions.contains(&candidate.owner);
            if lives && candidates.evicted_at(token).is_none() {
                self.stats.ended_cleanly += u64::from(book.check_clean_end(candidate)?);
            }
        }
        Ok(())
    }

    pub(crate) fn nominated(&mut self, now: Time, nominee: NomineeId) {
        self.nominated.insert(nominee, now);
    }

    pub(crate) fn withdrawn(&mut self, nominee: NomineeId) {
        self.withdrawn.insert(nominee);
    }

    /// The user of a leader gives the leadership up.
    pub(crate) fn given_up(&mut self, leader: &Leader, word: Word) {
        if let Some(book) = self.book(leader.queue) {
            book.given_up.entry(leader.token).or_insert((leader.nominee, word));
        }
    }

    /// Another process goes on, and does not know of the mark of a leader that was about to leave.
    pub(crate) fn handed_to_another_process(&mut self, client: usize) {
        for book in &mut self.books {
            for (nominee, word) in book.given_up.values_mut() {
                let [of, ..] = nominee.to_bytes();
                if usize::from(of) == client && *word == Word::Ended {
                    *word = Word::EndedLate;
                }
            }
        }
    }

    pub(crate) fn stepped_down(&mut self, leader: &Leader, to: String) {
        self.stats.handed_over += 1;
        if let Some(book) = self.book(leader.queue) {
            book.stepped_down = Some((leader.token, to));
        }
    }

    pub(crate) fn erases(&mut self, queue: Queue) {
        if let Some(book) = self.book(queue) {
            book.erasures = Erasures::Sometimes;
        }
    }

    pub(crate) fn announced(
        &mut self,
        (now, latest): (Time, Duration),
        nominee: NomineeId,
        token: Token,
    ) -> Result<(), Broken> {
        let Some(book) = self.book(queue_of(nominee)) else {
            return Ok(());
        };
        book.last = Some(token);
        // A server that lags may promote it until its lease is over.
        let over = book.acknowledged_at.map(|at| at + latest);
        if over.is_some_and(|over| now > over) {
            let detail = format!("{} leads long after the end", name(nominee));
            return Err((Law::EndedForAll, detail));
        }
        Ok(())
    }

    /// A nominee is told something.
    pub(crate) fn noticed(
        &mut self,
        (now, drift): (Time, u32),
        (nominee, notice): (NomineeId, Notice),
        candidates: &Candidates,
    ) -> Result<(), Broken> {
        let lock_delay = self.lock_delay;
        let since = self.nominated.get(&nominee).copied();
        let Some(book) = self.books.get_mut(queue_of(nominee).index()) else {
            return Ok(());
        };
        match notice {
            Notice::Elected(token) => {
                book.check_no_sign(nominee, token)?;
                let is_excused = book.check_successor(nominee, token, candidates)?;
                self.stats.elected_unheard += u64::from(is_excused);
                let least = lock_delay * 1_000_000 / (1_000_000 + drift);
                self.stats.judged_delays +=
                    u64::from(book.check_delay(now, (nominee, token), least)?);
                Ok(())
            }
            Notice::Ended(End::ElectionEnded) => {
                self.stats.told_of_an_end += 1;
                book.check_told_of_an_end(nominee, since)
            }
            // One that is withdrawn does not wait for the answer.
            Notice::Ended(End::Lost(Cause::Evicted)) if !self.withdrawn.contains(&nominee) => {
                book.check_not_told_of_an_end(nominee)
            }
            _ => Ok(()),
        }
    }

    /// An operator was told that an election is ended.
    pub(crate) fn end_acknowledged(
        &mut self,
        now: Time,
        queue: Queue,
        candidates: &Candidates,
    ) -> Result<(), Broken> {
        self.stats.ended += 1;
        let Some(book) = self.book(queue) else {
            return Ok(());
        };
        let Some(sign) = book.sign else {
            return Ok(());
        };
        book.acknowledged_at = Some(now);
        match candidates.created_before(queue, sign) {
            Some(left) => Err((Law::EndedForAll, format!("{left} stands from before"))),
            None => Ok(()),
        }
    }

    pub(crate) fn is_to_end(&mut self, queue: Queue) {
        if let Some(book) = self.book(queue) {
            book.has_unseen_end = book.sign.is_none();
        }
    }

    /// An operator has deleted an election.
    pub(crate) const fn deleted(&mut self) {
        self.stats.deleted += 1;
    }

    pub(crate) fn reopens(&mut self, queue: Queue) {
        if let Some(book) = self.book(queue) {
            book.acknowledged_at = None;
        }
    }

    /// A nominee has given up its place for another one behind it.
    pub(crate) fn stood_behind(
        &mut self,
        nominee: NomineeId,
        place: Sequence,
    ) -> Result<(), Broken> {
        self.stats.made_way += 1;
        let book = self.books.get(queue_of(nominee).index());
        let is_asked = book.is_some_and(|book| book.hand_overs.keys().any(|to| place < *to));
        if is_asked {
            return Ok(());
        }
        Err((Law::MakesWay, format!("{} gives up place {place}, unasked", name(nominee))))
    }

    /// A nominee waits for the lock delay.
    pub(crate) fn awaits(
        &mut self,
        nominee: NomineeId,
        candidates: &Candidates,
    ) -> Result<(), Broken> {
        self.stats.delayed += 1;
        let Some(book) = self.books.get(queue_of(nominee).index()) else {
            return Ok(());
        };
        // An election goes with its mark once its candidates are gone, of which their nominees hear late.
        let is_gone = !candidates.stands_for(nominee);
        if book.mark.is_some() || book.erasures == Erasures::Sometimes || is_gone {
            return Ok(());
        }
        Err((Law::LockDelay, format!("{} waits, and there is no mark", name(nominee))))
    }

    /// The marks of hand-overs that stand.
    pub(crate) fn hand_overs(&self) -> impl Iterator<Item = Asked> {
        self.books.iter().flat_map(|book| {
            let standing = book.hand_overs.iter();
            let queue = book.queue;
            standing.filter_map(move |(to, since)| Some(Asked { queue, to: *to, since: (*since)? }))
        })
    }

    /// The elections that have the sign.
    pub(crate) fn signs(&self) -> impl Iterator<Item = Queue> {
        self.books.iter().filter(|book| book.sign.is_some()).map(|book| book.queue)
    }

    /// Once all is well, the mark is that of the leader.
    pub(crate) fn check_at_rest(&self, queue: Queue, leader: Option<Token>) -> Result<(), Broken> {
        let (Some(book), Some(leader)) = (self.books.get(queue.index()), leader) else {
            return Ok(());
        };
        let (mark, due) = (book.mark, (!self.lock_delay.is_zero()).then_some(leader));
        if mark == due || mark.is_none() && book.erased.contains(&leader) {
            return Ok(());
        }
        Err((Law::MarkOfTheLeader, format!("{mark:?} in {queue}, where {due:?} is due")))
    }
}

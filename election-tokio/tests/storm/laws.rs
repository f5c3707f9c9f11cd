//! What must hold, whatever happens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use election_tokio::{Leadership, NomineeId, Token};

pub(crate) const ELECTION: &str = "/election";
/// What the leaders write, each its token.
pub(crate) const LEDGER: &str = "/ledger";
/// What everybody follows: a number that grows now and then, and for the last time in the storm.
pub(crate) const NOTICE: &str = "/notice";

/// Shared by all that are bound by them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Laws(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    leaders: Vec<Leader>,
    last_elected: Option<(NomineeId, Token)>,
    ledger: i64,
    /// What each process has seen last of the notice, by each way to follow it.
    views: BTreeMap<(usize, &'static str), i64>,
    tally: Tally,
    broken: Option<String>,
}

#[derive(Debug)]
struct Leader {
    process: usize,
    leadership: Weak<Leadership>,
    /// It was not valid when it was looked at last.
    is_over: bool,
}

/// What there was to see: a storm in which nothing happens proves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) elected: u64,
    pub(crate) guarded_writes: u64,
    pub(crate) views: u64,
    pub(crate) answers: u64,
    pub(crate) failures: u64,
    pub(crate) given_up: u64,
    pub(crate) handed_over: u64,
}

impl Laws {
    /// A nominee is told that it leads. A nomination that is taken over keeps its token.
    pub(crate) fn elected(&self, process: usize, id: NomineeId, leadership: &Arc<Leadership>) {
        let token = leadership.token();
        let mut book = self.book();
        if let Some((last_id, last)) = book.last_elected
            && (token < last || (token == last && id != last_id))
        {
            book.broken(format!("{process} is elected with token {token}, after {last}"));
        }
        if book.last_elected != Some((id, token)) {
            book.tally.elected += 1;
        }
        book.last_elected = Some((id, token));
        let leadership = Arc::downgrade(leadership);
        book.leaders.push(Leader { process, leadership, is_over: false });
        drop(book);
        self.one_leader_at_most();
    }

    /// Those who believe that they lead. Who has once ceased to must not begin again.
    pub(crate) fn leaders(&self) -> Vec<(usize, Token)> {
        let mut book = self.book();
        let mut leaders = Vec::new();
        let mut risen = None;
        book.leaders.retain_mut(|leader| {
            let Some(leadership) = leader.leadership.upgrade() else {
                return false;
            };
            if leadership.is_valid() {
                leaders.push((leader.process, leadership.token()));
                risen = risen.or(leader.is_over.then_some(leader.process));
            } else {
                leader.is_over = true;
            }
            true
        });
        if let Some(process) = risen {
            book.broken(format!("{process} leads again by a leadership that was over"));
        }
        leaders
    }

    pub(crate) fn one_leader_at_most(&self) {
        let leaders = self.leaders();
        if leaders.len() > 1 {
            self.broken(format!("two leaders: {leaders:?}"));
        }
    }

    /// After each step of the server.
    pub(crate) fn ledger_shows(&self, data: &[u8]) {
        let token = number_in(data);
        let mut book = self.book();
        if token < book.ledger {
            let before = book.ledger;
            book.broken(format!("{token} is written after {before}"));
        }
        book.ledger = token;
    }

    /// Nobody sees the notice go back.
    pub(crate) fn view(&self, process: usize, how: &'static str, number: i64) {
        let mut book = self.book();
        book.tally.views += 1;
        let before = book.views.insert((process, how), number).unwrap_or(0);
        if number < before {
            book.broken(format!("{process} sees {number} after {before}, {how}"));
        }
    }

    /// Once everything is calm, everybody has seen the last that was written, in so many views.
    pub(crate) fn all_have_seen(&self, number: i64, views: usize) {
        let mut book = self.book();
        if book.views.len() != views {
            let law = format!("these alone have seen anything: {:?}", book.views);
            book.broken(law);
        }
        let late = book.views.iter().find(|(_, seen)| **seen != number);
        if let Some(((process, how), seen)) = late {
            let law = format!("{process} still sees {seen} instead of {number}, {how}");
            book.broken(law);
        }
    }

    pub(crate) fn broken(&self, law: String) {
        self.book().broken(law);
    }

    pub(crate) fn what_is_broken(&self) -> Option<String> {
        self.book().broken.clone()
    }

    pub(crate) fn count(&self, what: impl FnOnce(&mut Tally)) {
        what(&mut self.book().tally);
    }

    pub(crate) fn tally(&self) -> Tally {
        self.book().tally
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// The first one is what the others follow from.
    fn broken(&mut self, law: String) {
        self.broken.get_or_insert(law);
    }
}

/// What the ledger and the notice hold.
pub(crate) fn number_in(data: &[u8]) -> i64 {
    core::str::from_utf8(data).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

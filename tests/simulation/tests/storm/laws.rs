//! The laws that must hold, whatever happens.

mod cached;
mod grants;
mod histories;
mod locks;
mod operated;
mod others;
mod permits;
mod recipes;
mod several;
mod slots;
mod tally;
mod well;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_tokio::election::Leadership;
use election_tokio::{NomineeId, Token};
use zk_verdict::Mode;

use self::cached::TreesBook;
use self::grants::{Grants, Look};
use self::histories::Chronicle;
use self::locks::LockBook;
use self::operated::OperatedBook;
pub(crate) use self::operated::{Elected, Wish};
use self::others::Connections;
use self::permits::PermitBook;
pub(crate) use self::recipes::PARTICIPANTS;
use self::recipes::RecipeBook;
use self::several::SeveralBook;
pub(crate) use self::slots::Season;
use self::slots::SlotBook;
pub(crate) use self::tally::Tally;
pub(crate) use self::well::Answer;
use self::well::WellBook;
use crate::others::Promise;
use crate::story::Story;

/// The beginning of the paths of all elections.
pub(crate) const ELECTIONS: &str = "/election-";

/// Returns the path where the candidates stand.
pub(crate) fn election(number: usize) -> String {
    format!("{ELECTIONS}{number}")
}

/// Returns the path to which the leaders of an election, or the exclusive holders of a lock, write,
/// each its token.
pub(crate) fn ledger(number: usize) -> String {
    format!("/ledger-{number}")
}

/// Returns the key of an election's leaderships in the history.
fn lock_of(election: usize) -> String {
    format!("lock{}", self::election(election))
}

/// A znode that every process follows: a number that grows now and then, and for the last time in the storm.
pub(crate) const NOTICE: &str = "/notice";

/// Shared by all that are bound by them.
#[derive(Clone, Debug)]
pub(crate) struct Laws {
    book: Arc<Mutex<Book>>,
    story: Story,
    promise: Promise,
}

#[derive(Debug)]
struct Book {
    chronicle: Chronicle,
    connections: Connections,
    /// By election.
    leaders: Grants<usize, Leadership>,
    /// By election.
    last_elected: BTreeMap<usize, (NomineeId, Token)>,
    /// The ledger of each election, and of each lock, as each server shows it.
    ledgers: BTreeMap<(usize, usize), i64>,
    /// The notice that each process has seen last, by each way to follow it, and in which line of lives: a new client
    /// may come to a server that lags behind the one before.
    views: BTreeMap<(usize, &'static str), (u64, i64)>,
    locks: LockBook,
    operated: OperatedBook,
    permits: PermitBook,
    recipes: RecipeBook,
    several: SeveralBook,
    slots: SlotBook,
    trees: TreesBook,
    well: WellBook,
    tally: Tally,
    broken: Option<String>,
}

impl Laws {
    /// Begins to hold processes to what they are promised.
    pub(crate) fn new(promise: Promise) -> Self {
        Self { book: Arc::new(Mutex::new(Book::begin())), story: Story::begin(), promise }
    }

    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        self.story.tell(what);
    }

    /// Checks a nominee that is told that it leads. A nomination that is taken over keeps its
    /// token.
    pub(crate) fn elected(
        &self,
        (process, election): (usize, usize),
        id: NomineeId,
        leadership: &Arc<Leadership>,
    ) {
        let token = leadership.token();
        self.tell(|| format!("process {process} is elected in {election}: {token}, {id:?}"));
        self.is_given(process, token);
        let mut book = self.book();
        let last = book.last_elected.insert(election, (id, token));
        if let Some((last_id, last)) = last.filter(|_| self.exclude_each_other())
            && (token < last || (token == last && id != last_id))
        {
            book.broken(format!("{process} is elected with token {token}, after {last}"));
        }
        if last != Some((id, token)) {
            book.tally.elected += 1;
        }
        book.leaders.push(election, process, leadership);
        drop(book);
        self.one_leader_at_most();
    }

    /// Returns the elections and processes of the nominees that believe to lead. One that has ceased to must not
    /// begin again.
    pub(crate) fn leaders(&self) -> Vec<(usize, usize, Token)> {
        let mut book = self.book();
        let Look { valid: mut leaders, risen } = book.leaders.look();
        leaders.sort_unstable();
        for (election, _, token) in leaders.iter().filter(|_| self.exclude_each_other()) {
            book.chronicle.holds((lock_of(*election), Mode::Alone), *token);
        }
        if let Some(process) = risen {
            book.broken(format!("{process} leads again by a leadership that was over"));
        }
        leaders
    }

    pub(crate) fn one_leader_at_most(&self) {
        let leaders = self.leaders();
        let elections: BTreeSet<usize> = leaders.iter().map(|(election, ..)| *election).collect();
        if leaders.len() > elections.len() && self.exclude_each_other() {
            self.broken(format!("two leaders: {leaders:?} (election, process, token)"));
        }
    }

    /// Checks a ledger after each step of a server. The state that a server shows is committed, and
    /// stays so when it starts again.
    pub(crate) fn ledger_shows(&self, which: (usize, usize), data: &[u8]) {
        let token = number_in(data);
        let mut book = self.book();
        let before = book.ledgers.insert(which, token).unwrap_or(0);
        if token < before {
            let (server, election) = which;
            let law = format!("{token} is written after {before}");
            book.broken(format!("{law}, in ledger {election}, as server {server} shows it"));
        }
    }

    /// Checks that no client sees the notice go back, from any servers. `line` numbers the lives of
    /// a process that go on with the knowledge of the one before.
    pub(crate) fn view(&self, process: usize, line: u64, how: &'static str, number: i64) {
        let mut book = self.book();
        book.tally.views += 1;
        let before = book.views.insert((process, how), (line, number));
        if let Some((_, before)) =
            before.filter(|(other, before)| *other == line && number < *before)
        {
            book.broken(format!("{process} sees {number} after {before}, {how}"));
        }
    }

    /// Checks, once everything is calm, that every process has seen the last number that was
    /// written, in so many views.
    pub(crate) fn all_have_seen(&self, number: i64, views: usize) {
        let mut book = self.book();
        if book.views.len() != views {
            let law = format!("these alone have seen anything: {:?}", book.views);
            book.broken(law);
        }
        let late = book.views.iter().find(|(_, (_, seen))| *seen != number);
        if let Some(((process, how), (_, seen))) = late {
            let law = format!("{process} still sees {seen} instead of {number}, {how}");
            book.broken(law);
        }
    }

    pub(crate) fn broken(&self, law: String) {
        self.tell(|| format!("broken: {law}"));
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
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn begin() -> Self {
        Self {
            chronicle: Chronicle::begin(),
            connections: Connections::default(),
            leaders: Grants::default(),
            last_elected: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            views: BTreeMap::new(),
            locks: LockBook::default(),
            operated: OperatedBook::default(),
            permits: PermitBook::default(),
            recipes: RecipeBook::default(),
            several: SeveralBook::default(),
            slots: SlotBook::default(),
            trees: TreesBook::default(),
            well: WellBook::default(),
            tally: Tally::default(),
            broken: None,
        }
    }

    /// Notes a broken law; the others follow from the first one.
    fn broken(&mut self, law: String) {
        self.broken.get_or_insert(law);
    }
}

/// Returns the number that the ledger or the notice holds.
pub(crate) fn number_in(data: &[u8]) -> i64 {
    core::str::from_utf8(data).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

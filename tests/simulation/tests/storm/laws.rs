//! The laws that must hold, whatever happens.

use core::ops::AddAssign;
mod grants;
mod histories;
mod locks;
mod operated;
mod permits;
mod recipes;
mod several;
mod slots;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_tokio::election::Leadership;
use election_tokio::{NomineeId, Token};
use zk_verdict::Mode;

use self::grants::{Grants, Look};
use self::histories::Chronicle;
use self::locks::LockBook;
use self::operated::OperatedBook;
pub(crate) use self::operated::{Elected, Wish};
use self::permits::PermitBook;
pub(crate) use self::recipes::PARTICIPANTS;
use self::recipes::RecipeBook;
use self::several::SeveralBook;
pub(crate) use self::slots::Season;
use self::slots::SlotBook;
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
}

#[derive(Debug)]
struct Book {
    chronicle: Chronicle,
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
    tally: Tally,
    broken: Option<String>,
}

/// The counts of events: a storm in which nothing happens proves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) elected: u64,
    pub(crate) guarded_writes: u64,
    pub(crate) views: u64,
    pub(crate) answers: u64,
    pub(crate) failures: u64,
    pub(crate) given_up: u64,
    pub(crate) handed_over: u64,
    /// Guards of locks.
    pub(crate) held: u64,
    /// The locks that were given while another reader's was valid.
    pub(crate) held_together: u64,
    /// The locks that were waited for, and not given in time.
    pub(crate) waits_given_up: u64,
    /// Permits of the semaphore.
    pub(crate) permits: u64,
    /// Looks at which all permits were held.
    pub(crate) permits_together: u64,
    /// Leaderships of the operated election.
    pub(crate) operated: u64,
    pub(crate) operated_handed_over: u64,
    /// Those of an heir.
    pub(crate) led_by_heirs: u64,
    /// Those after a leader that has not said that it ended.
    pub(crate) delays_kept: u64,
    /// How often it was ended.
    pub(crate) ends: u64,
    pub(crate) told_of_an_end: u64,
    /// How often it was deleted.
    pub(crate) deletions: u64,
    pub(crate) writes_in_epochs: u64,
    /// Uses of barriers, queues and the counter.
    pub(crate) used: u64,
    pub(crate) passed: u64,
    pub(crate) inside: u64,
    pub(crate) taken: u64,
    pub(crate) finished: u64,
    pub(crate) counted: u64,
    /// Guards of several locks at once.
    pub(crate) several: u64,
    /// Runs of the job.
    pub(crate) runs: u64,
    /// Guards of slots.
    pub(crate) slots_gained: u64,
    /// Plans of slots that planners wrote, and the slots that these moved.
    pub(crate) plans: u64,
    pub(crate) slots_moved: u64,
    /// Plans that were not held against the one before: it was deleted or overwritten, or none saw it.
    pub(crate) plans_excused: u64,
    /// Works on slots that did not end in time.
    pub(crate) slots_overdue: u64,
    /// Of runs on an ensemble: times that another member led it.
    pub(crate) successions: u64,
    pub(crate) ensembles: u64,
    /// Operations in histories that were judged, and how many of them had an unknown outcome.
    pub(crate) judged: u64,
    pub(crate) unknown: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.elected += other.elected;
        self.guarded_writes += other.guarded_writes;
        self.views += other.views;
        self.answers += other.answers;
        self.failures += other.failures;
        self.given_up += other.given_up;
        self.handed_over += other.handed_over;
        self.held += other.held;
        self.held_together += other.held_together;
        self.waits_given_up += other.waits_given_up;
        self.permits += other.permits;
        self.permits_together += other.permits_together;
        self.operated += other.operated;
        self.operated_handed_over += other.operated_handed_over;
        self.led_by_heirs += other.led_by_heirs;
        self.delays_kept += other.delays_kept;
        self.ends += other.ends;
        self.told_of_an_end += other.told_of_an_end;
        self.deletions += other.deletions;
        self.writes_in_epochs += other.writes_in_epochs;
        self.used += other.used;
        self.passed += other.passed;
        self.inside += other.inside;
        self.taken += other.taken;
        self.finished += other.finished;
        self.counted += other.counted;
        self.several += other.several;
        self.runs += other.runs;
        self.slots_gained += other.slots_gained;
        self.plans += other.plans;
        self.slots_moved += other.slots_moved;
        self.plans_excused += other.plans_excused;
        self.slots_overdue += other.slots_overdue;
        self.successions += other.successions;
        self.ensembles += other.ensembles;
        self.judged += other.judged;
        self.unknown += other.unknown;
    }
}

impl Tally {
    /// Whether enough has happened: a storm in which nothing happens proves nothing.
    pub(crate) fn is_a_storm(self, seeds: u64) -> bool {
        self.elected > 5 * seeds
            && self.guarded_writes > 50 * seeds
            && self.views > 50 * seeds
            && self.answers > 500 * seeds
            && self.failures > 50 * seeds
            && self.given_up > 50 * seeds
            && self.handed_over > seeds / 2
            && self.held > 20 * seeds
            && self.held_together > seeds
            && self.waits_given_up > 5 * seeds
            && self.permits > 10 * seeds
            && self.permits_together > 10 * seeds
            && self.operated > 8 * seeds
            && self.led_by_heirs >= seeds
            && self.delays_kept > 2 * seeds
            && self.ends > seeds
            && self.told_of_an_end > 4 * seeds
            && self.passed > 2 * seeds
            && self.inside > 5 * seeds
            && self.taken > 5 * seeds
            && self.finished > seeds
            && self.counted > 5 * seeds
            && self.several > 10 * seeds
            && self.runs > 3 * seeds
            && self.slots_gained > 20 * seeds
            && self.plans > 4 * seeds
            && self.slots_moved > 3 * seeds
            && self.judged > 300 * seeds
            && self.unknown > 50 * seeds
            && self.ensembles >= seeds / 2
            && self.successions > 2 * self.ensembles
    }
}

impl Tally {
    /// Whether enough has happened in runs of slots alone.
    pub(crate) fn slots_are_shared_in_a_storm(self, seeds: u64) -> bool {
        self.slots_gained > 40 * seeds
            && self.plans > 8 * seeds
            && self.slots_moved > 20 * seeds
            && self.slots_overdue > seeds
            && self.plans_excused < self.plans / 2
    }
}

impl Laws {
    pub(crate) fn new() -> Self {
        Self { book: Arc::new(Mutex::new(Book::begin())), story: Story::begin() }
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
        let mut book = self.book();
        let last = book.last_elected.insert(election, (id, token));
        if let Some((last_id, last)) = last
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
        for (election, _, token) in &leaders {
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
        if leaders.len() > elections.len() {
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

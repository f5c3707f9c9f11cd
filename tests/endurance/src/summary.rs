//! The summary of a run, in numbers.

use core::fmt;
use core::time::Duration;

use zk_verdict::History;

use super::Record;
use super::laws::holds::Want;
use super::laws::views::{self, Note};
use super::laws::vigils::Ending;
use super::laws::writes::Outcome;
use super::workload::{Connections, Patience, SLOTS};

/// The figures of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Faults that struck.
    pub faults: usize,
    /// The longest time from the loss of a leader, or of a member that may have been it, until there
    /// was one.
    pub longest_outage: Duration,
    /// Acknowledged writes of entries.
    pub acknowledged: usize,
    /// Writes with unknown outcome.
    pub unknown: usize,
    /// The unknown writes that are there.
    pub unknown_found: usize,
    /// Writes that did not happen.
    pub not_done: usize,
    /// Reads of data, and writes of it, that were compared.
    pub sightings: usize,
    /// Events of one-shot watches.
    pub events: usize,
    /// Events for changes that happened while there was no connection, or from a server that does
    /// not tell the transaction.
    pub events_without_zxid: usize,
    /// One-shot watches that were lost with their session.
    pub watches_lost: usize,
    /// Changes that watches which stay told of.
    pub changes_told: usize,
    /// Gaps that they reported.
    pub gaps: usize,
    /// Watches that stay, and were lost with their session.
    pub views_lost: usize,
    /// Times that a lock was held alone, and by a reader.
    pub held: [usize; 2],
    /// Times that a slot was held.
    pub slots: usize,
    /// Leaders.
    pub leaders: usize,
    /// The run as a history.
    pub history: History,
    /// Operations in it that were judged.
    pub judged: usize,
    /// The fate of each client's connection.
    pub connections: Vec<Connections>,
}

impl Summary {
    pub(super) fn of(record: &Record, connections: Vec<Connections>) -> Self {
        let attempts = |wanted: fn(&Outcome<String>) -> bool| {
            record.attempts.iter().filter(|attempt| wanted(&attempt.outcome)).count()
        };
        let endings = |wanted: fn(&Ending) -> bool| {
            record.vigils.iter().filter(|vigil| wanted(&vigil.ending)).count()
        };
        let notes = |wanted: fn(&Note) -> bool| {
            record.views.iter().flat_map(|view| &view.notes).filter(|note| wanted(note)).count()
        };
        Self {
            faults: 0,
            longest_outage: Duration::ZERO,
            acknowledged: attempts(|outcome| matches!(outcome, Outcome::Done(_))),
            unknown: attempts(|outcome| *outcome == Outcome::Unknown),
            unknown_found: 0,
            not_done: attempts(|outcome| *outcome == Outcome::NotDone),
            sightings: record.sightings.iter().map(Vec::len).sum(),
            events: endings(|ending| matches!(ending, Ending::Fired { .. })),
            events_without_zxid: endings(|ending| {
                matches!(ending, Ending::Fired { zxid: None, .. })
            }),
            watches_lost: endings(|ending| *ending == Ending::Lost),
            changes_told: notes(|note| matches!(note, Note::Changed(_))),
            gaps: notes(|note| *note == Note::ChangesMissed),
            views_lost: record
                .views
                .iter()
                .filter(|view| matches!(view.ending, views::Ending::Lost { .. }))
                .count(),
            held: [Want::Write, Want::Read].map(|want| {
                let locks = record.holds.iter().filter(|it| !it.lock.starts_with(SLOTS));
                locks.filter(|hold| hold.want == want).count()
            }),
            slots: record.holds.iter().filter(|hold| hold.lock.starts_with(SLOTS)).count(),
            leaders: 0,
            history: History::new(),
            judged: 0,
            connections,
        }
    }

    /// Returns how often clients were connected again.
    pub fn reconnects(&self) -> u64 {
        self.connections.iter().map(|client| client.reconnects).sum()
    }

    /// Returns how many sessions with this patience expired.
    pub fn expiries(&self, patience: Patience) -> u64 {
        let clients = self.connections.iter().filter(|client| client.patience == patience);
        clients.map(|client| client.expiries).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} faults, no leader for {:.1} s at most; {} writes acknowledged, {} unknown ({} of them done), {} not done; {} \
             sightings; {} events ({} without a zxid), {} watches lost; {} changes told by watches that stay, \
             {} gaps, {} of them lost; {} leaders; locks held {} times alone and {} times by readers, slots {} times; {} clients, {} reconnects, {} brief and {} lasting sessions expired; \
             {} operations are linearizable",
            self.faults,
            self.longest_outage.as_secs_f64(),
            self.acknowledged,
            self.unknown,
            self.unknown_found,
            self.not_done,
            self.sightings,
            self.events,
            self.events_without_zxid,
            self.watches_lost,
            self.changes_told,
            self.gaps,
            self.views_lost,
            self.leaders,
            self.held[0],
            self.held[1],
            self.slots,
            self.connections.len(),
            self.reconnects(),
            self.expiries(Patience::Brief),
            self.expiries(Patience::Lasting),
            self.judged,
        )
    }
}

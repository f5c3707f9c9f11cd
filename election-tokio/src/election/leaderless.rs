//! The time without a known leader.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use zk_session::Instant;

use crate::telemetry::{ElectionFigure, ElectionLabel, Entry, Figure, Journal, SeenBy};

/// The moment since which no leader is known, shared with the holder: 0 while a leader is known,
/// otherwise the moment in microseconds, plus one.
#[derive(Debug)]
pub(super) struct LeaderlessSince(AtomicU64);

impl LeaderlessSince {
    pub(super) fn new(now: Instant) -> Self {
        let since = Self(AtomicU64::new(0));
        since.set(Some(now));
        since
    }

    fn set(&self, since: Option<Instant>) {
        let micros = since.map_or(0, |since| since.elapsed().as_micros().saturating_add(1));
        self.0.store(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn get(&self) -> Option<Instant> {
        let micros = self.0.load(Ordering::Relaxed).checked_sub(1)?;
        Some(Instant::since_origin(Duration::from_micros(micros)))
    }

    /// Returns how long no leader has been known; zero if one is.
    pub(super) fn lasted(&self, now: Instant) -> Duration {
        self.get().map_or(Duration::ZERO, |since| now.saturating_since(since))
    }
}

/// The knowledge whether there is a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leader {
    Known,
    Unknown,
}

/// The knowledge of a nominee or an observer about a leader, which it reports to the metrics.
#[derive(Debug)]
pub(super) struct LeaderSight {
    label: ElectionLabel,
    by: SeenBy,
    told: GaugeReport,
}

/// The last report to the gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GaugeReport {
    Nothing,
    Leaderless,
    Led,
    Over,
}

impl LeaderSight {
    pub(super) const fn new(label: ElectionLabel, by: SeenBy) -> Self {
        Self { label, by, told: GaugeReport::Nothing }
    }

    pub(super) const fn label(&self) -> ElectionLabel {
        self.label
    }

    /// Takes in whether a leader is known now. If none is, it notes since when.
    pub(super) fn see(
        &mut self,
        leader: Leader,
        (since, now): (&LeaderlessSince, Instant),
        journal: &mut Journal,
    ) {
        if self.told == GaugeReport::Nothing {
            self.told = GaugeReport::Leaderless;
            self.note(Figure::LeaderlessBegan(self.by), journal);
        }
        match (self.told, leader) {
            (GaugeReport::Leaderless, Leader::Known) => {
                let lasted = Some(since.lasted(now));
                since.set(None);
                self.told = GaugeReport::Led;
                self.note(Figure::LeaderlessEnded(self.by, lasted), journal);
            }
            (GaugeReport::Led, Leader::Unknown) => {
                since.set(Some(now));
                self.told = GaugeReport::Leaderless;
                self.note(Figure::LeaderlessBegan(self.by), journal);
            }
            _ => {}
        }
    }

    /// Ends the report, because nothing is observed any more.
    pub(super) fn end(&mut self, journal: &mut Journal) {
        if core::mem::replace(&mut self.told, GaugeReport::Over) == GaugeReport::Leaderless {
            self.note(Figure::LeaderlessEnded(self.by, None), journal);
        }
    }

    fn note(&self, what: Figure, journal: &mut Journal) {
        journal.note(Entry::ElectionFigure(ElectionFigure { label: self.label, what }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::since_origin(Duration::from_secs(seconds))
    }

    #[test]
    fn each_gap_is_told_once() {
        let mut journal = Journal::default();
        let mut sight = LeaderSight::new(ElectionLabel::NONE, SeenBy::Nominee);
        let since = LeaderlessSince::new(at(0));
        for leader in [Leader::Unknown, Leader::Unknown] {
            sight.see(leader, (&since, at(1)), &mut journal);
        }
        assert_eq!((since.lasted(at(3)), journal.len()), (Duration::from_secs(3), 1));
        sight.see(Leader::Known, (&since, at(4)), &mut journal);
        sight.see(Leader::Known, (&since, at(5)), &mut journal);
        assert_eq!((since.lasted(at(6)), journal.len()), (Duration::ZERO, 2));
        sight.see(Leader::Unknown, (&since, at(7)), &mut journal);
        assert_eq!((since.lasted(at(9)), journal.len()), (Duration::from_secs(2), 3));
        sight.end(&mut journal);
        sight.end(&mut journal);
        sight.see(Leader::Known, (&since, at(10)), &mut journal);
        assert_eq!(journal.len(), 4, "it is over once");
    }
}

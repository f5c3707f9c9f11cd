//! Limits lines that a server can have written without end, by the connections that it ends.

use core::time::Duration;

use zk_session::Instant;

use super::{Entry, Journal};

/// Lines that may follow each other at once.
const BURST: u32 = 20;
/// How long it takes until there may be one more.
const PACE: Duration = Duration::from_secs(10);

/// Tells so many lines of a kind, and of those beyond only the last one, late.
///
/// That one is told in any case: what was told last is how things are.
#[derive(Debug)]
pub(crate) struct RepeatLimit {
    allowance: u32,
    /// When the allowance was last added to.
    since: Instant,
    /// In a box, which takes little where there is none.
    held_back: Option<Box<Entry>>,
    left_out: u32,
}

impl RepeatLimit {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { allowance: BURST, since: now, held_back: None, left_out: 0 }
    }

    /// Notes this line, or holds it back. Gives back the line that is left out for it.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        entry: Entry,
        journal: &mut Journal,
    ) -> Option<Entry> {
        let left_out = self.held_back.replace(Box::new(entry));
        if left_out.is_some() {
            self.left_out = self.left_out.saturating_add(1);
        }
        self.catch_up(now, journal);
        left_out.map(|entry| *entry)
    }

    /// Notes what was held back, if it is time.
    pub(crate) fn catch_up(&mut self, now: Instant, journal: &mut Journal) {
        if self.held_back.is_none() || !self.admits(now) {
            return;
        }
        let left_out = core::mem::take(&mut self.left_out);
        if left_out > 0 {
            journal.note(Entry::LeftOut { count: left_out });
        }
        if let Some(entry) = self.held_back.take() {
            journal.note(*entry);
        }
    }

    /// Whether it limits no more than a new one would.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.held_back.is_none() && self.allowance.saturating_add(self.gained(now)) >= BURST
    }

    /// By the time that has passed.
    fn gained(&self, now: Instant) -> u32 {
        let passed = now.saturating_since(self.since).as_secs() / PACE.as_secs();
        u32::try_from(passed).unwrap_or(u32::MAX)
    }

    fn admits(&mut self, now: Instant) -> bool {
        let more = self.gained(now);
        if more > 0 {
            self.allowance = self.allowance.saturating_add(more).min(BURST);
            self.since = now;
        }
        let admits = self.allowance > 0;
        self.allowance = self.allowance.saturating_sub(1);
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(limit: &mut RepeatLimit, seconds: u64, count: usize, journal: &mut Journal) {
        let now = Instant::since_origin(Duration::from_secs(seconds));
        limit.note(now, Entry::OtherServers { count }, journal);
    }

    #[test]
    fn what_repeats_is_told_at_a_pace_and_the_last_of_it_in_any_case() {
        let mut limit = RepeatLimit::new(Instant::ORIGIN);
        let mut journal = Journal::default();
        for count in 0..1000 {
            note(&mut limit, 0, count, &mut journal);
        }
        assert_eq!(journal.len(), 20);
        limit.catch_up(Instant::since_origin(Duration::from_secs(9)), &mut journal);
        assert_eq!(journal.len(), 20);
        limit.catch_up(Instant::since_origin(Duration::from_secs(10)), &mut journal);
        let last = format!("{journal:?}");
        assert!(last.ends_with("LeftOut { count: 979 }, OtherServers { count: 999 }])"), "{last}");
        limit.catch_up(Instant::since_origin(Duration::from_secs(100)), &mut journal);
        assert_eq!(journal.len(), 22, "once");
        note(&mut limit, 3600, 7, &mut journal);
        assert_eq!(journal.len(), 23, "nothing was left out meanwhile");
    }
}

//! Limits the lines that a server can cause without end, by ending connections.

use core::time::Duration;

use zk_session::Instant;

use super::{Entry, Journal};

/// The number of lines that may follow each other at once.
const BURST: u32 = 20;
/// The time until one more line is allowed.
const PACE: Duration = Duration::from_secs(10);

/// Reports a number of lines of one kind. Of further lines it reports only the last one, and late.
///
/// The last one is reported in any case, because it shows the present state.
#[derive(Debug)]
pub(crate) struct RepeatLimit {
    allowance: u32,
    /// The moment at which the allowance last grew.
    since: Instant,
    /// In a box, so that `None` takes little memory.
    held_back: Option<Box<Entry>>,
    left_out: u32,
}

impl RepeatLimit {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { allowance: BURST, since: now, held_back: None, left_out: 0 }
    }

    /// Notes this line, or holds it back. Returns the line that it replaces.
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

    /// Notes the line that was held back, if it is time.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Instant, journal: &mut Journal) {
        if self.held_back.is_some() {
            self.tell_if_due(now, journal);
        }
    }

    #[cold]
    fn tell_if_due(&mut self, now: Instant, journal: &mut Journal) {
        if !self.admits(now) {
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

    /// Returns whether this limit is in the same state as a new one.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.held_back.is_none() && self.allowance.saturating_add(self.gained(now)) >= BURST
    }

    /// Returns by how much the allowance has grown with the time since.
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

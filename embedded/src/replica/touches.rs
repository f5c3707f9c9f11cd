//! The sessions that a replica has heard of: the touch table of ZooKeeper's
//! `LearnerSessionTracker`.

use alloc::collections::BTreeMap;
use core::time::Duration;

use zk_jute::SessionId;

/// Each session with the timeout of the connection that it was last heard on.
#[derive(Debug, Default)]
pub(super) struct TouchTable {
    touched: BTreeMap<SessionId, Duration>,
    /// Until the table is swapped.
    last: Option<Touch>,
}

/// An entry that was added.
#[derive(Clone, Copy, Debug)]
struct Touch {
    session: SessionId,
    /// The entry that it replaced.
    before: Option<Duration>,
}

impl TouchTable {
    pub(super) fn put(&mut self, session: SessionId, timeout: Duration) {
        let before = self.touched.insert(session, timeout);
        self.last = Some(Touch { session, before });
    }

    pub(super) fn pop(&mut self) -> Option<(SessionId, Duration)> {
        self.last = None;
        self.touched.pop_first()
    }

    pub(super) fn lose_last(&mut self) -> Option<SessionId> {
        let Touch { session, before } = self.last.take()?;
        match before {
            Some(timeout) => self.touched.insert(session, timeout),
            None => self.touched.remove(&session),
        };
        Some(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: SessionId = SessionId::new(1);
    const TWO: SessionId = SessionId::new(2);

    #[test]
    fn the_last_touch_alone_can_be_lost_and_only_before_the_swap() {
        let (long, short) = (Duration::from_secs(9), Duration::from_secs(4));
        let mut table = TouchTable::default();
        assert_eq!(table.lose_last(), None);
        table.put(ONE, long);
        table.put(TWO, long);
        table.put(ONE, short);
        assert_eq!(table.lose_last(), Some(ONE));
        assert_eq!(table.lose_last(), None, "one thread makes the entries");
        assert_eq!(table.pop(), Some((ONE, long)), "the touch before it stays");
        assert_eq!(table.lose_last(), None);
        assert_eq!(table.pop(), Some((TWO, long)));
        table.put(TWO, short);
        assert_eq!(table.lose_last(), Some(TWO));
        assert_eq!(table.pop(), None);
    }
}

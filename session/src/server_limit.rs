//! The longest request that the servers take, as far as lost connections tell.
//!
//! A server closes the connection over a frame above its `jute.maxbuffer`, and sends no error. A
//! recipe that repeats the request for its znode after each loss, or a session that sets its watches again, would
//! cost one connection after another, and with the connections whatever else the client holds.

use alloc::boxed::Box;
use core::time::Duration;

use zk_jute::Xid;

use crate::time::Instant;

/// A shorter request is not suspected: no server could be run with a limit below that.
const TAKEN_BY_ALL: usize = 4 * 1024;

/// The connections in a row that have to end with a long request unanswered. One may end so by
/// chance.
const ENOUGH: u8 = 3;

/// How long a long request is refused before it is tried once more, on a connection that lives: its
/// losses may have been chance.
const FIRST_PAUSE: Duration = Duration::from_secs(60);

/// Each further pause is twice as long, up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// The knowledge of the servers' limit. Most sessions never send a long request, and hold nothing
/// for it.
#[derive(Debug, Default)]
pub(crate) struct ServerLimit(Option<Box<Known>>);

#[derive(Debug)]
struct Known {
    /// The longest request of this connection, if it is longer than all that were answered before.
    longest: Option<LongRequest>,
    /// The length of the longest request that is known to be taken.
    taken: usize,
    /// The least of the lengths over which connections have ended.
    suspected: usize,
    /// The connections in a row that have ended so.
    losses: u8,
    /// How long the next suspicion lasts, or the present one.
    pause: Duration,
    /// When the present suspicion ends, from the first request on that is refused for it.
    ends_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct LongRequest {
    xid: Xid,
    length: usize,
}

/// Which side ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedBy {
    Server,
    Session,
}

impl ServerLimit {
    /// Returns the length above which no request is sent at this moment. A suspicion ends: a longer
    /// request is then tried, and if it costs its connection, too, the next suspicion lasts longer.
    #[inline]
    pub(crate) fn at(&mut self, now: Instant) -> usize {
        self.0.as_mut().map_or(usize::MAX, |known| known.at(now))
    }

    /// Returns the length above which requests have cost their connections.
    fn get(&self) -> usize {
        match &self.0 {
            Some(known) if known.losses >= ENOUGH => known.suspected - 1,
            Some(_) | None => usize::MAX,
        }
    }

    /// Returns the length above which requests are divided that can be. It is smaller, so that the
    /// limit is found in few steps.
    pub(crate) fn divide_above(&self) -> usize {
        self.get() / 2
    }

    /// Notes a request of this length, on the present connection.
    #[inline]
    pub(crate) fn sent(&mut self, xid: Xid, length: usize) {
        if length > TAKEN_BY_ALL {
            self.0.get_or_insert_default().sent(LongRequest { xid, length });
        }
    }

    /// Notes the end of the connection. `is_unanswered` says it of a request that was sent on it.
    pub(crate) fn connection_ended(&mut self, by: EndedBy, is_unanswered: impl Fn(Xid) -> bool) {
        if let Some(known) = &mut self.0 {
            known.connection_ended(by, is_unanswered);
        }
    }
}

impl Default for Known {
    fn default() -> Self {
        Self {
            longest: None,
            taken: TAKEN_BY_ALL,
            suspected: usize::MAX,
            losses: 0,
            pause: FIRST_PAUSE,
            ends_at: None,
        }
    }
}

impl Known {
    fn at(&mut self, now: Instant) -> usize {
        if self.losses < ENOUGH {
            return usize::MAX;
        }
        let ends_at = *self.ends_at.get_or_insert(now + self.pause);
        if now < ends_at {
            return self.suspected - 1;
        }
        (self.losses, self.ends_at) = (ENOUGH - 1, None);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        usize::MAX
    }

    fn sent(&mut self, request: LongRequest) {
        if request.length > self.taken
            && self.longest.is_none_or(|longest| longest.length < request.length)
        {
            self.longest = Some(request);
        }
    }

    fn connection_ended(&mut self, by: EndedBy, is_unanswered: impl Fn(Xid) -> bool) {
        self.ends_at = None;
        match self.longest.take() {
            Some(LongRequest { xid, length }) if is_unanswered(xid) => match by {
                EndedBy::Server => {
                    self.suspected = self.suspected.min(length);
                    self.losses = self.losses.saturating_add(1);
                    return;
                }
                EndedBy::Session => {}
            },
            Some(LongRequest { length, .. }) => self.taken = length,
            None => {}
        }
        if self.losses < ENOUGH || self.suspected <= self.taken {
            (self.suspected, self.losses, self.pause) = (usize::MAX, 0, FIRST_PAUSE);
        } else {
            // The next server may take more: a long request may be tried once.
            self.losses = ENOUGH - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: usize = 20_000;

    fn lose(limit: &mut ServerLimit, length: usize) {
        limit.sent(Xid::new(1), length);
        limit.connection_ended(EndedBy::Server, |_| true);
    }

    #[test]
    fn the_shortest_request_over_which_connections_ended_is_the_first_to_be_refused() {
        let mut limit = ServerLimit::default();
        for length in [LONG + 1, LONG, LONG + 2] {
            assert_eq!(limit.get(), usize::MAX);
            lose(&mut limit, length);
        }
        assert_eq!(limit.get(), LONG - 1);
    }

    #[test]
    fn short_requests_and_those_that_were_answered_before_are_not_suspected() {
        let mut limit = ServerLimit::default();
        limit.sent(Xid::new(1), LONG);
        limit.connection_ended(EndedBy::Server, |_| false);
        for length in [10, LONG].into_iter().cycle().take(20) {
            lose(&mut limit, length);
        }
        assert_eq!(limit.get(), usize::MAX);
    }

    #[test]
    fn losses_count_in_a_row_and_where_the_server_ended_the_connection() {
        let mut limit = ServerLimit::default();
        for _ in 0..10 {
            lose(&mut limit, LONG);
            lose(&mut limit, LONG);
            limit.connection_ended(EndedBy::Server, |_| true);
            limit.sent(Xid::new(1), LONG);
            limit.connection_ended(EndedBy::Session, |_| true);
        }
        assert_eq!(limit.get(), usize::MAX);
    }

    /// On a connection that lives: the losses may have been chance.
    #[test]
    fn a_suspicion_ends_after_a_minute_and_the_next_one_after_two() {
        let after = |seconds| Instant::since_origin(Duration::from_secs(seconds));
        let mut limit = ServerLimit::default();
        (0..3).for_each(|_| lose(&mut limit, LONG));
        assert_eq!(limit.at(after(1000)), LONG - 1);
        assert_eq!(limit.at(after(1059)), LONG - 1);
        assert_eq!(limit.at(after(1060)), usize::MAX);
        lose(&mut limit, LONG);
        assert_eq!(limit.at(after(2000)), LONG - 1);
        assert_eq!(limit.at(after(2119)), LONG - 1);
        assert_eq!(limit.at(after(2120)), usize::MAX);
        limit.sent(Xid::new(1), LONG);
        limit.connection_ended(EndedBy::Server, |_| false);
        (0..3).for_each(|_| lose(&mut limit, LONG + 1));
        assert_eq!(limit.at(after(3000)), LONG);
        assert_eq!(limit.at(after(3060)), usize::MAX, "it was answered since");
    }

    /// The next server may take more.
    #[test]
    fn after_another_loss_a_long_request_is_tried_once_more() {
        let mut limit = ServerLimit::default();
        (0..3).for_each(|_| lose(&mut limit, LONG));
        limit.connection_ended(EndedBy::Server, |_| true);
        assert_eq!(limit.get(), usize::MAX);
        lose(&mut limit, LONG);
        assert_eq!(limit.get(), LONG - 1);
        limit.connection_ended(EndedBy::Session, |_| true);
        limit.sent(Xid::new(1), LONG);
        limit.connection_ended(EndedBy::Server, |_| false);
        (0..20).for_each(|_| lose(&mut limit, LONG));
        assert_eq!(limit.get(), usize::MAX, "it was answered since");
    }
}

//! Until when no server can have expired the session.

use core::time::Duration;

use crate::time::Instant;

/// What a lease deadline rests on: which requests count as proof that the server side knows that
/// the session is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Grade {
    /// Any answered request, pings included: the deadline is its send time plus the timeout.
    ///
    /// Holds with one server, and with an ensemble whose members reach each other. It does not
    /// hold while the session's server is cut off from the ensemble's leader: that server goes on
    /// answering, while the leader's clock for the session runs out. All members must grant the
    /// same timeout, as they do unless their configurations differ.
    #[default]
    Contact,
}

/// How much earlier than the server's clock the lease ends, to allow for clocks that do not run
/// at the same rate: a part of the session timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Margin {
    percent: u8,
}

impl Margin {
    /// The whole timeout counts: only right if both clocks run at the same rate.
    pub const NONE: Self = Self { percent: 0 };

    /// This many hundredths of the timeout; more than 90 counts as 90.
    pub const fn percent(percent: u8) -> Self {
        Self { percent: if percent > 90 { 90 } else { percent } }
    }

    /// What is left of `timeout`.
    pub(crate) fn shorten(self, timeout: Duration) -> Duration {
        timeout * u32::from(100 - self.percent) / 100
    }
}

/// A tenth.
impl Default for Margin {
    fn default() -> Self {
        Self::percent(10)
    }
}

/// The lease of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    margin: Margin,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Unproved,
    Until(Instant),
    Lapsed,
}

impl Lease {
    pub(crate) const fn new(margin: Margin) -> Self {
        Self { margin, state: State::Unproved }
    }

    /// A handshake sent at `sent_at` was accepted. What was proved before does not count any
    /// more: from now on the servers use this timeout, which may be shorter.
    pub(crate) fn start(&mut self, sent_at: Instant, timeout: Duration) {
        self.state = State::Until(sent_at + self.margin.shorten(timeout));
    }

    /// A request sent at `sent_at` was answered at `now`. Evidence that comes too late proves
    /// nothing, and a ping that overtook the queue may prove more than a later answer.
    pub(crate) fn prove(&mut self, now: Instant, sent_at: Instant, timeout: Duration) {
        let deadline = sent_at + self.margin.shorten(timeout);
        match self.state {
            State::Until(current) if current >= deadline => {}
            State::Unproved | State::Lapsed | State::Until(_) if deadline > now => {
                self.state = State::Until(deadline);
            }
            State::Unproved | State::Lapsed | State::Until(_) => {}
        }
    }

    /// The session is over.
    pub(crate) fn end(&mut self) {
        self.state = State::Unproved;
    }

    /// Whether the lease lapses now: true once for each time that it does.
    pub(crate) fn lapses(&mut self, now: Instant) -> bool {
        match self.state {
            State::Until(deadline) if deadline <= now => {
                self.state = State::Lapsed;
                true
            }
            State::Unproved | State::Lapsed | State::Until(_) => false,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Until(deadline) => Some(deadline),
            State::Unproved | State::Lapsed => None,
        }
    }
}

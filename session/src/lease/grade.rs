//! The grades of a lease, and its margin for clocks.

use core::time::Duration;

/// The evidence that a lease deadline rests on: which answers prove that ZooKeeper's leader, which
/// ends sessions by its clock, knows that this one is alive.
///
/// Every grade holds under these conditions; each variant says what it survives beyond them.
///
/// - The rates of the client's clock and of a server's differ by less than the [`LeaseMargin`],
///   relative to each other: at a margin of a tenth either may be off by 5.26 %. The client's clock
///   goes on while its machine sleeps.
/// - The least timeout that was ever granted to the session is two ticks of the ensemble's leader
///   or more. So `minSessionTimeout` is not set below that: by default it is two ticks.
/// - The session's server follows the leader itself: it is no observer that follows an
///   `ObserverMaster` (ZooKeeper 3.6 and later). What that one hands on takes two steps: requests
///   may overtake it, and two touches of the session become one that may get lost.
/// - All members have the same bounds for session timeouts, and keep them while sessions live,
///   unless the old and the new ones allow what sessions ask for. (The lease counts with the least
///   timeout that *this* client was granted, and the answer that grants a lesser one may be lost.)
/// - ZooKeeper's leader does not serve requests for a third of the timeout, by the client's clock, in
///   which it sends no pings to its followers. (By default it sends one each half tick.)
/// - The leader works off the sessions that expire together in less than a twelfth of the timeout.
/// - No administrator restores a snapshot (ZooKeeper 3.9) under running sessions.
/// - No other process takes the session over: its id is no secret, and its password follows from
///   it.
///
/// [`LeaseOutlook`](crate::lease::LeaseOutlook) says how fast answers have to come so that the lease goes
/// on. If they come later the lease lapses, and nothing else breaks.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaseGrade {
    /// Any answered request counts, pings included. The deadline is its send time plus the timeout.
    ///
    /// Holds with one server. In an ensemble the session's server answers by itself, and tells the
    /// leader with its answer to the leader's next ping. A server that is cut off from the leader
    /// goes on answering, while the leader's clock for the session runs out. Even if all members
    /// reach each other, a client that was silent for nearly the timeout may be answered too late
    /// for the leader to hear of it. (The simulation shows both.)
    Contact,
    /// Heartbeats that ZooKeeper's leader answers count: a `sync`, in place of the ping.
    ///
    /// Holds also while the session's server is cut off from the leader. It does not hold while the
    /// leader is cut off from its quorum: that leader goes on answering, while the others elect a
    /// new one.
    Sync,
    /// Heartbeats that a quorum commits count: a `multi` that checks a znode, in place of the ping.
    ///
    /// Holds under every failure of the ensemble and its network.
    #[default]
    Quorum,
    /// No lease: it counts as under [`Contact`](Self::Contact), on servers of any
    /// [family](crate::ServerFamily), and ends with the connection. It promises nothing, so guard each
    /// write by the token or in a transaction.
    Advisory,
}

impl LeaseGrade {
    /// Returns whether any answer extends the deadline.
    pub(crate) const fn counts_any_answer(self) -> bool {
        matches!(self, Self::Contact | Self::Advisory)
    }
}

/// The part of the session timeout that the lease keeps back, because clocks do not run at the same
/// rate: the lease ends that much earlier than the server's clock. Grades with heartbeats allow up
/// to a [fifth](LeaseMargin::suits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseMargin {
    percent: u8,
}

impl LeaseMargin {
    /// The whole timeout counts: only right if both clocks run at the same rate.
    pub const NONE: Self = Self { percent: 0 };

    /// Makes a margin of this many hundredths of the timeout; more than 90 counts as 90.
    pub const fn percent(percent: u8) -> Self {
        Self { percent: if percent > 90 { 90 } else { percent } }
    }

    /// Returns the margin in hundredths of the timeout.
    pub const fn as_percent(self) -> u8 {
        self.percent
    }

    /// Returns whether heartbeats can keep a lease of this grade alive. Their proof is at best a
    /// third of the timeout old, and the next one comes another third later; the rest is for the
    /// margin and for the answers to arrive.
    ///
    /// For `Contact` and `Advisory` every margin is allowed. Above half of the timeout the pings come too rarely
    /// to keep a lease, so the caller's own requests have to.
    pub const fn suits(self, grade: LeaseGrade) -> bool {
        grade.counts_any_answer() || self.percent <= 20
    }

    /// Returns what is left of `timeout`.
    pub(crate) fn shorten(self, timeout: Duration) -> Duration {
        timeout * self.rest() / 100
    }

    /// Returns the part of the timeout that is left, in hundredths.
    pub(super) const fn rest(self) -> u32 {
        100 - self.percent as u32
    }
}

/// The default is a tenth.
impl Default for LeaseMargin {
    fn default() -> Self {
        Self::percent(10)
    }
}

//! The pace of heartbeats.

/// How often heartbeats are sent. The more often, the slower a server may answer without the lease
/// lapsing: see [`LeaseOutlook::RoundTripTooLong`](crate::lease::LeaseOutlook::RoundTripTooLong).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeartbeatPace {
    /// A heartbeat every third of the timeout.
    #[default]
    Thirds,
    /// A heartbeat every sixth of the timeout: twice the heartbeats, for round trips that are
    /// nearly twice as long.
    Sixths,
}

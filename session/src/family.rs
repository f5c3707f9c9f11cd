//! The family of a server, as far as its handshake tells.

use core::fmt;

/// The family of a server. It decides whether a lease holds.
///
/// The proof of a lease is about Apache ZooKeeper. Other servers speak its protocol and end sessions by
/// other rules; on those this crate grants no lease by default
/// ([`LeaseOutlook::NoLease`](crate::lease::LeaseOutlook::NoLease)).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerFamily {
    /// Nothing tells it from Apache ZooKeeper, whose sessions have passwords that follow from their ids.
    ZooKeeper,
    /// `ClickHouse` Keeper, `RaftKeeper`, or another server that gives every session a password of zero
    /// bytes. The handshake does not tell which of them it is.
    ///
    /// As far as their sources say: a member of Keeper that shuts down in order ends the sessions of its
    /// clients at once, a forward step of the leader's wall clock ends sessions early in both, and Keeper
    /// does not continue a session on another connection. So no deadline of a client's can be relied on.
    /// Tokens and transactions can.
    KeeperLike,
}

impl ServerFamily {
    /// Tells the family by the password of a session.
    pub(crate) fn of_password(password: Option<&[u8]>) -> Self {
        if password.unwrap_or_default().iter().all(|byte| *byte == 0) {
            Self::KeeperLike
        } else {
            Self::ZooKeeper
        }
    }

    /// Returns whether what the server answers can prove a lease.
    pub const fn keeps_leases(self) -> bool {
        matches!(self, Self::ZooKeeper)
    }
}

/// Writes a noun, for logs and readers. The words may change.
impl fmt::Display for ServerFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZooKeeper => "Apache ZooKeeper",
            Self::KeeperLike => "ClickHouse Keeper, RaftKeeper or the like",
        })
    }
}

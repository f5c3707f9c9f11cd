//! Grants: what a recipe holds, as the host announces it to the recipe's user.

use alloc::boxed::Box;

use election_core::{Hold, Token};
use zk_session::lease::LeaseOutlook;
use zk_session::{Instant, SessionEnd};

/// The host's announcement to a recipe's user that the recipe holds what it stands for, or none yet.
/// The host announces a grant only while the lease is proved, and can be proved again in time.
/// Before that, another client may hold it although this recipe was promoted, because the event may
/// have waited while the process was paused; or the lease would lapse at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// The recipe holds nothing.
    None,
    /// The recipe holds it. The host has not announced it yet.
    AwaitsLease {
        /// The token that fences it.
        token: Token,
        /// The outlook when the recipe was promoted, or a later one of another kind.
        outlook: LeaseOutlook,
    },
    /// The host has announced it: the user may act while the lease deadline lies ahead.
    Announced {
        /// The token that fences it.
        token: Token,
    },
}

/// The grant of a seat. Most have none, and there are thousands of them.
#[derive(Debug)]
pub(crate) struct SeatGrant(Option<Box<Grant>>);

impl SeatGrant {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn get(&self) -> &Grant {
        const NONE: Grant = Grant::None;
        self.0.as_deref().unwrap_or(&NONE)
    }

    /// See [`Grant::follow`].
    pub(crate) fn follow(&mut self, hold: Hold) -> Option<GrantChange> {
        if self.0.is_none() && hold == Hold::None {
            return None;
        }
        self.change(|grant| grant.follow(hold))
    }

    /// See [`Grant::look_at_lease`].
    pub(crate) fn look_at_lease(
        &mut self,
        hold: Hold,
        outlook: LeaseOutlook,
    ) -> Option<GrantChange> {
        self.0.as_mut()?.look_at_lease(hold, outlook)
    }

    /// See [`Grant::end`].
    pub(crate) fn end(&mut self, end: SessionEnd) -> Option<GrantChange> {
        self.0.take()?.end(end)
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut Grant) -> T) -> T {
        let grant = self.0.get_or_insert_with(|| Box::new(Grant::None));
        let changed = change(grant);
        self.0.take_if(|grant| **grant == Grant::None);
        changed
    }
}

/// How a grant has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantChange {
    /// It waits for the lease, or for another reason than before.
    AwaitsLease(LeaseOutlook),
    /// The host has to announce it to the user.
    Announced {
        /// The token that fences it.
        token: Token,
        /// The lease deadline at this moment.
        until: Instant,
    },
    /// An announced grant is over.
    Ended {
        /// The token of the grant.
        token: Token,
        /// The cause of its end.
        by: GrantEnd,
    },
}

/// The cause of a grant's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantEnd {
    /// A step of the recipe. Its notice, if it has one, says why.
    Recipe,
    /// The host, which is closing or has ended.
    Host(SessionEnd),
}

impl Grant {
    pub(crate) const fn awaits_lease(&self) -> bool {
        matches!(self, Self::AwaitsLease { .. })
    }

    pub(crate) const fn is_announced(&self) -> bool {
        matches!(self, Self::Announced { .. })
    }

    /// Takes in what the recipe holds after a step. A new grant waits for the lease until the host
    /// [looks at it](Self::look_at_lease).
    pub(crate) fn follow(&mut self, hold: Hold) -> Option<GrantChange> {
        let ended = match *self {
            Self::Announced { token } if hold.token() != Some(token) => {
                Some(GrantChange::Ended { token, by: GrantEnd::Recipe })
            }
            _ => None,
        };
        match (hold.token(), *self) {
            (None, _) => *self = Self::None,
            (Some(now), Self::Announced { token } | Self::AwaitsLease { token, .. })
                if now == token => {}
            (Some(token), _) => {
                *self = Self::AwaitsLease { token, outlook: LeaseOutlook::AwaitsProof };
            }
        }
        ended
    }

    /// Announces a waiting grant, if the lease can be relied on and the recipe is not in doubt for
    /// another reason: a handshake may prove the lease, but not that the recipe's znode still
    /// stands. The recorded outlook stays, unless the new one is of another kind: a status is no
    /// meter.
    pub(crate) fn look_at_lease(
        &mut self,
        hold: Hold,
        outlook: LeaseOutlook,
    ) -> Option<GrantChange> {
        let (Self::AwaitsLease { token, outlook: known }, Hold::Active(_)) = (&mut *self, hold)
        else {
            return None;
        };
        if let LeaseOutlook::Secure { until } = outlook {
            let token = *token;
            *self = Self::Announced { token };
            return Some(GrantChange::Announced { token, until });
        }
        let is_of_another_kind =
            core::mem::discriminant(known) != core::mem::discriminant(&outlook);
        is_of_another_kind.then(|| {
            *known = outlook;
            GrantChange::AwaitsLease(outlook)
        })
    }

    /// Ends the grant with the client.
    pub(crate) fn end(&mut self, end: SessionEnd) -> Option<GrantChange> {
        match core::mem::replace(self, Self::None) {
            Self::Announced { token } => {
                Some(GrantChange::Ended { token, by: GrantEnd::Host(end) })
            }
            Self::None | Self::AwaitsLease { .. } => None,
        }
    }
}

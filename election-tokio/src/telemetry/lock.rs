//! Reports of locks to subscribers.

use core::time::Duration;
use std::sync::Arc;

use election_core::election::Obstacle;
use election_core::lock::{LockEnd, LockNotice};
use election_core::name::CandidateName;
use election_core::{NomineeId, Token};
use election_session::Site;
use tracing::{debug, info, warn};
use zk_session::lease::LeaseOutlook;

use super::{LOCK, LOCK_BLOCKED, metrics};
use crate::error::lost::LockLost;

/// An event of a contender for a lock.
#[derive(Debug)]
pub(crate) struct LockEntry {
    pub(crate) site: Arc<Site>,
    pub(crate) id: NomineeId,
    pub(crate) znode: Option<CandidateName>,
    pub(crate) behind: Option<CandidateName>,
    /// The name for metrics of what it contends for.
    pub(crate) kind: &'static str,
    /// A sequential child of another format.
    pub(crate) foreign: Option<Box<str>>,
    pub(crate) what: OnLock,
}

#[derive(Debug)]
pub(crate) enum OnLock {
    Noticed(LockNotice),
    Held { token: Token, waited: Duration },
    Lost { reason: LockLost, held: Duration },
    AwaitsLease(LeaseOutlook),
}

impl LockEntry {
    pub(super) fn tell(self) {
        let Self { site, id, znode, kind, what, .. } = &self;
        let lock = site.path();
        let znode = znode.as_ref().map(CandidateName::text);
        let znode = znode.as_deref();
        match *what {
            OnLock::Held { token, waited } => {
                metrics::lock_acquired(kind, waited);
                info!(target: LOCK, lock, %id, znode, %token, ?waited, "held");
            }
            OnLock::Lost { reason, held } => metrics::lock_lost(kind, reason, held),
            OnLock::AwaitsLease(LeaseOutlook::NoLease { family }) => warn!(
                target: LOCK, lock, %id, %family,
                "promoted, but not held: no lease holds on servers of this family; take the grade \
                 `Advisory` with tokens or transactions for each write, or Apache ZooKeeper"
            ),
            OnLock::AwaitsLease(LeaseOutlook::RoundTripTooLong {
                round_trip,
                timeout,
                longest,
            }) => {
                warn!(
                    target: LOCK, lock, %id, ?round_trip, ?timeout, ?longest,
                    "promoted, but not held: answers take too long for a lease to be kept; a longer \
                     session timeout helps, or a smaller margin, or a nearer server"
                );
            }
            OnLock::AwaitsLease(outlook) => {
                debug!(target: LOCK, lock, %id, ?outlook, "waits for the lease");
            }
            OnLock::Noticed(notice) => self.tell_notice(notice),
        }
    }

    fn tell_notice(&self, notice: LockNotice) {
        let Self { site, id, znode, behind, kind, foreign, .. } = self;
        let lock = site.path();
        let znode = znode.as_ref().map(CandidateName::text);
        let znode = znode.as_deref();
        let behind = behind.as_ref().map(CandidateName::text);
        let behind = behind.as_deref();
        match notice {
            // This is reported once the lease is proved.
            LockNotice::Acquired(_) => {}
            LockNotice::Waiting => debug!(target: LOCK, lock, %id, znode, behind, "waits"),
            LockNotice::WaitingUnwatched => warn!(
                target: LOCK, lock, %id, znode, behind,
                "waits behind a contender that may not be read: its end shows at the next look"
            ),
            LockNotice::WaitingForPersistent => warn!(
                target: LOCK_BLOCKED, lock, %id, znode, behind,
                "blocked: the contender ahead is not ephemeral, so that no session's end removes \
                 it; delete it if no participant needs it"
            ),
            LockNotice::ForeignChild => warn!(
                target: LOCK_BLOCKED, lock, %id, znode, foreign = foreign.as_deref(),
                "a sequential znode of another format stands in the lock's node: all contenders have \
                 to use one format"
            ),
            LockNotice::Obstructed(obstacle @ Obstacle::HeldBack) => warn!(
                target: LOCK_BLOCKED, lock, %id, %obstacle, "blocked: a request is held back"
            ),
            LockNotice::Obstructed(obstacle) => warn!(
                target: LOCK_BLOCKED, lock, %id, znode, %obstacle, foreign = foreign.as_deref(),
                "blocked: a znode is in the way that no contender makes"
            ),
            LockNotice::Suspended => warn!(target: LOCK, lock, %id, znode, "suspended"),
            LockNotice::Resumed(token) => {
                info!(target: LOCK, lock, %id, znode, %token, "resumed");
            }
            LockNotice::RevokeRequested => {
                info!(target: LOCK, lock, %id, znode, "another client asks this contender to release");
            }
            LockNotice::Downgraded => {
                info!(target: LOCK, lock, %id, znode, "goes on as a reader");
            }
            LockNotice::NotDowngraded(failure) => {
                warn!(target: LOCK, lock, %id, znode, %failure, "goes on as a writer");
            }
            LockNotice::Lost(cause) => warn!(target: LOCK, lock, %id, %cause, "lost"),
            LockNotice::PlaceLost(cause) => {
                warn!(target: LOCK, lock, %id, %cause, "place in the queue lost");
            }
            LockNotice::Ended(end) => {
                if let LockEnd::NotAcquired(reason, _) = end {
                    metrics::lock_given_up(kind, reason);
                }
                debug!(target: LOCK, lock, %id, ?end, "ended");
            }
        }
    }
}

//! What threads may see of the lease, in every order of their steps: `loom` explores the cell that
//! `Leadership::is_valid` reads without a lock.

#[path = "../src/hub/lease_cell.rs"]
mod lease_cell;

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

use core::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use zk_session::Instant;

use crate::lease_cell::LeaseCell;

fn at(second: u64) -> Instant {
    Instant::since_origin(Duration::from_secs(second))
}

/// The driver notes that a leadership is lost, and later copies the deadline of a lease that the same
/// session has proved anew. A thread that sees that deadline sees the loss.
#[test]
fn no_lost_leadership_is_valid_by_a_later_lease() {
    loom::model(|| {
        let lease = Arc::new(LeaseCell::new());
        lease.copy(Some(at(10)));
        // Of a `OnceLock`, which synchronizes as these do: see `Tenure::lost`.
        let lost = Arc::new(AtomicBool::new(false));
        let driver = {
            let (lease, lost) = (Arc::clone(&lease), Arc::clone(&lost));
            thread::spawn(move || {
                lost.store(true, Ordering::Release);
                lease.copy(None);
                lease.copy(Some(at(30)));
            })
        };
        // Another nominee leads from second 10 on.
        assert!(!lease.covers(at(20), || lost.load(Ordering::Acquire)));
        driver.join().expect("the driver");
        assert!(lease.lasts_at(at(20)) && !lease.lasts_at(at(30)), "{lease:?}");
    });
}

/// Deadlines that the driver moves on: a reader sees one of them, whole, and none after the end.
#[test]
fn a_deadline_is_read_whole_and_never_after_its_end() {
    loom::model(|| {
        let lease = Arc::new(LeaseCell::new());
        let driver = {
            let lease = Arc::clone(&lease);
            thread::spawn(move || {
                lease.copy(Some(at(10)));
                lease.copy(Some(at(1 << 40)));
                lease.copy(None);
            })
        };
        let seen = [lease.deadline(), lease.deadline()];
        for deadline in seen.into_iter().flatten() {
            assert!(deadline == at(10) || deadline == at(1 << 40), "{deadline:?}");
        }
        assert!(seen[0].is_none() || seen[1].is_none_or(|later| Some(later) >= seen[0]));
        driver.join().expect("the driver");
        assert_eq!(lease.deadline(), None);
    });
}

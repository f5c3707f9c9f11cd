//! The law of the semaphore: never more holders than permits.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use election_tokio::Permit;

use super::Laws;
use crate::permits::PERMITS;

#[derive(Debug, Default)]
pub(super) struct PermitBook {
    holders: Vec<Holder>,
    /// How often each process has held one.
    held: BTreeMap<usize, u64>,
}

#[derive(Debug)]
struct Holder {
    process: usize,
    permit: Weak<Permit>,
    /// It was not valid when it was looked at last.
    is_over: bool,
}

impl Laws {
    /// Notes that a process is given a permit.
    pub(crate) fn permitted(&self, process: usize, permit: &Arc<Permit>) {
        self.tell(|| format!("process {process} has a permit: {}", permit.token()));
        let mut book = self.book();
        *book.permits.held.entry(process).or_default() += 1;
        book.tally.permits += 1;
        let permit = Arc::downgrade(permit);
        book.permits.holders.push(Holder { process, permit, is_over: false });
        drop(book);
        self.permits_are_enough();
    }

    /// Checks, at any moment, that no more are valid than there are, and none that has ceased to be.
    pub(crate) fn permits_are_enough(&self) {
        let mut book = self.book();
        let (mut valid, mut risen) = (Vec::new(), None);
        book.permits.holders.retain_mut(|holder| {
            let Some(permit) = holder.permit.upgrade() else {
                return false;
            };
            if permit.is_valid() {
                valid.push((holder.process, permit.token()));
                risen = risen.or(holder.is_over.then_some(holder.process));
            } else {
                holder.is_over = true;
            }
            true
        });
        if let Some(process) = risen {
            book.broken(format!("{process} has a permit again that was over"));
        }
        if valid.len() > PERMITS {
            book.broken(format!("more permits than there are: {valid:?} (process, token)"));
        }
        book.tally.permits_together += u64::from(valid.len() == PERMITS);
    }

    /// Returns how often each process has held one so far.
    pub(crate) fn times_permitted(&self) -> BTreeMap<usize, u64> {
        self.book().permits.held.clone()
    }
}

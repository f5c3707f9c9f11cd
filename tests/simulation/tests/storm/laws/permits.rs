//! The law of the semaphore: never more holders than permits.

use std::collections::BTreeMap;
use std::sync::Arc;

use election_tokio::semaphore::Permit;

use super::Laws;
use super::grants::{Grants, Look};
use crate::permits::PERMITS;

#[derive(Debug, Default)]
pub(super) struct PermitBook {
    pub(super) holders: Grants<(), Permit>,
    /// How often each process has held one.
    held: BTreeMap<usize, u64>,
}

impl Laws {
    /// Notes that a process is given a permit.
    pub(crate) fn permitted(&self, process: usize, permit: &Arc<Permit>) {
        self.tell(|| format!("process {process} has a permit: {}", permit.token()));
        self.is_given(process, permit.token());
        let mut book = self.book();
        *book.permits.held.entry(process).or_default() += 1;
        book.tally.permits += 1;
        book.permits.holders.push((), process, permit);
        drop(book);
        self.permits_are_enough();
    }

    /// Checks, at any moment, that no more are valid than there are, and none that has ceased to be.
    pub(crate) fn permits_are_enough(&self) {
        let mut book = self.book();
        let Look { valid, risen } = book.permits.holders.look();
        if let Some(process) = risen {
            book.broken(format!("{process} has a permit again that was over"));
        }
        if valid.len() > PERMITS && self.exclude_each_other() {
            book.broken(format!("more permits than there are: {valid:?} (process, token)"));
        }
        book.tally.permits_together += u64::from(valid.len() == PERMITS);
    }

    /// Returns how often each process has held one so far.
    pub(crate) fn times_permitted(&self) -> BTreeMap<usize, u64> {
        self.book().permits.held.clone()
    }
}

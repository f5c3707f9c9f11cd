//! The laws of locks: one holder at a time, but for readers that share one.

use std::collections::BTreeMap;
use std::sync::Arc;

use election_tokio::Token;
use election_tokio::lock::LockGuard;

use zk_verdict::Mode;

use super::Laws;
use super::grants::{Grants, Look};
use crate::locks::{Lock, Want};

/// The knowledge of all locks.
#[derive(Debug, Default)]
pub(super) struct LockBook {
    pub(super) holders: Grants<(Lock, Want), LockGuard>,
    /// The greatest token of each lock, by whether it is held alone.
    last: BTreeMap<(Lock, Want), Token>,
    /// How often each process has held each lock.
    held: BTreeMap<(usize, Lock), u64>,
}

impl Laws {
    /// Notes that a process is given a guard.
    pub(crate) fn held(&self, process: usize, (lock, want): (Lock, Want), guard: &Arc<LockGuard>) {
        let token = guard.token();
        self.tell(|| format!("process {process} holds {lock:?}, to {want:?}: {token}"));
        self.is_given(process, token);
        let mut book = self.book();
        // Greater than those of all with which it cannot be shared.
        let rivals = Want::ALL.into_iter().filter(|other| want.excludes(*other));
        let last = rivals.filter_map(|other| book.locks.last.get(&(lock, other)).copied()).max();
        if let Some(last) = last.filter(|last| token <= *last && self.exclude_each_other()) {
            book.broken(format!("{process} holds {lock:?} with token {token}, after {last}"));
        }
        let greatest = book.locks.last.entry((lock, want)).or_insert(token);
        *greatest = token.max(*greatest);
        *book.locks.held.entry((process, lock)).or_default() += 1;
        let others = book.locks.holders.look().valid;
        let together = others.iter().any(|((other, _), ..)| *other == lock);
        book.tally.held += 1;
        book.tally.held_together += u64::from(together);
        book.locks.holders.push((lock, want), process, guard);
        drop(book);
        self.locks_are_held_in_turn();
    }

    /// Checks, at any moment, that no two guards are valid that exclude each other, and none that
    /// has ceased to be.
    pub(crate) fn locks_are_held_in_turn(&self) {
        let mut book = self.book();
        let Look { valid, risen } = book.locks.holders.look();
        if let Some(process) = risen {
            book.broken(format!("{process} holds a lock again by a guard that was over"));
        }
        if !self.exclude_each_other() {
            return;
        }
        for (held, _, token) in &valid {
            book.chronicle.holds(key_and_mode(*held), *token);
        }
        let excluded = valid.iter().enumerate().any(|(at, ((lock, want), ..))| {
            let mut others = valid.iter().skip(at + 1);
            others.any(|((other, others_want), ..)| other == lock && want.excludes(*others_want))
        });
        if excluded {
            book.broken(format!("two holders: {valid:?} (lock and what for, process, token)"));
        }
    }

    /// Returns how often each process has held each lock so far.
    pub(crate) fn times_held(&self) -> BTreeMap<(usize, Lock), u64> {
        self.book().locks.held.clone()
    }
}

/// Returns the key of a lock in the history, and beside which others it is held.
fn key_and_mode((lock, want): (Lock, Want)) -> (String, Mode) {
    let mode = match want {
        Want::Write => Mode::Alone,
        Want::Read => Mode::Shared,
    };
    (format!("lock{}", lock.path()), mode)
}

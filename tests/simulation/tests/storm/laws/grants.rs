//! Leaderships, locks and permits, each held by a process for as long as it is valid.

use std::sync::{Arc, Weak};

use election_tokio::Token;
use election_tokio::election::Leadership;
use election_tokio::lock::LockGuard;
use election_tokio::semaphore::Permit;
use election_tokio::slots::SlotGuard;

pub(super) trait Grant {
    fn is_valid(&self) -> bool;
    fn token(&self) -> Token;
}

/// All grants of one kind that are not dropped.
#[derive(Debug)]
pub(super) struct Grants<Of, G>(Vec<Held<Of, G>>);

#[derive(Debug)]
struct Held<Of, G> {
    of: Of,
    process: usize,
    grant: Weak<G>,
    /// It was not valid when it was looked at last.
    is_over: bool,
}

/// A look at all of them.
#[derive(Debug)]
pub(super) struct Look<Of> {
    /// What is granted, the process and the token of each that is valid.
    pub(super) valid: Vec<(Of, usize, Token)>,
    /// The process of one that is valid again after it was over.
    pub(super) risen: Option<usize>,
}

impl<Of, G> Default for Grants<Of, G> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Of: Copy, G: Grant> Grants<Of, G> {
    pub(super) fn push(&mut self, of: Of, process: usize, grant: &Arc<G>) {
        self.0.push(Held { of, process, grant: Arc::downgrade(grant), is_over: false });
    }

    pub(super) fn look(&mut self) -> Look<Of> {
        let mut look = Look { valid: Vec::new(), risen: None };
        self.0.retain_mut(|held| {
            let Some(grant) = held.grant.upgrade() else {
                return false;
            };
            if grant.is_valid() {
                look.valid.push((held.of, held.process, grant.token()));
                look.risen = look.risen.or(held.is_over.then_some(held.process));
            } else {
                held.is_over = true;
            }
            true
        });
        look
    }

    /// Returns one that is as asked for, with its process.
    pub(super) fn find(&self, is: impl Fn(&G) -> bool) -> Option<(Of, usize)> {
        let mut found = self.0.iter().filter(|held| held.grant.upgrade().is_some_and(|g| is(&g)));
        found.next().map(|held| (held.of, held.process))
    }
}

macro_rules! grants {
    ($($kind:ty),*) => {
        $(impl Grant for $kind {
            fn is_valid(&self) -> bool {
                self.is_valid()
            }

            fn token(&self) -> Token {
                self.token()
            }
        })*
    };
}

grants!(Leadership, LockGuard, Permit);

impl Grant for SlotGuard {
    fn is_valid(&self) -> bool {
        LockGuard::is_valid(self)
    }

    fn token(&self) -> Token {
        LockGuard::token(self)
    }
}

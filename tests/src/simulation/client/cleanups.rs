//! What is left of nominations that are over, owed to the others until it is gone.

use std::collections::BTreeSet;

use zk_jute::records::DeleteRequest;
use zk_jute::Version;
use zk_session::{Completion, Failure, Instant};

use super::{Session, Tag};

/// The candidates that nobody holds any more, of the present session.
#[derive(Debug, Default)]
pub(super) struct Cleanups {
    owed: BTreeSet<String>,
}

impl Cleanups {
    /// Deletes what a nomination has left, now and on every further connection until that is
    /// answered.
    pub(super) fn owe(&mut self, session: &mut Session, now: Instant, path: String) {
        submit(session, now, &path);
        self.owed.insert(path);
    }

    /// There is a connection again.
    pub(super) fn resume(&mut self, session: &mut Session, now: Instant) {
        for path in &self.owed {
            submit(session, now, path);
        }
    }

    pub(super) fn answered(&mut self, path: &str, outcome: &Result<Completion, Failure>) {
        let is_lost = matches!(outcome, Err(Failure::ConnectionLoss | Failure::NotSent));
        if !is_lost {
            self.owed.remove(path);
        }
    }

    /// The session is over, and what it owned with it.
    pub(super) fn forget(&mut self) {
        self.owed.clear();
    }

    pub(super) fn owed(&self) -> impl Iterator<Item = &str> {
        self.owed.iter().map(String::as_str)
    }

    /// Takes over what another process owes.
    pub(super) fn take_over(&mut self, owed: Vec<String>) {
        self.owed.extend(owed);
    }
}

fn submit(session: &mut Session, now: Instant, path: &str) {
    let request = DeleteRequest { path, version: Version::ANY };
    // Without a connection, the next one does it.
    let _ = session.submit(now, Tag::Cleanup(path.to_owned()), &request);
}

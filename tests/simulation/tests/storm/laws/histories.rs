//! The run as a history, for the verdict of a checker that others wrote.

use core::time::Duration;
use std::collections::BTreeMap;

use election_tokio::Token;
use tokio::time::Instant;
use zk_verdict::{CallId, History, Mode, Op, Verdict, judge};

use super::{Laws, Tally};

/// What has been noted down so far.
#[derive(Debug)]
pub(super) struct Chronicle {
    begun: Instant,
    history: History,
    /// The grants of each lock and election, by their tokens.
    held: BTreeMap<(String, Token), Held>,
}

/// A grant, as far as it was seen to be valid.
#[derive(Debug)]
struct Held {
    mode: Mode,
    first: Duration,
    last: Duration,
}

impl Chronicle {
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now(), history: History::new(), held: BTreeMap::new() }
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Notes that a grant is valid now.
    pub(super) fn holds(&mut self, (key, mode): (String, Mode), token: Token) {
        let now = self.now();
        self.held.entry((key, token)).or_insert(Held { mode, first: now, last: now }).last = now;
    }

    /// Returns the whole history, with each grant from the first moment to the last at which it was seen to be valid.
    fn into_history(self) -> History {
        let Self { mut history, held, .. } = self;
        for ((key, token), Held { mode, first, last }) in held {
            history.held(&key, (token.get(), mode), [first, first], last);
        }
        history
    }
}

impl Laws {
    /// Notes that an operation begins. Unless it is said otherwise, its outcome is unknown.
    pub(crate) fn invoked(&self, key: &str, op: Op) -> CallId {
        let chronicle = &mut self.book().chronicle;
        let now = chronicle.now();
        chronicle.history.invoke(key, now, op)
    }

    /// Notes that an operation has taken effect.
    pub(crate) fn returned(&self, call: CallId, op: Op) {
        let chronicle = &mut self.book().chronicle;
        let now = chronicle.now();
        chronicle.history.ok(call, now, op);
    }

    /// Notes that an operation has taken no effect, and never will.
    pub(crate) fn refused(&self, call: CallId) {
        let chronicle = &mut self.book().chronicle;
        let now = chronicle.now();
        chronicle.history.fail(call, now);
    }

    /// Judges the history of the run. `STORM_HISTORY` names a file that it is written to.
    pub(crate) fn judge(&self) {
        let chronicle = core::mem::replace(&mut self.book().chronicle, Chronicle::begin());
        let history = chronicle.into_history();
        if let Some(file) = std::env::var_os("STORM_HISTORY") {
            std::fs::write(file, history.to_string()).expect("the file can be written");
        }
        let (mut judged, mut unknown) = (0, 0);
        for (key, [operations, of_unknown_outcome], verdict) in
            judge(&history).expect("known kinds")
        {
            judged += u64::try_from(operations).unwrap_or(u64::MAX);
            unknown += u64::try_from(of_unknown_outcome).unwrap_or(u64::MAX);
            if verdict != Verdict::Linearizable {
                self.broken(format!("the history of {key} is {verdict}"));
            }
        }
        self.count(|tally| {
            *tally =
                Tally { judged: tally.judged + judged, unknown: tally.unknown + unknown, ..*tally };
        });
    }
}

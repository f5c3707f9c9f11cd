//! The second verdict: that of a checker which others wrote.

use alloc::collections::BTreeMap;
use core::fmt;

use zk_verdict::{History, Unfit, Verdict, judge};

use super::guard::Guard;
use super::service::key;

/// The key of the leaderships in the history.
pub(super) const LEADERSHIPS: &str = "lock/election";

/// The history of a run, and the verdict on each of its objects.
#[derive(Debug)]
pub(super) struct SecondVerdict {
    pub(super) history: History,
    verdicts: Result<BTreeMap<String, ([usize; 2], Verdict)>, Unfit>,
}

impl SecondVerdict {
    pub(super) fn on(history: History) -> Self {
        let verdicts = judge(&history).map(|verdicts| {
            let objects = verdicts.into_iter();
            objects.map(|(key, count, verdict)| (key, (count, verdict))).collect()
        });
        Self { history, verdicts }
    }

    /// Whether the leaderships, and the writes under the guards that hold whatever happens, are linearizable.
    pub(super) fn is_kept(&self) -> bool {
        let absolute = Guard::ALL.into_iter().filter(|guard| guard.is_absolute()).map(key);
        let mut objects = absolute.chain([LEADERSHIPS.to_owned()]);
        objects.all(|key| self.of(&key) == Some(&Verdict::Linearizable))
    }

    /// Returns the verdict on the writes under a guard.
    pub(super) fn on_writes_under(&self, guard: Guard) -> Option<&Verdict> {
        self.of(&key(guard))
    }

    fn of(&self, key: &str) -> Option<&Verdict> {
        self.verdicts.as_ref().ok()?.get(key).map(|(_, verdict)| verdict)
    }
}

impl fmt::Display for SecondVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the second verdict:")?;
        match &self.verdicts {
            Ok(verdicts) => {
                verdicts.iter().try_for_each(|(key, ([operations, unknown], verdict))| {
                    write!(f, "\n  {key}: {operations} operations, {unknown} unknown: {verdict}")
                })
            }
            Err(unfit) => write!(f, "\n  {unfit}"),
        }
    }
}

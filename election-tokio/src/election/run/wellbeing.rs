//! Whether the nominee of a run is well, by its last checks.

use core::future::pending;

use tokio::sync::watch;

use super::checks::{Checked, Condition, ConditionChange};

/// The wellbeing of the nominee of a run.
pub(super) enum Wellbeing {
    /// It is not checked, and counts as well.
    Unchecked,
    Checked(watch::Receiver<Seen>),
}

/// The outcome of the checks so far.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    /// No check has ended yet.
    Nothing,
    Well,
    /// The reason is that of the check that decided.
    Unwell(String),
}

impl Seen {
    /// Returns the outcome with this check; `None` if it changes nothing.
    pub(super) fn of(checked: Checked) -> Option<Self> {
        let reason = checked.failure.map(|failure| failure.to_string());
        match (checked.change, checked.condition) {
            (ConditionChange::Unchanged, _) | (_, Condition::Unchecked) => None,
            (ConditionChange::Changed, Condition::Well) => Some(Self::Well),
            (ConditionChange::Changed, Condition::Unwell) => {
                Some(Self::Unwell(reason.unwrap_or_default()))
            }
        }
    }
}

impl Wellbeing {
    /// Waits until the nominee is well.
    ///
    /// Cancel safe.
    pub(super) async fn well(&self) {
        match self {
            Self::Unchecked => {}
            Self::Checked(seen) => {
                let is_well = |seen: &Seen| matches!(seen, Seen::Well);
                if seen.clone().wait_for(is_well).await.is_err() {
                    // No check is made any more.
                    pending::<()>().await;
                }
            }
        }
    }

    /// Waits until the nominee is unwell, and returns why.
    ///
    /// Cancel safe.
    pub(super) async fn unwell(&self) -> String {
        match self {
            Self::Unchecked => pending().await,
            Self::Checked(seen) => {
                let mut seen = seen.clone();
                let unwell = seen.wait_for(|seen| matches!(seen, Seen::Unwell(_))).await;
                match unwell.map(|seen| (*seen).clone()) {
                    Ok(Seen::Unwell(reason)) => reason,
                    // No check is made any more.
                    _ => pending().await,
                }
            }
        }
    }
}

//! A run as a history, for the verdict of a checker that others wrote: leaderships and locks as far as they were
//! seen to be valid, and each folder of entries as a log.

use alloc::collections::BTreeMap;
use core::time::Duration;

use zk_test_kit::history::{Tenure, now};
use zk_verdict::{Call, End, Finding, History, Mode, Op, Verdict, judge};

use super::Record;
use super::archive::Archive;
use super::laws::holds::{Hold, Want};
use super::laws::writes::{Attempt, Entry, Outcome};
use super::workload::ELECTION;

/// No order of the operations explains the history of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history of {object} is not linearizable: {finding:?}")]
pub struct NotLinearizable {
    /// The object.
    pub object: String,
    /// The operation that no order explains; none if the checker came to no end.
    pub finding: Option<Finding>,
}

/// Returns what the clients did to what stays, and what they held.
pub(super) fn history(record: &Record, tenures: &[Tenure], archive: &Archive) -> History {
    let mut history = History::new();
    for Tenure { token, asked_at, valid_by, valid_until, .. } in tenures {
        let key = format!("lock{ELECTION}");
        history.held(&key, (token.get(), Mode::Alone), [*asked_at, *valid_by], *valid_until);
    }
    for Hold { lock, want, token, asked_at, valid_by, valid_until, .. } in &record.holds {
        let mode = match want {
            Want::Write => Mode::Alone,
            Want::Read => Mode::Shared,
        };
        let key = format!("lock{lock}");
        history.held(&key, (token.get(), mode), [*asked_at, *valid_by], *valid_until);
    }
    add_logs(&mut history, &record.attempts, archive, now());
    history
}

/// Adds the logs, which were read at this moment.
fn add_logs(
    history: &mut History,
    attempts: &[Attempt<String>],
    archive: &Archive,
    read_at: Duration,
) {
    let seals = archive.seals.iter().chain(archive.seals_of_locks.iter().flatten());
    let tokens: BTreeMap<Entry, i64> = seals.map(|seal| (seal.entry, seal.token.get())).collect();
    let mut logs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut keys: BTreeMap<Entry, String> = BTreeMap::new();
    for (entry, place) in &archive.found {
        let key = log_of(place);
        logs.entry(key.clone()).or_default().push(entry.to_string());
        keys.insert(*entry, key);
    }
    for Attempt { entry, asked_at, answered_at, outcome } in attempts {
        let key = match outcome {
            Outcome::Done(place) => Some(log_of(place)),
            // It is known only by its entry. An entry that is not there was never written.
            Outcome::Unknown | Outcome::NotDone => keys.get(entry).cloned(),
        };
        let token = tokens.get(entry).copied().unwrap_or_default();
        let op = Op::Append { entry: entry.to_string(), token };
        let end = match outcome {
            Outcome::Done(_) => End::Ok(*answered_at, op.clone()),
            Outcome::Unknown => End::Unknown,
            Outcome::NotDone => End::Failed(*answered_at),
        };
        history.extend(key.map(|key| Call { key, invoked: *asked_at, op, end }));
    }
    for (key, entries) in logs {
        let op = Op::Log { entries };
        let end = End::Ok(read_at, op.clone());
        history.add(Call { key, invoked: read_at, op, end });
    }
}

/// Returns the key of the log that has this place: its folder.
fn log_of(place: &str) -> String {
    let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("log{folder}")
}

/// Judges a history, and counts its operations.
///
/// # Errors
///
/// [`NotLinearizable`].
pub(super) fn check(history: &History) -> Result<usize, NotLinearizable> {
    let verdicts = judge(history)
        .map_err(|unfit| NotLinearizable { object: unfit.to_string(), finding: None })?;
    let mut judged = 0;
    for (object, [operations, _], verdict) in verdicts {
        let finding = match verdict {
            Verdict::Linearizable => {
                judged += operations;
                continue;
            }
            Verdict::Not(finding) => Some(finding),
            Verdict::Undecided => None,
        };
        return Err(NotLinearizable { object, finding });
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::super::laws::seals::Seal;
    use super::*;
    use election_tokio::Token;

    const FIRST: Entry = Entry { writer: 1, number: 1 };
    const SECOND: Entry = Entry { writer: 2, number: 1 };
    const LOST: Entry = Entry { writer: 1, number: 2 };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn attempt(
        entry: Entry,
        [asked_at, answered_at]: [u64; 2],
        at: Option<u32>,
    ) -> Attempt<String> {
        let outcome = at.map_or(Outcome::Unknown, |at| Outcome::Done(format!("/seals/seal-{at}")));
        Attempt { entry, asked_at: ms(asked_at), answered_at: ms(answered_at), outcome }
    }

    fn verdict(attempts: &[Attempt<String>], found: &[(Entry, i64)]) -> Result<usize, String> {
        let mut archive = Archive::default();
        for (at, (entry, token)) in found.iter().enumerate() {
            archive.found.push((*entry, format!("/seals/seal-{at}")));
            archive.seals.push(Seal { token: Token::new(*token), entry: *entry });
        }
        let mut history = History::new();
        add_logs(&mut history, attempts, &archive, ms(1000));
        check(&history).map_err(|error| error.object)
    }

    #[test]
    fn entries_stand_in_an_order_in_which_they_may_have_been_written() {
        let attempts = [
            attempt(FIRST, [0, 5], Some(0)),
            attempt(LOST, [6, 9], None),
            attempt(SECOND, [20, 25], Some(1)),
        ];
        assert_eq!(verdict(&attempts, &[(FIRST, 3), (SECOND, 7)]), Ok(3), "it was never written");
        assert_eq!(verdict(&attempts, &[(FIRST, 3), (LOST, 3), (SECOND, 7)]), Ok(4));
        let of_seals = Err("log/seals".to_owned());
        assert_eq!(verdict(&attempts, &[(SECOND, 7), (FIRST, 7)]), of_seals, "out of order");
        assert_eq!(verdict(&attempts, &[(FIRST, 7), (SECOND, 3)]), of_seals, "tokens fall");
        assert_eq!(verdict(&attempts, &[(FIRST, 3)]), of_seals, "one is lost");
    }
}

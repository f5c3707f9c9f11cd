//! Histories as text: an object of JSON a line, with the keys of Jepsen's histories.
//!
//! `{"index":0,"time":1500,"process":0,"type":"invoke","key":"counter/a","f":"add","value":{"by":3,"value":null}}`
//!
//! `time` counts nanoseconds. A process has one operation at a time, and none after one whose outcome is not known
//! (`info`). Two keys are not Jepsen's: `key` names the object, and `value` is an object.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::history::{Call, End, History};
use super::operation::Op;

/// Half of an operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    index: usize,
    time: u64,
    process: usize,
    r#type: Type,
    key: String,
    #[serde(flatten)]
    op: Op,
}

/// In the order of lines of one moment: an operation that ends as another one begins is beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Type {
    Invoke,
    Ok,
    Fail,
    Info,
}

/// A line that is not part of a history.
#[derive(Debug, thiserror::Error)]
pub enum NotALine {
    /// It is no line of this form.
    #[error("line {number} of the history is none")]
    Form {
        /// The number of the line, from 1 on.
        number: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Its process does nothing that could end, or does something already.
    #[error("line {0} of the history: its process has another operation, or none")]
    Order(usize),
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in lines(self.calls()) {
            let text = serde_json::to_string(&line).map_err(|_| fmt::Error)?;
            writeln!(f, "{text}")?;
        }
        Ok(())
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn lines(calls: &[Call]) -> Vec<Line> {
    let mut events: Vec<(u64, Type, usize, &Op)> = Vec::new();
    let mut last = 0;
    for (call, Call { invoked, op, end, .. }) in calls.iter().enumerate() {
        events.push((nanoseconds(*invoked), Type::Invoke, call, op));
        match end {
            End::Ok(at, op) => events.push((nanoseconds(*at), Type::Ok, call, op)),
            End::Failed(at) => events.push((nanoseconds(*at), Type::Fail, call, op)),
            End::Unknown => {}
        }
    }
    last = events.iter().map(|(time, ..)| *time).fold(last, u64::max);
    for (call, Call { op, .. }) in
        calls.iter().enumerate().filter(|(_, call)| call.end == End::Unknown)
    {
        events.push((last, Type::Info, call, op));
    }
    events.sort_by_key(|(time, kind, call, _)| (*time, *kind, *call));
    let (mut free, mut most) = (BTreeSet::new(), 0);
    let mut doing: BTreeMap<usize, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for (index, (time, kind, call, op)) in events.into_iter().enumerate() {
        let process = match kind {
            Type::Invoke => {
                let process = free.pop_first().unwrap_or_else(|| {
                    most += 1;
                    most - 1
                });
                doing.insert(call, process);
                process
            }
            Type::Ok | Type::Fail | Type::Info => doing.remove(&call).unwrap_or_default(),
        };
        if matches!(kind, Type::Ok | Type::Fail) {
            free.insert(process);
        }
        let key = calls.get(call).map_or_else(String::new, |call| call.key.clone());
        lines.push(Line { index, time, process, r#type: kind, key, op: op.clone() });
    }
    lines
}

impl FromStr for History {
    type Err = NotALine;

    fn from_str(text: &str) -> Result<Self, NotALine> {
        let mut history = Self::new();
        let mut doing = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let number = at + 1;
            let line: Line =
                serde_json::from_str(line).map_err(|source| NotALine::Form { number, source })?;
            let time = Duration::from_nanos(line.time);
            if line.r#type == Type::Invoke {
                let call = history.invoke(&line.key, time, line.op);
                if doing.insert(line.process, call).is_some() {
                    return Err(NotALine::Order(number));
                }
                continue;
            }
            // A process whose operation has an unknown outcome keeps it.
            let call = match line.r#type {
                Type::Info => doing.get(&line.process).copied(),
                _ => doing.remove(&line.process),
            };
            let call = call.ok_or(NotALine::Order(number))?;
            match line.r#type {
                Type::Ok => history.ok(call, time, line.op),
                Type::Fail => history.fail(call, time),
                Type::Invoke | Type::Info => {}
            }
        }
        Ok(history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_history_is_read_back_as_it_was_written() {
        let mut history = History::new();
        let add = |value| Op::Add { by: 3, value };
        let first = history.invoke("counter/a", ms(1), add(None));
        let unheard = history.invoke("counter/a", ms(2), add(None));
        let last = history.invoke("counter/a", ms(4), add(None));
        history.ok(first, ms(3), add(Some(3)));
        history.fail(last, ms(5));
        let text = history.to_string();
        assert_eq!(text.parse::<History>().expect("its own text"), history);
        assert_eq!(history.calls()[1].end, End::Unknown, "{unheard:?}");
        let processes: Vec<usize> =
            lines(history.calls()).iter().map(|line| line.process).collect();
        assert_eq!(processes, [0, 1, 0, 0, 0, 1], "one operation at a time:\n{text}");
    }

    #[test]
    fn an_end_without_a_beginning_is_none() {
        let text = r#"{"index":0,"time":1,"process":0,"type":"ok","key":"lock/a","f":"release","value":{"token":1}}"#;
        assert!(matches!(text.parse::<History>(), Err(NotALine::Order(1))));
        assert!(matches!("{}".parse::<History>(), Err(NotALine::Form { number: 1, .. })));
    }
}

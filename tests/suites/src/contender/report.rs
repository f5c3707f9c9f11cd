//! The report of a contender process, line by line.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// One line: a word, the [monotonic clock](zk_test_kit::history::now) in nanoseconds, and for some a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It has a session, and takes orders.
    Ready(Duration),
    /// It was told that it holds what it asked for. The clock was read after that.
    Holds(Duration),
    /// It is about to let go. The clock was read before that.
    Releases(Duration),
    /// It was asked to let go of what it holds.
    Asked(Duration),
    /// It is about to go on as a reader. The clock was read before that.
    Downgrades(Duration),
    /// It cannot be sure any more that it holds anything.
    Loses(Duration, String),
    /// It cannot go on, and ends.
    Fails(Duration, String),
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, at, reason) = match self {
            Self::Ready(at) => ("ready", at, ""),
            Self::Holds(at) => ("holds", at, ""),
            Self::Releases(at) => ("releases", at, ""),
            Self::Asked(at) => ("asked", at, ""),
            Self::Downgrades(at) => ("downgrades", at, ""),
            Self::Loses(at, reason) => ("loses", at, reason.as_str()),
            Self::Fails(at, reason) => ("fails", at, reason.as_str()),
        };
        write!(formatter, "{word} {}", at.as_nanos())?;
        if reason.is_empty() { Ok(()) } else { write!(formatter, " {reason}") }
    }
}

/// A line that is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a report of a contender: {0:?}")]
pub struct NotAReport(String);

impl FromStr for Report {
    type Err = NotAReport;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        read(line).ok_or_else(|| NotAReport(line.to_owned()))
    }
}

fn read(line: &str) -> Option<Report> {
    let (word, rest) = line.split_once(' ')?;
    let (at, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let at = Duration::from_nanos(at.parse().ok()?);
    Some(match word {
        "ready" => Report::Ready(at),
        "holds" => Report::Holds(at),
        "releases" => Report::Releases(at),
        "asked" => Report::Asked(at),
        "downgrades" => Report::Downgrades(at),
        "loses" => Report::Loses(at, reason.to_owned()),
        "fails" => Report::Fails(at, reason.to_owned()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_report_is_read_back() {
        let at = Duration::new(77, 5);
        let reports = [
            Report::Ready(at),
            Report::Holds(at),
            Report::Releases(at),
            Report::Asked(at),
            Report::Downgrades(at),
            Report::Loses(at, "the session expired".into()),
            Report::Fails(at, "no server".into()),
        ];
        for report in reports {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
        "holds".parse::<Report>().expect_err("half a line");
        "has 5".parse::<Report>().expect_err("no word of ours");
    }
}

//! The reports of a writer's process, line by line.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use election_tokio::Token;
use zk_test_kit::history::Claim;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Elected(Token),
    /// It asked whether its leadership is valid, and it is.
    Valid(Claim),
    /// Its leadership is over; why, in words.
    Lost(Token, String),
    /// The znode's version, and which version its writer had read, by which token.
    Seen {
        token: Token,
        base: i32,
        version: i32,
    },
    /// A guarded write failed, or its outcome is not known.
    NotWritten(Token),
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elected(token) => write!(formatter, "elected {token}"),
            Self::Valid(Claim { nominee, token, asked_at, answered_at }) => {
                let (asked_at, answered_at) = (asked_at.as_nanos(), answered_at.as_nanos());
                write!(formatter, "valid {token} {asked_at} {answered_at} {nominee}")
            }
            Self::Lost(token, reason) => write!(formatter, "lost {token} {reason}"),
            Self::Seen { token, base, version } => {
                write!(formatter, "seen {token} {base} {version}")
            }
            Self::NotWritten(token) => write!(formatter, "not-written {token}"),
        }
    }
}

/// A line that is no report: half a line of a process that was killed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a report of a writer: {0:?}")]
pub(super) struct NotAReport(String);

impl FromStr for Report {
    type Err = NotAReport;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        read(line).ok_or_else(|| NotAReport(line.to_owned()))
    }
}

fn read(line: &str) -> Option<Report> {
    let (word, rest) = line.split_once(' ')?;
    let mut words = rest.splitn(4, ' ');
    let token = Token::new(words.next()?.parse().ok()?);
    Some(match word {
        "elected" => Report::Elected(token),
        "valid" => Report::Valid(Claim {
            token,
            asked_at: Duration::from_nanos(words.next()?.parse().ok()?),
            answered_at: Duration::from_nanos(words.next()?.parse().ok()?),
            nominee: words.next()?.to_owned(),
        }),
        "lost" => Report::Lost(token, rest.split_once(' ')?.1.to_owned()),
        "seen" => Report::Seen {
            token,
            base: words.next()?.parse().ok()?,
            version: words.next()?.parse().ok()?,
        },
        "not-written" => Report::NotWritten(token),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_report_of_a_writer_is_read_back() {
        let token = Token::new(77);
        let reports = [
            Report::Elected(token),
            Report::Valid(Claim {
                nominee: "one and only".into(),
                token,
                asked_at: Duration::new(5, 6),
                answered_at: Duration::new(5, 7),
            }),
            Report::Lost(token, "the session expired".into()),
            Report::Seen { token, base: -1, version: 0 },
            Report::NotWritten(token),
        ];
        for report in reports {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
        "seen 1 2".parse::<Report>().expect_err("half a line");
    }
}

//! The report of a nominee process, line by line.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use election_tokio::Token;
use zk_test_kit::history::Claim;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It waits behind a predecessor.
    Following {
        /// Its own candidate znode.
        candidate: String,
        /// The candidate before it.
        predecessor: String,
    },
    /// It was told that it leads.
    Elected {
        /// Its token.
        token: Token,
        /// Its candidate znode.
        candidate: String,
    },
    /// It leads without a connection.
    Suspended(Token),
    /// It asked whether its leadership is valid, and it is.
    Valid(Claim),
    /// It asked, and its leadership is not valid.
    NotValid(Token),
    /// Its leadership is over.
    Lost {
        /// Its token.
        token: Token,
        /// Why, in words.
        reason: String,
    },
    /// A write under the guard of this leadership was applied.
    Written(Token),
    /// A write under the guard of this leadership failed.
    NotWritten {
        /// Its token.
        token: Token,
        /// Why, in words.
        reason: String,
    },
    /// It gave its session and its nomination up, for another process.
    HandedOver {
        /// The exposed ticket.
        ticket: String,
        /// The nominee's id.
        id: String,
    },
    /// Its nomination is over; why, in words.
    Ended(String),
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Following { candidate, predecessor } => {
                write!(formatter, "following {candidate} {predecessor}")
            }
            Self::Elected { token, candidate } => write!(formatter, "elected {token} {candidate}"),
            Self::Suspended(token) => write!(formatter, "suspended {token}"),
            Self::Valid(claim) => {
                let (asked_at, answered_at) =
                    (claim.asked_at.as_nanos(), claim.answered_at.as_nanos());
                let (token, nominee) = (claim.token, &claim.nominee);
                write!(formatter, "valid {token} {asked_at} {answered_at} {nominee}")
            }
            Self::NotValid(token) => write!(formatter, "not-valid {token}"),
            Self::Lost { token, reason } => write!(formatter, "lost {token} {reason}"),
            Self::Written(token) => write!(formatter, "written {token}"),
            Self::NotWritten { token, reason } => {
                write!(formatter, "not-written {token} {reason}")
            }
            Self::HandedOver { ticket, id } => write!(formatter, "handed-over {ticket} {id}"),
            Self::Ended(reason) => write!(formatter, "ended {reason}"),
        }
    }
}

/// A line that is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a report of a nominee: {0:?}")]
pub struct NotAReport(String);

impl FromStr for Report {
    type Err = NotAReport;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        read(line).ok_or_else(|| NotAReport(line.to_owned()))
    }
}

fn read(line: &str) -> Option<Report> {
    let (word, rest) = line.split_once(' ')?;
    match word {
        "following" => {
            let (candidate, predecessor) = rest.split_once(' ')?;
            Some(Report::Following {
                candidate: candidate.to_owned(),
                predecessor: predecessor.to_owned(),
            })
        }
        "elected" => {
            let (number, candidate) = rest.split_once(' ')?;
            Some(Report::Elected { token: token(number)?, candidate: candidate.to_owned() })
        }
        "suspended" => token(rest).map(Report::Suspended),
        "valid" => {
            let mut words = rest.splitn(4, ' ');
            Some(Report::Valid(Claim {
                token: token(words.next()?)?,
                asked_at: nanoseconds(words.next()?)?,
                answered_at: nanoseconds(words.next()?)?,
                nominee: words.next()?.to_owned(),
            }))
        }
        "not-valid" => token(rest).map(Report::NotValid),
        "lost" => {
            let (number, reason) = rest.split_once(' ')?;
            Some(Report::Lost { token: token(number)?, reason: reason.to_owned() })
        }
        "written" => token(rest).map(Report::Written),
        "not-written" => {
            let (number, reason) = rest.split_once(' ')?;
            Some(Report::NotWritten { token: token(number)?, reason: reason.to_owned() })
        }
        "handed-over" => {
            let (ticket, id) = rest.split_once(' ')?;
            Some(Report::HandedOver { ticket: ticket.to_owned(), id: id.to_owned() })
        }
        "ended" => Some(Report::Ended(rest.to_owned())),
        _ => None,
    }
}

fn token(word: &str) -> Option<Token> {
    word.parse().ok().map(Token::new)
}

fn nanoseconds(word: &str) -> Option<Duration> {
    word.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_report_is_read_back() {
        let token = Token::new(77);
        let reports = [
            Report::Following { candidate: "b".into(), predecessor: "a".into() },
            Report::Elected { token, candidate: "a".into() },
            Report::Suspended(token),
            Report::Valid(Claim {
                nominee: "one and only".into(),
                token,
                asked_at: Duration::new(5, 6),
                answered_at: Duration::new(5, 7),
            }),
            Report::NotValid(token),
            Report::Lost { token, reason: "the session expired".into() },
            Report::Written(token),
            Report::NotWritten { token, reason: "it does not lead".into() },
            Report::HandedOver { ticket: "t".into(), id: "i".into() },
            Report::Ended("resigned".into()),
        ];
        for report in reports {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
        "valid 1 2".parse::<Report>().expect_err("half a line");
    }
}

//! The facts about transactions that a line of a server's log states.
//!
//! The texts are those of Apache ZooKeeper 3.4 to 3.9; a comment beside each names the class that logs
//! it. A line that is not recognised counts as absent.

use core::time::Duration;

use zk_test_kit::zookeeper::Member;

/// A line that tells something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which member wrote it.
    pub member: Member,
    /// Its number in the member's log; the first is 1.
    pub number: usize,
    /// The time since 1970. A line of a stack trace has the time of the line above it.
    pub at: Duration,
    /// The text of the line.
    pub text: String,
    /// Its meaning.
    pub sign: Sign,
}

/// The meaning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The process started (`QuorumPeerMain`).
    Started,
    /// The member asks for votes, with the last transaction that it has (`FastLeaderElection`).
    Stands(i64),
    /// It was elected (`QuorumPeer`).
    Leads,
    /// It follows, and is sent the transactions that it lacks up to this one (`Learner`).
    Diff(i64),
    /// It follows, and is sent the whole tree as of this transaction (`Learner`).
    Snapshot(i64),
    /// It follows, and gives up what it has beyond this transaction (`Learner`).
    Truncated(i64),
    /// It confirms that it has what it was sent (`Learner`).
    Confirmed,
    /// It stopped following because of the `NullPointerException` of ZOOKEEPER-4394
    /// (`Learner.syncWithLeader`): what it was sent is queued, and dropped.
    Dropped,
    /// The thread that writes its log on disk died (`ZooKeeperCriticalThread`): what is queued for it is
    /// never written.
    WriterDied,
    /// It was sent this transaction where another one was due (`Learner`, `Follower`).
    Skipped {
        /// The transaction that came.
        got: i64,
        /// The transaction after the last.
        due: i64,
    },
    /// A transaction is written to the log on disk behind a later one (`FileTxnLog`).
    WrittenLate,
    /// The log on disk holds a transaction behind a later one, which is this one (`FileTxnSnapLog`).
    ReadLate(i64),
    /// After this transaction its tree is not that of the leader that proposed it (`DataTree`).
    Mismatch(i64),
}

/// Returns the lines of a member's log that have a meaning, in order.
pub(super) fn lines(member: Member, log: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = Duration::ZERO;
    let mut texts = log.lines().enumerate().peekable();
    while let Some((index, text)) = texts.next() {
        let head = text.split_once(' ').and_then(|(time, rest)| Some((time_of(time)?, rest)));
        let below = texts.peek().map(|(_, below)| *below);
        let sign = match head {
            Some((time, rest)) => {
                at = time;
                rest.split_once(" - ").and_then(|(_, message)| sign_of(message))
            }
            None => sign_of_trace(text, below.unwrap_or_default()),
        };
        if let Some(sign) = sign {
            lines.push(Line { member, number: index + 1, at, text: text.to_owned(), sign });
        }
    }
    lines
}

fn sign_of(message: &str) -> Option<Sign> {
    let after = |words: &str| message.strip_prefix(words);
    if let Some(zxid) = after("Getting a diff from the leader 0x") {
        return hex(zxid).map(Sign::Diff);
    }
    if let Some(zxid) = after("Getting a snapshot from leader 0x") {
        return hex(zxid).map(Sign::Snapshot);
    }
    if let Some(zxid) = after("Truncating log to get in sync with the leader 0x") {
        return hex(zxid).map(Sign::Truncated);
    }
    if let Some((_, zxid)) =
        after("New election. My id =").and_then(|rest| rest.split_once("proposed zxid=0x"))
    {
        return hex(zxid).map(Sign::Stands);
    }
    if let Some((got, due)) = after("Got zxid 0x").and_then(|rest| rest.split_once(" expected 0x"))
    {
        return Some(Sign::Skipped { got: hex(got)?, due: hex(due)? });
    }
    if let Some(transaction) = after("First digest mismatch on txn: ") {
        // The client, its number for it, the zxid.
        return transaction.split(',').nth(2)?.parse().ok().map(Sign::Mismatch);
    }
    if message.contains("Digests are not matching. Value is Zxid.") {
        return message.rsplit_once("alue:")?.1.trim().parse().ok().map(Sign::Mismatch);
    }
    if let Some((zxid, _)) = message.split_once("(highestZxid) > ") {
        return zxid.parse().ok().map(Sign::ReadLate);
    }
    match message {
        "LEADING" => Some(Sign::Leads),
        "Learner received NEWLEADER message" => Some(Sign::Confirmed),
        _ if message.starts_with("Starting quorum peer, myid=") => Some(Sign::Started),
        _ if message.starts_with("Severe unrecoverable error, from thread : SyncThread:") => {
            Some(Sign::WriterDied)
        }
        _ if message.starts_with("Current zxid ") && message.contains(" is <= ") => {
            Some(Sign::WrittenLate)
        }
        _ => None,
    }
}

/// Reads a stack trace. Other threads may write between a message and its trace, but not into the
/// trace.
fn sign_of_trace(text: &str, below: &str) -> Option<Sign> {
    let dropped = text.starts_with("java.lang.NullPointerException")
        && below.contains("org.apache.zookeeper.server.quorum.Learner.syncWithLeader(");
    dropped.then_some(Sign::Dropped)
}

fn hex(digits: &str) -> Option<i64> {
    i64::from_str_radix(digits.trim(), 16).ok()
}

/// Reads the time of `2026-01-31T23:59:59.999`, in UTC.
fn time_of(text: &str) -> Option<Duration> {
    let (date, time) = text.split_once('T')?;
    let (time, millis) = time.split_once('.')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hours, minutes, seconds] = numbers(time, ':')?;
    let millis: u64 = millis.parse().ok()?;
    let days = days(year, month, day)?;
    let seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
    Some(Duration::from_secs(seconds) + Duration::from_millis(millis))
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> =
        text.split(between).map(|part| part.parse().ok().filter(|part| *part < 10_000)).collect();
    numbers?.try_into().ok()
}

/// Returns the days from 1970-01-01 to a date.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let before = BEFORE.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    // In March and later, this year's own leap day has been.
    let leaps = leaps(if month > 2 { year } else { year.checked_sub(1)? });
    let until_1970 = 1969 / 4 - 1969 / 100 + 1969 / 400;
    let whole_years = year.checked_sub(1970)? * 365;
    Some(whole_years + leaps.checked_sub(until_1970)? + before + day.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let seconds = |text| time_of(text).map(|time| time.as_secs());
        assert_eq!(seconds("1970-01-01T00:00:00.000"), Some(0));
        assert_eq!(seconds("2000-02-29T12:00:00.000"), Some(951_825_600));
        assert_eq!(seconds("2000-03-01T00:00:00.000"), Some(951_868_800));
        assert_eq!(seconds("2026-11-22T06:53:23.744"), Some(1_795_330_403));
        assert_eq!(time_of("2026-11-22T06:53:23.744").map(|time| time.subsec_millis()), Some(744));
        for text in ["06:53:23.744", "java.io.EOFException", "1969-12-31T00:00:00.000", "a-b-cTd.e"]
        {
            assert_eq!(time_of(text), None, "{text}");
        }
    }

    #[test]
    fn what_tells_nothing_is_left_out() {
        let log = "2026-11-22T06:53:23.725 [SyncThread:1] INFO \
                   org.apache.zookeeper.server.persistence.FileTxnLog - Creating new log file: \
                   log.100000161\n\
                   java.lang.NullPointerException: Cannot invoke \"java.net.Socket.isClosed()\" \
                   because \"this.learner.sock\" is null\n\
                   \tat org.apache.zookeeper.server.quorum.SendAckRequestProcessor.processRequest\
                   (SendAckRequestProcessor.java:50)\n\
                   2026-11-22T06:53:23.726 [main] ERROR x - First digest mismatch on txn: 1,2\n\n";
        assert_eq!(lines(Member::First, log), []);
    }
}

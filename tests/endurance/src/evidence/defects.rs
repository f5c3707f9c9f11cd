//! The known defects by which an ensemble of Apache ZooKeeper loses transactions, and the releases that
//! have them.

use core::fmt;

use zk_test_kit::zookeeper::ServerVersion;

/// A defect of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A follower that was sent a snapshot, lost its leader before it wrote it to disk, and then was
    /// sent the rest, starts again without what the snapshot held.
    SnapshotNotWritten,
    /// A follower confirms what it was sent before it is on disk: all of it until it serves.
    ConfirmedBeforeServing,
    /// The same, since ZOOKEEPER-3911 until another thread has written it.
    ConfirmedBeforeWritten,
    /// A follower that is sent a commit between its confirmation and its leader's leave to serve stops
    /// following, and drops what it has confirmed.
    DroppedOnCommit,
    /// The thread that writes the log of a follower goes on when that stops following: it writes beside
    /// its successor, out of order, or dies and leaves a hole on disk.
    WriterGoesOn,
    /// A follower lacks the transactions that are applied while it is brought up to date, also in
    /// its messages to others when it leads.
    HoleIsPassedOn,
}

/// The numbers of a release.
type Numbers = (u8, u8, u8);

impl Defect {
    /// Whether a release has it.
    pub fn affects(self, release: ServerVersion) -> bool {
        let of = |(major, minor, patch)| ServerVersion::new(major, minor, patch);
        let mut ranges = self.ranges().iter();
        ranges.any(|(first, fixed)| of(*first) <= release && release < of(*fixed))
    }

    /// Returns the first release that has it, and the first after it that has not; line by line.
    const fn ranges(self) -> &'static [(Numbers, Numbers)] {
        const OLDEST: Numbers = (0, 0, 0);
        match self {
            Self::SnapshotNotWritten | Self::ConfirmedBeforeServing => {
                &[(OLDEST, (3, 5, 10)), ((3, 6, 0), (3, 6, 3))]
            }
            Self::ConfirmedBeforeWritten => {
                &[((3, 5, 10), (3, 6, 0)), ((3, 6, 3), (3, 8, 5)), ((3, 9, 0), (3, 9, 2))]
            }
            Self::DroppedOnCommit => &[((3, 5, 10), (3, 6, 0)), ((3, 6, 3), (3, 9, 3))],
            Self::WriterGoesOn => &[(OLDEST, (3, 9, 3))],
            Self::HoleIsPassedOn => &[((3, 9, 3), (3, 9, 4))],
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::SnapshotNotWritten => "ZOOKEEPER-3642",
            Self::ConfirmedBeforeServing => "ZOOKEEPER-3911",
            Self::ConfirmedBeforeWritten => "ZOOKEEPER-4785 (4643, 4646)",
            Self::DroppedOnCommit => "ZOOKEEPER-4394 (3023)",
            Self::WriterGoesOn => "ZOOKEEPER-4712",
            Self::HoleIsPassedOn => "ZOOKEEPER-4925",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affected(defect: Defect) -> Vec<&'static str> {
        const RELEASES: [(&str, ServerVersion); 16] = [
            ("3.4.14", ServerVersion::new(3, 4, 14)),
            ("3.5.9", ServerVersion::new(3, 5, 9)),
            ("3.5.10", ServerVersion::new(3, 5, 10)),
            ("3.6.2", ServerVersion::new(3, 6, 2)),
            ("3.6.3", ServerVersion::new(3, 6, 3)),
            ("3.7.0", ServerVersion::new(3, 7, 0)),
            ("3.7.2", ServerVersion::new(3, 7, 2)),
            ("3.8.0", ServerVersion::new(3, 8, 0)),
            ("3.8.4", ServerVersion::new(3, 8, 4)),
            ("3.8.5", ServerVersion::new(3, 8, 5)),
            ("3.9.1", ServerVersion::new(3, 9, 1)),
            ("3.9.2", ServerVersion::new(3, 9, 2)),
            ("3.9.3", ServerVersion::new(3, 9, 3)),
            ("3.9.4", ServerVersion::new(3, 9, 4)),
            ("3.9.5", ServerVersion::new(3, 9, 5)),
            ("3.10.0", ServerVersion::new(3, 10, 0)),
        ];
        let affected = RELEASES.iter().filter(|(_, release)| defect.affects(*release));
        affected.map(|(name, _)| *name).collect()
    }

    #[test]
    fn each_defect_is_in_its_releases() {
        let before_3911 = ["3.4.14", "3.5.9", "3.6.2"];
        assert_eq!(affected(Defect::SnapshotNotWritten), before_3911);
        assert_eq!(affected(Defect::ConfirmedBeforeServing), before_3911);
        let since_3911 = ["3.5.10", "3.6.3", "3.7.0", "3.7.2", "3.8.0", "3.8.4"];
        assert_eq!(
            affected(Defect::ConfirmedBeforeWritten),
            [&since_3911[..], &["3.9.1"]].concat()
        );
        assert_eq!(
            affected(Defect::DroppedOnCommit),
            [&since_3911[..], &["3.8.5", "3.9.1", "3.9.2"]].concat()
        );
        let before_4712 = affected(Defect::WriterGoesOn);
        assert_eq!((before_4712.len(), before_4712.last()), (12, Some(&"3.9.2")));
        assert_eq!(affected(Defect::HoleIsPassedOn), ["3.9.3"]);
    }
}

//! The reads before a gap.

use core::fmt;

use super::Znode;

/// The last read of a znode before a gap.
///
/// It is shown with its epochs: a count that is less behind the gap, with a transaction of the same
/// epoch or an earlier one, is that of a server that lags or has a hole; with one of a later epoch, the
/// changes between were rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The client has made no read, or had no gap.
    NotRead,
    /// The znode was not there.
    Absent,
    /// The znode that the read showed.
    Seen(Znode),
}

impl From<Option<Znode>> for Before {
    fn from(seen: Option<Znode>) -> Self {
        seen.map_or(Self::Absent, Self::Seen)
    }
}

impl fmt::Display for Before {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Znode { czxid, data, children } = match self {
            Self::NotRead => return formatter.write_str("not read before a gap"),
            Self::Absent => return formatter.write_str("before the gap, it was read as absent"),
            Self::Seen(seen) => seen,
        };
        write!(
            formatter,
            "before the gap, it was read as created by {}, data {} by {}, children {} by {}",
            Zxid(*czxid),
            data.changes,
            Zxid(data.zxid),
            children.changes,
            Zxid(children.zxid),
        )
    }
}

struct Zxid(i64);

impl fmt::Display for Zxid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x} (epoch {})", self.0, self.0 >> 32)
    }
}

//! The names of candidates and sessions, kept small.

use election_core::format::{Access as Wanted, CandidatePrefix, Format};
use election_core::{NomineeId, SessionId};

/// The kind of contender, by its znode's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Latch,
    Lock,
    Write,
    Read,
    /// `n_#`: a name without its nominee's id.
    Plain,
    /// `x-<session>-#`.
    Session,
}

impl Kind {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Latch, "-latch-"),
        (Self::Lock, "-lock-"),
        (Self::Write, "-__WRIT__"),
        (Self::Read, "-__READ__"),
    ];

    /// Of a format and an access.
    pub fn of(format: Format, access: Wanted) -> Self {
        let all = [Self::Latch, Self::Lock, Self::Write, Self::Read, Self::Plain, Self::Session];
        let is_of = |kind: &Self| kind.access() == access && kind.format() == format;
        all.into_iter().find(is_of).expect("a kind that is modelled")
    }

    pub fn format(self) -> Format {
        match self {
            Self::Latch => Format::curator_latch(),
            Self::Lock => Format::curator_lock(),
            Self::Write | Self::Read => Format::curator_read_write(),
            Self::Plain => Format::leader_election_support(),
            Self::Session => Format::zookeeper_write_lock(),
        }
    }

    /// Whether contenders of both kinds stand in one queue.
    pub fn shares_format_of(self, other: Self) -> bool {
        let of_readers = [Self::Write, Self::Read];
        self == other || of_readers.contains(&self) && of_readers.contains(&other)
    }

    pub fn access(self) -> Wanted {
        if self == Self::Read { Wanted::Shared } else { Wanted::Exclusive }
    }

    pub fn prefix(self, id: NomineeId, attempt: u32) -> CandidatePrefix {
        self.format().prefix(self.access(), id, attempt).expect("a format with ids")
    }

    /// Whether contenders of the two kinds cannot hold at the same time, and know it.
    pub fn excludes(self, other: Self) -> bool {
        self.format() == other.format() && (self, other) != (Self::Read, Self::Read)
    }
}

/// The child that says that the election is ended.
pub const END_MARK: &str = "ended";

/// Of a client, as the laboratory numbers them.
const SESSIONS: usize = 1000;
/// In the place of a client: its name does not tell its owner.
pub const UNTOLD: usize = 99;

/// A candidate's name, kept small: which client's id it carries, by which create, and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    pub sequence: i32,
    pub client: usize,
    pub attempt: u32,
    pub kind: Kind,
}

impl Candidate {
    pub fn text(self) -> String {
        match self.kind {
            Kind::Plain => return format!("n_{:010}", self.sequence),
            Kind::Session => {
                let session = (self.client + 1) * SESSIONS + self.attempt as usize;
                return format!("x-{session}-{:010}", self.sequence);
            }
            Kind::Latch | Kind::Lock | Kind::Write | Kind::Read => {}
        }
        let prefix = self.kind.prefix(nominee_id(self.client), self.attempt);
        format!("{prefix}{:010}", self.sequence)
    }
}

/// Splits a name into the client, the attempt, the kind and the digits. The id of a client repeats
/// its number; the attempt is added to the last four of its bytes.
pub fn split(text: &str) -> (usize, u32, Kind, &str) {
    if let Some(digits) = text.strip_prefix("n_") {
        return (UNTOLD, 0, Kind::Plain, digits);
    }
    if let Some((session, digits)) = text.strip_prefix("x-").and_then(|it| it.split_once('-')) {
        let (client, number) = client_of(SessionId::new(session.parse().expect("a session")));
        return (client, number, Kind::Session, digits);
    }
    let client = usize::from(text.as_bytes()[4] - b'0');
    let (uuid, digits) = text["_c_".len()..].split_at(36);
    let last = u32::from_str_radix(&uuid[28..], 16).expect("a uuid");
    let first = u32::from_str_radix(&uuid[..8], 16).expect("a uuid");
    let mut kinds = Kind::ALL.into_iter();
    let number = |(kind, label): (Kind, &str)| Some((kind, digits.strip_prefix(label)?));
    let (kind, digits) = kinds.find_map(number).expect("a kind");
    (client, last.wrapping_sub(first), kind, digits)
}

/// Returns the client of a session, and the session's number there.
fn client_of(session: SessionId) -> (usize, u32) {
    let number = usize::try_from(session.get()).expect("no negative one");
    (number / SESSIONS - 1, u32::try_from(number % SESSIONS).expect("few"))
}

pub fn nominee_id(client: usize) -> NomineeId {
    NomineeId::from_bytes([u8::try_from(client).expect("few clients") + 0xa0; 16])
}

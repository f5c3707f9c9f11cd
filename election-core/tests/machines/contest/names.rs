//! The names in a world of contenders.

use core::fmt;

use election_core::format::Format;
use election_core::name::Sequence;
use election_core::{NewZnode, Znode as Place};

use super::candidates::{Candidate, END_MARK, Kind, split};
use crate::lab::Placed;

/// A znode of the world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Node,
    /// The mark by which the election is ended.
    Ended,
    /// The mark of a hand-over to the candidate with this number.
    HandOver(i32),
    /// A candidate before it has a number: by which attempt of which client.
    New(Kind, usize, u32),
    Candidate(Candidate),
}

/// As the machines write it.
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => f.write_str("the node"),
            Self::New(kind, client, _) => write!(f, "New({kind:?}, {client})"),
            name => f.write_str(&text(*name)),
        }
    }
}

impl Name {
    pub const fn candidate(self) -> Option<Candidate> {
        match self {
            Self::Candidate(name) => Some(name),
            _ => None,
        }
    }
}

pub fn text(name: Name) -> String {
    match name {
        Name::Node | Name::New(..) => String::new(),
        Name::Ended => END_MARK.to_owned(),
        Name::HandOver(number) => {
            let to = u32::try_from(number).ok().and_then(Sequence::new).expect("a number");
            let mark = Format::curator_latch().hand_over_mark(to).expect("a mark");
            mark.to_string()
        }
        Name::Candidate(name) => name.text(),
    }
}

pub fn parse(text: &str) -> Name {
    if text == END_MARK {
        return Name::Ended;
    }
    if let Some(mark) = Format::curator_latch().parse_hand_over_mark(text) {
        return Name::HandOver(i32::try_from(mark.to().get()).expect("31 bits"));
    }
    let (client, attempt, kind, digits) = split(text);
    Name::Candidate(Candidate { client, attempt, kind, sequence: digits.parse().expect("digits") })
}

pub fn name(place: Place<'_>) -> Name {
    match place {
        Place::Node => Name::Node,
        Place::Child(name) => parse(&name.text()),
        other => panic!("no contender asks for {other:?}"),
    }
}

pub fn unnumbered(znode: &NewZnode<'_>) -> Name {
    let NewZnode::Child(prefix) = znode else { panic!("no contender creates {znode:?}") };
    let prefix = prefix.to_string();
    let (client, attempt, kind, _) = split(&prefix);
    Name::New(kind, client, attempt)
}

/// Gives a candidate its number, which sticks at 2147483647.
pub fn numbered(name: Name, number: u32) -> Option<Name> {
    let Name::New(kind, client, attempt) = name else { return None };
    let sequence = i32::try_from(number).unwrap_or(i32::MAX);
    Some(Name::Candidate(Candidate { sequence, client, attempt, kind }))
}

pub fn placed(name: Name) -> Placed {
    let client = |client: usize| u8::try_from(client).ok();
    match name {
        Name::Node => Placed { kind: 20, number: None, client: None },
        Name::Ended => Placed { kind: 21, number: None, client: None },
        Name::HandOver(number) => Placed { kind: 22, number: Some(number.into()), client: None },
        Name::New(kind, of, _) => Placed { kind: kind as u8, number: None, client: client(of) },
        Name::Candidate(Candidate { sequence, client: of, kind, .. }) => {
            Placed { kind: kind as u8, number: Some(sequence.into()), client: client(of) }
        }
    }
}

/// Reads a candidate's name at the beginning of a text.
pub fn read(text: &str) -> Option<(Name, usize)> {
    const DIGITS: usize = 10;
    ["_c_", "n_", "x-"].iter().find(|start| text.starts_with(**start))?;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    let is_number = |from: usize| text[from..end].bytes().all(|byte| byte.is_ascii_digit());
    let number = end.checked_sub(DIGITS).filter(|from| *from >= 2 && is_number(*from))?;
    (number > 0).then(|| (parse(&text[..end]), end))
}

//! The election node and the mark beside it, and what is asked of them.

use election_core::{
    Applied, Check, Children, Create, Delete, Event, ExpectedVersion, Failure, Name, NewZnode, Op,
    Part, Payload, Reply, Stat, Ticket, Token, Watch, Write, Znode,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    pub name: String,
    pub session: i64,
    pub token: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    pub data: String,
    pub version: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tree {
    pub candidates: Vec<Candidate>,
    pub mark: Option<Mark>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    Create(String),
    Barrier,
    List,
    Read(String, IsWatched),
    Delete(String),
    ReadMark,
    /// Whether the election is ended.
    LookForEnd,
    /// If this candidate stands, and the mark has this version, or is not there.
    WriteMark {
        own: String,
        version: Option<i32>,
        data: String,
    },
    /// A candidate, and the mark with this version.
    DeleteWithMark(String, i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsWatched {
    Yes,
    No,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Created(Candidate),
    Passed,
    Names(Vec<String>),
    Read(Candidate),
    Mark(Mark),
    Deleted,
    /// The new version of the mark.
    Marked(i32),
    BothDeleted,
    Failed(Failure),
}

const NO_NODE: i32 = -101;
const BAD_VERSION: i32 = -103;
const NODE_EXISTS: i32 = -110;

impl Request {
    pub fn of(op: &Op<'_>) -> Self {
        match *op {
            Op::Create(Create { znode: NewZnode::Child(prefix), .. }) => {
                Self::Create(format!("{prefix}"))
            }
            Op::Barrier => Self::Barrier,
            Op::List { .. } => Self::List,
            Op::Read { znode: Znode::Child(name), watch } => {
                let watched = if watch == Watch::None { IsWatched::No } else { IsWatched::Yes };
                Self::Read(name.to_string(), watched)
            }
            Op::Read { znode: Znode::Sibling(_), watch: Watch::None } => Self::ReadMark,
            Op::Exists { znode: Znode::Child(Name::Text("ended")), watch: Watch::None } => {
                Self::LookForEnd
            }
            Op::Delete(Delete { znode: Znode::Child(name), .. }) => Self::Delete(name.to_string()),
            Op::Multi(ref multi) => {
                let parts: Vec<Part<'_>> = multi.parts().collect();
                of_parts(&parts)
            }
            ref other => panic!("no nominee asks for {other:?}"),
        }
    }

    pub fn writes(&self) -> bool {
        !matches!(self, Self::List | Self::Read(..) | Self::ReadMark | Self::LookForEnd)
    }

    /// Returns the answer of a server that has applied this.
    pub fn read(&self, tree: &Tree) -> Answer {
        let missing = Answer::Failed(Failure::NoNode);
        match self {
            Self::List => {
                Answer::Names(tree.candidates.iter().map(|one| one.name.clone()).collect())
            }
            Self::Read(name, _) => tree.find(name).map_or(missing, |one| Answer::Read(one.clone())),
            Self::ReadMark => tree.mark.clone().map_or(missing, Answer::Mark),
            // No operator ends an election here.
            Self::LookForEnd => missing,
            other => panic!("{other:?} is no read"),
        }
    }

    /// Applies a write to the tree.
    pub fn write(&self, tree: &mut Tree, session: i64, (token, number): (i64, i64)) -> Answer {
        let aborted = |part, code| Answer::Failed(Failure::Aborted { part, code });
        match self {
            Self::Create(prefix) => {
                let name = format!("{prefix}{number:010}");
                let candidate = Candidate { name, session, token };
                tree.candidates.push(candidate.clone());
                Answer::Created(candidate)
            }
            Self::Barrier => Answer::Passed,
            Self::Delete(name) if tree.find(name).is_none() => Answer::Failed(Failure::NoNode),
            Self::Delete(name) => {
                tree.remove(name);
                Answer::Deleted
            }
            Self::WriteMark { own, .. } if tree.find(own).is_none() => aborted(0, NO_NODE),
            Self::WriteMark { version, data, .. } => {
                let (new, data) = (version.map_or(0, |version| version + 1), data.clone());
                match (version, tree.mark.as_ref().map(|mark| mark.version)) {
                    (None, Some(_)) => return aborted(1, NODE_EXISTS),
                    (Some(_), None) => return aborted(1, NO_NODE),
                    (Some(wanted), Some(is)) if *wanted != is => return aborted(1, BAD_VERSION),
                    _ => tree.mark = Some(Mark { data, version: new }),
                }
                Answer::Marked(new)
            }
            Self::DeleteWithMark(own, _) if tree.find(own).is_none() => aborted(0, NO_NODE),
            Self::DeleteWithMark(own, version) => match &tree.mark {
                None => aborted(1, NO_NODE),
                Some(mark) if mark.version != *version => aborted(1, BAD_VERSION),
                Some(_) => {
                    tree.remove(own);
                    tree.mark = None;
                    Answer::BothDeleted
                }
            },
            other => panic!("{other:?} is no write"),
        }
    }
}

fn of_parts(parts: &[Part<'_>]) -> Request {
    match *parts {
        [
            Part::Check(Check { znode: Znode::Child(own), .. }),
            Part::Create(Create { data: Payload::Bytes(data), .. }),
        ] => write_mark(own.to_string(), None, data),
        [
            Part::Check(Check { znode: Znode::Child(own), .. }),
            Part::Write(Write { version: ExpectedVersion::Exactly(version), data, .. }),
        ] => match data {
            Payload::Bytes(data) => write_mark(own.to_string(), Some(version.get()), data),
            other => panic!("{other:?} is no mark"),
        },
        [
            Part::Delete(Delete { znode: Znode::Child(own), .. }),
            Part::Delete(Delete { version: ExpectedVersion::Exactly(version), .. }),
        ] => Request::DeleteWithMark(own.to_string(), version.get()),
        ref other => panic!("no nominee asks for {other:?}"),
    }
}

fn write_mark(own: String, version: Option<i32>, data: &[u8]) -> Request {
    let data = String::from_utf8(data.to_vec()).expect("text");
    Request::WriteMark { own, version, data }
}

impl Tree {
    pub fn find(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|one| one.name == name)
    }

    pub fn remove(&mut self, name: &str) {
        self.candidates.retain(|one| one.name != name);
    }
}

/// Hands an answer to `feed`.
pub fn with_reply<X>(ticket: Ticket, answer: &Answer, feed: impl FnOnce(Event<'_>) -> X) -> X {
    let stat = |one: &Candidate| Stat::new(one.session, one.token, 0);
    let mark = |version| Stat::new(0, 1, version);
    let mut names;
    let results = match answer {
        Answer::Marked(0) => [Applied::Checked, Applied::Created { name: "mark" }],
        Answer::Marked(version) => [Applied::Checked, Applied::Written(mark(*version))],
        _ => [Applied::Deleted, Applied::Deleted],
    };
    let mut results = results.iter().copied();
    let reply = match answer {
        Answer::Created(one) => Reply::Created { name: &one.name, stat: Some(stat(one)) },
        Answer::Passed => Reply::BarrierPassed,
        Answer::Names(all) => {
            names = all.iter().map(String::as_str);
            Reply::Children(Children::listed(&mut names))
        }
        Answer::Read(one) => Reply::Read { stat: stat(one), data: &[] },
        Answer::Mark(found) => {
            Reply::Read { stat: mark(found.version), data: found.data.as_bytes() }
        }
        Answer::Deleted => Reply::Deleted,
        Answer::Marked(_) | Answer::BothDeleted => Reply::Committed(&mut results),
        Answer::Failed(failure) => {
            return feed(Event::Reply { ticket, result: Err(*failure) });
        }
    };
    feed(Event::Reply { ticket, result: Ok(reply) })
}

/// Returns the token that a mark names.
pub fn named(mark: &Mark) -> Token {
    let number = mark.data.strip_prefix("token: ").expect("a mark");
    Token::new(number.parse().expect("a number"))
}

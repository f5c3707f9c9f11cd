//! The requests of an observer, and the answers of a tree.

use election_core::{
    Children, Event, Failure, Format, Op, Reply, Stat, Subject, Ticket, Token, Watch,
    Znode as Place,
};

/// A candidate, a child of another format, or the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub number: i64,
    pub token: Token,
    pub version: i32,
    pub is_barred: bool,
    pub owner: Owner,
}

/// The session that a znode goes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// That of all candidates.
    Candidates,
    /// A foreign child goes with it.
    Foreign(i64),
}

/// That of the candidates.
pub const CANDIDATES: i64 = 9;

impl Znode {
    pub fn is_foreign(&self) -> bool {
        matches!(self.owner, Owner::Foreign(_))
    }

    /// Whether a nominee that is the first waits for its end.
    pub fn blocks(&self) -> bool {
        match self.owner {
            Owner::Candidates => false,
            Owner::Foreign(session) => self.is_barred || (session != 0 && session != CANDIDATES),
        }
    }

    fn session(&self) -> i64 {
        match self.owner {
            Owner::Candidates => CANDIDATES,
            Owner::Foreign(session) => session,
        }
    }
}

/// Returns the candidate that is the first.
pub fn leader(tree: &Tree) -> Option<&Znode> {
    tree.iter().flatten().find(|znode| !znode.is_foreign())
}

/// The children of the election node, if that exists; of a mark, it alone.
pub type Tree = Option<Vec<Znode>>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    Barrier,
    List(Watch),
    Read(String),
    ExistsChild(String),
    /// Of the election node.
    Exists,
    ReadMark,
    MarkExists,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Passed,
    Names(Vec<String>),
    Read(Znode),
    Exists(Token),
    ExistsChild(Znode),
    Failed(Failure),
}

impl Request {
    pub fn of(op: &Op<'_>) -> Self {
        match *op {
            Op::Barrier => Self::Barrier,
            Op::List { parent: Place::Node, watch } => Self::List(watch),
            Op::Read { znode: Place::Child(name), watch: Watch::Other } => {
                Self::Read(name.to_string())
            }
            Op::Exists { znode: Place::Child(name), watch: Watch::Other } => {
                Self::ExistsChild(name.text().to_string())
            }
            Op::Read { znode: Place::Sibling(_), watch: Watch::Other } => Self::ReadMark,
            Op::Exists { znode: Place::Node, watch: Watch::Other } => Self::Exists,
            Op::Exists { znode: Place::Sibling(_), watch: Watch::Other } => Self::MarkExists,
            ref other => panic!("no observer asks for {other:?}"),
        }
    }

    pub fn answer(&self, subject: Subject, tree: &Tree) -> Answer {
        let missing = Answer::Failed(Failure::NoNode);
        let read = |znode: &Znode| {
            if znode.is_barred { Answer::Failed(Failure::NoAuth) } else { Answer::Read(*znode) }
        };
        let of_mark = || tree.iter().flatten().next();
        match self {
            Self::Barrier => Answer::Passed,
            Self::List(_) => tree.as_ref().map_or(missing, |all| {
                Answer::Names(all.iter().map(|znode| name(subject, znode)).collect())
            }),
            Self::Read(wanted) => {
                let mut all = tree.iter().flatten();
                all.find(|znode| name(subject, znode) == *wanted).map_or(missing, read)
            }
            Self::ExistsChild(wanted) => {
                let mut all = tree.iter().flatten();
                let found = all.find(|znode| name(subject, znode) == *wanted);
                found.map_or(missing, |znode| match read(znode) {
                    Answer::Read(znode) => Answer::ExistsChild(znode),
                    forbidden => forbidden,
                })
            }
            Self::Exists => tree.as_ref().map_or(missing, |_| Answer::Exists(Token::new(0))),
            Self::ReadMark => of_mark().map_or(missing, read),
            Self::MarkExists => of_mark().map_or(missing, |mark| Answer::Exists(mark.token)),
        }
    }

    /// Whether a watch is left, by that answer.
    pub fn watches(&self, answer: &Answer) -> bool {
        match self {
            Self::Barrier | Self::List(Watch::None) => false,
            Self::Exists | Self::MarkExists => true,
            Self::ExistsChild(_) => *answer != Answer::Failed(Failure::NoAuth),
            Self::List(_) | Self::Read(_) | Self::ReadMark => !matches!(answer, Answer::Failed(_)),
        }
    }
}

pub fn name(subject: Subject, znode: &Znode) -> String {
    let number = znode.number;
    match subject {
        Subject::Leader(_) if znode.is_foreign() => format!("foreign-{number:010}"),
        Subject::Leader(format) if format == Format::curator_latch() => {
            let id = znode.token.get();
            format!("_c_11111111-1111-1111-1111-{id:012}-latch-{number:010}")
        }
        Subject::Leader(_) => format!("n_{number:010}"),
        Subject::Mark(_) => String::new(),
    }
}

/// Hands an answer to `feed`, with data that is the znode's version.
pub fn with_reply<X>(ticket: Ticket, answer: &Answer, feed: impl FnOnce(Event<'_>) -> X) -> X {
    let stat = |token: Token, version| Stat::new(CANDIDATES, token.get(), version);
    match answer {
        Answer::Passed => feed(Event::Reply { ticket, result: Ok(Reply::BarrierPassed) }),
        Answer::Names(names) => {
            let mut names = names.iter().map(String::as_str);
            let result = Ok(Reply::Children(Children::listed(&mut names)));
            feed(Event::Reply { ticket, result })
        }
        Answer::Read(znode) => {
            let data = [u8::try_from(znode.version).expect("few writes")];
            let stat = stat(znode.token, znode.version);
            feed(Event::Reply { ticket, result: Ok(Reply::Read { stat, data: &data }) })
        }
        Answer::Exists(token) => {
            feed(Event::Reply { ticket, result: Ok(Reply::Exists(stat(*token, 0))) })
        }
        Answer::ExistsChild(znode) => {
            let stat = Stat::new(znode.session(), znode.token.get(), znode.version);
            feed(Event::Reply { ticket, result: Ok(Reply::Exists(stat)) })
        }
        Answer::Failed(failure) => feed(Event::Reply { ticket, result: Err(*failure) }),
    }
}

//! The requests of an observer, and the answers of a tree.

use election_core::{
    Children, Event, Failure, Format, Op, Reply, Stat, Subject, Ticket, Token, Watch,
    Znode as Place,
};

/// A candidate, or the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub number: i64,
    pub token: Token,
    pub version: i32,
    pub is_barred: bool,
}

/// The children of the election node, if that exists; of a mark, it alone.
pub type Tree = Option<Vec<Znode>>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    Barrier,
    List(Watch),
    Read(String),
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
            Self::List(_) | Self::Read(_) | Self::ReadMark => !matches!(answer, Answer::Failed(_)),
        }
    }
}

pub fn name(subject: Subject, znode: &Znode) -> String {
    let number = znode.number;
    match subject {
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
    let stat = |token: Token, version| Stat::new(9, token.get(), version);
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
        Answer::Failed(failure) => feed(Event::Reply { ticket, result: Err(*failure) }),
    }
}

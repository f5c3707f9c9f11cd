//! An ensemble with one barrier: the trees that it had, oldest first, of which servers lag behind the
//! last.

use std::collections::BTreeMap;

use election_core::{
    Delete, ExpectedVersion, Failure, NewZnode, NomineeId, Op, Part, SessionId, Stat, Token,
    Version, Watch, Znode as Place,
};

/// Which znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Node,
    Ready,
    /// Of a client, by which use of the barrier.
    Entry(u8, u8),
}

pub fn id(client: u8, turn: u8) -> NomineeId {
    let mut bytes = [client + 1; 16];
    bytes[15] = turn;
    NomineeId::from_bytes(bytes)
}

impl Name {
    pub fn of(place: Place<'_>) -> Self {
        match place {
            Place::Node => Self::Node,
            Place::Child(name) if name == *"ready" => Self::Ready,
            Place::Child(name) => {
                let bytes = name.text().parse::<NomineeId>().expect("an entry").to_bytes();
                Self::Entry(bytes[0] - 1, bytes[15])
            }
            other => panic!("no barrier asks for {other:?}"),
        }
    }

    pub fn text(self) -> Option<String> {
        match self {
            Self::Node => None,
            Self::Ready => Some("ready".into()),
            Self::Entry(client, turn) => Some(id(client, turn).to_string()),
        }
    }

    pub fn is_entry(self) -> bool {
        matches!(self, Self::Entry(..))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub token: Token,
    pub version: i32,
    pub owner: Option<SessionId>,
}

impl Znode {
    pub fn stat(self) -> Stat {
        Stat::new(self.owner.map_or(0, SessionId::get), self.token.get(), self.version)
    }
}

pub type Tree = BTreeMap<Name, Znode>;

/// A part of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    Check(Name, Option<i32>),
    Create(Name, Option<SessionId>),
    Write(Name, Option<i32>),
    Delete(Name),
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    Exists(Name, Watch),
    List,
    Barrier,
    /// One change.
    Write(Change),
    CreateNode,
    Multi(Vec<Change>),
}

impl Request {
    pub fn of(op: &Op<'_>, session: SessionId) -> Self {
        match *op {
            Op::Exists { znode, watch } => Self::Exists(Name::of(znode), watch),
            Op::List { parent: Place::Node, watch: Watch::None } => Self::List,
            Op::Barrier => Self::Barrier,
            Op::CreateNode => Self::CreateNode,
            Op::Create(create) => Self::Write(change(&Part::Create(create), session)),
            Op::Delete(delete) => Self::Write(change(&Part::Delete(delete), session)),
            Op::Multi(ref multi) => {
                Self::Multi(multi.parts().map(|part| change(&part, session)).collect())
            }
            other => panic!("no barrier asks for {other:?}"),
        }
    }

    pub fn reads(&self) -> bool {
        matches!(self, Self::Exists(..) | Self::List)
    }
}

fn change(part: &Part<'_>, session: SessionId) -> Change {
    let exactly = |version| match version {
        ExpectedVersion::Any => None,
        ExpectedVersion::Exactly(version) => Some(Version::get(version)),
    };
    match *part {
        Part::Check(check) => Change::Check(Name::of(check.znode), exactly(check.version)),
        Part::Write(write) => Change::Write(Name::of(write.znode), exactly(write.version)),
        Part::Delete(Delete { znode, version: ExpectedVersion::Any }) => {
            Change::Delete(Name::of(znode))
        }
        Part::Create(create) => {
            let NewZnode::Named(place) = create.znode else { panic!("a name without an end") };
            let name = Name::of(place);
            Change::Create(name, name.is_entry().then_some(session))
        }
        other @ Part::Delete(_) => panic!("no barrier asks for {other:?}"),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Exists(Stat),
    Children(Vec<Name>),
    BarrierPassed,
    NodeCreated,
    Created,
    Deleted,
    Committed,
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// After each commit that some client's server may lack, the last one included.
    pub trees: Vec<Tree>,
    zxid: i64,
}

impl Server {
    pub fn new(trees: Vec<Tree>) -> Self {
        Self { trees, zxid: 100 }
    }

    pub fn end(&self) -> usize {
        self.trees.len() - 1
    }

    pub fn tip(&self) -> &Tree {
        self.trees.last().expect("there is one")
    }

    pub fn read(&self, position: usize, request: &Request) -> Answer {
        let tree = &self.trees[position];
        let missing = Answer::Failed(Failure::NoNode);
        match request {
            Request::Exists(name, _) => {
                tree.get(name).map_or(missing, |znode| Answer::Exists(znode.stat()))
            }
            Request::List if tree.contains_key(&Name::Node) => {
                Answer::Children(tree.keys().copied().filter(|name| *name != Name::Node).collect())
            }
            _ => missing,
        }
    }

    /// Carries out what is not read.
    pub fn write(&mut self, request: &Request) -> Answer {
        match request {
            Request::Barrier => Answer::BarrierPassed,
            Request::CreateNode => {
                let _ = self.apply(&[Change::Create(Name::Node, None)]);
                Answer::NodeCreated
            }
            Request::Write(change) => match self.apply(&[*change]) {
                Ok(()) if matches!(change, Change::Delete(_)) => Answer::Deleted,
                Ok(()) => Answer::Created,
                Err((_, code)) => Answer::Failed(Failure::from_code(code)),
            },
            Request::Multi(changes) => match self.apply(changes) {
                Ok(()) => Answer::Committed,
                Err((part, code)) => Answer::Failed(Failure::Aborted { part, code }),
            },
            Request::Exists(..) | Request::List => panic!("a read"),
        }
    }

    pub fn apply(&mut self, changes: &[Change]) -> Result<(), (usize, i32)> {
        let mut tree = self.tip().clone();
        let token = Token::new(self.zxid + 1);
        for (part, change) in changes.iter().enumerate() {
            apply(&mut tree, *change, token).map_err(|code| (part, code))?;
        }
        if tree != *self.tip() {
            self.zxid += 1;
            self.trees.push(tree);
        }
        Ok(())
    }

    /// Forgets the first trees.
    pub fn fold(&mut self, applied: usize) {
        self.trees.drain(..applied);
    }
}

fn apply(tree: &mut Tree, change: Change, token: Token) -> Result<(), i32> {
    let (Change::Check(name, _)
    | Change::Create(name, _)
    | Change::Write(name, _)
    | Change::Delete(name)) = change;
    match change {
        Change::Create(..) if tree.contains_key(&name) => return Err(-110),
        Change::Create(..) if name != Name::Node && !tree.contains_key(&Name::Node) => {
            return Err(-101);
        }
        Change::Create(_, owner) => {
            tree.insert(name, Znode { token, version: 0, owner });
            return Ok(());
        }
        _ => {}
    }
    let has_children = tree.len() > 1;
    let znode = tree.get_mut(&name).ok_or(-101)?;
    match change {
        Change::Check(_, Some(version)) | Change::Write(_, Some(version))
            if version != znode.version =>
        {
            return Err(-103);
        }
        Change::Write(..) => znode.version += 1,
        Change::Delete(Name::Node) if has_children => return Err(-111),
        Change::Delete(_) => {
            tree.remove(&name);
        }
        _ => {}
    }
    Ok(())
}

//! An ensemble with one transaction: the trees that it had, oldest first, of which servers lag behind
//! the last.

use std::collections::BTreeMap;

use election_core::{
    ExpectedVersion, Failure, NewZnode, Op, Part, SessionId, Stat, Token, Version, Watch, Znode,
};

/// The znodes. The node's name is empty, those of its children are theirs.
pub type Tree = BTreeMap<String, Owned>;

/// What a znode is, but for its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owned {
    Persistent,
    By(SessionId, Token, Version),
}

impl Owned {
    pub fn is_by(self, session: SessionId) -> bool {
        matches!(self, Self::By(owner, ..) if owner == session)
    }

    fn stat(self) -> Stat {
        match self {
            Self::Persistent => Stat::new(0, 1, 0),
            Self::By(owner, token, version) => Stat::new(owner.get(), token.get(), version.get()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    Check(String),
    Create(String, Option<SessionId>),
    Delete(String),
    DeleteThis(String, Version),
    Write(String, Version),
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    Exists(String),
    List(Watch),
    Barrier,
    CreateNode,
    Delete(String, Version),
    Write(String, Version),
    Multi(Vec<Change>),
}

/// Whether a server may answer a read while it has applied a part of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applies {
    AtOnce,
    PartByPart,
}

fn name_of(znode: Znode<'_>) -> String {
    match znode {
        Znode::Node => String::new(),
        Znode::Child(name) => name.to_string(),
        other => panic!("no two-phase commit asks for {other:?}"),
    }
}

fn exactly(version: ExpectedVersion) -> Version {
    match version {
        ExpectedVersion::Exactly(version) => version,
        ExpectedVersion::Any => panic!("no two-phase commit touches whatever has the name"),
    }
}

impl Request {
    pub fn of(op: &Op<'_>, session: SessionId) -> Self {
        match *op {
            Op::Exists { znode, .. } => Self::Exists(name_of(znode)),
            Op::List { parent: Znode::Node, watch } => Self::List(watch),
            Op::Barrier => Self::Barrier,
            Op::CreateNode => Self::CreateNode,
            Op::Delete(delete) => Self::Delete(name_of(delete.znode), exactly(delete.version)),
            Op::Write(write) => Self::Write(name_of(write.znode), exactly(write.version)),
            Op::Multi(ref multi) => {
                Self::Multi(multi.parts().map(|part| change(&part, session)).collect())
            }
            ref other => panic!("no two-phase commit asks for {other:?}"),
        }
    }

    pub fn reads(&self) -> bool {
        matches!(self, Self::Exists(_) | Self::List(_))
    }
}

fn change(part: &Part<'_>, session: SessionId) -> Change {
    match *part {
        Part::Check(check) => Change::Check(name_of(check.znode)),
        Part::Delete(delete) => Change::Delete(name_of(delete.znode)),
        Part::Create(create) => {
            let NewZnode::Named(znode) = create.znode else { panic!("a name without an end") };
            let owner = match create.mode {
                election_core::CreateMode::Ephemeral => Some(session),
                _ => None,
            };
            Change::Create(name_of(znode), owner)
        }
        Part::Write(_) => panic!("no two-phase commit writes"),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Exists(Stat),
    Children(Vec<String>),
    BarrierPassed,
    NodeCreated,
    Deleted,
    Written(Stat),
    Committed,
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// After each commit that some client's server may lack, the last one included.
    pub trees: Vec<Tree>,
    pub applies: Applies,
    zxid: i64,
}

impl Server {
    pub fn new(tree: Tree) -> Self {
        Self { trees: vec![tree], applies: Applies::AtOnce, zxid: 1 }
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
            Request::Exists(name) => {
                tree.get(name).map_or(missing, |owner| Answer::Exists(owner.stat()))
            }
            Request::List(_) if tree.contains_key("") => {
                Answer::Children(tree.keys().filter(|name| !name.is_empty()).cloned().collect())
            }
            _ => missing,
        }
    }

    /// Carries out what is not read.
    pub fn write(&mut self, request: &Request) -> Answer {
        match request {
            Request::Barrier => Answer::BarrierPassed,
            Request::CreateNode => {
                let _ = self.apply(&[Change::Create(String::new(), None)]);
                Answer::NodeCreated
            }
            Request::Delete(name, version) => {
                match self.apply(&[Change::DeleteThis(name.clone(), *version)]) {
                    Ok(()) => Answer::Deleted,
                    Err((_, code)) => Answer::Failed(Failure::from_code(code)),
                }
            }
            Request::Write(name, version) => {
                match self.apply(&[Change::Write(name.clone(), *version)]) {
                    Ok(()) => Answer::Written(self.tip()[name].stat()),
                    Err((_, code)) => Answer::Failed(Failure::from_code(code)),
                }
            }
            Request::Multi(changes) => match self.apply(changes) {
                Ok(()) => Answer::Committed,
                Err((part, code)) => Answer::Failed(Failure::Aborted { part, code }),
            },
            Request::Exists(_) | Request::List(_) => panic!("a read"),
        }
    }

    pub fn apply(&mut self, changes: &[Change]) -> Result<(), (usize, i32)> {
        self.zxid += 1;
        let mut trees = Vec::new();
        let mut tree = self.tip().clone();
        for (part, change) in changes.iter().enumerate() {
            apply(&mut tree, change, Token::new(self.zxid)).map_err(|code| (part, code))?;
            if self.applies == Applies::PartByPart && !matches!(change, Change::Check(_)) {
                trees.push(tree.clone());
            }
        }
        if trees.last() != Some(&tree) && tree != *self.tip() {
            trees.push(tree);
        }
        self.trees.extend(trees);
        Ok(())
    }

    /// Forgets the first trees.
    pub fn fold(&mut self, applied: usize) {
        self.trees.drain(..applied);
    }
}

fn apply(tree: &mut Tree, change: &Change, zxid: Token) -> Result<(), i32> {
    match change {
        Change::Create(name, _) if tree.contains_key(name) => return Err(-110),
        Change::Create(name, _) if !name.is_empty() && !tree.contains_key("") => return Err(-101),
        Change::Create(name, owner) => {
            let znode = owner.map(|owner| Owned::By(owner, zxid, Version::new(0)));
            tree.insert(name.clone(), znode.unwrap_or(Owned::Persistent));
        }
        Change::Check(name)
        | Change::Delete(name)
        | Change::DeleteThis(name, _)
        | Change::Write(name, _)
            if !tree.contains_key(name) =>
        {
            return Err(-101);
        }
        Change::DeleteThis(name, version) | Change::Write(name, version)
            if tree[name].stat().version != *version =>
        {
            return Err(-103);
        }
        Change::Write(name, _) => {
            if let Some(Owned::By(.., version)) = tree.get_mut(name) {
                *version = Version::new(version.get() + 1);
            }
        }
        Change::Delete(name) if name.is_empty() && tree.len() > 1 => return Err(-111),
        Change::Delete(name) | Change::DeleteThis(name, _) => {
            tree.remove(name);
        }
        Change::Check(_) => {}
    }
    Ok(())
}

//! An ensemble with one name in one group: the trees that it had, oldest first.

use election_core::{
    ExpectedVersion, Failure, Name, NewZnode, Op, Payload, SessionId, Stat, Token, Watch,
    Znode as Place,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub owner: SessionId,
    pub token: Token,
    pub version: i32,
    pub data: u8,
}

impl Znode {
    pub fn stat(self) -> Stat {
        Stat::new(self.owner.get(), self.token.get(), self.version)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    pub has_node: bool,
    pub znode: Option<Znode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    Exists(Watch),
    Barrier,
    CreateNode,
    Create(u8),
    Write(i32, u8),
    Delete(i32),
}

impl Request {
    pub fn of(op: &Op<'_>) -> Self {
        let byte = |payload| match payload {
            Payload::Bytes(&[byte]) => byte,
            other => panic!("{other:?}"),
        };
        let version = |version: ExpectedVersion| version.number();
        match *op {
            Op::Exists { znode: Place::Child(Name::Text("x")), watch } => Self::Exists(watch),
            Op::Barrier => Self::Barrier,
            Op::CreateNode => Self::CreateNode,
            Op::Create(create)
                if create.znode == NewZnode::Named(Place::Child(Name::Text("x"))) =>
            {
                Self::Create(byte(create.data))
            }
            Op::Write(write) => Self::Write(version(write.version), byte(write.data)),
            Op::Delete(delete) => Self::Delete(version(delete.version)),
            ref other => panic!("no member asks for {other:?}"),
        }
    }

    pub fn reads(self) -> bool {
        matches!(self, Self::Exists(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Exists(Stat),
    BarrierPassed,
    NodeCreated,
    Created(Stat),
    Written(Stat),
    Deleted,
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    pub trees: Vec<Tree>,
    zxid: i64,
}

impl Server {
    pub fn new(has_node: bool) -> Self {
        Self { trees: vec![Tree { has_node, znode: None }], zxid: 100 }
    }

    pub fn end(&self) -> usize {
        self.trees.len() - 1
    }

    pub fn tip(&self) -> Tree {
        *self.trees.last().expect("there is one")
    }

    pub fn read(&self, position: usize) -> Answer {
        let znode = self.trees[position].znode;
        znode.map_or(Answer::Failed(Failure::NoNode), |znode| Answer::Exists(znode.stat()))
    }

    pub fn commit(&mut self, tree: Tree) {
        if tree != self.tip() {
            self.zxid += 1;
            self.trees.push(tree);
        }
    }

    pub fn write(&mut self, request: Request, owner: SessionId) -> Answer {
        let mut tree = self.tip();
        let answer = self.changed(&mut tree, request, owner);
        self.commit(tree);
        answer
    }

    fn changed(&self, tree: &mut Tree, request: Request, owner: SessionId) -> Answer {
        let is = |znode: &Znode, version: i32| version == -1 || version == znode.version;
        match (request, &mut tree.znode) {
            (Request::Exists(_), _) => panic!("a read"),
            (Request::Barrier, _) => Answer::BarrierPassed,
            (Request::CreateNode, _) => {
                tree.has_node = true;
                Answer::NodeCreated
            }
            (Request::Create(_), _) if !tree.has_node => Answer::Failed(Failure::NoNode),
            (Request::Create(_), Some(_)) => Answer::Failed(Failure::NodeExists),
            (Request::Create(data), none) => {
                let token = Token::new(self.zxid + 1);
                let znode = Znode { owner, token, version: 0, data };
                *none = Some(znode);
                Answer::Created(znode.stat())
            }
            (_, None) => Answer::Failed(Failure::NoNode),
            (Request::Write(version, _) | Request::Delete(version), Some(znode))
                if !is(znode, version) =>
            {
                Answer::Failed(Failure::BadVersion)
            }
            (Request::Write(_, data), Some(znode)) => {
                (znode.data, znode.version) = (data, znode.version + 1);
                Answer::Written(znode.stat())
            }
            (Request::Delete(_), znode) => {
                *znode = None;
                Answer::Deleted
            }
        }
    }

    /// Forgets the first trees.
    pub fn fold(&mut self, applied: usize) {
        self.trees.drain(..applied);
    }
}

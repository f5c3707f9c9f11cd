//! An ensemble: the tree that all servers have, and the commits that some of them lack.
//!
//! A client's server has applied the base, a number of commits, and perhaps some parts of the next one: servers
//! apply a transaction part by part, and may answer a read meanwhile.

use std::collections::BTreeMap;
use std::rc::Rc;

use election_core::{
    Arrivals, Change as Event, CreateMode, ExpectedVersion, Failure, NewZnode, Op, Part, SessionId,
    Stat, Token, Watch,
};

use super::Model;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub token: Token,
    pub version: i32,
    pub owner: Option<SessionId>,
    pub data: Data,
    pub access: Access,
}

/// What a znode says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    Byte(u8),
    /// A `czxid` of this world.
    Token(Token),
}

/// Whether clients may read it. A watcher that may not is told of nothing: the server drops the event, and the watch
/// with it (ZOOKEEPER-4799).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    Open,
    Barred,
}

impl Znode {
    /// Makes a persistent one.
    pub const fn new(token: i64, version: i32) -> Self {
        Self {
            token: Token::new(token),
            version,
            owner: None,
            data: Data::Byte(0),
            access: Access::Open,
        }
    }

    pub const fn is_barred(&self) -> bool {
        matches!(self.access, Access::Barred)
    }

    /// Whether this session may not read it, and is told of none of its events.
    pub fn hides_from<M: Model>(&self, asker: SessionId) -> bool {
        self.is_barred() && !(M::OWNERS_READ && self.owner == Some(asker))
    }

    pub fn stat(self) -> Stat {
        Stat::new(self.owner.map_or(0, SessionId::get), self.token.get(), self.version)
    }
}

pub type Tree<N> = BTreeMap<N, Znode>;

/// A part of a transaction that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change<N> {
    Check(N, Option<i32>),
    Create(N, Option<SessionId>, Data),
    Write(N, Option<i32>, Data),
    Delete(N, Option<i32>),
}

/// What a part of a commit does to a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect<N> {
    Put(N, Znode),
    Written(N, Znode),
    Gone(N),
    Barred(N),
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request<N> {
    Exists(N, Watch),
    Read(N, Watch),
    List(N, Watch),
    Barrier,
    CreateNode,
    /// One change.
    Single(Change<N>),
    Multi(Vec<Change<N>>),
}

impl<N: Copy> Request<N> {
    pub fn of<M: Model<Name = N>>(op: &Op<'_>, session: SessionId) -> Self {
        match *op {
            Op::Exists { znode, watch } => Self::Exists(M::name(znode), watch),
            Op::Read { znode, watch } => Self::Read(M::name(znode), watch),
            Op::List { parent, watch } => Self::List(M::name(parent), watch),
            Op::Barrier => Self::Barrier,
            Op::CreateNode => Self::CreateNode,
            Op::Create(create) => Self::Single(change::<M>(&Part::Create(create), session)),
            Op::Write(write) => Self::Single(change::<M>(&Part::Write(write), session)),
            Op::Delete(delete) => Self::Single(change::<M>(&Part::Delete(delete), session)),
            Op::Multi(ref multi) => {
                Self::Multi(multi.parts().map(|part| change::<M>(&part, session)).collect())
            }
        }
    }

    /// Whether it says what a znode says, which may be long.
    pub fn has_data(&self) -> bool {
        self.changes().iter().any(|it| matches!(it, Change::Create(..) | Change::Write(..)))
    }

    pub const fn reads(&self) -> bool {
        matches!(self, Self::Exists(..) | Self::Read(..) | Self::List(..))
    }

    pub fn changes(&self) -> &[Change<N>] {
        match self {
            Self::Single(change) => core::slice::from_ref(change),
            Self::Multi(changes) => changes,
            _ => &[],
        }
    }
}

fn change<M: Model>(part: &Part<'_>, session: SessionId) -> Change<M::Name> {
    let exactly = |version| match version {
        ExpectedVersion::Any => None,
        ExpectedVersion::Exactly(version) => Some(version.get()),
    };
    match *part {
        Part::Check(check) => Change::Check(M::name(check.znode), exactly(check.version)),
        Part::Write(write) => {
            Change::Write(M::name(write.znode), exactly(write.version), M::data(write.data))
        }
        Part::Delete(delete) => Change::Delete(M::name(delete.znode), exactly(delete.version)),
        Part::Create(create) => {
            let name = match create.znode {
                NewZnode::Named(place) => M::name(place),
                ref unnumbered => M::unnumbered(unnumbered),
            };
            let owner = match create.mode {
                CreateMode::Ephemeral | CreateMode::EphemeralSequential => Some(session),
                _ => None,
            };
            Change::Create(name, owner, M::data(create.data))
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer<N> {
    Exists(Stat),
    Read(Stat, Data),
    Children(Vec<N>),
    BarrierPassed,
    NodeCreated,
    Created(N, Stat),
    Written(Stat),
    Deleted,
    Committed(Vec<Done<N>>),
    Failed(Failure),
}

/// The outcome of a part of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Done<N> {
    Checked,
    Created(N),
    Written(Stat),
    Deleted,
}

/// How far a server has come: so many commits, and so many parts of the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub commits: usize,
    pub parts: usize,
}

impl Position {
    pub const fn after(commits: usize) -> Self {
        Self { commits, parts: 0 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server<N: Ord> {
    /// What each server has applied.
    pub base: Rc<Tree<N>>,
    /// The later commits, oldest first.
    pub log: Vec<Vec<Effect<N>>>,
    pub tip: Rc<Tree<N>>,
    pub zxid: i64,
    /// The number of the next sequential child of each znode.
    pub next: BTreeMap<N, u32>,
    /// How many children of the node each server has created.
    pub arrivals: i32,
}

impl<N: Copy + Ord> Server<N> {
    pub fn new(base: Tree<N>) -> Self {
        let base = Rc::new(base);
        Self {
            tip: Rc::clone(&base),
            base,
            log: Vec::new(),
            zxid: 100,
            next: BTreeMap::new(),
            arrivals: 0,
        }
    }

    pub fn tip_mut(&mut self) -> &mut Tree<N> {
        Rc::make_mut(&mut self.tip)
    }

    pub const fn end(&self) -> usize {
        self.log.len()
    }

    pub const fn tip_position(&self) -> Position {
        Position::after(self.end())
    }

    pub fn at(&self, position: Position) -> Rc<Tree<N>> {
        if position == Position::after(self.end()) {
            return Rc::clone(&self.tip);
        }
        let mut tree = Rc::clone(&self.base);
        self.until(position).for_each(|effect| effect.apply(Rc::make_mut(&mut tree)));
        tree
    }

    fn until(&self, position: Position) -> impl Iterator<Item = &Effect<N>> {
        let whole = self.log[..position.commits].iter().flatten();
        let next = self.log.get(position.commits).map_or(&[][..], |it| &it[..position.parts]);
        whole.chain(next)
    }

    pub fn read<M: Model<Name = N>>(
        &self,
        position: Position,
        request: &Request<N>,
        asker: SessionId,
    ) -> Answer<N> {
        let tree = self.at(position);
        let (Request::Exists(name, _) | Request::Read(name, _) | Request::List(name, _)) = request
        else {
            panic!("no read")
        };
        match (tree.get(name), request) {
            (None, _) => Answer::Failed(Failure::NoNode),
            (Some(znode), Request::Exists(..))
                if znode.is_barred() && znode.owner != Some(asker) =>
            {
                Answer::Failed(Failure::NoAuth)
            }
            (Some(znode), Request::Read(..) | Request::List(..))
                if znode.hides_from::<M>(asker) =>
            {
                Answer::Failed(Failure::NoAuth)
            }
            (Some(znode), Request::Exists(..)) if *name == M::NODE => {
                let created = arrivals::<M>(self.until(position));
                let arrivals = Arrivals::of(self.arrivals + created, 0);
                Answer::Exists(znode.stat().with_arrivals(arrivals))
            }
            (Some(znode), Request::Exists(..)) => Answer::Exists(znode.stat()),
            (Some(znode), Request::Read(..)) => Answer::Read(znode.stat(), znode.data),
            (Some(_), _) => Answer::Children(
                tree.keys().copied().filter(|child| M::parent(*child) == Some(*name)).collect(),
            ),
        }
    }

    /// Carries out what is not read.
    pub fn write<M: Model<Name = N>>(&mut self, request: &Request<N>) -> Answer<N> {
        match request {
            Request::Barrier => Answer::BarrierPassed,
            Request::CreateNode => {
                let _ = self.apply::<M>(&[Change::Create(M::NODE, None, Data::Byte(0))]);
                Answer::NodeCreated
            }
            Request::Single(change) => match self.apply::<M>(&[*change]) {
                Err((_, code)) => Answer::Failed(Failure::from_code(code)),
                Ok(done) => match done[0] {
                    Done::Created(name) => Answer::Created(name, self.tip[&name].stat()),
                    Done::Written(stat) => Answer::Written(stat),
                    Done::Deleted => Answer::Deleted,
                    Done::Checked => panic!("no request"),
                },
            },
            Request::Multi(changes) => match self.apply::<M>(changes) {
                Ok(done) => Answer::Committed(done),
                Err((part, code)) => Answer::Failed(Failure::Aborted { part, code }),
            },
            Request::Exists(..) | Request::Read(..) | Request::List(..) => panic!("a read"),
        }
    }

    /// Commits all of it, or nothing.
    pub fn apply<M: Model<Name = N>>(
        &mut self,
        changes: &[Change<N>],
    ) -> Result<Vec<Done<N>>, (usize, i32)> {
        let (mut tree, mut effects, mut done) = (Rc::clone(&self.tip), Vec::new(), Vec::new());
        let token = Token::new(self.zxid + 1);
        let mut next = self.next.clone();
        for (part, change) in changes.iter().enumerate() {
            let mut change = *change;
            if let Change::Create(name, ..) = &mut change {
                let parent = M::parent(*name).unwrap_or(*name);
                let number = next.get(&parent).copied().unwrap_or_default();
                if let Some(numbered) = M::numbered(*name, number) {
                    *name = numbered;
                    next.insert(parent, number + 1);
                } else {
                    // A znode that is made anew begins anew.
                    next.remove(name);
                }
            }
            let effect = effect::<M>(&tree, change, token).map_err(|code| (part, code))?;
            done.push(match effect {
                None => Done::Checked,
                Some(Effect::Put(name, _)) => Done::Created(name),
                Some(Effect::Written(_, znode)) => Done::Written(znode.stat()),
                Some(Effect::Gone(_) | Effect::Barred(_)) => Done::Deleted,
            });
            if let Some(effect) = &effect {
                effect.apply(Rc::make_mut(&mut tree));
            }
            effects.extend(effect);
        }
        self.next = next;
        self.commit(effects);
        Ok(done)
    }

    pub fn commit(&mut self, effects: Vec<Effect<N>>) {
        if !effects.is_empty() {
            self.zxid += 1;
            for effect in &effects {
                effect.apply(Rc::make_mut(&mut self.tip));
            }
            self.log.push(effects);
        }
    }

    /// Forgets the first commits.
    pub fn fold<M: Model<Name = N>>(&mut self, applied: usize) {
        self.arrivals += arrivals::<M>(self.log[..applied].iter().flatten());
        for effect in self.log.drain(..applied).flatten() {
            effect.apply(Rc::make_mut(&mut self.base));
        }
    }
}

impl<N: Copy + Ord> Effect<N> {
    pub fn apply(&self, tree: &mut Tree<N>) {
        match *self {
            Self::Put(name, znode) | Self::Written(name, znode) => {
                tree.insert(name, znode);
            }
            Self::Gone(name) => {
                tree.remove(&name);
            }
            Self::Barred(name) => {
                if let Some(znode) = tree.get_mut(&name) {
                    znode.access = Access::Barred;
                }
            }
        }
    }

    /// Returns the event that it is for watches on a znode.
    pub const fn event(&self) -> Option<(N, Event)> {
        match *self {
            Self::Put(name, _) => Some((name, Event::Created)),
            Self::Written(name, _) => Some((name, Event::Data)),
            Self::Gone(name) => Some((name, Event::Deleted)),
            Self::Barred(_) => None,
        }
    }
}

/// Counts the children of the node that were created.
fn arrivals<'e, M: Model>(effects: impl Iterator<Item = &'e Effect<M::Name>>) -> i32
where
    M::Name: 'e,
{
    let creates = |effect: &&Effect<M::Name>| matches!(effect, Effect::Put(name, _) if M::parent(*name) == Some(M::NODE));
    i32::try_from(effects.filter(creates).count()).expect("few")
}

fn effect<M: Model>(
    tree: &Tree<M::Name>,
    change: Change<M::Name>,
    token: Token,
) -> Result<Option<Effect<M::Name>>, i32> {
    let is_other =
        |version: Option<i32>, znode: &Znode| version.is_some_and(|it| it != znode.version);
    match change {
        Change::Create(name, ..) if tree.contains_key(&name) => Err(-110),
        Change::Create(name, ..)
            if M::parent(name).is_some_and(|parent| !tree.contains_key(&parent)) =>
        {
            Err(-101)
        }
        Change::Create(name, ..)
            if M::parent(name).is_some_and(|parent| tree[&parent].owner.is_some()) =>
        {
            Err(-108)
        }
        Change::Create(name, owner, data) => {
            let znode = Znode { token, version: 0, owner, data, access: Access::Open };
            Ok(Some(Effect::Put(name, znode)))
        }
        Change::Check(name, version) => match tree.get(&name) {
            None => Err(-101),
            Some(znode) if is_other(version, znode) => Err(-103),
            Some(_) => Ok(None),
        },
        Change::Write(name, version, data) => match tree.get(&name) {
            None => Err(-101),
            Some(znode) if is_other(version, znode) => Err(-103),
            Some(znode) => {
                let znode = Znode { version: znode.version + 1, data, ..*znode };
                Ok(Some(Effect::Written(name, znode)))
            }
        },
        Change::Delete(name, version) => match tree.get(&name) {
            None => Err(-101),
            Some(znode) if is_other(version, znode) => Err(-103),
            Some(_) if tree.keys().any(|child| M::parent(*child) == Some(name)) => Err(-111),
            Some(_) => Ok(Some(Effect::Gone(name))),
        },
    }
}

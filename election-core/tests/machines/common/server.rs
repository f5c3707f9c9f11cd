//! An ensemble with one election node: a log of committed changes, and the tree at any point of it.
//!
//! Each session is served by a server that has applied a prefix of the log. A read is answered from
//! that prefix; a write goes to the end of the log, and its reply comes once the server has applied
//! it. So whatever a session hears is a function of its prefix, and of nothing else.

mod names;
mod request;

use election_core::{Change, Failure, SessionId, Stat, Token, Version};

pub use names::{END_MARK, Kind, Name, PERSISTENT, UNTOLD, client_of, split};
pub use request::Request;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub name: Name,
    pub owner: SessionId,
    pub token: Token,
    pub version: i32,
    pub access: Access,
    pub data: Data,
}

/// The meaning of a znode's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Data {
    Own,
    /// Its contender is asked to let go.
    RevokeRequest,
}

impl Data {
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Own => b"host-7",
            Self::RevokeRequest => election_core::lock::REVOKE_REQUEST,
        }
    }
}

/// Whether clients may read a znode. A client that may not is not told of its end either: the server drops the event,
/// and the watch with it (ZOOKEEPER-4799).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    Open,
    Barred,
}

impl Znode {
    fn stat(&self) -> Stat {
        let owner = Some(self.owner).filter(|owner| *owner != PERSISTENT);
        Stat::new(owner.map_or(0, SessionId::get), self.token.get(), self.version)
    }
}

/// Of a write.
#[derive(Clone, Copy, Debug)]
pub struct Author {
    pub client: usize,
    pub session: SessionId,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Created(Name, Option<Stat>),
    ElectionNodeCreated,
    BarrierPassed,
    /// The candidates, and the children that are none.
    Children(Vec<Name>, &'static [&'static str], Option<Name>),
    Read(Name, Stat, Data),
    Exists(Name, Stat),
    EndMark(Stat),
    Deleted,
    /// The reader's name.
    Exchanged(Name),
    Failed(Failure),
}

/// A committed change. Each touches one znode at most, but for the exchange of one for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    Created(Znode),
    Deleted(Name),
    Written(Name),
    /// The same, by a client that wants the contender to let go.
    RevokeRequested(Name),
    /// The first is created, and the second deleted.
    Exchanged(Znode, Name),
    /// The access list is another one, by which no client may read it.
    Barred(Name),
    /// The session's server drops its connection.
    SessionClosed(SessionId),
    ElectionNodeCreated,
    ElectionNodeDeleted,
    /// An operator has created the mark.
    Ended,
    Reopened,
    /// The mark is created, or deleted.
    HandedOverTo(Option<Name>),
}

impl Entry {
    /// Returns the event that the watches on a znode get.
    pub fn told(self) -> Option<(Name, Change)> {
        match self {
            Self::Deleted(name) | Self::Exchanged(_, name) => Some((name, Change::Deleted)),
            Self::Written(name) | Self::RevokeRequested(name) => Some((name, Change::Data)),
            _ => None,
        }
    }
}

/// The children of the election node, after some prefix of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    pub has_election_node: bool,
    /// Whether the mark stands in it by which the election is ended.
    pub is_ended: bool,
    /// The candidate that the leadership is handed over to, by a mark.
    pub handed_over_to: Option<Name>,
    pub znodes: Vec<Znode>,
}

impl Tree {
    pub fn find(&self, name: Name) -> Option<&Znode> {
        self.znodes.iter().find(|znode| znode.name == name)
    }

    fn write(&mut self, name: Name, data: Data) {
        for znode in self.znodes.iter_mut().filter(|znode| znode.name == name) {
            znode.version += 1;
            znode.data = data;
        }
    }

    fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Created(znode) => self.znodes.push(znode),
            Entry::Deleted(name) => self.znodes.retain(|znode| znode.name != name),
            Entry::Exchanged(znode, gone) => {
                self.znodes.retain(|znode| znode.name != gone);
                self.znodes.push(znode);
            }
            Entry::Written(name) => self.write(name, Data::Own),
            Entry::RevokeRequested(name) => self.write(name, Data::RevokeRequest),
            Entry::Barred(name) => {
                for znode in self.znodes.iter_mut().filter(|znode| znode.name == name) {
                    znode.access = Access::Barred;
                }
            }
            Entry::SessionClosed(_) => {}
            Entry::ElectionNodeCreated => self.has_election_node = true,
            Entry::ElectionNodeDeleted => {
                (self.has_election_node, self.is_ended) = (false, false);
                self.handed_over_to = None;
            }
            Entry::Ended => self.is_ended = true,
            Entry::Reopened => self.is_ended = false,
            Entry::HandedOverTo(name) => self.handed_over_to = name,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// The state that every session's server has applied.
    pub base: Tree,
    /// The later commits, oldest first.
    pub log: Vec<Entry>,
    /// The tree after the whole log.
    pub tip: Tree,
    /// The number of the next child. It sticks at 2147483647, as since ZooKeeper 3.6.
    pub next: i32,
    pub zxid: i64,
    /// Barred znodes that were deleted: no watch told of it.
    pub unheard: Vec<Name>,
    /// Children that are no candidates.
    pub foreign: &'static [&'static str],
    /// Whether the reply to a create tells the metadata of the znode.
    pub knows_create2: bool,
    /// The server's answer to every create, whatever else it could answer.
    pub create_fails: Option<Failure>,
}

impl Server {
    pub fn new() -> Self {
        let empty = Tree {
            has_election_node: true,
            is_ended: false,
            handed_over_to: None,
            znodes: Vec::new(),
        };
        Self {
            base: empty.clone(),
            log: Vec::new(),
            tip: empty,
            next: 0,
            zxid: 100,
            unheard: Vec::new(),
            foreign: &[],
            knows_create2: true,
            create_fails: None,
        }
    }

    /// Makes a server without an election node.
    pub fn without_election_node() -> Self {
        let nothing = Tree {
            has_election_node: false,
            is_ended: false,
            handed_over_to: None,
            znodes: Vec::new(),
        };
        Self { base: nothing.clone(), tip: nothing, ..Self::new() }
    }

    /// Returns the position of a server that lags behind nothing.
    pub fn end(&self) -> usize {
        self.log.len()
    }

    /// Returns the znode as committed.
    pub fn find(&self, name: Name) -> Option<&Znode> {
        self.tip.find(name)
    }

    pub fn commit(&mut self, entry: Entry) {
        if let Entry::Deleted(name) = entry
            && self.find(name).is_some_and(|znode| znode.access == Access::Barred)
        {
            self.unheard.push(name);
        }
        self.tip.apply(entry);
        self.log.push(entry);
    }

    /// Forgets that a server may lag behind the first `applied` entries of the log.
    pub fn fold(&mut self, applied: usize) {
        for entry in self.log.drain(..applied) {
            self.base.apply(entry);
        }
    }

    /// Whether the change at this position of the log is told by the watches on its znode.
    pub fn is_told(&self, position: usize, name: Name) -> bool {
        let barred = self.base.find(name).is_some_and(|znode| znode.access == Access::Barred);
        !barred && !self.log[..position].contains(&Entry::Barred(name))
    }

    fn at(&self, position: usize) -> Tree {
        let mut tree = self.base.clone();
        for entry in &self.log[..position] {
            tree.apply(*entry);
        }
        tree
    }

    /// Answers a read of a session from what a server has applied.
    pub fn read(&self, position: usize, request: Request, asker: SessionId) -> Answer {
        let tree = self.at(position);
        let found = match request {
            Request::List if tree.has_election_node => {
                let names = tree.znodes.iter().map(|znode| znode.name).collect();
                let marked: &[_] = if tree.is_ended { &[END_MARK] } else { self.foreign };
                return Answer::Children(names, marked, tree.handed_over_to);
            }
            Request::Read(name) | Request::ReadUnwatched(name) | Request::Inspect(name) => {
                tree.find(name)
            }
            Request::LookForEnd => {
                let stat = Stat::new(0, 1, 0);
                return if tree.is_ended {
                    Answer::EndMark(stat)
                } else {
                    Answer::Failed(Failure::NoNode)
                };
            }
            Request::Exists(name) | Request::LookAt(name) => {
                return match tree.find(name) {
                    // As servers do since 3.8.4 and 3.9.2. No access list keeps a session from
                    // looking at its own.
                    Some(Znode { access: Access::Barred, owner, .. }) if *owner != asker => {
                        Answer::Failed(Failure::NoAuth)
                    }
                    Some(znode) => Answer::Exists(name, znode.stat()),
                    None => Answer::Failed(Failure::NoNode),
                };
            }
            _ => None,
        };
        match found {
            Some(Znode { access: Access::Barred, .. }) => Answer::Failed(Failure::NoAuth),
            Some(znode) => Answer::Read(znode.name, znode.stat(), znode.data),
            None => Answer::Failed(Failure::NoNode),
        }
    }

    /// Carries out what does not depend on the server that it was sent to: a write. A barrier is
    /// one that changes nothing.
    pub fn write(&mut self, author: Author, request: Request) -> Answer {
        match request {
            Request::Create(attempt) => self.create(author, attempt),
            Request::CreateElectionNode if self.tip.has_election_node => {
                Answer::Failed(Failure::NodeExists)
            }
            Request::CreateElectionNode => {
                self.commit(Entry::ElectionNodeCreated);
                Answer::ElectionNodeCreated
            }
            Request::Delete(name, expected) => {
                let version = self.find(name).map(|znode| Version::new(znode.version));
                match (version, expected) {
                    (None, _) => Answer::Failed(Failure::NoNode),
                    (Some(version), Some(expected)) if version != expected => {
                        Answer::Failed(Failure::BadVersion)
                    }
                    (Some(_), _) => {
                        self.commit(Entry::Deleted(name));
                        Answer::Deleted
                    }
                }
            }
            Request::Exchange { writer, reader } => self.exchange(author, writer, reader),
            Request::Barrier
            | Request::List
            | Request::Read(_)
            | Request::ReadUnwatched(_)
            | Request::Exists(_)
            | Request::LookAt(_)
            | Request::LookForEnd
            | Request::Inspect(_) => Answer::BarrierPassed,
        }
    }

    fn create(&mut self, author: Author, attempt: u32) -> Answer {
        let Author { client, session: owner, kind } = author;
        if let Some(failure) = self.create_fails {
            return Answer::Failed(failure);
        }
        if !self.tip.has_election_node {
            return Answer::Failed(Failure::NoNode);
        }
        let (client, attempt) = match kind {
            Kind::Plain => (UNTOLD, 0),
            Kind::Session => client_of(owner),
            Kind::Latch | Kind::Lock | Kind::Write | Kind::Read => (client, attempt),
        };
        let name = Name { client, attempt, kind, sequence: self.next };
        self.next = self.next.saturating_add(1);
        self.zxid += 1;
        let token = Token::new(self.zxid);
        let (access, data) = (Access::Open, Data::Own);
        let znode = Znode { name, owner, token, version: 0, access, data };
        let stat = self.knows_create2.then(|| znode.stat());
        self.commit(Entry::Created(znode));
        Answer::Created(name, stat)
    }

    fn exchange(&mut self, author: Author, writer: Name, reader: Name) -> Answer {
        let aborted = |part, code| Answer::Failed(Failure::Aborted { part, code });
        if !self.tip.has_election_node {
            return aborted(0, -101);
        }
        if self.find(reader).is_some() {
            return aborted(0, -110);
        }
        if self.find(writer).is_none() {
            return aborted(1, -101);
        }
        self.zxid += 1;
        let (owner, token) = (author.session, Token::new(self.zxid));
        let (access, data) = (Access::Open, Data::Own);
        let znode = Znode { name: reader, owner, token, version: 0, access, data };
        self.commit(Entry::Exchanged(znode, writer));
        Answer::Exchanged(reader)
    }

    /// Deletes the ephemeral znodes of each session that `is_dead`.
    pub fn expire(&mut self, is_dead: impl Fn(SessionId) -> bool) {
        let dead: Vec<Name> = self
            .tip
            .znodes
            .iter()
            .filter(|znode| is_dead(znode.owner))
            .map(|znode| znode.name)
            .collect();
        for name in dead {
            self.commit(Entry::Deleted(name));
        }
    }

    /// Deletes the election node with all that is in it; its successor counts from 0 again.
    pub fn wipe(&mut self) {
        self.expire(|_| true);
        self.commit(Entry::ElectionNodeDeleted);
        self.next = 0;
    }
}

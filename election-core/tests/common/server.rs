//! An ensemble with one election node: a log of committed changes, and the tree at any point of it.
//!
//! Each session is served by a server that has applied a prefix of the log. A read is answered from
//! that prefix; a write goes to the end of the log, and its reply comes once the server has applied
//! it. So whatever a session hears is a function of its prefix, and of nothing else.

use election_core::{DeleteVersion, Failure, Op, Sequence, SessionId, Stat, Token, Version};

use super::client::nominee_id;

/// A candidate's name, kept small: whose id it carries, and the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    pub client: usize,
    pub sequence: i32,
}

impl Name {
    pub fn text(self) -> String {
        let sequence = Sequence::new(self.sequence);
        format!("{}{sequence}", nominee_id(self.client).candidate_prefix())
    }

    pub fn parse(text: &str) -> Self {
        let (_, digits) = text.rsplit_once("latch-").expect("a candidate's name");
        let client = (0..16).find(|client| nominee_id(*client).owns(text));
        Self {
            client: client.expect("the id of a client"),
            sequence: digits.parse().expect("a sequence"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub name: Name,
    pub owner: SessionId,
    pub token: Token,
    pub version: i32,
}

impl Znode {
    fn stat(&self) -> Stat {
        Stat { owner: Some(self.owner), token: self.token, version: Version::new(self.version) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    Create,
    CreateElectionNode,
    Sync,
    List,
    Read(Name),
    Inspect(Name),
    /// Which version, or any.
    Delete(Name, Option<Version>),
}

impl Request {
    pub fn of(op: Op<'_>) -> Self {
        match op {
            Op::Create { .. } => Self::Create,
            Op::CreateElectionNode => Self::CreateElectionNode,
            Op::Sync => Self::Sync,
            Op::List => Self::List,
            Op::Read { name, .. } => Self::Read(Name::parse(name)),
            Op::Inspect { name } => Self::Inspect(Name::parse(name)),
            Op::Delete { name, version: DeleteVersion::Any } => {
                Self::Delete(Name::parse(name), None)
            }
            Op::Delete { name, version: DeleteVersion::Exactly(version) } => {
                Self::Delete(Name::parse(name), Some(version))
            }
        }
    }

    pub fn writes(self) -> bool {
        matches!(self, Self::Create | Self::CreateElectionNode | Self::Delete(..))
    }

    /// Whether the session's own server answers it, from what it has applied.
    pub fn reads(self) -> bool {
        matches!(self, Self::List | Self::Read(_) | Self::Inspect(_))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Created(Name),
    ElectionNodeCreated,
    Synced,
    /// The candidates, and the children that are none.
    Children(Vec<Name>, &'static [&'static str]),
    Read(Name, Stat),
    Deleted,
    Failed(Failure),
}

/// A committed change. Each touches one znode at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    Created(Znode),
    Deleted(Name),
    Written(Name),
    /// The session's server drops its connection.
    SessionClosed(SessionId),
    ElectionNodeCreated,
    ElectionNodeDeleted,
}

/// What is below the election node, after some prefix of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    pub has_election_node: bool,
    pub znodes: Vec<Znode>,
}

impl Tree {
    pub fn find(&self, name: Name) -> Option<&Znode> {
        self.znodes.iter().find(|znode| znode.name == name)
    }

    fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Created(znode) => self.znodes.push(znode),
            Entry::Deleted(name) => self.znodes.retain(|znode| znode.name != name),
            Entry::Written(name) => {
                for znode in self.znodes.iter_mut().filter(|znode| znode.name == name) {
                    znode.version += 1;
                }
            }
            Entry::SessionClosed(_) => {}
            Entry::ElectionNodeCreated => self.has_election_node = true,
            Entry::ElectionNodeDeleted => self.has_election_node = false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// What every session's server has applied.
    pub base: Tree,
    /// What was committed after that, oldest first.
    pub log: Vec<Entry>,
    /// The tree after the whole log.
    pub tip: Tree,
    pub next: Sequence,
    pub zxid: i64,
    /// Children that are no candidates.
    pub foreign: &'static [&'static str],
    /// What the server answers to every create, whatever else it could.
    pub create_fails: Option<Failure>,
}

impl Server {
    pub fn new() -> Self {
        let empty = Tree { has_election_node: true, znodes: Vec::new() };
        Self {
            base: empty.clone(),
            log: Vec::new(),
            tip: empty,
            next: Sequence::new(0),
            zxid: 100,
            foreign: &[],
            create_fails: None,
        }
    }

    /// One in which nobody created the election node yet.
    pub fn without_election_node() -> Self {
        let nothing = Tree { has_election_node: false, znodes: Vec::new() };
        Self { base: nothing.clone(), tip: nothing, ..Self::new() }
    }

    /// The position of a server that lags behind nothing.
    pub fn end(&self) -> usize {
        self.log.len()
    }

    /// The znode as committed.
    pub fn find(&self, name: Name) -> Option<&Znode> {
        self.tip.find(name)
    }

    pub fn commit(&mut self, entry: Entry) {
        self.tip.apply(entry);
        self.log.push(entry);
    }

    /// Forgets that a server may lag behind the first `applied` entries of the log.
    pub fn fold(&mut self, applied: usize) {
        for entry in self.log.drain(..applied) {
            self.base.apply(entry);
        }
    }

    fn at(&self, position: usize) -> Tree {
        let mut tree = self.base.clone();
        for entry in &self.log[..position] {
            tree.apply(*entry);
        }
        tree
    }

    /// Answers a read from what a server has applied.
    pub fn read(&self, position: usize, request: Request) -> Answer {
        let tree = self.at(position);
        let found = match request {
            Request::List if tree.has_election_node => {
                let names = tree.znodes.iter().map(|znode| znode.name).collect();
                return Answer::Children(names, self.foreign);
            }
            Request::Read(name) | Request::Inspect(name) => tree.find(name),
            _ => None,
        };
        match found {
            Some(znode) => Answer::Read(znode.name, znode.stat()),
            None => Answer::Failed(Failure::NoNode),
        }
    }

    /// Carries out what does not depend on the server that it was sent to: a write or a `sync`.
    pub fn write(&mut self, (client, owner): (usize, SessionId), request: Request) -> Answer {
        match request {
            Request::Create => self.create(client, owner),
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
            Request::Sync | Request::List | Request::Read(_) | Request::Inspect(_) => {
                Answer::Synced
            }
        }
    }

    fn create(&mut self, client: usize, owner: SessionId) -> Answer {
        if let Some(failure) = self.create_fails {
            return Answer::Failed(failure);
        }
        if !self.tip.has_election_node {
            return Answer::Failed(Failure::NoNode);
        }
        let name = Name { client, sequence: self.next.get() };
        self.next = Sequence::new(self.next.get().wrapping_add(1));
        self.zxid += 1;
        let token = Token::new(self.zxid);
        self.commit(Entry::Created(Znode { name, owner, token, version: 0 }));
        Answer::Created(name)
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
        self.next = Sequence::new(0);
    }
}

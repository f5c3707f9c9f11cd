//! One ZooKeeper server with one election node, linearizable.

use election_core::{
    Change, DeleteVersion, Failure, Op, Sequence, SessionId, Stat, Ticket, Token, Version,
};

use super::client::nominee_id;

/// A candidate's name, kept small: whose id it carries, and the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub name: Name,
    pub owner: SessionId,
    pub token: Token,
    pub version: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    Create,
    CreateElectionNode,
    Sync,
    List,
    Read(Name),
    Inspect(Name),
    Delete(Name, DeleteVersion),
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
            Op::Delete { name, version } => Self::Delete(Name::parse(name), version),
        }
    }

    pub fn writes(self) -> bool {
        matches!(self, Self::Create | Self::CreateElectionNode | Self::Delete(..))
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

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watcher {
    pub client: usize,
    pub ticket: Ticket,
    pub name: Name,
}

/// A watch that fired, for a client to be told of.
pub type Fired = (usize, Ticket, Change);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    pub has_election_node: bool,
    pub znodes: Vec<Znode>,
    pub watchers: Vec<Watcher>,
    pub next: Sequence,
    pub zxid: i64,
    /// Children that are no candidates.
    pub foreign: &'static [&'static str],
    /// What the server answers to every create, whatever else it could.
    pub create_fails: Option<Failure>,
}

impl Server {
    pub fn new() -> Self {
        Self {
            has_election_node: true,
            znodes: Vec::new(),
            watchers: Vec::new(),
            next: Sequence::new(0),
            zxid: 100,
            foreign: &[],
            create_fails: None,
        }
    }

    pub fn find(&self, name: Name) -> Option<&Znode> {
        self.znodes.iter().find(|znode| znode.name == name)
    }

    /// Carries out a request of `client`, whose session is `session`.
    pub fn execute(
        &mut self,
        (client, session): (usize, SessionId),
        ticket: Option<Ticket>,
        request: Request,
    ) -> (Answer, Vec<Fired>) {
        let answer = match request {
            Request::Create => self.create(client, session),
            Request::CreateElectionNode if self.has_election_node => {
                Answer::Failed(Failure::NodeExists)
            }
            Request::CreateElectionNode => {
                self.has_election_node = true;
                Answer::ElectionNodeCreated
            }
            Request::Sync => Answer::Synced,
            Request::List if self.has_election_node => {
                let names = self.znodes.iter().map(|znode| znode.name).collect();
                Answer::Children(names, self.foreign)
            }
            Request::List => Answer::Failed(Failure::NoNode),
            Request::Read(name) | Request::Inspect(name) => match self.find(name) {
                Some(znode) => Answer::Read(name, stat(znode)),
                None => Answer::Failed(Failure::NoNode),
            },
            Request::Delete(name, version) => return self.delete_if(name, version),
        };
        if let (Request::Read(name), Answer::Read(..), Some(ticket)) = (request, &answer, ticket) {
            self.watchers.push(Watcher { client, ticket, name });
        }
        (answer, Vec::new())
    }

    fn create(&mut self, client: usize, session: SessionId) -> Answer {
        if let Some(failure) = self.create_fails {
            return Answer::Failed(failure);
        }
        if !self.has_election_node {
            return Answer::Failed(Failure::NoNode);
        }
        let name = Name { client, sequence: self.next.get() };
        self.next = Sequence::new(self.next.get().wrapping_add(1));
        self.zxid += 1;
        let token = Token::new(self.zxid);
        self.znodes.push(Znode { name, owner: session, token, version: 0 });
        Answer::Created(name)
    }

    fn delete_if(&mut self, name: Name, version: DeleteVersion) -> (Answer, Vec<Fired>) {
        match (self.find(name).map(stat), version) {
            (None, _) => (Answer::Failed(Failure::NoNode), Vec::new()),
            (Some(stat), DeleteVersion::Exactly(version)) if stat.version != version => {
                (Answer::Failed(Failure::BadVersion), Vec::new())
            }
            (Some(_), _) => (Answer::Deleted, self.delete(name)),
        }
    }

    pub fn delete(&mut self, name: Name) -> Vec<Fired> {
        self.znodes.retain(|znode| znode.name != name);
        self.fire(name, Change::Deleted)
    }

    pub fn write(&mut self, name: Name) -> Vec<Fired> {
        for znode in self.znodes.iter_mut().filter(|znode| znode.name == name) {
            znode.version += 1;
        }
        self.fire(name, Change::Data)
    }

    /// Deletes the ephemeral znodes of each session that `is_dead`.
    pub fn expire(&mut self, is_dead: impl Fn(SessionId) -> bool) -> Vec<Fired> {
        let gone: Vec<Name> = self
            .znodes
            .iter()
            .filter(|znode| is_dead(znode.owner))
            .map(|znode| znode.name)
            .collect();
        gone.into_iter().flat_map(|name| self.delete(name)).collect()
    }

    /// Deletes the election node with all that is in it; its successor counts from 0 again.
    pub fn wipe(&mut self) -> Vec<Fired> {
        self.has_election_node = false;
        self.next = Sequence::new(0);
        self.expire(|_| true)
    }

    fn fire(&mut self, name: Name, change: Change) -> Vec<Fired> {
        let (fired, kept) = self.watchers.drain(..).partition(|watcher| watcher.name == name);
        self.watchers = kept;
        let fired: Vec<Watcher> = fired;
        fired.into_iter().map(|watcher| (watcher.client, watcher.ticket, change)).collect()
    }
}

fn stat(znode: &Znode) -> Stat {
    Stat { owner: Some(znode.owner), token: znode.token, version: Version::new(znode.version) }
}

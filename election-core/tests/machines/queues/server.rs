//! An ensemble with one queue: every state of it that a server may lag behind at.

use election_core::{
    Create, CreateMode, Delete, ExpectedVersion, Failure, NewZnode, Op, Part, SessionId, Watch,
    Znode,
};

/// A taker's request, in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    CreateNode,
    /// Of the node.
    Compare,
    List(Watch),
    Read(u32),
    Exists(u32),
    LookAtPin(u32, String),
    LookAtClaim(u32),
    Check(u32),
    Delete(u32, i32),
    Claim(u32, String),
    GiveBack(u32, String),
    DeletePin(u32, String),
    Finish(u32, String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    NodeCreated,
    /// So many children were created.
    Compared(u32),
    Children(Vec<String>),
    Read(u32, i32),
    Exists,
    /// Created by this transaction.
    Created(u32),
    Deleted,
    Committed,
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemZnode {
    pub number: u32,
    pub version: i32,
    /// The session that it goes with.
    pub owner: Option<SessionId>,
    /// Its children: their names, their sessions, and the transactions that created them.
    pub pins: Vec<(String, SessionId, u32)>,
    /// Whether it has a child that is no claim.
    pub is_parent: bool,
}

/// How items are called, so that they are taken in the order of their numbers or by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    #[default]
    ByNumber,
    /// The last one first.
    ByPriority,
}

impl Order {
    fn name(self, number: u32) -> String {
        match self {
            Self::ByNumber => name(number),
            Self::ByPriority => format!("queue-{:02}-{number:010}", 99 - number),
        }
    }
}

/// The children of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tree {
    pub has_node: bool,
    pub order: Order,
    /// How many children were created, where that is looked at.
    pub created: u32,
    pub items: Vec<ItemZnode>,
    /// With the transactions that created them.
    pub claims: Vec<(u32, SessionId, u32)>,
    /// The number of the transactions from now on. It grows where two takers claim one item in turn.
    pub transaction: u32,
}

pub fn name(number: u32) -> String {
    format!("queue-{number:010}")
}

fn number(name: &str) -> u32 {
    name.rsplit_once('-').and_then(|(_, digits)| digits.parse().ok()).expect("an item")
}

impl Request {
    pub fn of(op: &Op<'_>) -> Self {
        match op {
            Op::CreateNode => Self::CreateNode,
            Op::List { parent: Znode::Node, watch } => Self::List(*watch),
            Op::Exists { znode: Znode::Node, watch: Watch::None } => Self::Compare,
            Op::Read { znode: Znode::Child(name), watch: Watch::None } => {
                Self::Read(number(&name.text()))
            }
            Op::Exists { znode: Znode::Child(name), watch: Watch::None } => {
                let name = name.text();
                match name.strip_prefix("claimed-") {
                    Some(item) => Self::LookAtClaim(number(item)),
                    None => Self::Exists(number(&name)),
                }
            }
            Op::Exists { znode: Znode::Grandchild { child, name }, watch: Watch::None } => {
                Self::LookAtPin(number(child), name.to_string())
            }
            Op::Delete(Delete {
                znode: Znode::Grandchild { child, name },
                version: ExpectedVersion::Any,
            }) => Self::DeletePin(number(child), name.to_string()),
            Op::Delete(Delete {
                znode: Znode::Child(name),
                version: ExpectedVersion::Exactly(version),
            }) => Self::Delete(number(&name.text()), version.get()),
            Op::Multi(multi) => {
                let parts: Vec<Part<'_>> = multi.parts().collect();
                Self::of_multi(&parts)
            }
            other => panic!("no taker asks for {other:?}"),
        }
    }

    fn of_multi(parts: &[Part<'_>]) -> Self {
        let deleted = |part: &Part<'_>| match part {
            Part::Delete(Delete { znode, version: ExpectedVersion::Any }) => Some(shown(*znode)),
            _ => None,
        };
        let created = |part: &Part<'_>| match part {
            Part::Create(Create {
                znode: NewZnode::Named(znode),
                mode: CreateMode::Ephemeral,
                ..
            }) => Some(shown(*znode)),
            _ => None,
        };
        if let [Part::Check(check)] = parts {
            assert_eq!(check.version, ExpectedVersion::Any);
            let Znode::Child(name) = check.znode else { panic!("{check:?}") };
            return Self::Check(number(&name.text()));
        }
        let created: Vec<_> = parts.iter().filter_map(created).collect();
        let deleted: Vec<_> = parts.iter().filter_map(deleted).collect();
        let (item, pin) = created.iter().chain(&deleted).find_map(pinned).expect("a pin");
        let claim = (format!("claimed-{}", name(item)), String::new());
        let all = [(name(item), pin.clone()), (name(item), String::new()), claim];
        let [child, itself, claim] = &all;
        match (&created[..], &deleted[..]) {
            ([a, b], []) if a == child && b == claim => Self::Claim(item, pin),
            ([], [a, b]) if a == child && b == claim => Self::GiveBack(item, pin),
            ([], [a, b, c]) if a == child && b == itself && c == claim => Self::Finish(item, pin),
            _ => panic!("no taker asks for {parts:?}"),
        }
    }

    pub fn is_about_a_claim(&self) -> bool {
        matches!(
            self,
            Self::Claim(..) | Self::GiveBack(..) | Self::DeletePin(..) | Self::Finish(..)
        )
    }

    pub fn reads(&self) -> bool {
        matches!(
            self,
            Self::Compare
                | Self::List(_)
                | Self::Read(_)
                | Self::Exists(_)
                | Self::LookAtPin(..)
                | Self::LookAtClaim(_)
        )
    }
}

/// Returns the child, and the name below it.
fn shown(znode: Znode<'_>) -> (String, String) {
    match znode {
        Znode::Child(name) => (name.to_string(), String::new()),
        Znode::Grandchild { child, name } => (child.to_owned(), name.to_string()),
        other => panic!("no taker asks for {other:?}"),
    }
}

fn pinned((item, pin): &(String, String)) -> Option<(u32, String)> {
    (!pin.is_empty()).then(|| (number(item), pin.clone()))
}

impl Tree {
    pub fn item(&self, number: u32) -> Option<&ItemZnode> {
        self.items.iter().find(|item| item.number == number)
    }

    fn item_mut(&mut self, number: u32) -> Option<&mut ItemZnode> {
        self.items.iter_mut().find(|item| item.number == number)
    }

    /// Counts the creation of another child. No taker but by priority looks at that.
    pub fn count(&mut self) {
        if self.order == Order::ByPriority {
            self.created += 1;
        }
    }

    pub fn is_claimed(&self, number: u32) -> bool {
        self.claims.iter().any(|(claimed, ..)| *claimed == number)
    }

    /// Whether both have the same children: a watch on the children of the node reports if not.
    pub fn has_same_children(&self, other: &Self) -> bool {
        let children = |tree: &Self| tree.items.iter().map(|item| item.number).collect::<Vec<_>>();
        children(self) == children(other) && self.claims == other.claims
    }

    pub fn read(&self, request: &Request) -> Answer {
        match request {
            Request::Compare if self.has_node => Answer::Compared(self.created),
            Request::List(_) if self.has_node => {
                let items = self.items.iter().map(|item| self.order.name(item.number));
                let claims =
                    self.claims.iter().map(|(item, ..)| format!("claimed-{}", name(*item)));
                Answer::Children(items.chain(claims).collect())
            }
            Request::Read(number) if self.item(*number).is_some() => {
                Answer::Read(*number, self.item(*number).map_or(0, |item| item.version))
            }
            Request::Exists(number) if self.item(*number).is_some() => Answer::Exists,
            Request::LookAtPin(number, pin) => self
                .pin(*number, pin)
                .map_or(Answer::Failed(Failure::NoNode), |(.., by)| Answer::Created(*by)),
            Request::LookAtClaim(number) => {
                let claim = self.claims.iter().find(|(claimed, ..)| claimed == number);
                claim.map_or(Answer::Failed(Failure::NoNode), |(.., by)| Answer::Created(*by))
            }
            _ => Answer::Failed(Failure::NoNode),
        }
    }

    pub fn pin(&self, number: u32, pin: &str) -> Option<&(String, SessionId, u32)> {
        self.item(number)?.pins.iter().find(|(name, ..)| name == pin)
    }

    fn abort(part: usize, code: i32) -> Answer {
        Answer::Failed(Failure::Aborted { part, code })
    }

    pub fn write(&mut self, session: SessionId, request: &Request) -> Answer {
        match request {
            Request::CreateNode => {
                self.has_node = true;
                Answer::NodeCreated
            }
            Request::Check(number) if self.item(*number).is_some() => Answer::Committed,
            Request::Check(_) => Self::abort(0, -101),
            Request::Delete(number, version) => match self.item(*number) {
                None => Answer::Failed(Failure::NoNode),
                Some(item) if item.version != *version => Answer::Failed(Failure::BadVersion),
                Some(item) if !item.pins.is_empty() || item.is_parent => {
                    Answer::Failed(Failure::Rejected(-111))
                }
                Some(_) => {
                    self.items.retain(|item| item.number != *number);
                    Answer::Deleted
                }
            },
            Request::Claim(number, pin) => self.claim(session, *number, pin),
            Request::GiveBack(number, pin) | Request::Finish(number, pin) => {
                let finishes = matches!(request, Request::Finish(..));
                let has_claim = self.is_claimed(*number);
                let Some(item) = self.item_mut(*number) else { return Self::abort(0, -101) };
                if !item.pins.iter().any(|(name, ..)| name == pin) {
                    return Self::abort(0, -101);
                }
                if finishes && (item.pins.len() > 1 || item.is_parent) {
                    return Self::abort(1, -111);
                }
                if !has_claim {
                    return Self::abort(if finishes { 2 } else { 1 }, -101);
                }
                item.pins.retain(|(name, ..)| name != pin);
                self.claims.retain(|(claimed, ..)| claimed != number);
                if finishes {
                    self.items.retain(|item| item.number != *number);
                }
                Answer::Committed
            }
            Request::DeletePin(number, pin) => {
                if self.pin(*number, pin).is_none() {
                    return Answer::Failed(Failure::NoNode);
                }
                let item = self.item_mut(*number).expect("it has a pin");
                item.pins.retain(|(name, ..)| name != pin);
                Answer::Deleted
            }
            Request::Compare
            | Request::List(_)
            | Request::Read(_)
            | Request::Exists(_)
            | Request::LookAtPin(..)
            | Request::LookAtClaim(_) => panic!("it is a read"),
        }
    }

    fn claim(&mut self, session: SessionId, number: u32, pin: &str) -> Answer {
        let (is_claimed, by) = (self.is_claimed(number), self.transaction);
        let Some(item) = self.item_mut(number) else { return Self::abort(0, -101) };
        if item.owner.is_some() {
            return Self::abort(0, -108);
        }
        if item.pins.iter().any(|(name, ..)| name == pin) {
            return Self::abort(0, -110);
        }
        if is_claimed {
            return Self::abort(1, -110);
        }
        item.pins.push((pin.to_owned(), session, by));
        self.claims.push((number, session, by));
        self.count();
        Answer::Committed
    }

    pub fn expire(&mut self, is_dead: impl Fn(SessionId) -> bool) {
        self.items.retain(|item| !item.owner.is_some_and(&is_dead));
        for item in &mut self.items {
            item.pins.retain(|(_, session, _)| !is_dead(*session));
        }
        self.claims.retain(|(_, session, _)| !is_dead(*session));
    }
}

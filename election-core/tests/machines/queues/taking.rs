//! Takers at one queue: names, what users and operators do, and what is noted for the laws.

use std::collections::{BTreeMap, BTreeSet};

use election_core::queue::{ItemWindow, QueueFormat, Taker, TakerNotice, TakerOptions};
use election_core::{NomineeId, Phase, Recipe as _, Znode as Place};

use super::laws;
use crate::lab::{
    Actor, Answer, Change, Client, Commit, Data, Lab, Model, Request, Sent, Step, Tree, Znode,
};

/// How items are called, so that they are taken in the order of their numbers or by priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    ByNumber,
    /// The last one first.
    ByPriority,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub Order, pub u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Node,
    Item(Number),
    /// Of this item.
    Claim(Number),
    /// A taker's child of the item that it has claimed: by the taker's client, take and incarnation.
    Pin(Number, [u8; 3]),
    /// A child of the item that is no claim.
    Child(Number),
}

/// What an item says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Byte(pub u8);

impl From<&[u8]> for Byte {
    fn from(bytes: &[u8]) -> Self {
        Self(*bytes.first().expect("an item has a byte"))
    }
}

type SmallTaker = Taker<Byte, 2>;

/// What an operator deletes and writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meddling {
    /// As another kind of taker.
    Items,
    /// Claims of takers that hold them.
    HeldClaims,
    Claims,
    Pins,
    Node,
}

/// What a client was told of an item, or has done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    Taken,
    Unknown,
    Finished,
    /// Its user, which has claimed it, has done it.
    Done,
}

/// How an item has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gone {
    /// By this client, or by an operator.
    pub by: Option<u8>,
    pub data: Data,
}

#[derive(Clone, Debug, Hash)]
pub struct Queue {
    pub order: Order,
    /// How many items are put yet, and the number of the next.
    pub puts: u8,
    pub next: u8,
    pub meddling: Meddling,
    pub gone: BTreeMap<u8, Gone>,
    pub accounts: BTreeSet<(u8, u8, Account)>,
    /// A session lived on although its client went on to another: then its requests may come late.
    pub has_ghosts: bool,
    /// An operator has deleted what is of a claim, or barred an item: then takers may fail.
    pub are_claims_disturbed: bool,
    pub are_items_barred: bool,
}

#[derive(Clone, Debug, Default, Hash)]
pub struct Notes {
    /// Takes after this one.
    pub takes: u8,
    pub is_waiting: bool,
    pub has_ended: bool,
    /// The items that it was told to have taken, in order, if it is the only taker.
    pub taken: Vec<u8>,
    /// The items that its servers have shown in all this take, from its first read.
    pub shown: Option<BTreeSet<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Put,
    Finish(usize),
    Again(usize),
}

impl Order {
    const fn format(self) -> QueueFormat {
        match self {
            Self::ByNumber => QueueFormat::guide(),
            Self::ByPriority => QueueFormat::guide_with_priority(),
        }
    }
}

impl Number {
    fn text(self) -> String {
        match self {
            Self(Order::ByNumber, number) => format!("queue-{number:010}"),
            Self(Order::ByPriority, number) => format!("queue-{:02}-{number:010}", 99 - number),
        }
    }

    fn of(text: &str) -> Self {
        let order = match text.len() {
            16 => Order::ByNumber,
            _ => Order::ByPriority,
        };
        let item = order.format().item(text).expect("an item");
        Self(order, u8::try_from(item.number().get()).expect("few"))
    }
}

impl Name {
    pub const fn is_claim(self) -> bool {
        matches!(self, Self::Claim(_))
    }

    pub const fn is_pin(self) -> bool {
        matches!(self, Self::Pin(..))
    }
}

pub fn id(client: u8, take: u8) -> NomineeId {
    NomineeId::from_bytes([client, take, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0])
}

impl Client<Queue> {
    /// The number of the item that it goes for, or holds a claim to.
    pub fn target(&self) -> Option<u8> {
        let target = self.machines.get(0)?.target()?;
        Some(u8::try_from(target.number().get()).expect("few"))
    }
}

impl Model for Queue {
    type Name = Name;
    type Machine = SmallTaker;
    type Role = TakerOptions;
    type Notes = Notes;
    type Act = Act;

    const NODE: Name = Name::Node;
    const WATCHES: usize = 1;
    /// A taker that gives up while a read is on its way may send the request that gives its claim back.
    const REQUESTS: usize = 2;

    fn name(place: Place<'_>) -> Name {
        match place {
            Place::Node => Name::Node,
            Place::Child(name) => {
                let name = name.to_string();
                match name.strip_prefix("claimed-") {
                    Some(item) => Name::Claim(Number::of(item)),
                    None => Name::Item(Number::of(&name)),
                }
            }
            Place::Grandchild { child, name } => {
                let id = name.to_string().parse::<NomineeId>().expect("an id").to_bytes();
                Name::Pin(Number::of(child), [id[0], id[1], id[15]])
            }
            other @ Place::Sibling(_) => panic!("no taker asks for {other:?}"),
        }
    }

    fn text(name: Name) -> String {
        match name {
            Name::Node | Name::Child(_) | Name::Pin(..) => String::new(),
            Name::Item(number) => number.text(),
            Name::Claim(number) => format!("claimed-{}", number.text()),
        }
    }

    fn parent(name: Name) -> Option<Name> {
        match name {
            Name::Node => None,
            Name::Item(_) | Name::Claim(_) => Some(Name::Node),
            Name::Pin(number, _) | Name::Child(number) => Some(Name::Item(number)),
        }
    }

    fn is_operators(lab: &Lab<Self>, name: Name) -> bool {
        match lab.model.meddling {
            Meddling::Items => matches!(name, Name::Item(_)),
            Meddling::HeldClaims => {
                let owner = lab.tip()[&name].owner;
                let holds = |client: &Client<Self>| {
                    Some(client.session) == owner && client.machine().holds_claim()
                };
                name.is_claim() && lab.clients.iter().any(holds)
            }
            Meddling::Claims => name.is_claim(),
            Meddling::Pins => name.is_pin(),
            Meddling::Node => name == Name::Node,
        }
    }

    fn may_be_refused(_: &Lab<Self>, _: usize, sent: &Sent<Name>) -> bool {
        !matches!(sent.request, Request::Exists(Name::Node, _))
    }

    fn has_user(client: &Client<Self>) -> bool {
        !client.is_over()
    }

    fn acts(lab: &Lab<Self>) -> Vec<(Act, bool)> {
        let mut acts = Vec::new();
        if lab.model.puts > 0 && lab.tip().contains_key(&Name::Node) {
            acts.push((Act::Put, false));
        }
        for (i, client) in lab.clients.iter().enumerate() {
            let Some(taker) = client.machines.get(0) else { continue };
            if taker.holds_claim() {
                acts.push((Act::Finish(i), true));
            }
            if taker.phase() == Phase::Over && client.notes.takes > 0 {
                acts.push((Act::Again(i), true));
            }
        }
        acts
    }

    fn act(lab: &mut Lab<Self>, act: Act) {
        match act {
            Act::Put => {
                let number = lab.model.next;
                (lab.model.puts, lab.model.next) = (lab.model.puts - 1, number + 1);
                let item = Name::Item(Number(lab.model.order, number));
                let put = Change::Create(item, None, Data::Byte(number));
                lab.commit(None, None, &Request::Single(put));
            }
            Act::Finish(i) => {
                let number = lab.clients[i].target().expect("it holds a claim");
                let index = lab.clients[i].index;
                lab.model.accounts.insert((number, index, Account::Done));
                lab.drive(i, 0, |taker, then| then(taker.finish()));
            }
            Act::Again(i) => {
                let client = &mut lab.clients[i];
                let before = core::mem::take(&mut client.notes);
                let takes = before.takes - 1;
                client.notes = Notes { takes, taken: before.taken, ..Notes::default() };
                let window = client.machine().window().clone();
                let next = Taker::new(id(client.index, takes), client.role, window);
                lab.renumber(i, 0, None);
                lab.begin(i, 0, next);
            }
        }
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        laws::committed(lab, commit);
    }

    /// Notes the items that a take is to heed from now on: those that its servers show.
    fn answered(lab: &mut Lab<Self>, i: usize, _: &Request<Name>, _: &Answer<Name>) {
        if lab.model.order == Order::ByNumber {
            return;
        }
        let tree = lab.server.at(lab.clients[i].applied);
        let mut shown: BTreeSet<u8> = tree.keys().filter_map(|name| item(*name)).collect();
        let notes = &mut lab.clients[i].notes;
        if let Some(before) = &notes.shown {
            shown.retain(|number| before.contains(number));
        }
        notes.shown = Some(shown);
    }

    fn stepped(lab: &mut Lab<Self>, i: usize, _: Actor) {
        laws::stepped(lab, i);
    }

    fn told(lab: &mut Lab<Self>, i: usize, _: Actor, notice: TakerNotice<Byte>) {
        let fault = match notice {
            TakerNotice::Waiting => {
                lab.clients[i].notes.is_waiting = true;
                Ok(())
            }
            TakerNotice::Claimed(item) => laws::claimed(lab, i, &item),
            TakerNotice::Ended(end) => laws::ended(lab, i, &end),
        };
        if let Err(fault) = fault {
            lab.break_with(format!("{i}: {fault}"));
        }
    }

    fn suffered(lab: &mut Lab<Self>, fault: &Step<Self>) {
        let model = &mut lab.model;
        model.has_ghosts |= matches!(fault, Step::Lie(_) | Step::Swap(_) | Step::Kill(_));
        model.are_items_barred |= matches!(fault, Step::OperatorBars(_));
        model.are_claims_disturbed |=
            matches!(fault, Step::OperatorDeletes(name) if name.is_claim() || name.is_pin());
    }

    fn check(lab: &Lab<Self>) -> Result<(), String> {
        laws::check(lab)
    }

    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        laws::check_rest(lab)
    }
}

pub const fn item(name: Name) -> Option<u8> {
    match name {
        Name::Item(Number(_, number)) => Some(number),
        _ => None,
    }
}

/// Makes a queue with so many items.
pub fn tree(order: Order, items: u8) -> Tree<Name> {
    let znode = |number: u8| {
        let token = 10 + i64::from(number);
        (
            Name::Item(Number(order, number)),
            Znode { data: Data::Byte(number), ..Znode::new(token, 0) },
        )
    };
    let node = (Name::Node, Znode::new(1, 0));
    core::iter::once(node).chain((0..items).map(znode)).collect()
}

/// Makes takers, each with its number of takes.
pub fn world(
    takers: &[(TakerOptions, u8)],
    tree: Tree<Name>,
    budget: crate::lab::Budget,
) -> Lab<Queue> {
    let (options, _) = takers[0];
    let is_by_priority = options.format.has_priority();
    let model = Queue {
        order: if is_by_priority { Order::ByPriority } else { Order::ByNumber },
        puts: 0,
        next: u8::try_from(tree.keys().filter_map(|name| item(*name)).count()).expect("few"),
        meddling: Meddling::Items,
        gone: BTreeMap::new(),
        accounts: BTreeSet::new(),
        has_ghosts: false,
        are_claims_disturbed: false,
        are_items_barred: false,
    };
    let mut lab = Lab::new(model, tree, budget);
    for (index, (options, takes)) in (0..).zip(takers) {
        let window = ItemWindow::new(u32::from(index) + 1);
        let taker = Taker::new(id(index, *takes), *options, window);
        lab = lab.client(*options, Notes { takes: takes - 1, ..Notes::default() }, Some(taker));
    }
    lab
}

/// Adds puts by users.
pub fn with_puts(mut lab: Lab<Queue>, puts: u8) -> Lab<Queue> {
    lab.model.puts = puts;
    lab
}

/// Has an operator meddle with other znodes than items.
pub fn meddling(mut lab: Lab<Queue>, meddling: Meddling) -> Lab<Queue> {
    lab.model.meddling = meddling;
    lab
}

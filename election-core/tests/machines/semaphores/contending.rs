//! Contenders for a semaphore: names, what operators do, and what is noted for the laws.

use core::num::NonZeroU32;
use std::collections::BTreeSet;

use election_core::lock::{LockNotice, WhenBusy};
use election_core::semaphore::{Semaphore, SemaphoreOptions};
use election_core::{
    Hold, NewZnode, NomineeId, Payload, Phase, Recipe as _, Token, Znode as Place,
};

use super::laws;
use crate::lab::{
    Actor, Budget, Change, Client, Commit, Data, Lab, Model, Request, Right, Rights, Sent, Step,
    Tree, Znode,
};

/// The children of the semaphore's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    Locks,
    Leases,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Node,
    Home(Home),
    /// Its number, its client, and by which create; without a number before the server gives it one.
    Contender(Home, Option<u32>, u8, u8),
    /// A permit that no contender has taken.
    Foreign,
}

impl Home {
    pub const ALL: [Self; 2] = [Self::Locks, Self::Leases];

    fn called(name: &str) -> Self {
        match name {
            Semaphore::LOCKS => Self::Locks,
            Semaphore::LEASES => Self::Leases,
            _ => panic!("{name} is no child of a semaphore's node"),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Locks => Semaphore::LOCKS,
            Self::Leases => Semaphore::LEASES,
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Locks => "lock",
            Self::Leases => "lease",
        }
    }
}

pub fn id(client: u8, attempt: u8) -> NomineeId {
    let mut bytes = [0x11 * (client + 1); 16];
    bytes[15] += attempt;
    NomineeId::from_bytes(bytes)
}

/// Reads the name of a contender's znode, or the beginning that it has before it has a number.
pub fn contender(home: Home, text: &str) -> Name {
    if text == "foreign" {
        return Name::Foreign;
    }
    let (id, number) = text[3..].split_at(36);
    let bytes = id.parse::<NomineeId>().expect("an id").to_bytes();
    let digits = number.trim_start_matches(|c: char| !c.is_ascii_digit());
    Name::Contender(home, digits.parse().ok(), bytes[0] / 0x11 - 1, bytes[15] - bytes[0])
}

/// What an operator deletes and writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meddling {
    /// Below the homes.
    Znodes,
    /// Homes and the node, where they are empty, as a server does to containers.
    Nodes,
}

#[derive(Clone, Debug, Hash)]
pub struct Contending {
    pub permits: usize,
    pub meddling: Meddling,
    /// Tokens with which permits were held: the greatest, if there is one permit.
    pub tokens: BTreeSet<Token>,
    pub has_barred: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Notes {
    /// Znodes of its own that an operator has deleted.
    pub evicted: BTreeSet<Name>,
    pub has_ended: bool,
    /// It was withdrawn, or its deadline has passed, or it has ended by itself.
    pub has_given_up: bool,
}

impl Client<Contending> {
    pub fn semaphore(&self) -> Option<&Semaphore> {
        self.machines.get(0)
    }

    /// Its znode among the permits.
    pub fn permit(&self) -> Option<Name> {
        Some(contender(Home::Leases, &self.semaphore()?.znode()?.text()))
    }

    /// Whether it holds, its session lives, and no operator has deleted the znode. It has not been told that its lease
    /// has lapsed.
    pub fn is_valid(&self) -> bool {
        let holds = self.semaphore().is_some_and(|one| one.hold() != Hold::None);
        let is_evicted = self.permit().is_some_and(|own| self.notes.evicted.contains(&own));
        holds && self.session_lives && !is_evicted
    }
}

impl Model for Contending {
    type Name = Name;
    type Machine = Semaphore;
    type Role = WhenBusy;
    type Notes = Notes;
    /// Nothing more.
    type Act = ();

    const NODE: Name = Name::Node;
    /// On what it waits for, on the own znode of the turn, and, once that was verified after a reconnect, on that of
    /// the permit.
    const WATCHES: usize = 3;
    /// What it gives up, and what it deletes without waiting, may be on its way beside what it asks for.
    const REQUESTS: usize = 4;
    const WATCHES_AGAIN: bool = false;

    fn name(place: Place<'_>) -> Name {
        match place {
            Place::Node => Name::Node,
            Place::Child(name) => Name::Home(Home::called(&name.text())),
            Place::Grandchild { child, name } => contender(Home::called(child), &name.text()),
            other @ Place::Sibling(_) => panic!("no contender asks for {other:?}"),
        }
    }

    fn text(name: Name) -> String {
        match name {
            Name::Node => String::new(),
            Name::Home(home) => home.name().to_owned(),
            Name::Foreign => "foreign".to_owned(),
            Name::Contender(home, number, client, attempt) => {
                let (id, number) = (id(client, attempt), number.expect("it has one"));
                format!("_c_{id}-{}-{number:010}", home.label())
            }
        }
    }

    fn parent(name: Name) -> Option<Name> {
        match name {
            Name::Node => None,
            Name::Home(_) => Some(Name::Node),
            Name::Contender(home, ..) => Some(Name::Home(home)),
            Name::Foreign => Some(Name::Home(Home::Leases)),
        }
    }

    fn unnumbered(znode: &NewZnode<'_>) -> Name {
        let NewZnode::Grandchild { child, prefix } = znode else {
            panic!("no contender creates {znode:?}")
        };
        contender(Home::called(child), &prefix.to_string())
    }

    fn numbered(name: Name, number: u32) -> Option<Name> {
        match name {
            Name::Contender(home, None, client, attempt) => {
                Some(Name::Contender(home, Some(number), client, attempt))
            }
            _ => None,
        }
    }

    fn data(_: Payload<'_>) -> Data {
        Data::Byte(0)
    }

    fn is_operators(lab: &Lab<Self>, name: Name) -> bool {
        let is_node = matches!(name, Name::Node | Name::Home(_));
        is_node == (lab.model.meddling == Meddling::Nodes)
    }

    fn may_be_refused(_: &Lab<Self>, _: usize, sent: &Sent<Name>) -> bool {
        !matches!(sent.request, Request::Barrier)
    }

    /// It searches by lists.
    fn asks_in_vain(rights: Rights) -> bool {
        matches!(rights, Rights::NotTo(Right::Delete | Right::List))
    }

    fn has_user(client: &Client<Self>) -> bool {
        !client.is_over()
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        if let (None, Request::Single(Change::Delete(name, _))) = (commit.author, commit.request)
            && let Name::Contender(_, _, client, _) = name
        {
            lab.clients[usize::from(*client)].notes.evicted.insert(*name);
        }
    }

    fn stepped(lab: &mut Lab<Self>, i: usize, _: Actor) {
        laws::stepped(lab, i);
    }

    fn told(lab: &mut Lab<Self>, i: usize, _: Actor, notice: LockNotice) {
        laws::told(lab, i, notice);
    }

    fn suffered(lab: &mut Lab<Self>, fault: &Step<Self>) {
        lab.model.has_barred |= matches!(fault, Step::OperatorBars(_));
        let holds = |i: &usize| lab.clients[*i].machine().hold() != Hold::None;
        let fault = match fault {
            Step::Lapse(i, _) if holds(i) => format!("{i}: holds past its lease"),
            Step::Withdraw(i, _) | Step::Deadline(i, _)
                if !holds(i) && phase(&lab.clients[*i]) == Phase::Standing =>
            {
                format!("{i}: stands although it was to end")
            }
            _ => return,
        };
        lab.break_with(fault);
    }

    fn check(lab: &Lab<Self>) -> Result<(), String> {
        laws::check(lab)
    }

    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        laws::check_rest(lab)
    }
}

pub fn phase(client: &Client<Contending>) -> Phase {
    client.semaphore().map_or(Phase::Over, Semaphore::phase)
}

/// A semaphore that was made before.
pub fn prepared() -> Tree<Name> {
    let homes = Home::ALL.map(Name::Home);
    let names = core::iter::once(Name::Node).chain(homes);
    (1..).zip(names).map(|(token, name)| (name, Znode::new(token, 0))).collect()
}

/// Makes contenders that are about to connect.
pub fn world(clients: u8, permits: u32, tree: Tree<Name>, budget: Budget) -> Lab<Contending> {
    let permits = usize::try_from(permits).expect("few");
    let (meddling, tokens) = (Meddling::Znodes, BTreeSet::new());
    let model = Contending { permits, meddling, tokens, has_barred: false };
    (0..clients).fold(Lab::new(model, tree, budget), |lab, _| joined(lab, WhenBusy::Wait))
}

/// Adds a contender that is about to connect.
pub fn joined(lab: Lab<Contending>, when_busy: WhenBusy) -> Lab<Contending> {
    let permits = u32::try_from(lab.model.permits).expect("few");
    let permits = NonZeroU32::new(permits).expect("a permit");
    let options = SemaphoreOptions { when_busy, ..SemaphoreOptions::new(permits) };
    let index = u8::try_from(lab.clients.len()).expect("few");
    let semaphore = Semaphore::new(id(index, 0), options);
    lab.client(when_busy, Notes::default(), Some(semaphore))
}

/// Has containers be reaped instead of znodes be deleted.
pub fn reaped(mut lab: Lab<Contending>) -> Lab<Contending> {
    lab.model.meddling = Meddling::Nodes;
    lab
}

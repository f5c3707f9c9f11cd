//! One number for all worlds that differ in nothing that matters: how high tokens, sessions and tickets have become,
//! as long as their order is the same; and which of two clients of one role is which.
//!
//! The fields of a machine are private, but its `Debug` form names each. That form is slow, so it is read once for
//! each machine: there are far fewer machines than worlds.

use core::fmt::Debug;
use core::hash::{BuildHasherDefault, Hash, Hasher};
use std::collections::HashMap;

use election_core::{SessionId, Stat, Ticket};

use super::alike::Desk;
use super::client::{Client, Late, Rights};
use super::mix::{AsItIs, Mix, hash};
use super::ranks::Ranks;
use super::reading::{Tape, Word, read};
use super::server::{Answer, Change, Data, Done, Effect, Request, Tree, Znode};
use super::tickets::parts;
use super::{Lab, Model};

/// What was read of machines, notes and models so far.
#[derive(Debug)]
pub struct Canon<M: Model> {
    texts: HashMap<u64, Tape<M::Name>, BuildHasherDefault<AsItIs>>,
    orders: Vec<Vec<u8>>,
    are_alike: bool,
    sheet: Sheet<M::Name>,
    pub(super) desk: Desk<M::Name>,
}

impl<M: Model> Canon<M> {
    pub fn new(lab: &Lab<M>) -> Self {
        let count = u8::try_from(lab.clients.len()).expect("few");
        let mut orders = vec![(0..count).collect::<Vec<u8>>()];
        if M::renamed(M::NODE, &orders[0]).is_some() {
            orders = permutations(count);
            orders.retain(|order| {
                order
                    .iter()
                    .zip(lab.clients.iter())
                    .all(|(to, client)| lab.clients[usize::from(*to)].role == client.role)
            });
        }
        Self {
            texts: HashMap::default(),
            orders,
            are_alike: M::are_alike(lab),
            sheet: Sheet::default(),
            desk: Desk::default(),
        }
    }

    pub fn fingerprint(&mut self, lab: &Lab<M>) -> u64 {
        if self.are_alike {
            return self.of_alike(lab);
        }
        let orders = core::mem::take(&mut self.orders);
        let least = orders.iter().map(|order| self.of(lab, order)).min();
        self.orders = orders;
        least.expect("one order")
    }

    fn of(&mut self, lab: &Lab<M>, to: &[u8]) -> u64 {
        let mut words = Words(core::mem::take(&mut self.sheet.words));
        words.0.clear();
        words.plain(&lab.budget);
        words.tree::<M>(&lab.server.base, to);
        for commit in &lab.server.log {
            words.number(commit.len());
            for effect in commit {
                words.effect(effect);
            }
        }
        words.plain(&lab.server.next);
        words.0.push(Word::Arrivals(lab.server.arrivals.into()));
        self.text(&lab.model, &mut words);
        words.number(lab.ghosts.len());
        for ghost in &lab.ghosts {
            words.plain(&to[usize::from(ghost.author)]);
            words.session(ghost.session);
            for request in &ghost.writes {
                words.request(request);
            }
        }
        words.plain(&lab.fault);
        for at in 0..to.len() {
            let from = to.iter().position(|to| usize::from(*to) == at).expect("a permutation");
            let of_client = lab.clients.words(from, |client| {
                let mut words: Words<M::Name> = Words(Vec::with_capacity(128));
                self.client(client, &mut words);
                words.0.into()
            });
            words.0.extend_from_slice(of_client);
        }
        self.sheet.words = words.0;
        self.sheet.finish::<M>(to)
    }

    fn client(&mut self, client: &Client<M>, words: &mut Words<M::Name>) {
        words.0.push(Word::Client);
        words.plain(&(client.link, client.session_lives, client.is_deaf, client.needs_looks));
        words.plain(&matches!(client.rights, Rights::NotTo(_)));
        words.plain(&client.rights);
        words.plain(&(client.applied, client.seen, client.closed_after));
        words.session(client.session);
        words.number(client.hidden.len());
        client.hidden.iter().for_each(|name| words.name(*name));
        for (actor, machine) in client.machines.iter() {
            words.actor(*actor);
            self.text(machine, words);
        }
        self.text(&client.notes, words);
        words.number(client.requests.len());
        for sent in &client.requests {
            words.actor(sent.actor);
            words.ticket(sent.ticket);
            words.request(&sent.request);
        }
        if let Some(due) = &client.due {
            words.actor(due.actor);
            words.plain(&due.position);
            words.ticket(due.ticket);
            words.answer(&due.answer);
        }
        words.number(client.watches.len());
        for watch in &client.watches {
            words.actor(watch.actor);
            words.plain(&watch.of_children);
            words.ticket(watch.ticket);
            words.name(watch.name);
        }
        words.number(client.in_doubt.len());
        client.in_doubt.iter().for_each(|request| words.request(request));
        words.number(client.late.len());
        for late in &client.late {
            match late {
                Late::Answer(actor, ticket, answer) => {
                    words.actor(*actor);
                    words.ticket(*ticket);
                    words.answer(answer);
                }
                Late::Changed(actor, ticket, change) => {
                    words.actor(*actor);
                    words.ticket(*ticket);
                    words.plain(change);
                }
            }
        }
    }

    pub(super) fn text<T: Debug + Hash>(&mut self, of: &T, words: &mut Words<M::Name>) {
        let mut hasher = Mix(0);
        of.hash(&mut hasher);
        let are_alike = self.are_alike;
        let read = || read::<M>(&format!("{of:?}"), are_alike);
        let tape = self.texts.entry(hasher.finish()).or_insert_with(read);
        words.0.extend(tape.iter().copied());
    }
}

fn permutations(count: u8) -> Vec<Vec<u8>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for shorter in permutations(last) {
        for at in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(at, last);
            all.push(longer);
        }
    }
    all
}

pub(super) struct Words<N>(pub(super) Vec<Word<N>>);

impl<N: Copy + Ord + Hash> Words<N> {
    pub(super) fn plain(&mut self, of: &impl Hash) {
        self.0.push(Word::Plain(hash(of)));
    }

    pub(super) fn number(&mut self, of: usize) {
        self.0.push(Word::Plain(u64::try_from(of).expect("few")));
    }

    pub(super) fn actor(&mut self, actor: u8) {
        self.0.push(Word::Actor(actor));
    }

    pub(super) fn name(&mut self, name: N) {
        self.0.push(Word::Name(name));
    }

    pub(super) fn session(&mut self, session: SessionId) {
        self.0.push(Word::Session(session.get()));
    }

    pub(super) fn owner(&mut self, owner: Option<SessionId>) {
        match owner {
            Some(session) => self.session(session),
            None => self.0.push(Word::Plain(0)),
        }
    }

    pub(super) fn ticket(&mut self, ticket: Ticket) {
        match parts(ticket) {
            Some((incarnation, step)) => {
                self.plain(&(incarnation, step % 2));
                self.0.push(Word::Ticket(step));
            }
            None => self.plain(&u64::MAX),
        }
    }

    pub(super) fn tree<M: Model<Name = N>>(&mut self, tree: &Tree<N>, to: &[u8]) {
        self.number(tree.len());
        let mut all: Vec<_> =
            tree.iter().map(|(name, znode)| (renamed::<M>(*name, to), *name, znode)).collect();
        all.sort_unstable_by_key(|(renamed, ..)| *renamed);
        for (_, name, znode) in all {
            self.name(name);
            self.znode(*znode);
        }
    }

    pub(super) fn data(&mut self, data: Data) {
        match data {
            Data::Byte(byte) => self.plain(&byte),
            Data::Token(token) => self.0.push(Word::Token(token.get())),
        }
    }

    pub(super) fn znode(&mut self, znode: Znode) {
        self.plain(&(znode.version, znode.access));
        self.data(znode.data);
        self.0.push(Word::Token(znode.token.get()));
        self.owner(znode.owner);
    }

    pub(super) fn effect(&mut self, effect: &Effect<N>) {
        self.plain(&core::mem::discriminant(effect));
        match *effect {
            Effect::Put(name, znode) | Effect::Written(name, znode) => {
                self.name(name);
                self.znode(znode);
            }
            Effect::Gone(name) | Effect::Barred(name) => self.name(name),
        }
    }

    pub(super) fn request(&mut self, request: &Request<N>) {
        self.plain(&core::mem::discriminant(request));
        match request {
            Request::Exists(name, watch)
            | Request::Read(name, watch)
            | Request::List(name, watch) => {
                self.name(*name);
                self.plain(watch);
            }
            Request::Barrier | Request::CreateNode => {}
            Request::Single(_) | Request::Multi(_) => {
                self.number(request.changes().len());
                request.changes().iter().for_each(|change| self.change(change));
            }
        }
    }

    pub(super) fn change(&mut self, change: &Change<N>) {
        self.plain(&core::mem::discriminant(change));
        match *change {
            Change::Check(name, version) | Change::Delete(name, version) => {
                self.name(name);
                self.plain(&version);
            }
            Change::Create(name, owner, data) => {
                self.name(name);
                self.owner(owner);
                self.data(data);
            }
            Change::Write(name, version, data) => {
                self.name(name);
                self.plain(&version);
                self.data(data);
            }
        }
    }

    pub(super) fn stat(&mut self, stat: Stat) {
        self.0.push(Word::Token(stat.token.get()));
        self.owner(stat.owner);
        self.plain(&stat.version.get());
    }

    pub(super) fn answer(&mut self, answer: &Answer<N>) {
        self.plain(&core::mem::discriminant(answer));
        match answer {
            Answer::Exists(stat) | Answer::Written(stat) => self.stat(*stat),
            Answer::Read(stat, data) => {
                self.stat(*stat);
                self.data(*data);
            }
            Answer::Children(names) => {
                self.number(names.len());
                for name in names {
                    self.name(*name);
                }
            }
            Answer::Created(name, stat) => {
                self.name(*name);
                self.stat(*stat);
            }
            Answer::Committed(done) => {
                for one in done {
                    match one {
                        Done::Created(name) => self.name(*name),
                        Done::Written(stat) => self.stat(*stat),
                        Done::Checked | Done::Deleted => {}
                    }
                }
            }
            Answer::Failed(failure) => self.plain(failure),
            Answer::BarrierPassed | Answer::NodeCreated | Answer::Deleted => {}
        }
    }
}

/// What one fingerprint after the other is made on, so that none asks for memory.
#[derive(Debug)]
struct Sheet<N> {
    words: Vec<Word<N>>,
    /// Tokens and sessions.
    numbers: Ranks<i64>,
    counts: Ranks<i64>,
    /// The tickets of a client, as they come.
    tickets: Vec<(u8, u64)>,
}

impl<N> Default for Sheet<N> {
    fn default() -> Self {
        let (words, numbers, counts, tickets) = Default::default();
        Self { words, numbers, counts, tickets }
    }
}

impl<N: Copy + Ord + Hash> Sheet<N> {
    /// Returns the fingerprint of the world that the words describe, as if client `i` were `to[i]`.
    fn finish<M: Model<Name = N>>(&mut self, to: &[u8]) -> u64 {
        let Self { words, numbers, counts, tickets } = self;
        numbers.clear();
        counts.clear();
        tickets.clear();
        for word in &*words {
            match word {
                Word::Token(token) => numbers.add(*token),
                Word::Session(session) => numbers.add(of_client(*session, to)),
                Word::Arrivals(count) => counts.add(*count),
                _ => {}
            }
        }
        numbers.sort();
        counts.sort();
        let (mut actor, mut mix) = (0, Mix(0));
        for word in &*words {
            match *word {
                Word::Plain(number) => mix.write_u64(number),
                Word::Token(token) => mix.write_usize(numbers.of(&token)),
                Word::Session(session) => {
                    mix.write_usize(numbers.of(&of_client(session, to)));
                }
                Word::Arrivals(count) => mix.write_usize(counts.of(&count)),
                // None awaits it.
                Word::Ticket(_) if actor == u8::MAX => mix.write_u8(0),
                Word::Ticket(ticket) => {
                    let ticket = (actor, ticket);
                    let place = tickets.iter().position(|one| *one == ticket);
                    mix.write_usize(place.unwrap_or(tickets.len()));
                    if place.is_none() {
                        tickets.push(ticket);
                    }
                }
                Word::Name(name) => renamed::<M>(name, to).hash(&mut mix),
                Word::Actor(next) => {
                    actor = next;
                    mix.write_u8(actor);
                }
                Word::Client => tickets.clear(),
                Word::Present(_) => {}
            }
        }
        mix.finish()
    }
}

fn renamed<M: Model>(name: M::Name, to: &[u8]) -> M::Name {
    M::renamed(name, to).unwrap_or(name)
}

/// The session as if its client had been called otherwise.
fn of_client(session: i64, to: &[u8]) -> i64 {
    let client = usize::try_from(session / 1000).expect("no negative one").wrapping_sub(1);
    to.get(client).map_or(session, |to| (i64::from(*to) + 1) * 1000 + session % 1000)
}

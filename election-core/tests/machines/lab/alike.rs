//! One number for all worlds of clients that are alike: which of them is which does not matter, nor how high the
//! numbers of their znodes have become, as long as their order is the same.

use core::hash::{Hash as _, Hasher as _};

use election_core::{SessionId, Ticket};

use super::canonical::{Canon, Words};
use super::client::{Client, Late};
use super::mix::Mix;
use super::ranks::Ranks;
use super::reading::{Tape, Word};
use super::server::Effect;
use super::tickets::{INCARNATION, whole};
use super::{Lab, Model};

/// What matters of the name of a znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placed {
    pub kind: u8,
    /// Of which only the order matters.
    pub number: Option<i64>,
    /// The client that is in the name.
    pub client: Option<u8>,
}

/// How old a session is: that of a client, or one of those before it.
const PRESENT: usize = 0;
const FORMER: usize = 98;
const ANOTHERS: usize = 99;

/// What one fingerprint after the other is made in, so that none asks for memory.
#[derive(Debug)]
pub(super) struct Desk<N> {
    /// The words of the world that are no client's.
    world: Vec<Word<N>>,
    /// What in the world is a client's own, one client after the other; and where each ends.
    own: Vec<Word<N>>,
    ends: Vec<usize>,
    numbers: Numbers,
    tickets: Ranks<u64>,
}

impl<N> Default for Desk<N> {
    fn default() -> Self {
        let (world, own, ends) = Default::default();
        Self { world, own, ends, numbers: Numbers::default(), tickets: Ranks::default() }
    }
}

/// The numbers of a world.
#[derive(Debug, Default)]
struct Numbers {
    tokens: Ranks<i64>,
    of_names: Ranks<i64>,
}

impl Numbers {
    fn add<M: Model>(&mut self, words: &[Word<M::Name>]) {
        for word in words {
            match word {
                Word::Token(token) => self.tokens.add(*token),
                Word::Name(name) => {
                    if let Some(number) = M::placed(*name).number {
                        self.of_names.add(number);
                    }
                }
                _ => {}
            }
        }
    }
}

impl<M: Model> Canon<M> {
    pub(super) fn of_alike(&mut self, lab: &Lab<M>) -> u64 {
        let mut desk = core::mem::take(&mut self.desk);
        let mut world = Words(core::mem::take(&mut desk.world));
        world.0.clear();
        world.plain(&lab.budget);
        world.tree::<M>(&lab.server.base, &[]);
        for commit in &lab.server.log {
            world.number(commit.len());
            for effect in commit {
                world.effect(effect);
            }
        }
        self.text(&lab.model, &mut world);
        world.plain(&lab.fault);
        desk.world = world.0;
        let mut own = Words(core::mem::take(&mut desk.own));
        own.0.clear();
        desk.ends.clear();
        desk.numbers.tokens.clear();
        desk.numbers.of_names.clear();
        desk.numbers.add::<M>(&desk.world);
        for (i, client) in lab.clients.iter().enumerate() {
            write_own(lab, client, &mut own);
            desk.ends.push(own.0.len());
            desk.numbers.add::<M>(lab.clients.words(i, |client| self.client_alike(client)));
        }
        desk.own = own.0;
        desk.numbers.add::<M>(&desk.own);
        desk.numbers.tokens.sort();
        desk.numbers.of_names.sort();
        let mut mix = Mix(0);
        for word in &desk.world {
            match word {
                Word::Session(session) => {
                    let is_its = |client: &Client<M>| client.has_had(SessionId::new(*session));
                    mix.write_usize(usize::from(lab.clients.iter().any(is_its)));
                }
                other => mix_word::<M>(other, &desk.numbers, None, &mut mix),
            }
        }
        let mut sum = mix.finish();
        let mut from = 0;
        for (i, client) in lab.clients.iter().enumerate() {
            let own = &desk.own[from..desk.ends[i]];
            from = desk.ends[i];
            let words = lab.clients.words(i, |client| self.client_alike(client));
            let mut mix = Mix(0);
            mix_own(lab, client, [own, words], (&desk.numbers, &mut desk.tickets), &mut mix);
            sum = sum.wrapping_add(mix.finish());
        }
        self.desk = desk;
        sum
    }

    fn client_alike(&mut self, client: &Client<M>) -> Tape<M::Name> {
        let mut words: Words<M::Name> = Words(Vec::with_capacity(128));
        words.number(client.in_doubt.len());
        client.in_doubt.iter().for_each(|request| words.request(request));
        self.text(&client.notes, &mut words);
        words.plain(&client.is_done());
        if !client.is_done() {
            self.connection(client, &mut words);
        }
        words.0.into()
    }

    fn connection(&mut self, client: &Client<M>, words: &mut Words<M::Name>) {
        words.plain(&(client.link, client.session_lives, client.is_deaf, client.needs_looks));
        words.plain(&(client.rights, client.applied, client.seen, client.closed_after));
        words.number(client.hidden.len());
        client.hidden.iter().for_each(|name| words.name(*name));
        for machine in client.machines.values() {
            self.text(machine, words);
        }
        words.number(client.requests.len());
        for sent in &client.requests {
            words.whole_ticket(sent.ticket);
            words.request(&sent.request);
        }
        if let Some(due) = &client.due {
            words.plain(&due.position);
            words.whole_ticket(due.ticket);
            words.answer(&due.answer);
        }
        words.number(client.watches.len());
        let mut watches: Vec<_> = client.watches.iter().collect();
        watches.sort_unstable_by_key(|watch| whole(watch.ticket));
        for watch in watches {
            words.plain(&watch.of_children);
            words.whole_ticket(watch.ticket);
            words.name(watch.name);
        }
        for late in &client.late {
            match late {
                Late::Answer(_, ticket, answer) => {
                    words.whole_ticket(*ticket);
                    words.answer(answer);
                }
                Late::Changed(_, ticket, change) => {
                    words.whole_ticket(*ticket);
                    words.plain(change);
                }
            }
        }
    }
}

/// Writes down what in the world is a client's own.
fn write_own<M: Model>(lab: &Lab<M>, client: &Client<M>, words: &mut Words<M::Name>) {
    let made = lab.server.log.iter().flatten().filter_map(|effect| match effect {
        Effect::Put(name, znode) => Some((name, znode)),
        _ => None,
    });
    for (name, znode) in lab.server.base.iter().chain(made) {
        if let Some(owner) = znode.owner.filter(|owner| client.has_had(*owner)) {
            words.name(*name);
            words.session(owner);
        }
    }
    for ghost in lab.ghosts.iter().filter(|ghost| ghost.author == client.index) {
        words.session(ghost.session);
        ghost.writes.iter().for_each(|request| words.request(request));
    }
}

fn mix_word<M: Model>(word: &Word<M::Name>, numbers: &Numbers, own: Option<u8>, mix: &mut Mix) {
    match word {
        Word::Plain(number) => mix.write_u64(*number),
        Word::Token(token) => mix.write_usize(numbers.tokens.of(token)),
        Word::Name(name) => {
            let placed = M::placed(*name);
            let number = placed.number.map_or(usize::MAX, |number| numbers.of_names.of(&number));
            (number, placed.kind, own.is_some() && placed.client == own).hash(mix);
        }
        Word::Session(_) | Word::Ticket(_) | Word::Present(_) => {}
        Word::Arrivals(_) | Word::Actor(_) | Word::Client => {}
    }
}

fn mix_own<M: Model>(
    lab: &Lab<M>,
    client: &Client<M>,
    words: [&[Word<M::Name>]; 2],
    (numbers, tickets): (&Numbers, &mut Ranks<u64>),
    mix: &mut Mix,
) {
    tickets.clear();
    let mut present = None;
    for word in words.into_iter().flatten() {
        match word {
            Word::Ticket(ticket) => tickets.add(*ticket),
            Word::Present(incarnation) => present = present.or(Some(*incarnation)),
            _ => {}
        }
    }
    tickets.sort();
    let age = |session: i64| {
        let session = SessionId::new(session);
        let mut ghosts = lab.ghosts.iter().filter(|ghost| ghost.author == client.index);
        match ghosts.position(|ghost| ghost.session == session) {
            _ if session == client.session => PRESENT,
            Some(at) => PRESENT + 1 + at,
            None if client.has_had(session) => FORMER,
            None => ANOTHERS,
        }
    };
    for word in words.into_iter().flatten() {
        match word {
            Word::Session(session) => mix.write_usize(age(*session)),
            Word::Ticket(ticket) => {
                let is_present = present == Some(ticket >> INCARNATION);
                (tickets.of(ticket), is_present).hash(mix);
            }
            other => mix_word::<M>(other, numbers, Some(client.index), mix),
        }
    }
}

impl<N: Copy + Ord + core::hash::Hash> Words<N> {
    fn whole_ticket(&mut self, ticket: Ticket) {
        self.0.push(Word::Ticket(whole(ticket)));
    }
}

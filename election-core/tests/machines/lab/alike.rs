//! One number for all worlds of clients that are alike: which of them is which does not matter, nor how high the
//! numbers of their znodes have become, as long as their order is the same.

use core::hash::{Hash as _, Hasher as _};

use election_core::{SessionId, Ticket};

use super::canonical::{Canon, Words, parts};
use super::client::{Client, Late};
use super::mix::Mix;
use super::reading::{Tape, Word};
use super::server::Effect;
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

/// The numbers of a world, in their order.
struct Ranks {
    tokens: Vec<i64>,
    numbers: Vec<i64>,
}

impl Ranks {
    fn of<'w, M: Model>(words: impl Iterator<Item = &'w Word<M::Name>> + Clone) -> Self
    where
        M::Name: 'w,
    {
        let sorted = |mut all: Vec<i64>| {
            all.sort_unstable();
            all.dedup();
            all
        };
        let token = |word: &Word<M::Name>| match word {
            Word::Token(token) => Some(*token),
            _ => None,
        };
        let number = |word: &Word<M::Name>| match word {
            Word::Name(name) => M::placed(*name).number,
            _ => None,
        };
        Self {
            tokens: sorted(words.clone().filter_map(token).collect()),
            numbers: sorted(words.filter_map(number).collect()),
        }
    }
}

fn rank<T: Ord>(of: &[T], number: &T) -> usize {
    of.binary_search(number).expect("it was collected")
}

impl<M: Model> Canon<M> {
    pub(super) fn of_alike(&mut self, lab: &Lab<M>) -> u64 {
        let mut world: Words<M::Name> = Words(Vec::with_capacity(128));
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
        let clients: Vec<Words<M::Name>> =
            (0..lab.clients.len()).map(|i| self.own(lab, i)).collect();
        let all = clients.iter().flat_map(|words| &words.0);
        let ranks = Ranks::of::<M>(world.0.iter().chain(all));
        let mut mix = Mix(0);
        for word in &world.0 {
            match word {
                Word::Session(session) => {
                    let is_its = |client: &Client<M>| client.has_had(SessionId::new(*session));
                    mix.write_usize(usize::from(lab.clients.iter().any(is_its)));
                }
                other => mix_word::<M>(other, &ranks, None, &mut mix),
            }
        }
        let world = mix.finish();
        let each = lab.clients.iter().zip(&clients);
        each.fold(world, |sum, (client, words)| {
            let mut mix = Mix(0);
            mix_own(lab, client, words, &ranks, &mut mix);
            sum.wrapping_add(mix.finish())
        })
    }

    /// Writes down a client, and what in the world is its own.
    fn own(&mut self, lab: &Lab<M>, i: usize) -> Words<M::Name> {
        let client = &lab.clients[i];
        let mut words: Words<M::Name> = Words(Vec::with_capacity(128));
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
        words.0.extend_from_slice(lab.clients.words(i, |client| self.client_alike(client)));
        words
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

fn mix_word<M: Model>(word: &Word<M::Name>, ranks: &Ranks, own: Option<u8>, mix: &mut Mix) {
    match word {
        Word::Plain(number) => mix.write_u64(*number),
        Word::Token(token) => mix.write_usize(rank(&ranks.tokens, token)),
        Word::Name(name) => {
            let placed = M::placed(*name);
            let number = placed.number.map_or(usize::MAX, |number| rank(&ranks.numbers, &number));
            (number, placed.kind, own.is_some() && placed.client == own).hash(mix);
        }
        Word::Session(_) | Word::Ticket(_) | Word::Present(_) => {}
        Word::Arrivals(_) | Word::Actor(_) | Word::Client => {}
    }
}

fn mix_own<M: Model>(
    lab: &Lab<M>,
    client: &Client<M>,
    words: &Words<M::Name>,
    ranks: &Ranks,
    mix: &mut Mix,
) {
    let mut tickets: Vec<u64> = Vec::with_capacity(8);
    tickets.extend(words.0.iter().filter_map(|word| match word {
        Word::Ticket(ticket) => Some(*ticket),
        _ => None,
    }));
    tickets.sort_unstable();
    tickets.dedup();
    let present = words.0.iter().find_map(|word| match word {
        Word::Present(incarnation) => Some(*incarnation),
        _ => None,
    });
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
    for word in &words.0 {
        match word {
            Word::Session(session) => mix.write_usize(age(*session)),
            Word::Ticket(ticket) => {
                let is_present = present == Some(ticket >> INCARNATION);
                (rank(&tickets, ticket), is_present).hash(mix);
            }
            other => mix_word::<M>(other, ranks, Some(client.index), mix),
        }
    }
}

/// Where the incarnation begins in the number of a ticket.
pub(super) const INCARNATION: u32 = 41;

/// Returns a ticket as one number, in the order in which they were given; a cleanup is the last.
fn whole(ticket: Ticket) -> u64 {
    match parts(ticket) {
        Some((incarnation, step)) => (incarnation << INCARNATION) | step,
        None => u64::MAX,
    }
}

impl<N: Copy + Ord + core::hash::Hash> Words<N> {
    fn whole_ticket(&mut self, ticket: Ticket) {
        self.0.push(Word::Ticket(whole(ticket)));
    }
}

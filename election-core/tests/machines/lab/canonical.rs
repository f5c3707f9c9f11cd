//! One number for all worlds that differ in nothing that matters: how high tokens, sessions and tickets have become,
//! as long as their order is the same; and which of two clients of one role is which.
//!
//! The fields of a machine are private, but its `Debug` form names each. That form is slow, so it is read once for
//! each machine: there are far fewer machines than worlds.

use core::fmt::Debug;
use core::hash::{Hash, Hasher};
use std::collections::HashMap;
use std::hash::DefaultHasher;
use std::rc::Rc;

use election_core::{SessionId, Stat, Ticket};

use super::client::{Client, Rights};
use super::server::{Answer, Change, Data, Done, Effect, Request, Tree, Znode};
use super::{Lab, Model};

#[derive(Clone, Copy, Debug)]
enum Word<N> {
    Plain(u64),
    Token(i64),
    Session(i64),
    Ticket(u64),
    /// How many children were created.
    Arrivals(i64),
    Name(N),
    /// From here on tickets are those of this machine, and of this client.
    Actor(u8),
    Client,
}

type Tape<N> = Rc<[Word<N>]>;

/// What was read of machines, notes and models so far.
#[derive(Debug)]
pub struct Canon<M: Model> {
    texts: HashMap<u64, Tape<M::Name>>,
    orders: Vec<Vec<u8>>,
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
                    .zip(&lab.clients)
                    .all(|(to, client)| lab.clients[usize::from(*to)].role == client.role)
            });
        }
        Self { texts: HashMap::new(), orders }
    }

    pub fn fingerprint(&mut self, lab: &Lab<M>) -> u64 {
        let orders = core::mem::take(&mut self.orders);
        let least = orders.iter().map(|order| self.of(lab, order)).min();
        self.orders = orders;
        least.expect("one order")
    }

    fn of(&mut self, lab: &Lab<M>, to: &[u8]) -> u64 {
        let mut words: Words<M::Name> = Words(Vec::with_capacity(256));
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
            self.client(&lab.clients[from], &mut words);
        }
        words.finish::<M>(to)
    }

    fn client(&mut self, client: &Client<M>, words: &mut Words<M::Name>) {
        words.0.push(Word::Client);
        words.plain(&(client.link, client.session_lives, client.is_deaf, client.needs_looks));
        words.plain(&matches!(client.rights, Rights::NotTo(_)));
        words.plain(&client.rights);
        words.plain(&(client.applied, client.seen));
        words.session(client.session);
        words.number(usize::from(client.hidden.is_some()));
        client.hidden.iter().for_each(|name| words.name(*name));
        for (actor, machine) in &client.machines {
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
        for (actor, ticket, answer) in &client.late {
            words.actor(*actor);
            words.ticket(*ticket);
            words.answer(answer);
        }
    }

    fn text<T: Debug + Hash>(&mut self, of: &T, words: &mut Words<M::Name>) {
        let mut hasher = DefaultHasher::new();
        of.hash(&mut hasher);
        let read = || read::<M>(&format!("{of:?}"));
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

/// Reads a `Debug` form.
fn read<M: Model>(text: &str) -> Tape<M::Name> {
    let (mut words, mut rest, mut from) = (Vec::new(), text, text);
    let mut is_inside_a_word = false;
    let mut is_of_second = false;
    while let Some(first) = rest.chars().next() {
        if is_inside_a_word {
            is_inside_a_word = first.is_ascii_alphanumeric();
            rest = &rest[first.len_utf8()..];
            continue;
        }
        // The two machines of one recipe count their requests by themselves.
        if let Some(part) = rest.strip_prefix("part: ") {
            is_of_second = part.starts_with("Second");
        }
        if let Some((mut word, length)) = word_at::<M>(rest) {
            if let Some(Word::Ticket(step)) = &mut word {
                *step = 2 * *step + u64::from(is_of_second);
            }
            words.push(Word::Plain(hash(&from[..from.len() - rest.len()])));
            words.extend(word);
            rest = &rest[length..];
            from = rest;
        } else {
            is_inside_a_word = first.is_ascii_alphanumeric();
            rest = &rest[first.len_utf8()..];
        }
    }
    words.push(Word::Plain(hash(from)));
    words.into()
}

type Read<N> = (Option<Word<N>>, usize);

fn word_at<M: Model>(text: &str) -> Option<Read<M::Name>> {
    let number = |before: &str| {
        let digits = text.strip_prefix(before)?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        Some((digits[..end].parse::<i64>().ok()?, before.len() + end))
    };
    if let Some((token, length)) = number("Token(") {
        return Some((Some(Word::Token(token)), length));
    }
    if let Some((session, length)) = number("SessionId(") {
        return Some((Some(Word::Session(session)), length));
    }
    if let Some((count, length)) = number("Arrivals(") {
        return Some((Some(Word::Arrivals(count)), length));
    }
    if let Some((step, length)) = number("step: ") {
        return Some((Some(Word::Ticket(step.cast_unsigned())), length));
    }
    // Counts, on which no step depends. A nominee's rank is not in its hash either.
    let counts = ["Steps(", "steps: ", "ahead: ", "learned: "];
    if let Some((_, length)) = counts.into_iter().find_map(number) {
        return Some((None, length));
    }
    M::read_name(text).map(|(name, length)| (Some(Word::Name(name)), length))
}

fn hash(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = Mix(0);
    of.hash(&mut hasher);
    hasher.finish()
}

struct Words<N>(Vec<Word<N>>);

impl<N: Copy + Ord + Hash> Words<N> {
    fn plain(&mut self, of: &impl Hash) {
        self.0.push(Word::Plain(hash(of)));
    }

    fn number(&mut self, of: usize) {
        self.0.push(Word::Plain(u64::try_from(of).expect("few")));
    }

    fn actor(&mut self, actor: u8) {
        self.0.push(Word::Actor(actor));
    }

    fn name(&mut self, name: N) {
        self.0.push(Word::Name(name));
    }

    fn session(&mut self, session: SessionId) {
        self.0.push(Word::Session(session.get()));
    }

    fn owner(&mut self, owner: Option<SessionId>) {
        match owner {
            Some(session) => self.session(session),
            None => self.0.push(Word::Plain(0)),
        }
    }

    fn ticket(&mut self, ticket: Ticket) {
        let text = ticket.to_string();
        let Some((incarnation, step)) = text.split_once('.') else { return self.plain(&text) };
        let is_of_second = step.ends_with('\'');
        self.plain(&(incarnation, is_of_second));
        let step: u64 = step.trim_end_matches('\'').parse().expect("a number");
        self.0.push(Word::Ticket(2 * step + u64::from(is_of_second)));
    }

    fn tree<M: Model<Name = N>>(&mut self, tree: &Tree<N>, to: &[u8]) {
        self.number(tree.len());
        let mut all: Vec<_> =
            tree.iter().map(|(name, znode)| (renamed::<M>(*name, to), *name, znode)).collect();
        all.sort_unstable_by_key(|(renamed, ..)| *renamed);
        for (_, name, znode) in all {
            self.name(name);
            self.znode(*znode);
        }
    }

    fn data(&mut self, data: Data) {
        match data {
            Data::Byte(byte) => self.plain(&byte),
            Data::Token(token) => self.0.push(Word::Token(token.get())),
        }
    }

    fn znode(&mut self, znode: Znode) {
        self.plain(&(znode.version, znode.access));
        self.data(znode.data);
        self.0.push(Word::Token(znode.token.get()));
        self.owner(znode.owner);
    }

    fn effect(&mut self, effect: &Effect<N>) {
        self.plain(&core::mem::discriminant(effect));
        match *effect {
            Effect::Put(name, znode) | Effect::Written(name, znode) => {
                self.name(name);
                self.znode(znode);
            }
            Effect::Gone(name) | Effect::Barred(name) => self.name(name),
        }
    }

    fn request(&mut self, request: &Request<N>) {
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

    fn change(&mut self, change: &Change<N>) {
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

    fn stat(&mut self, stat: Stat) {
        self.0.push(Word::Token(stat.token.get()));
        self.owner(stat.owner);
        self.plain(&stat.version.get());
    }

    fn answer(&mut self, answer: &Answer<N>) {
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

    /// Returns the numbers of one kind, in their order.
    fn sorted(&self, number: impl Fn(&Word<N>) -> Option<i64>) -> Vec<i64> {
        let mut numbers: Vec<i64> = Vec::with_capacity(32);
        numbers.extend(self.0.iter().filter_map(number));
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn finish<M: Model<Name = N>>(self, to: &[u8]) -> u64 {
        let numbers = self.sorted(|word| match word {
            Word::Token(token) => Some(*token),
            Word::Session(session) => Some(of_client(*session, to)),
            _ => None,
        });
        let counts = self.sorted(|word| match word {
            Word::Arrivals(count) => Some(*count),
            _ => None,
        });
        let rank = |of: &[i64], number| of.binary_search(&number).expect("it was collected");
        let (mut tickets, mut actor): (Vec<(u8, u64)>, u8) = (Vec::new(), 0);
        let mut mix = Mix(0);
        for word in self.0 {
            match word {
                Word::Plain(number) => mix.write_u64(number),
                Word::Token(token) => mix.write_usize(rank(&numbers, token)),
                Word::Session(session) => {
                    mix.write_usize(rank(&numbers, of_client(session, to)));
                }
                Word::Arrivals(count) => mix.write_usize(rank(&counts, count)),
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

/// A quick hasher that every bit of its input goes through.
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(23) ^ 1;
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }
}

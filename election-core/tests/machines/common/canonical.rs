//! A fingerprint that is the same for worlds that differ in nothing that matters.
//!
//! What does not matter: how high sequence numbers, tokens, session ids and tickets have become, as
//! long as their order is the same; which nominee is called which. The nominee's own fields are
//! private, but it is [`Hash`]: a hasher sees each of them with its type, which tells them apart.
//! `explore` holds the merged worlds against the unmerged ones.

use core::hash::{Hash, Hasher};

use election_core::election::{End, Role};
use election_core::{SessionId, Stat, Ticket, Token};

use super::World;
use super::client::{Client, Delivery, Sight};
use super::ending::Course;
use super::fields::{Field, Fields, Mix};
use super::handing_over::HandOver;
use super::server::{Answer, Entry, Name, Request, Tree, UNTOLD};

impl World {
    /// Worlds with the same fingerprint take the same steps to worlds with the same fingerprints.
    pub fn fingerprint(&self) -> u64 {
        let ranks = Ranks::of(self);
        let mut world = Mix::default();
        self.budget.hash(&mut world);
        ranks.tree(&self.server.base, &mut world);
        for entry in &self.server.log {
            ranks.entry(*entry, &mut world);
        }
        world.number(ranks.token(self.greatest_token));
        world.number(ranks.token(self.greatest_unshared));
        world.number(ranks.token(self.written_by));
        core::mem::discriminant(&self.ending).hash(&mut world);
        for name in self.names_to_end() {
            world.number(ranks.name(*name));
        }
        (self.course, self.has_evicted_otherwise).hash(&mut world);
        if let Some(HandOver { to, stage, token, .. }) = self.hand_over {
            stage.hash(&mut world);
            world.number(ranks.name(to));
            world.number(ranks.token(token.get()));
        }
        if ranks.exact {
            self.server.next.hash(&mut world);
        }
        for name in &self.server.unheard {
            world.number(ranks.name(*name));
        }
        let mut sum = world.finish();
        for client in &self.clients {
            let mut mix = Mix::default();
            ranks.client(self, client, &mut mix);
            sum = sum.wrapping_add(mix.finish());
        }
        sum
    }
}

/// Numbers of a world by rank.
struct Ranks {
    sequences: Vec<i32>,
    tokens: Vec<i64>,
    /// Whether numbers of znodes come around again, so that their values matter.
    exact: bool,
    /// Whether it matters how a nomination has ended.
    tells_ends: bool,
}

impl Ranks {
    fn of(world: &World) -> Self {
        let mut ranks = Self {
            sequences: Vec::with_capacity(16),
            tokens: Vec::with_capacity(16),
            exact: world.numbers_matter,
            tells_ends: world.course != Course::Open,
        };
        if ranks.exact {
            return ranks;
        }
        ranks.tokens.push(world.greatest_token);
        ranks.tokens.push(world.greatest_unshared);
        ranks.tokens.push(world.written_by);
        ranks.sequences.extend(world.server.unheard.iter().map(|name| name.sequence));
        if let Some(HandOver { to, token, .. }) = world.hand_over {
            ranks.sequences.push(to.sequence);
            ranks.tokens.push(token.get());
        }
        let marks = world.server.log.iter().filter_map(|entry| match entry {
            Entry::HandedOverTo(to) => *to,
            _ => None,
        });
        let marks = marks.chain(world.server.base.handed_over_to);
        ranks.sequences.extend(marks.map(|name| name.sequence));
        ranks.sequences.extend(world.names_to_end().iter().map(|name| name.sequence));
        for (name, token) in &world.evicted {
            ranks.sequences.push(name.sequence);
            ranks.tokens.push(token.get());
        }
        let created = world.server.log.iter().filter_map(Entry::created);
        for znode in world.server.base.znodes.iter().chain(created) {
            ranks.sequences.push(znode.name.sequence);
            ranks.tokens.push(znode.token.get());
        }
        for client in &world.clients {
            ranks.collect(client);
        }
        ranks.sequences.sort_unstable();
        ranks.sequences.dedup();
        ranks.tokens.sort_unstable();
        ranks.tokens.dedup();
        ranks
    }

    fn collect(&mut self, client: &Client) {
        let mut fields = Fields::new(|field| match field {
            Field::Name(name) => self.sequences.push(name.sequence),
            Field::Token(token) => self.tokens.push(token),
            _ => {}
        });
        client.nominee.hash(&mut fields);
        self.tokens.extend(client.verified.map(Token::get));
        self.tokens.extend(client.kept.iter().flat_map(|(one, other)| [one.get(), other.get()]));
        self.tokens.extend(client.told_request.map(|(token, _)| token.get()));
        if let Sight::Own(name) = client.sight {
            self.sequences.push(name.sequence);
        }
        if let Some((name, token)) = client.guarded {
            self.sequences.push(name.sequence);
            self.tokens.push(token.get());
        }
        self.sequences.extend(client.watchers.iter().map(|watcher| watcher.name.sequence));
        let requests = client.requests.iter().map(|(_, request)| *request);
        for request in requests.chain(client.in_doubt.iter().map(|lost| lost.request)) {
            if let Request::Read(name)
            | Request::ReadUnwatched(name)
            | Request::Inspect(name)
            | Request::Exists(name)
            | Request::LookAt(name)
            | Request::Delete(name, _)
            | Request::Exchange { writer: name, .. } = request
            {
                self.sequences.push(name.sequence);
            }
        }
        let late = client.stragglers.iter().filter_map(|straggler| match straggler {
            Delivery::Reply(_, answer) => Some(answer),
            Delivery::Changed(..) => None,
        });
        for answer in late.chain(client.due.iter().map(|due| &due.answer)) {
            match answer {
                Answer::Created(name, stat) => {
                    self.sequences.push(name.sequence);
                    self.tokens.extend(stat.map(|stat| stat.token.get()));
                }
                Answer::Read(name, stat, _) | Answer::Exists(name, stat) => {
                    self.sequences.push(name.sequence);
                    self.tokens.push(stat.token.get());
                }
                _ => {}
            }
        }
    }

    fn token(&self, token: i64) -> i64 {
        if self.exact { token } else { rank(&self.tokens, &token) }
    }

    /// Writes a candidate as its place among all that are known: the place tells its nominee, too,
    /// unless the numbers come around again.
    fn name(&self, name: Name) -> i64 {
        let number = if self.exact {
            let client = i64::try_from(name.client).expect("few clients");
            i64::from(name.sequence) << 16 | i64::from(name.attempt) << 8 | client
        } else {
            rank(&self.sequences, &name.sequence)
        };
        number << 3 | name.kind as i64
    }

    fn tree(&self, tree: &Tree, mix: &mut Mix) {
        (tree.has_election_node, tree.is_ended).hash(mix);
        mix.number(tree.handed_over_to.map_or(-1, |name| self.name(name)));
        for znode in &tree.znodes {
            mix.number(self.name(znode.name));
            mix.number(self.token(znode.token.get()));
            mix.number(i64::from(znode.version));
            (znode.access, znode.data).hash(mix);
        }
        mix.number(-1);
    }

    fn entry(&self, entry: Entry, mix: &mut Mix) {
        let (kind, name) = match entry {
            Entry::Created(znode) => (10, self.name(znode.name)),
            Entry::Deleted(name) => (11, self.name(name)),
            Entry::Written(name) => (12, self.name(name)),
            Entry::Barred(name) => (16, self.name(name)),
            Entry::RevokeRequested(name) => (17, self.name(name)),
            Entry::Exchanged(znode, _) => (18, self.name(znode.name)),
            Entry::SessionClosed(_) => (13, 0),
            Entry::ElectionNodeCreated => (14, 0),
            Entry::ElectionNodeDeleted => (15, 0),
            Entry::Ended => (19, 0),
            Entry::Reopened => (20, 0),
            Entry::HandedOverTo(None) => (21, 0),
            Entry::HandedOverTo(Some(name)) => (22, self.name(name)),
        };
        mix.number(kind);
        mix.number(name);
    }

    /// Mixes in everything about one client, and about the world as far as it is this client's.
    fn client(&self, world: &World, client: &Client, mix: &mut Mix) {
        if self.exact {
            mix.number(i64::try_from(client.index).expect("few clients"));
            mix.number(i64::from(client.nominee.attempts()));
        }
        self.property(world, client, mix);
        if let Some((name, token)) = client.guarded {
            mix.number(self.name(name));
            mix.number(self.token(token.get()));
        }
        mix.number(match client.sight {
            Sight::Nothing => -9,
            Sight::Barrier => -10,
            Sight::Own(name) => self.name(name),
        });
        if self.tells_ends {
            client.end().map(|end| end == End::ElectionEnded).hash(mix);
        }
        if client.is_idle_for_good() {
            mix.number(-2);
            return;
        }
        (client.link, client.session_lives, client.told, client.withdrawn).hash(mix);
        (client.has_held, client.downgrade).hash(mix);
        let (token, version) = client.told_request.unwrap_or((Token::new(-1), -1));
        if let Some((czxid, token)) = client.kept {
            mix.number(self.token(czxid.get()));
            mix.number(self.token(token.get()));
        }
        mix.number(client.told_request.map_or(-1, |_| self.token(token.get())));
        mix.number(i64::from(version));
        (client.applied, client.seen).hash(mix);
        mix.number(client.verified.map_or(-1, |token| self.token(token.get())));
        let tickets = Tickets::of(client);
        self.nominee(client, &tickets, mix);
        self.connection(client, &tickets, mix);
        let mut in_doubt: Vec<_> = client.in_doubt.clone();
        in_doubt.sort_unstable();
        for lost in in_doubt {
            mix.number(age(client, lost.session));
            self.request(lost.request, mix);
        }
    }

    /// Mixes in the znodes and sessions of the world that are this client's.
    fn property(&self, world: &World, client: &Client, mix: &mut Mix) {
        let created = world.server.log.iter().filter_map(Entry::created);
        for znode in world.server.base.znodes.iter().chain(created) {
            if client.has_had(znode.owner) {
                mix.number(self.name(znode.name));
                mix.number(age(client, znode.owner));
            }
        }
        mix.number(-3);
        for (position, entry) in world.server.log.iter().enumerate() {
            if let Entry::SessionClosed(session) = entry
                && *session == client.session
            {
                position.hash(mix);
            }
        }
        let evicted = |token: Token| world.evicted.iter().any(|(_, evicted)| *evicted == token);
        if let Role::Leading { token } | Role::Suspended { token } = client.nominee.role() {
            evicted(token).hash(mix);
        }
        let may_be_its = |name: &Name| [client.index, UNTOLD].contains(&name.client);
        for (name, _) in world.evicted.iter().filter(|(name, _)| may_be_its(name)) {
            mix.number(self.name(*name));
        }
    }

    fn nominee(&self, client: &Client, tickets: &Tickets, mix: &mut Mix) {
        let mut fields = Fields::new(|field| match field {
            Field::Name(name) => {
                mix.number(self.name(name));
                (name.client == client.index).hash(mix);
            }
            Field::Token(token) => mix.number(self.token(token)),
            Field::Session(session) => mix.number(age(client, SessionId::new(session))),
            Field::Ticket(ticket) => mix.number(tickets.rank(ticket)),
            Field::Other(number) => mix.number(number),
        });
        client.nominee.hash(&mut fields);
    }

    fn connection(&self, client: &Client, tickets: &Tickets, mix: &mut Mix) {
        for (ticket, request) in &client.requests {
            mix.number(tickets.rank(number(*ticket)));
            self.request(*request, mix);
        }
        mix.number(-4);
        for due in &client.due {
            due.position.hash(mix);
            mix.number(tickets.rank(number(due.ticket)));
            self.answer(client, &due.answer, mix);
        }
        mix.number(-5);
        let mut watchers: Vec<_> = client.watchers.clone();
        watchers.sort_unstable_by_key(|watcher| tickets.rank(number(watcher.ticket)));
        for watcher in watchers {
            mix.number(tickets.rank(number(watcher.ticket)));
            mix.number(self.name(watcher.name));
        }
        mix.number(-6);
        for straggler in &client.stragglers {
            match straggler {
                Delivery::Reply(ticket, answer) => {
                    mix.number(tickets.rank(number(*ticket)));
                    self.answer(client, answer, mix);
                }
                Delivery::Changed(ticket, change) => {
                    mix.number(tickets.rank(number(*ticket)));
                    change.hash(mix);
                }
            }
        }
        mix.number(-7);
    }

    fn request(&self, request: Request, mix: &mut Mix) {
        core::mem::discriminant(&request).hash(mix);
        match request {
            Request::Read(name)
            | Request::ReadUnwatched(name)
            | Request::Inspect(name)
            | Request::Exists(name)
            | Request::LookAt(name) => {
                mix.number(self.name(name));
            }
            Request::Delete(name, version) => {
                mix.number(self.name(name));
                version.hash(mix);
            }
            Request::Exchange { writer, .. } => mix.number(self.name(writer)),
            Request::Create(attempt) if self.exact => mix.number(i64::from(attempt)),
            Request::Create(_)
            | Request::CreateElectionNode
            | Request::Barrier
            | Request::LookForEnd
            | Request::List => {}
        }
    }

    fn answer(&self, client: &Client, answer: &Answer, mix: &mut Mix) {
        core::mem::discriminant(answer).hash(mix);
        match answer {
            Answer::Created(name, None) => mix.number(self.name(*name)),
            Answer::Created(name, Some(stat))
            | Answer::Read(name, stat, _)
            | Answer::Exists(name, stat) => {
                let Stat { owner, token, version, .. } = stat;
                mix.number(self.name(*name));
                owner.map(|owner| age(client, owner)).hash(mix);
                mix.number(self.token(token.get()));
                version.hash(mix);
                if let Answer::Read(.., data) = answer {
                    data.hash(mix);
                }
            }
            Answer::Exchanged(reader) => mix.number(self.name(*reader)),
            Answer::Failed(failure) => failure.hash(mix),
            Answer::ElectionNodeCreated
            | Answer::EndMark(_)
            | Answer::BarrierPassed
            | Answer::Children(..)
            | Answer::Deleted => {}
        }
    }
}

/// The tickets of a client that can still matter, oldest first. One of an earlier candidate is
/// marked as such: a late reply to it is answered otherwise.
struct Tickets(Vec<(u32, u32)>, u32);

impl Tickets {
    fn of(client: &Client) -> Self {
        let mut tickets = Vec::with_capacity(8);
        let mut fields = Fields::new(|field| {
            if let Field::Ticket(ticket) = field {
                tickets.push(ticket);
            }
        });
        client.nominee.hash(&mut fields);
        tickets.extend(client.unanswered().map(number));
        tickets.extend(client.watchers.iter().map(|watcher| number(watcher.ticket)));
        tickets.extend(client.stragglers.iter().map(|straggler| match straggler {
            Delivery::Reply(ticket, _) | Delivery::Changed(ticket, _) => number(*ticket),
        }));
        tickets.sort_unstable();
        tickets.dedup();
        Self(tickets, client.nominee.incarnation().get())
    }

    fn rank(&self, ticket: (u32, u32)) -> i64 {
        if ticket == CLEANUP {
            return -8;
        }
        let is_present = i64::from(ticket.0 == self.1);
        rank(&self.0, &ticket) << 1 | is_present
    }
}

fn rank<T: Ord>(sorted: &[T], of: &T) -> i64 {
    let rank = sorted.binary_search(of).expect("it was collected");
    i64::try_from(rank).expect("few numbers")
}

/// Whether it is the present session, or one of those before it, which are all alike.
fn age(client: &Client, session: SessionId) -> i64 {
    i64::from(session != client.session)
}

const CLEANUP: (u32, u32) = (u32::MAX, u32::MAX);

fn number(ticket: Ticket) -> (u32, u32) {
    let mut found = CLEANUP;
    let mut fields = Fields::after_counters(|field| {
        if let Field::Ticket(ticket) = field {
            found = ticket;
        }
    });
    ticket.hash(&mut fields);
    found
}

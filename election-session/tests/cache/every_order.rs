//! A cache in every order of events: writes, replies, events that come before replies, connections that are lost to a
//! server that lags, sessions that expire, events that are lost.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::collections::BTreeMap;

use super::messages::{Abilities, Item};
use super::reader::Heard;
use super::search::{State, explore};
use super::world::World;

/// How often each fault may happen still.
#[derive(Clone, Copy, Debug)]
struct Budget {
    writes: u8,
    /// Connections that are lost; the session goes on at any server that has applied what it has seen.
    losses: u8,
    expiries: u8,
    /// Times that the client loses the events that are on the wire, and hears of that.
    gaps: u8,
}

const NONE: Budget = Budget { writes: 0, losses: 0, expiries: 0, gaps: 0 };

/// Whether the driver makes all requests as soon as it can.
#[derive(Clone, Copy, Debug)]
enum Asking {
    AtOnce,
    Singly,
}

#[derive(Clone)]
struct Order {
    world: World,
    paths: &'static [&'static str],
    asking: Asking,
    budget: Budget,
    /// Of states that differ only in the numbers of tickets it is the same.
    key: String,
}

impl Order {
    fn new(
        abilities: Abilities,
        paths: &'static [&'static str],
        asking: Asking,
        budget: Budget,
    ) -> Self {
        let order = Self { world: World::on(abilities), paths, asking, budget, key: String::new() };
        order.settled()
    }

    /// Returns this state after what happens in it at once.
    fn settled(mut self) -> Self {
        if let Asking::AtOnce = self.asking {
            self.world.ask();
        }
        self.world.asked.clear();
        self.world.check_tree();
        self.key = canonical(&self.world, self.budget);
        self
    }

    fn after(&self, step: &str, change: impl FnOnce(&mut Self)) -> (String, Self) {
        let mut next = self.clone();
        next.world.log.push(format!("-- {step}"));
        change(&mut next);
        (step.to_owned(), next.settled())
    }

    /// Returns what goes on by itself.
    fn progress(&self) -> Vec<(String, Self)> {
        let (world, mut next) = (&self.world, Vec::new());
        if world.server.applied < world.server.tip() {
            next.push(self.after("the server applies", |it| it.world.apply()));
        }
        if let Asking::Singly = self.asking
            && world.tracker.clone().poll_request().is_some()
        {
            next.push(self.after("a request", |it| it.world.ask_one()));
        }
        if !world.sent.is_empty() {
            next.push(self.after("the server answers", |it| it.world.execute()));
        }
        let overtakes = world.wire.iter().position(|item| !matches!(item, Item::Reply(..)));
        for at in [Some(0), overtakes.filter(|at| *at > 0)].into_iter().flatten() {
            if at < world.wire.len() {
                next.push(self.after(&format!("item {at} arrives"), |it| {
                    let item = it.world.wire.remove(at).expect("it is there");
                    it.world.bring_in(item);
                }));
            }
        }
        let reader = world.readers[0].key();
        if world.tracker.clone().poll_change(reader).is_some() {
            next.push(self.after("the reader hears", |it| it.world.hear_all()));
        }
        next
    }

    fn faults(&self) -> Vec<(String, Self)> {
        let (world, budget, mut next) = (&self.world, self.budget, Vec::new());
        if budget.writes > 0 {
            for write in world.server.possible_writes(self.paths) {
                next.push(self.after(&format!("{write:?}"), |it| {
                    it.budget.writes -= 1;
                    it.world.server.commit_one(write);
                }));
            }
        }
        let tip = world.server.tip();
        if budget.losses > 0 {
            for at in world.seen..=tip {
                next.push(self.after(&format!("a loss, to a server at {at}"), |it| {
                    it.budget.losses -= 1;
                    it.world.go_on_at(at);
                }));
            }
        }
        if budget.expiries > 0 {
            for at in 0..=tip {
                next.push(self.after(&format!("an expiry, to a server at {at}"), |it| {
                    it.budget.expiries -= 1;
                    it.world.begin_anew_at(at);
                }));
            }
        }
        let is_event = |item: &Item| matches!(item, Item::Event(_));
        if budget.gaps > 0 && world.server.has_tree_watch && world.wire.iter().any(is_event) {
            next.push(self.after("a gap", |it| {
                it.budget.gaps -= 1;
                it.world.wire.retain(|item| !is_event(item));
                it.world.wire.push_front(Item::Missed);
            }));
        }
        next
    }
}

impl World {
    fn ask_one(&mut self) {
        if let Some(request) = self.tracker.poll_request() {
            self.sent.push_back(request);
        }
    }

    fn hear_all(&mut self) {
        let mut reader = self.readers.remove(0);
        while let Some(heard) = reader.hear(&mut self.tracker) {
            if let Heard::Moment(zxid) = heard {
                let tree = self.expected(usize::try_from(zxid).expect("small"));
                assert_eq!(reader.fold, tree, "folded at {zxid}: {:#?}", self.log);
            }
        }
        self.readers.push(reader);
    }
}

impl State for Order {
    fn successors(&self) -> Vec<(String, Self)> {
        let mut next = self.progress();
        next.extend(self.faults());
        next
    }

    /// At rest the cache is current, and it and its reader have the server's last tree.
    fn check(&self) -> Result<(), String> {
        if !self.is_at_rest() {
            return Ok(());
        }
        let world = &self.world;
        let last = world.expected(world.server.tip());
        if world.tracker.current().is_none() {
            return Err("at rest the cache is not current".to_owned());
        }
        let fold = &world.readers[0].fold;
        if *fold == last { Ok(()) } else { Err(format!("at rest {fold:?} was heard of {last:?}")) }
    }

    fn is_at_rest(&self) -> bool {
        self.progress().is_empty()
    }
}

impl Hash for Order {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#?}", self.world.log)
    }
}

/// What stands before a ticket in the text of a world.
const TICKETS: [&str; 7] =
    ["ticket: ", "Asked(", "Outdated(", "Barrier, ", "AddWatch, ", "mark: Some(", "last_ticket: "];

/// Returns a text that tells states apart, in which tickets are numbered as they stand in line.
fn canonical(world: &World, budget: Budget) -> String {
    let in_flight = world.sent.iter().chain(world.wire.iter().filter_map(|item| match item {
        Item::Reply(request, ..) | Item::Failed(request) => Some(request),
        Item::Event(_) | Item::Missed | Item::WatchesLost => None,
    }));
    let ranks: BTreeMap<u64, usize> =
        in_flight.enumerate().map(|(rank, request)| (request.ticket, rank)).collect();
    let World { tracker, server, seen, sent, wire, registered, readers, last_moment, .. } = world;
    let all = (tracker, server, seen, sent, wire, (registered, readers, last_moment, budget));
    // What was counted says nothing of what may come.
    let text = format!("{all:?}").replace(&format!("{:?}", tracker.counts()), "");
    let (mut named, mut rest) = (String::with_capacity(text.len()), &*text);
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let end = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        named.push_str(before);
        if !TICKETS.iter().any(|mark| before.ends_with(mark)) {
            named.push_str(number);
        } else if let Some(rank) = number.parse().ok().and_then(|it: u64| ranks.get(&it)) {
            // The number of one that is not in flight any more does not matter.
            named.push_str(&rank.to_string());
        }
        rest = after;
    }
    named.push_str(rest);
    named
}

const NEW: Abilities = Abilities { tree_watches: true, named_events: true, multi_read: true };
const OF_3_6: Abilities = Abilities { named_events: false, ..NEW };
const OF_3_5: Abilities = Abilities { tree_watches: false, named_events: false, multi_read: false };
const LINE: &[&str] = &["/r", "/r/a", "/r/a/x"];
const ONE: &[&str] = &["/r/a"];
const PAIR: &[&str] = &["/r", "/r/a"];

/// Explores it on a server of each kind that has these faults.
fn explore_all(paths: &'static [&'static str], asking: Asking, budget: Budget) {
    for abilities in [NEW, OF_3_6, OF_3_5] {
        if budget.gaps == 0 || abilities.tree_watches {
            explore(&Order::new(abilities, paths, asking, budget), 100);
        }
    }
}

#[test]
fn a_tree_is_written() {
    explore_all(LINE, Asking::AtOnce, Budget { writes: 2, ..NONE });
    explore_all(PAIR, Asking::Singly, Budget { writes: 1, ..NONE });
}

#[test]
fn connections_are_lost_while_a_tree_is_written() {
    explore_all(ONE, Asking::AtOnce, Budget { writes: 2, losses: 1, ..NONE });
}

#[test]
fn a_session_expires_while_a_tree_is_written() {
    explore_all(PAIR, Asking::AtOnce, Budget { writes: 1, expiries: 1, ..NONE });
}

#[test]
fn events_are_lost_while_a_tree_is_written() {
    explore_all(ONE, Asking::AtOnce, Budget { writes: 2, gaps: 1, ..NONE });
}

/// The long form.
#[test]
#[ignore = "takes minutes"]
fn a_larger_tree_is_written_with_each_fault() {
    explore_all(LINE, Asking::AtOnce, Budget { writes: 3, ..NONE });
    explore_all(PAIR, Asking::Singly, Budget { writes: 2, ..NONE });
    explore_all(LINE, Asking::AtOnce, Budget { writes: 2, losses: 1, ..NONE });
    explore_all(LINE, Asking::AtOnce, Budget { writes: 2, expiries: 1, ..NONE });
    explore_all(LINE, Asking::AtOnce, Budget { writes: 3, gaps: 1, ..NONE });
}

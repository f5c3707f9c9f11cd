//! Searches every state of a world, breadth first, then checks through the calm steps that the
//! world comes to rest as it must; reports a fault with a shortest way to it.

use core::hash::{Hash as _, Hasher as _};
use std::collections::{HashMap, VecDeque, hash_map::DefaultHasher};
use std::io::Write as _;

use self::ways::{on_a_calm_circle, way_to};
use super::step::Step;
use super::world::World;

#[path = "ways.rs"]
mod ways;

/// More states than these are a machine that never comes to rest.
const LIMIT: usize = 3_000_000;

pub fn explore(name: &str, start: World) {
    let mut found = HashMap::from([(fingerprint(&start), 0_usize)]);
    let mut ways: Vec<(usize, Option<Step>)> = vec![(0, None)];
    let mut calm: Vec<Vec<usize>> = Vec::new();
    let mut queue = VecDeque::from([start]);
    let mut rests = 0;
    while let Some(world) = queue.pop_front() {
        let state = calm.len();
        let steps = world.steps();
        let is_at_rest = !steps.iter().any(|step| world.is_calm(*step));
        rests += usize::from(is_at_rest);
        let at_rest = || if is_at_rest { world.check_rest() } else { Ok(()) };
        if let Err(fault) = world.check().and_then(|()| at_rest()) {
            panic!("{name}: {fault}, after {}\n{world:#?}", way_to(&ways, state));
        }
        let mut calm_ones = Vec::new();
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            let fresh = ways.len();
            let at = *found.entry(fingerprint(&next)).or_insert(fresh);
            if at == fresh {
                ways.push((state, Some(step)));
                queue.push_back(next);
            }
            if world.is_calm(step) {
                calm_ones.push(at);
            }
        }
        calm.push(calm_ones);
        assert!(ways.len() <= LIMIT, "{name}: more than {LIMIT} states");
    }
    if let Some(state) = on_a_calm_circle(&calm) {
        panic!("{name}: never comes to rest, after {}", way_to(&ways, state));
    }
    let summary = format!("explored: {name}: {} states, {rests} at rest\n", ways.len());
    std::io::stderr().write_all(summary.as_bytes()).expect("standard error");
}

/// Returns one number for all worlds that differ only in how high tickets and tokens have become.
pub fn fingerprint(world: &World) -> u64 {
    let text = format!("{world:?}");
    let (mut tickets, mut tokens) = (Vec::new(), Vec::new());
    for (_, number) in numbers(&text, "Token(") {
        tokens.push(number);
    }
    tokens.sort_unstable();
    tokens.dedup();
    let mut hasher = DefaultHasher::new();
    let mut rest = 0;
    let mut marks: Vec<(usize, usize, u64)> = Vec::new();
    for (at, number) in numbers(&text, "Token(") {
        let rank = tokens.binary_search(&number).expect("it was found");
        marks.push((at, digits(&text, at), u64::try_from(rank).expect("few")));
    }
    for (at, number) in numbers(&text, "step: ") {
        let place = tickets.iter().position(|ticket| *ticket == number).unwrap_or(tickets.len());
        if place == tickets.len() {
            tickets.push(number);
        }
        marks.push((at, digits(&text, at), u64::try_from(place).expect("few")));
    }
    for ignored in ["Steps(", "zxid: "] {
        marks.extend(numbers(&text, ignored).map(|(at, _)| (at, digits(&text, at), 0)));
    }
    marks.sort_unstable();
    for (at, length, mark) in marks {
        text[rest..at].hash(&mut hasher);
        mark.hash(&mut hasher);
        rest = at + length;
    }
    text[rest..].hash(&mut hasher);
    hasher.finish()
}

/// Returns the numbers behind this text, and where they begin.
fn numbers<'t>(text: &'t str, before: &'t str) -> impl Iterator<Item = (usize, u64)> + 't {
    text.match_indices(before).filter_map(move |(at, _)| {
        let at = at + before.len();
        Some((at, text[at..at + digits(text, at)].parse().ok()?))
    })
}

fn digits(text: &str, at: usize) -> usize {
    text[at..].bytes().take_while(u8::is_ascii_digit).count()
}

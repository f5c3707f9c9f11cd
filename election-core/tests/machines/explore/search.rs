//! Breadth-first through every state of a world, so that a broken rule is reported with a shortest
//! way that leads to it; and then through the calm steps alone, for what must come to pass.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write;
use std::time::Instant;

use super::common::World;
use super::common::step::Step;

/// Explores a world to its end and shows what that took; panics at a broken rule.
pub fn explore(name: &str, start: World) -> Fingerprints {
    explore_up_to(100_000, name, start)
}

/// Explores a large world in the same way.
pub fn explore_long(name: &str, start: World) -> Fingerprints {
    explore_up_to(12_000_000, name, start)
}

/// Explores a world. More states than the limit mean a nominee that never comes to rest.
fn explore_up_to(limit: usize, name: &str, start: World) -> Fingerprints {
    let begin = Instant::now();
    let mut search = Search::new(start);
    while let Some((world, state)) = search.queue.pop_front() {
        search.expand(name, &world, state);
        assert!(search.ways.len() <= limit, "{name}: more than {limit} states");
    }
    if let Some(state) = search.a_state_on_a_calm_circle() {
        panic!("{name}: never comes to rest, after {}", search.way_to(state));
    }
    let (states, rests) = (search.fingerprints.len(), search.rests);
    let seconds = begin.elapsed().as_secs_f64();
    // Not by a macro: this is shown without `--nocapture` too.
    let summary = format!("explored: {name}: {states} states, {rests} at rest, {seconds:.1} s\n");
    std::io::stderr().write_all(summary.as_bytes()).expect("standard error");
    search.fingerprints
}

/// Explores a small world without merging what differs in numbers and names alone, and compares.
pub fn assert_that_merging_loses_nothing(name: &str, start: World) {
    let merged = explore(name, start.clone());
    let mut seen = HashSet::from([start.clone()]);
    let mut fingerprints = HashSet::from([start.fingerprint()]);
    let mut queue = VecDeque::from([start]);
    while let Some(world) = queue.pop_front() {
        for step in world.steps() {
            let mut next = world.clone();
            next.take(step);
            fingerprints.insert(next.fingerprint());
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    assert!(seen.len() > merged.len(), "{name}: nothing is merged");
    let merged: HashSet<u64> = merged.into_keys().collect();
    assert_eq!(fingerprints.symmetric_difference(&merged).count(), 0, "{name}: of {}", seen.len());
}

/// The fingerprints of states, which are numbered as they are found.
pub type Fingerprints = HashMap<u64, u32, BuildHasherDefault<AsItIs>>;

struct Search {
    fingerprints: Fingerprints,
    /// From which state each was reached first, and how.
    ways: Vec<(u32, Option<Step>)>,
    queue: VecDeque<(World, u32)>,
    /// The states that calm steps lead to, for one state after the other.
    calm: Vec<u32>,
    /// The ends of the steps of each state in that list.
    calm_ends: Vec<usize>,
    rests: usize,
}

impl Search {
    fn new(start: World) -> Self {
        Self {
            fingerprints: Fingerprints::from_iter([(start.fingerprint(), 0)]),
            ways: vec![(0, None)],
            queue: VecDeque::from([(start, 0)]),
            calm: Vec::new(),
            calm_ends: Vec::new(),
            rests: 0,
        }
    }

    fn expand(&mut self, name: &str, world: &World, state: u32) {
        let steps = world.steps();
        let is_at_rest = !steps.iter().any(|step| step.is_calm(world));
        let at_rest = || if is_at_rest { world.check_rest() } else { Ok(()) };
        let checked = world.check().and_then(|()| at_rest());
        if let Err(fault) = checked {
            panic!("{name}: {fault}, after {}", self.way_to(state));
        }
        self.rests += usize::from(is_at_rest);
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            // A state that is known already is not looked at again.
            if let Some(fault) = &next.fault {
                panic!("{name}: {fault}, after {}\n  {step:?}", self.way_to(state));
            }
            let fresh = u32::try_from(self.ways.len()).expect("states fit");
            let found = *self.fingerprints.entry(next.fingerprint()).or_insert(fresh);
            if found == fresh {
                self.ways.push((state, Some(step)));
                self.queue.push_back((next, fresh));
            }
            if step.is_calm(world) {
                self.calm.push(found);
            }
        }
        self.calm_ends.push(self.calm.len());
    }

    /// Returns a state on a circle of calm steps. In any order of events they lead to rest if they
    /// lead nowhere twice: then each state can be taken away once nothing leads to it any more
    /// (Kahn's algorithm).
    fn a_state_on_a_calm_circle(&self) -> Option<u32> {
        let states = self.ways.len();
        let mut ways_in = vec![0_u32; states];
        for to in &self.calm {
            ways_in[*to as usize] += 1;
        }
        let mut free: Vec<usize> = (0..states).filter(|state| ways_in[*state] == 0).collect();
        let mut taken = 0;
        while let Some(state) = free.pop() {
            taken += 1;
            let begin = if state == 0 { 0 } else { self.calm_ends[state - 1] };
            for to in &self.calm[begin..self.calm_ends[state]] {
                let to = *to as usize;
                ways_in[to] -= 1;
                if ways_in[to] == 0 {
                    free.push(to);
                }
            }
        }
        let circle = || ways_in.iter().position(|ways| *ways > 0);
        (taken < states).then(circle).flatten().and_then(|state| u32::try_from(state).ok())
    }

    /// Returns the way to a state, a step a line.
    fn way_to(&self, state: u32) -> String {
        let mut steps = Vec::new();
        let mut state = state;
        while let (from, Some(step)) = self.ways[state as usize] {
            steps.push(format!("\n  {step:?}"));
            state = from;
        }
        steps.reverse();
        steps.concat()
    }
}

/// A fingerprint is a hash already.
#[derive(Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

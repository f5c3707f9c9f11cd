//! Breadth-first through every state of a world, and then through its calm steps alone.

mod ways;

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;
use std::time::Instant;

use crate::queues::world::{Step, World};

use self::ways::{on_a_calm_circle, way_to};

/// Explores a world to its end and shows what that took; panics at a broken rule.
pub fn explore(name: &str, start: World) -> World {
    explore_up_to(400_000, name, start)
}

/// Explores a large world in the same way.
pub fn explore_long(name: &str, start: World) -> World {
    explore_up_to(12_000_000, name, start)
}

/// Explores a world, and returns it at rest. More states than the limit mean a taker that never
/// comes to rest.
fn explore_up_to(limit: usize, name: &str, start: World) -> World {
    let begin = Instant::now();
    let mut found = HashMap::from([(start.fingerprint(), 0_usize)]);
    let mut ways: Vec<(usize, Option<Step>)> = vec![(0, None)];
    let mut calm: Vec<Vec<usize>> = Vec::new();
    let mut queue = VecDeque::from([(start, 0)]);
    let (mut rests, mut last) = (0_usize, None);
    while let Some((world, state)) = queue.pop_front() {
        let steps = world.steps();
        let is_at_rest = !steps.iter().any(|step| step.is_calm(&world));
        let at_rest = || if is_at_rest { world.check_rest() } else { Ok(()) };
        if let Err(fault) = world.check().and_then(|()| at_rest()) {
            panic!("{name}: {fault}, after {}", way_to(&ways, state));
        }
        let mut calm_ways = Vec::new();
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            let fresh = ways.len();
            let to = *found.entry(next.fingerprint()).or_insert(fresh);
            if to == fresh {
                ways.push((state, Some(step)));
                queue.push_back((next, fresh));
            }
            if step.is_calm(&world) {
                calm_ways.push(to);
            }
        }
        calm.push(calm_ways);
        assert!(ways.len() <= limit, "{name}: more than {limit} states");
        if is_at_rest {
            rests += 1;
            last = Some(world);
        }
    }
    if let Some(state) = on_a_calm_circle(&calm) {
        panic!("{name}: never comes to rest, after {}", way_to(&ways, state));
    }
    let (states, seconds) = (ways.len(), begin.elapsed().as_secs_f64());
    let summary = format!("explored: {name}: {states} states, {rests} at rest, {seconds:.1} s\n");
    std::io::stderr().write_all(summary.as_bytes()).expect("standard error");
    last.expect("it comes to rest")
}

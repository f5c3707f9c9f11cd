//! Searches every state of a world, breadth first, then checks that the calm steps lead to rest; reports a fault with
//! a shortest way to it.

use core::fmt;
use core::hash::{BuildHasherDefault, Hasher as _};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write as _;
use std::time::Instant;

use super::canonical::Canon;
use super::mix::{AsItIs, Mix};
use super::{Lab, Model, Step};

/// More states than these are a machine that never comes to rest.
const LIMIT: usize = 12_000_000;

/// The way to each state: from which one, by which step.
type Ways<M> = Vec<(u32, Option<Step<M>>)>;

/// Explores a world to its end.
pub fn explore<M: Model>(name: &str, start: Lab<M>) {
    if let Err(fault) = search(name, start) {
        panic!("{fault}");
    }
}

/// Checks that a world breaks its laws, by this fault: a limit that the users' page states.
pub fn explore_to_a_limit<M: Model>(name: &str, limit: &str, start: Lab<M>) {
    let Err(fault) = search(name, start) else { panic!("{name}: the limit is gone") };
    assert!(fault.contains(limit), "{fault}");
}

/// Searches all states of a world, and returns their number, or the fault that comes first.
fn search<M: Model>(name: &str, start: Lab<M>) -> Result<usize, String> {
    let (began, origin) = (Instant::now(), start.clone());
    let mut canon = Canon::new(&start);
    let mut found: HashMap<u64, u32, BuildHasherDefault<AsItIs>> = HashMap::default();
    found.insert(canon.fingerprint(&start), 0);
    let mut ways: Ways<M> = vec![(0, None)];
    let mut calm: Vec<Vec<u32>> = Vec::new();
    let mut queue = VecDeque::from([start]);
    let mut rests = 0;
    while let Some(world) = queue.pop_front() {
        let state = calm.len();
        let steps = world.steps();
        let is_at_rest = !steps.iter().any(|(_, is_calm)| *is_calm);
        rests += usize::from(is_at_rest);
        let at_rest = || if is_at_rest { M::check_rest(&world) } else { Ok(()) };
        if let Err(fault) = world.check().and_then(|()| at_rest()) {
            return Err(format!("{name}: {fault}, after {}", way_to(&ways, state, &origin)));
        }
        let mut calm_ones = Vec::new();
        for (step, is_calm) in steps {
            let mut next = world.clone();
            next.take(step);
            let fresh = u32::try_from(ways.len()).expect("not so many");
            let at = *found.entry(canon.fingerprint(&next)).or_insert(fresh);
            if at == fresh {
                ways.push((u32::try_from(state).expect("not so many"), Some(step)));
                queue.push_back(next);
            }
            if is_calm {
                calm_ones.push(at);
            }
        }
        calm.push(calm_ones);
        if ways.len() > LIMIT {
            return Err(format!("{name}: more than {LIMIT} states"));
        }
    }
    if let Some(state) = on_a_calm_circle(&calm) {
        return Err(format!(
            "{name}: never comes to rest, after {}",
            way_to(&ways, state, &origin)
        ));
    }
    let seconds = began.elapsed().as_secs_f32();
    let count = ways.len();
    let summary = format!("explored: {name}: {count} states, {rests} at rest, {seconds:.2} s\n");
    std::io::stderr().write_all(summary.as_bytes()).expect("standard error");
    Ok(count)
}

/// Checks that worlds which count as one take the same steps, to worlds that count as one: takes each world by itself
/// as far as there are that many.
pub fn holds_against_unmerged<M: Model>(start: Lab<M>, limit: usize) {
    let mut canon = Canon::new(&start);
    let mut ways: HashMap<u64, Vec<(u64, bool)>> = HashMap::new();
    let mut seen = HashSet::from([as_it_is(&start)]);
    let mut queue = VecDeque::from([start]);
    let mut merged = 0;
    while let Some(world) = queue.pop_front() {
        let mut to: Vec<(u64, bool)> = Vec::new();
        for (step, is_calm) in world.steps() {
            let mut next = world.clone();
            next.take(step);
            to.push((canon.fingerprint(&next), is_calm));
            if seen.len() < limit && seen.insert(as_it_is(&next)) {
                queue.push_back(next);
            }
        }
        to.sort_unstable();
        to.dedup();
        match ways.entry(canon.fingerprint(&world)) {
            std::collections::hash_map::Entry::Vacant(free) => drop(free.insert(to)),
            std::collections::hash_map::Entry::Occupied(known) => {
                merged += 1;
                assert_eq!(known.get(), &to, "merged, and different: {world:#?}");
            }
        }
    }
    let summary = format!("held against: {} worlds, {merged} merged\n", seen.len());
    std::io::stderr().write_all(summary.as_bytes()).expect("standard error");
}

/// Returns one number for a world by all that is in it.
fn as_it_is<M: Model>(lab: &Lab<M>) -> u64 {
    let Lab { model, server, clients, ghosts, budget, fault, .. } = lab;
    let rest = hash_of_text(&(model, server, ghosts, budget, fault));
    let mut all = Mix(rest);
    clients.wholes(hash_of_text).for_each(|client| all.write_u64(client));
    all.finish()
}

/// Returns the hash of a `Debug` form, which leaves nothing out, as `Hash` may.
fn hash_of_text(of: &impl fmt::Debug) -> u64 {
    let mut text = Text(Mix(0));
    fmt::write(&mut text, format_args!("{of:?}")).expect("nothing refuses it");
    text.0.finish()
}

/// Takes in what is written.
struct Text(Mix);

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Returns a state on a circle of calm steps. They lead to rest if they lead nowhere twice: then each state can be
/// taken away once nothing leads to it any more (Kahn's algorithm).
fn on_a_calm_circle(calm: &[Vec<u32>]) -> Option<usize> {
    let index = |state: u32| usize::try_from(state).expect("32 bits");
    let mut ways_in = vec![0_u32; calm.len()];
    calm.iter().flatten().for_each(|to| ways_in[index(*to)] += 1);
    let mut free: Vec<usize> = (0..calm.len()).filter(|state| ways_in[*state] == 0).collect();
    while let Some(state) = free.pop() {
        for to in &calm[state] {
            ways_in[index(*to)] -= 1;
            if ways_in[index(*to)] == 0 {
                free.push(index(*to));
            }
        }
    }
    ways_in.iter().position(|ways| *ways > 0)
}

/// Returns the way to a state, a step a line, with what each client asks for and the tree after it, and the last
/// world. The steps are found anew, since a state stands for all that differ in nothing that matters.
fn way_to<M: Model>(ways: &Ways<M>, mut state: usize, start: &Lab<M>) -> String {
    let mut steps = Vec::new();
    while let (from, Some(step)) = ways[state] {
        steps.push(step);
        state = usize::try_from(from).expect("32 bits");
    }
    steps.reverse();
    let mut world = start.clone();
    let mut lines = Vec::new();
    // With symmetry the stored steps are those of the representative that was found first, which this is.
    for step in steps {
        world.take(step);
        let asked = |client: &super::Client<M>| {
            let asked = client.requests.iter().map(|sent| format!("{:?}", sent.request));
            format!("{}: {}", client.index, asked.collect::<Vec<_>>().join(", "))
        };
        let asked: Vec<String> = world.clients.iter().map(asked).collect();
        let tree: Vec<_> = world.tip().keys().collect();
        lines.push(format!("\n  {step:?}  -> {tree:?} [{}]", asked.join("; ")));
    }
    format!("{}\n{world:#?}", lines.concat())
}

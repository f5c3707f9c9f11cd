//! The search: every state that a world can come to.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use super::world::World;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    /// On the way from the start to the present state.
    OnTheWay,
    Done,
}

/// Goes through all states, and fails if a law is broken in one, or if one is come to again from
/// itself: then planning need not come to rest.
pub(crate) fn explore(start: &World, at_least: usize) {
    // A 128-bit hash stands for a state.
    let (one, other) = (RandomState::new(), RandomState::new());
    let key = |world: &World| (one.hash_one(world), other.hash_one(world));
    let mut colours = HashMap::new();
    let mut rests = 0;
    colours.insert(key(start), Colour::OnTheWay);
    let mut way = vec![(key(start), start.successors(), "start".to_owned())];
    while let Some((present, successors, _)) = way.last_mut() {
        let present = *present;
        let Some((step, world)) = successors.pop() else {
            colours.insert(present, Colour::Done);
            way.pop();
            continue;
        };
        let told = |way: &[(_, _, String)]| {
            let steps: Vec<&str> = way.iter().map(|(.., step)| &**step).collect();
            steps.join("\n")
        };
        let next = key(&world);
        match colours.get(&next) {
            Some(Colour::OnTheWay) => {
                panic!("it does not come to rest:\n{}\n{step}\n{world:#?}", told(&way))
            }
            Some(Colour::Done) => {}
            None => {
                if let Err(broken) = world.check() {
                    panic!("{broken}:\n{}\n{step}\n{world:#?}", told(&way));
                }
                rests += usize::from(world.is_at_rest());
                colours.insert(next, Colour::OnTheWay);
                way.push((next, world.successors(), step));
            }
        }
    }
    let states = colours.len();
    println!("{states} states, {rests} at rest");
    assert!(states > at_least && rests > 1, "{states} states, {rests} at rest");
}

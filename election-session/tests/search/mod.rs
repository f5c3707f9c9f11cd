//! The search: every state that a world can come to.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasher as _, Hash, RandomState};

/// A state of a world. States that are equal by their hash go on alike.
pub(crate) trait State: Hash + Debug + Sized {
    /// Returns each state that may follow, with what happens.
    fn successors(&self) -> Vec<(String, Self)>;

    /// Returns the law that is broken, if one is.
    fn check(&self) -> Result<(), String>;

    /// Whether nothing goes on by itself any more.
    fn is_at_rest(&self) -> bool;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    /// On the way from the start to the present state.
    OnTheWay,
    Done,
}

/// Goes through all states, and fails if a law is broken in one, or if one is come to again from
/// itself: then it need not come to rest.
pub(crate) fn explore<S: State>(start: &S, at_least: usize) {
    // A 128-bit hash stands for a state.
    let (one, other) = (RandomState::new(), RandomState::new());
    let key = |world: &S| (one.hash_one(world), other.hash_one(world));
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

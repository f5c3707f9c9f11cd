//! The ways between the states that a search has found.

use core::fmt::Debug;

/// Returns a state on a circle of calm steps. They lead to rest if they lead nowhere twice: then each
/// state can be taken away once nothing leads to it any more (Kahn's algorithm).
pub fn on_a_calm_circle(calm: &[Vec<usize>]) -> Option<usize> {
    let mut ways_in = vec![0_u32; calm.len()];
    calm.iter().flatten().for_each(|to| ways_in[*to] += 1);
    let mut free: Vec<usize> = (0..calm.len()).filter(|state| ways_in[*state] == 0).collect();
    while let Some(state) = free.pop() {
        for to in &calm[state] {
            ways_in[*to] -= 1;
            if ways_in[*to] == 0 {
                free.push(*to);
            }
        }
    }
    ways_in.iter().position(|ways| *ways > 0)
}

/// Returns the way to a state, a step a line.
pub fn way_to<S: Debug>(ways: &[(usize, Option<S>)], mut state: usize) -> String {
    let mut steps = Vec::new();
    while let (from, Some(step)) = &ways[state] {
        steps.push(format!("\n  {step:?}"));
        state = *from;
    }
    steps.reverse();
    steps.concat()
}

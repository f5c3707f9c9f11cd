//! Curator's `SharedCount` and kazoo's `Counter`.

use std::collections::BTreeSet;

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::server::ServerKind;

use super::pair::{Fate, Pair, Side, wanted_turns};
use crate::interop::programs::Library;

/// The sum that each adds in a turn.
const ADDED: usize = 10;

pub(crate) fn counters(server: ServerKind, library: Library) -> TestResult {
    let pair = &mut Pair::start(server, library)?;
    let recipes: &[&str] = match library {
        Library::Kazoo => &["counter", "curator_counter"],
        Library::Curator | Library::Ours => &["curator_counter"],
    };
    for recipe in recipes {
        // Curator, and kazoo for it, fail on a counter without data.
        pair.ours.run(&format!("{recipe} count /{recipe} 1"))?;
        let turns = wanted_turns(server)?;
        let (mut number, mut not_told) = (1, 0);
        for turn in turns.clone() {
            not_told += count(pair, recipe, Fate::of_turn(turn), &mut number)?;
        }
        pair.tell(&format!("{recipe} ({number} counted, {not_told} not told)"), turns.len());
    }
    a_counter_in_another_format_is_refused(pair)
}

/// Lets both count, where one may be killed, or both be cut off; returns how many changes were made, and not
/// reported.
fn count(
    pair: &mut Pair,
    recipe: &str,
    fate: Fate,
    number: &mut usize,
) -> Result<usize, TestFailure> {
    let order = format!("{recipe} count /{recipe} {ADDED}");
    let ours = pair.ours.begin(&order)?;
    let theirs = pair.peer.begin(&order)?;
    let orders = [(Side::Ours, ours), (Side::Peer, theirs)];
    if let Fate::Killed(killed) = fate {
        for (side, order) in orders {
            if side == killed {
                pair.side(killed).gives(order, 2)?;
            }
        }
        pair.kill(killed)?;
    }
    if fate == Fate::CutOff {
        pair.ours.gives(ours, 2)?;
        pair.cut_off()?;
    }
    let mut told = Vec::new();
    for (side, order) in orders {
        match (fate, side) {
            (Fate::CutOff, Side::Peer) => pair.peer_ends_or_fails(order),
            (fate, side) if fate == Fate::Killed(side) => {}
            _ => drop(pair.side(side).end(order)?),
        }
        told.extend(pair.side(side).items(order));
    }
    if let Fate::Killed(killed) = fate {
        pair.replace(killed)?;
    }
    let distinct: BTreeSet<&String> = told.iter().collect();
    assert_eq!(distinct.len(), told.len(), "counted twice: {told:?}");
    let get = format!("{recipe} get /{recipe}");
    let after: usize = pair.ours.run(&get)?.parse()?;
    assert_eq!(pair.peer.run(&get)?, after.to_string());
    let not_told = after - *number - told.len();
    let allowed = match fate {
        Fate::Spared => 0,
        Fate::Killed(_) => 1,
        Fate::CutOff => 2,
    };
    assert!(not_told <= allowed, "{not_told} not told of, {fate:?}");
    *number = after;
    Ok(not_told)
}

fn a_counter_in_another_format_is_refused(pair: &mut Pair) -> TestResult {
    if pair.peer.library == Library::Kazoo {
        pair.peer.run("counter count /digits 5")?;
        let why = pair.ours.fails("curator_counter get /digits")?;
        assert!(why.contains("kazoo's Counter"), "{why}");
    }
    pair.peer.run("curator_counter count /bytes 5")?;
    let why = pair.ours.fails("counter count /bytes 1")?;
    assert!(why.contains("SharedCount"), "{why}");
    Ok(())
}

//! Curator's `SimpleDistributedQueue`, ZooKeeper's `DistributedQueue`, and kazoo's `Queue`.

use std::collections::BTreeSet;

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::server::ServerKind;

use super::pair::{Fate, Pair, QUIET, Side, wanted_turns};
use crate::interop::programs::Library;

/// The items that each puts in a turn.
const ITEMS: usize = 20;

/// How a queue is called here and there.
#[derive(Clone, Copy, Debug)]
struct Recipes {
    ours: &'static str,
    peer: &'static str,
    path: &'static str,
}

const CURATOR: [Recipes; 2] = [
    Recipes { ours: "qn", peer: "simple", path: "/simple" },
    Recipes { ours: "qn", peer: "zookeeper", path: "/zookeeper" },
];

const KAZOO: [Recipes; 1] = [Recipes { ours: "kazoo", peer: "queue", path: "/kazoo" }];

/// The fate of the items.
#[derive(Debug, Default)]
struct Counts {
    taken: usize,
    /// Ours says that it may have taken them.
    unknown: usize,
    /// Put or taken by one that was killed, or of theirs and cut off, and not told of.
    not_told: usize,
}

pub(crate) fn queues(server: ServerKind, library: Library) -> TestResult {
    let pair = &mut Pair::start(server, library)?;
    let recipes: &[Recipes] = match library {
        Library::Kazoo => &KAZOO,
        Library::Curator | Library::Ours => &CURATOR,
    };
    let turns = wanted_turns(server)?;
    for recipes in recipes {
        let mut counts = Counts::default();
        for turn in turns.clone() {
            is_woken(pair, *recipes, Side::of_turn(turn))?;
            put_and_take(pair, *recipes, turn, &mut counts)?;
        }
        pair.tell(&format!("{} ({counts:?})", recipes.peer), turns.len());
    }
    Ok(())
}

impl Recipes {
    fn order(self, side: Side, verb: &str, rest: &str) -> String {
        let recipe = match side {
            Side::Ours => self.ours,
            Side::Peer => self.peer,
        };
        format!("{recipe} {verb} {}{rest}", self.path)
    }
}

/// One waits, until the other one puts.
fn is_woken(pair: &mut Pair, recipes: Recipes, waits: Side) -> TestResult {
    let take = pair.side(waits).begin(&recipes.order(waits, "take", ""))?;
    pair.side(waits).waits(take, QUIET)?;
    let puts = waits.other();
    pair.side(puts).run(&recipes.order(puts, "put", " woken"))?;
    assert_eq!(pair.side(waits).end(take)?, "woken");
    Ok(())
}

/// Both put, and both take. In some turns one is killed in the middle of putting, in some of taking; in
/// some both are cut off while they take.
fn put_and_take(pair: &mut Pair, recipes: Recipes, turn: usize, counts: &mut Counts) -> TestResult {
    let fate = Fate::of_turn(turn);
    let (putting, taking) = match fate {
        Fate::Killed(_) if turn % 10 < 5 => (fate, Fate::Spared),
        fate => (Fate::Spared, fate),
    };
    let put = both(pair, recipes, putting, |side| ("fill", format!(" {ITEMS} {side:?}-{turn}")))?;
    let mut taken = both(pair, recipes, taking, |_| ("drain", String::new()))?;
    // One that came too late, or was killed, may have left some.
    let rest = pair.ours.begin(&recipes.order(Side::Ours, "drain", ""))?;
    pair.ours.end(rest)?;
    taken.extend(pair.ours.items(rest));

    // Items that ours may have taken, and says so: theirs has, then, or ours.
    let unknown: Vec<String> = taken
        .extract_if(.., |item| item.starts_with('?'))
        .map(|item| item.trim_start_matches('?').to_owned())
        .collect();
    let distinct: BTreeSet<&String> = taken.iter().collect();
    assert_eq!(distinct.len(), taken.len(), "taken twice: {taken:?}");
    // One may be put, or taken, and not told of.
    let is_missing = |item: &&String| !distinct.contains(item) && !unknown.contains(item);
    let missing: Vec<&String> = put.iter().filter(is_missing).collect();
    let extra = taken.iter().filter(|item| !put.contains(item)).count();
    let allowed = |fate| usize::from(fate != Fate::Spared);
    assert!(missing.len() <= allowed(taking), "lost, {fate:?}: {missing:?}");
    assert!(extra <= allowed(putting), "more than was put, {fate:?}: {extra}");
    counts.taken += taken.len();
    counts.unknown += unknown.len();
    counts.not_told += missing.len() + extra;
    Ok(())
}

/// Lets both work at once, and may kill one of them; returns the items that they have printed.
fn both(
    pair: &mut Pair,
    recipes: Recipes,
    fate: Fate,
    order: impl Fn(Side) -> (&'static str, String),
) -> Result<Vec<String>, TestFailure> {
    let mut orders = Vec::new();
    for side in [Side::Ours, Side::Peer] {
        let (verb, rest) = order(side);
        orders.push((side, pair.side(side).begin(&recipes.order(side, verb, &rest))?));
    }
    if let Fate::Killed(killed) = fate {
        for (side, order) in &orders {
            if *side == killed {
                pair.side(killed).gives(*order, 3)?;
            }
        }
        pair.kill(killed)?;
    }
    if fate == Fate::CutOff {
        for (side, order) in &orders {
            if *side == Side::Ours {
                pair.ours.gives(*order, 3)?;
            }
        }
        pair.cut_off()?;
    }
    let mut items = Vec::new();
    for (side, order) in orders {
        match (fate, side) {
            (Fate::CutOff, Side::Peer) => pair.peer_ends_or_fails(order),
            (fate, side) if fate == Fate::Killed(side) => {}
            _ => drop(pair.side(side).end(order)?),
        }
        items.extend(pair.side(side).items(order));
    }
    if let Fate::Killed(killed) = fate {
        pair.replace(killed)?;
    }
    Ok(items)
}

//! Curator's `SimpleDistributedQueue`, ZooKeeper's `DistributedQueue`, and kazoo's `Queue`.

use std::collections::BTreeSet;

use zk_tests::failure::TestResult;
use zk_tests::server::ServerKind;

use super::pair::{Fate, Pair, QUIET, Side};
use crate::programs::Library;
use crate::wanted_turns;

/// What is put by each in a turn.
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

/// What has become of the items.
#[derive(Debug, Default)]
struct Counts {
    taken: usize,
    doubtful: usize,
}

pub(crate) fn queues(server: ServerKind, library: Library) -> TestResult {
    let pair = &mut Pair::start(server, library)?;
    let recipes: &[Recipes] = match pair.peer.library {
        Library::Kazoo => &KAZOO,
        Library::Curator | Library::Ours => &CURATOR,
    };
    for recipes in recipes {
        let (turns, mut counts, before) = (wanted_turns()?, Counts::default(), pair.killed);
        for turn in 0..turns {
            is_woken(pair, *recipes, Side::of_turn(turn))?;
            put_and_take(pair, *recipes, turn, &mut counts)?;
        }
        println!(
            "queues beside {:?}, {}: {turns} turns, {} killed, {counts:?}",
            pair.peer.library,
            recipes.peer,
            pair.killed - before,
        );
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

/// Both put, and both take. In some turns one is killed in the middle of putting, in some of taking.
fn put_and_take(pair: &mut Pair, recipes: Recipes, turn: usize, counts: &mut Counts) -> TestResult {
    let fate = Fate::of_turn(turn);
    let (putting, taking) = if turn % 10 < 5 { (fate, Fate::Spared) } else { (Fate::Spared, fate) };
    let put = both(pair, recipes, putting, |side| ("fill", format!(" {ITEMS} {side:?}-{turn}")))?;
    let mut taken = both(pair, recipes, taking, |_| ("drain", String::new()))?;
    // One that came too late, or was killed, may have left some.
    let rest = pair.ours.begin(&recipes.order(Side::Ours, "drain", ""))?;
    pair.ours.end(rest)?;
    taken.extend(pair.ours.items(rest));

    let distinct: BTreeSet<&String> = taken.iter().collect();
    assert_eq!(distinct.len(), taken.len(), "taken twice: {taken:?}");
    // One may be put, or taken, and not told of.
    let missing: Vec<&String> = put.iter().filter(|item| !distinct.contains(item)).collect();
    let extra = taken.iter().filter(|item| !put.contains(item)).count();
    let allowed = |fate| usize::from(fate != Fate::Spared);
    assert!(missing.len() <= allowed(taking), "lost, {fate:?}: {missing:?}");
    assert!(extra <= allowed(putting), "more than was put, {fate:?}: {extra}");
    counts.taken += taken.len();
    counts.doubtful += missing.len() + extra;
    Ok(())
}

/// Both at once, and one of them is killed: the items that they have told of.
fn both(
    pair: &mut Pair,
    recipes: Recipes,
    fate: Fate,
    order: impl Fn(Side) -> (&'static str, String),
) -> Result<Vec<String>, zk_tests::failure::TestFailure> {
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
    let mut items = Vec::new();
    for (side, order) in orders {
        if fate != Fate::Killed(side) {
            pair.side(side).end(order)?;
        }
        items.extend(pair.side(side).items(order));
    }
    if let Fate::Killed(killed) = fate {
        pair.replace(killed)?;
    }
    Ok(items)
}

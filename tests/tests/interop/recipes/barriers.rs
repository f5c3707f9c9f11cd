//! Curator's `DistributedBarrier` and kazoo's `Barrier`.

use zk_tests::failure::TestResult;
use zk_tests::server::ServerKind;

use super::pair::{Fate, Pair, QUIET, Side};
use crate::programs::Library;
use crate::wanted_turns;

const PATH: &str = "/gate";

pub(crate) fn barriers(server: ServerKind, library: Library) -> TestResult {
    let pair = &mut Pair::start(server, library)?;
    let turns = wanted_turns()?;
    for turn in 0..turns {
        pass(pair, turn)?;
    }
    let killed = pair.killed;
    println!("barriers beside {library:?}: {turns} turns, {killed} killed");
    Ok(())
}

/// One sets the barrier, both wait, the other one lifts it. In some turns the setter is killed before that,
/// which changes nothing for the one that waits.
fn pass(pair: &mut Pair, turn: usize) -> TestResult {
    let setter = Side::of_turn(turn);
    pair.side(setter).run(&format!("barrier set {PATH}"))?;
    let ours = pair.ours.begin(&format!("barrier wait {PATH}"))?;
    let theirs = pair.peer.begin(&format!("barrier wait {PATH}"))?;
    pair.ours.waits(ours, QUIET)?;
    pair.peer.waits(theirs, QUIET)?;
    let lifter = match Fate::of_turn(turn) {
        Fate::Killed(side) => {
            pair.kill(side)?;
            let other = match side {
                Side::Ours => theirs,
                Side::Peer => ours,
            };
            pair.side(side.other()).waits(other, QUIET)?;
            pair.replace(side)?;
            side
        }
        Fate::Spared => setter.other(),
    };
    pair.side(lifter).run(&format!("barrier lift {PATH}"))?;
    let fate = Fate::of_turn(turn);
    if fate != Fate::Killed(Side::Ours) {
        pair.ours.end(ours)?;
    }
    if fate != Fate::Killed(Side::Peer) {
        pair.peer.end(theirs)?;
    }
    // What is not set holds none back.
    pair.ours.run(&format!("barrier wait {PATH}"))?;
    pair.peer.run(&format!("barrier wait {PATH}")).map(drop)
}

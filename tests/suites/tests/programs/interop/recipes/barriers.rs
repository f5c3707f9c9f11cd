//! Curator's `DistributedBarrier` and kazoo's `Barrier`.

use zk_test_kit::failure::TestResult;
use zk_test_kit::server::ServerKind;

use super::pair::{Fate, Pair, QUIET, Side, wanted_turns};
use crate::interop::programs::Library;

const PATH: &str = "/gate";

pub(crate) fn barriers(server: ServerKind, library: Library) -> TestResult {
    let pair = &mut Pair::start(server, library)?;
    let turns = wanted_turns(server)?;
    for turn in turns.clone() {
        pass(pair, turn)?;
    }
    pair.tell("barriers", turns.len());
    Ok(())
}

/// One sets the barrier, both wait, the other one lifts it. In some turns the setter is killed before that,
/// which changes nothing for the one that waits; in some both lose their connection.
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
        Fate::CutOff => {
            pair.cut_off()?;
            pair.ours.waits(ours, QUIET)?;
            setter.other()
        }
        Fate::Spared => setter.other(),
    };
    pair.side(lifter).run(&format!("barrier lift {PATH}"))?;
    let fate = Fate::of_turn(turn);
    if fate != Fate::Killed(Side::Ours) {
        pair.ours.end(ours)?;
    }
    match fate {
        Fate::Spared | Fate::Killed(Side::Ours) => drop(pair.peer.end(theirs)?),
        // Curator's waiters survive the loss of a connection.
        Fate::CutOff if pair.peer.library == Library::Curator => drop(pair.peer.end(theirs)?),
        Fate::CutOff => pair.peer_ends_or_is_stuck(theirs)?,
        Fate::Killed(Side::Peer) => {}
    }
    // A barrier that is not set holds no participant back.
    pair.ours.run(&format!("barrier wait {PATH}"))?;
    pair.peer.run(&format!("barrier wait {PATH}")).map(drop)
}

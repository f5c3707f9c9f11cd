//! Curator's `DistributedDoubleBarrier` and kazoo's `DoubleBarrier`.

use std::time::Instant;

use zk_test_kit::failure::TestResult;
use zk_test_kit::raw::RawClient;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually};

use super::pair::{Fate, Pair, QUIET, Side, wanted_turns};
use crate::interop::programs::Library;
use crate::interop::relay::{is_a_session, lasted_a_session};

const PATH: &str = "/step";
const ENTER: &str = "double_barrier enter /step 2";
const LEAVE: &str = "double_barrier leave /step";

pub(crate) fn double_barriers(server: ServerKind, library: Library) -> TestResult {
    let pair = &mut Pair::start(server, library)?;
    let turns = wanted_turns(server)?;
    for turn in turns.clone() {
        let first = Side::of_turn(turn);
        match Fate::of_turn(turn) {
            Fate::Spared => begin_and_end_together(pair, first)?,
            Fate::Killed(side) if turn % 10 < 5 => one_is_killed_inside(pair, side)?,
            Fate::Killed(side) => one_is_killed_while_it_enters(pair, side)?,
            Fate::CutOff if turn % 10 < 5 => ours_is_cut_off(pair)?,
            Fate::CutOff => theirs_is_cut_off(pair)?,
        }
    }
    pair.tell("double barriers", turns.len());
    Ok(())
}

fn begin_and_end_together(pair: &mut Pair, first: Side) -> TestResult {
    enter(pair, first)?;
    let leaving = pair.side(first).begin(LEAVE)?;
    pair.side(first).waits(leaving, QUIET)?;
    pair.side(first.other()).run(LEAVE)?;
    pair.side(first).end(leaving)?;
    is_left(pair, 0)
}

fn enter(pair: &mut Pair, first: Side) -> TestResult {
    let entering = pair.side(first).begin(ENTER)?;
    pair.side(first).waits(entering, QUIET)?;
    pair.side(first.other()).run(ENTER)?;
    pair.side(first).end(entering)?;
    Ok(())
}

/// Ours leaves once the session of the one that is killed is over. Curator leaves earlier where an event wakes it, as that
/// of the `ready` which it made itself does if it comes late: it has deleted its znode by then, and leaves where one is
/// left, whichever that is (`DistributedDoubleBarrier.internalLeave`).
fn one_is_killed_inside(pair: &mut Pair, killed: Side) -> TestResult {
    enter(pair, killed)?;
    pair.kill(killed)?;
    let at = Instant::now();
    pair.side(killed.other()).run(LEAVE)?;
    match killed.other() {
        Side::Ours => lasted_a_session(at.elapsed()),
        Side::Peer => pair.early += usize::from(!is_a_session(at.elapsed())),
    }
    pair.replace(killed)?;
    is_left(pair, 0)
}

/// It is replaced: the number is complete with the next one.
fn one_is_killed_while_it_enters(pair: &mut Pair, killed: Side) -> TestResult {
    let entering = pair.side(killed).begin(ENTER)?;
    pair.side(killed).waits(entering, QUIET)?;
    pair.kill(killed)?;
    is_left(pair, 0)?;
    pair.replace(killed)?;
    begin_and_end_together(pair, killed.other())
}

/// Ours goes on waiting for the other one.
fn ours_is_cut_off(pair: &mut Pair) -> TestResult {
    let entering = pair.ours.begin(ENTER)?;
    pair.ours.waits(entering, QUIET)?;
    pair.cut_off()?;
    pair.ours.waits(entering, QUIET)?;
    pair.peer.run(ENTER)?;
    pair.ours.end(entering)?;
    pair.cut_off()?;
    let leaving = pair.ours.begin(LEAVE)?;
    pair.ours.waits(leaving, QUIET)?;
    let theirs = pair.peer.begin(LEAVE)?;
    pair.peer_ends_or_is_stuck(theirs)?;
    pair.ours.end(leaving)?;
    is_left(pair, 0)
}

/// Theirs may go on too early, or not at all: ours waits for it, and leaves.
fn theirs_is_cut_off(pair: &mut Pair) -> TestResult {
    let entering = pair.peer.begin(ENTER)?;
    pair.peer.waits(entering, QUIET)?;
    pair.cut_off()?;
    pair.early += usize::from(pair.peer.ends_within(entering, QUIET));
    pair.ours.run(ENTER)?;
    let stuck = pair.stuck;
    pair.peer_ends_or_is_stuck(entering)?;
    let leaving = pair.ours.begin(LEAVE)?;
    if pair.stuck == stuck {
        pair.peer.run(LEAVE)?;
    }
    pair.ours.end(leaving)?;
    is_left(pair, 0)
}

/// Waits until there are so many znodes.
fn is_left(pair: &Pair, count: usize) -> TestResult {
    let mut client = RawClient::connect(pair.server.addr(), SOON)?;
    let path = format!("{}{PATH}", pair.chroot);
    eventually(SOON, &format!("{count} znodes are left"), || {
        client.children(&path).is_ok_and(|children| children.len() == count)
    })?;
    Ok(client.close()?)
}

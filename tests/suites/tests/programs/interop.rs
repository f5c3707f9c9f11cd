//! Contenders of this library and of others in one election or lock: each is a process, and what
//! they held is in one ledger, by one clock. Holders let go or are killed in turn.
//!
//! And participants of both in one barrier, queue, counter or group, which are told what to do, and killed in the
//! middle of it: `recipes`.
//!
//! `INTEROP_TURNS` is how many turns each pair goes on for; see `tests/suites/interop.md` for the long form.

mod contender;
mod pairs;
mod programs;
mod recipes;
mod relay;
mod turns;

use std::{env, io, thread};

use election_core::format::Access;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;

use crate::interop::contender::State;
use crate::interop::pairs::{Pair, Readers};
use crate::interop::programs::{Library, Program};
use crate::interop::relay::{Relay, SessionDisturbed, lasted_a_session};
// `programs` is part of benchmarks too, where it finds this beside it.
use crate::kazoo::environment;

on_both_servers! {
    #[test]
    curator,
    holders_are_asked_to_let_go,
    writers_become_readers,
    zookeepers_own,
    kazoo,
    go,
    curators_barriers,
    kazoos_barriers,
    curators_double_barriers,
    kazoos_double_barriers,
    curators_and_zookeepers_queues,
    kazoos_queues,
    curators_queues_that_do_not_mix,
    kazoos_queues_that_do_not_mix,
    curators_counters,
    kazoos_counters,
    curators_groups,
    curators_caches,
    kazoos_parties;
}

fn curator(server: ServerKind) -> TestResult {
    contend(server, pairs::CURATOR)
}

fn zookeepers_own(server: ServerKind) -> TestResult {
    contend(server, pairs::ZOOKEEPER)
}

fn kazoo(server: ServerKind) -> TestResult {
    contend(server, pairs::KAZOO)
}

fn go(server: ServerKind) -> TestResult {
    contend(server, pairs::GO)
}

fn curators_barriers(server: ServerKind) -> TestResult {
    recipes::barriers(server, Library::Curator)
}

fn kazoos_barriers(server: ServerKind) -> TestResult {
    recipes::barriers(server, Library::Kazoo)
}

fn curators_double_barriers(server: ServerKind) -> TestResult {
    recipes::double_barriers(server, Library::Curator)
}

fn kazoos_double_barriers(server: ServerKind) -> TestResult {
    recipes::double_barriers(server, Library::Kazoo)
}

fn curators_and_zookeepers_queues(server: ServerKind) -> TestResult {
    recipes::queues(server, Library::Curator)
}

fn kazoos_queues(server: ServerKind) -> TestResult {
    recipes::queues(server, Library::Kazoo)
}

fn curators_queues_that_do_not_mix(server: ServerKind) -> TestResult {
    recipes::queues_that_do_not_mix(server, Library::Curator)
}

fn kazoos_queues_that_do_not_mix(server: ServerKind) -> TestResult {
    recipes::queues_that_do_not_mix(server, Library::Kazoo)
}

fn curators_counters(server: ServerKind) -> TestResult {
    recipes::counters(server, Library::Curator)
}

fn kazoos_counters(server: ServerKind) -> TestResult {
    recipes::counters(server, Library::Kazoo)
}

fn curators_groups(server: ServerKind) -> TestResult {
    recipes::groups(server, Library::Curator)
}

fn curators_caches(server: ServerKind) -> TestResult {
    recipes::caches(server)
}

fn kazoos_parties(server: ServerKind) -> TestResult {
    recipes::groups(server, Library::Kazoo)
}

/// Any library asks, and any library holds.
fn holders_are_asked_to_let_go(server: ServerKind) -> TestResult {
    let pair = pairs::REVOCABLE;
    let relay = undisturbed(server, pair, |relay| {
        let mut holder = relay.join(pair.peer, Access::Exclusive)?;
        relay.wait_until_held_by(holder)?;
        let mut asker = relay.join(pair.ours, Access::Exclusive)?;
        for _ in 0..4 {
            relay.wait_for_znodes(2)?;
            relay.stays_as_it_is()?;
            relay.revoke(asker)?;
            relay.wait_until_asked(holder)?;
            // It is for the holder to consent.
            relay.stays_as_it_is()?;
            relay.release(holder)?;
            relay.wait_until_held_by(asker)?;
            (holder, asker) = (asker, holder);
        }
        Ok(())
    })?;
    relay.finish()
}

/// A writer of either library becomes a reader: a writer behind it goes on to wait, a reader does not.
fn writers_become_readers(server: ServerKind) -> TestResult {
    let pair = pairs::WITH_DOWNGRADE;
    let mut roles = vec![(pair.ours, pair.peer)];
    // Before 5.5.0, Curator's reader had a number behind the writers that wait (CURATOR-621).
    if programs::is_another_curator() {
        roles.push((pair.peer, pair.ours));
    }
    for (one, other) in roles {
        let relay = undisturbed(server, pair, |relay| {
            let first = relay.join(one, Access::Exclusive)?;
            relay.wait_until_held_by(first)?;
            let reader = relay.join(other, Access::Shared)?;
            relay.wait_for_znodes(2)?;
            let writer = relay.join(other, Access::Exclusive)?;
            relay.wait_for_znodes(3)?;
            relay.stays_as_it_is()?;
            relay.downgrade(first)?;
            relay.wait_until_held_by(reader)?;
            relay.stays_as_it_is()?;
            relay.kill(reader)?;
            relay.wait_for_znodes(2)?;
            relay.stays_as_it_is()?;
            relay.kill(first)?;
            relay.wait_until_held_by(writer)
        })?;
        relay.finish()?;
        let relay = undisturbed(server, pair, |relay| {
            let first = relay.join(one, Access::Exclusive)?;
            relay.wait_until_held_by(first)?;
            let writer = relay.join(other, Access::Exclusive)?;
            relay.wait_for_znodes(2)?;
            relay.downgrade(first)?;
            relay.stays_as_it_is()?;
            relay.release(first)?;
            relay.wait_until_held_by(writer)
        })?;
        relay.finish()?;
    }
    Ok(())
}

/// All pairs at once: most of the time they wait for the end of sessions.
fn contend(server: ServerKind, pairs: &[Pair]) -> TestResult {
    let outcomes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = pairs
            .iter()
            .map(|pair| {
                scope.spawn(|| contend_for(server, *pair).map_err(|why| format!("{why:?}")))
            })
            .collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    for outcome in outcomes {
        outcome.expect("it does not panic").map_err(io::Error::other)?;
    }
    Ok(())
}

fn contend_for(server: ServerKind, pair: Pair) -> TestResult {
    if pair.readers == Readers::Some {
        for (one, other) in [(pair.ours, pair.peer), (pair.peer, pair.ours)] {
            let relay = undisturbed(server, pair, |relay| share(relay, one, other))?;
            relay.finish()?;
        }
    }
    let mut relay = undisturbed(server, pair, |relay| wait_for_each_other(relay, pair))?;
    for program in [pair.ours, pair.peer, pair.ours] {
        relay.start(program)?;
    }
    relay.run(wanted_turns()?)?;
    relay.finish()
}

/// Takes these steps, and again if a session is lost that was not to be.
fn undisturbed(
    server: ServerKind,
    pair: Pair,
    steps: impl Fn(&mut Relay) -> TestResult,
) -> Result<Relay, TestFailure> {
    let mut tried = 0;
    loop {
        let mut relay = Relay::new(pair, server)?;
        match steps(&mut relay) {
            Ok(()) => return Ok(relay),
            Err(why) if tried < 4 && why.downcast_ref::<SessionDisturbed>().is_some() => tried += 1,
            Err(why) => return Err(why),
        }
    }
}

/// Each library waits for the other one, and has its turn once the other one's session is over.
fn wait_for_each_other(relay: &mut Relay, pair: Pair) -> TestResult {
    let mut holders = Vec::new();
    for _ in 0..pair.rule.capacity() {
        let holder = relay.join(pair.peer, Access::Exclusive)?;
        relay.wait_until_held_by(holder)?;
        holders.push(holder);
    }
    let holders = holders_are_followed(relay, pair, &holders, pair.ours)?;
    holders_are_followed(relay, pair, &holders, pair.peer)?;
    Ok(())
}

/// Kills holders, and waits until their sessions are over; the next ones wait until then.
fn holders_are_followed(
    relay: &mut Relay,
    pair: Pair,
    holders: &[usize],
    program: Program,
) -> Result<Vec<usize>, TestFailure> {
    let mut next = Vec::new();
    for _ in holders {
        next.push(relay.join(program, Access::Exclusive)?);
    }
    relay.wait_for_znodes(pair.rule.znodes(holders.len(), next.len()))?;
    relay.stays_as_it_is()?;
    let mut killed = Vec::new();
    for holder in holders {
        killed.push(relay.kill(*holder)?);
    }
    for (heir, killed) in next.iter().zip(killed) {
        relay.wait_until_held_by(*heir)?;
        if let Some(State::Holding(_, since)) = relay.state(*heir) {
            let after = since.saturating_sub(killed);
            lasted_a_session(after);
        }
    }
    Ok(next)
}

/// Readers of both libraries hold together; a writer waits for them, and readers wait behind it.
fn share(relay: &mut Relay, one: Program, other: Program) -> TestResult {
    let first = relay.join(one, Access::Shared)?;
    relay.wait_until_held_by(first)?;
    let second = relay.join(other, Access::Shared)?;
    relay.wait_until_held_by(second)?;
    assert!(relay.holds(first));
    let writer = relay.join(one, Access::Exclusive)?;
    relay.wait_for_znodes(3)?;
    let late = relay.join(other, Access::Shared)?;
    relay.wait_for_znodes(4)?;
    relay.stays_as_it_is()?;
    relay.kill(first)?;
    relay.stays_as_it_is()?;
    relay.kill(second)?;
    relay.wait_until_held_by(writer)?;
    relay.stays_as_it_is()?;
    relay.kill(writer)?;
    relay.wait_until_held_by(late)
}

fn wanted_turns() -> Result<usize, TestFailure> {
    Ok(turns_asked_for()?.unwrap_or(6))
}

fn turns_asked_for() -> Result<Option<usize>, TestFailure> {
    Ok(match env::var("INTEROP_TURNS") {
        Ok(turns) => Some(turns.parse()?),
        Err(_) => None,
    })
}

//! An ensemble of three loses the follower that the client is connected to: how long a caller that
//! asks every 5 ms is without an answer, and how many errors it sees.

use core::time::Duration;
use std::thread;

use super::{Bench, Entrant};
use crate::contender::Contender;
use crate::outcome::{Outcome, failed};
use crate::process::{Worker, number};
use crate::server::{Ensemble, Server};
use crate::table::{Bar, Row};

const SESSION_TIMEOUT: Duration = Duration::from_secs(6);
/// The age of the connection when its server fails. A client of ours dials another server at once if
/// the connection was older than the bound of its backoff, a second.
const BEFORE: Duration = Duration::from_secs(2);
/// Until a server knows what happened meanwhile.
const AFTER: Duration = Duration::from_secs(2);
/// How often a client may connect until it is a follower that it comes to.
const CONNECTS: usize = 30;

/// A 15th of the session timeout, and what it takes to connect.
const LONGEST_GAP: Bar = Bar::Value(500.0);

#[derive(Clone, Copy)]
enum Failure {
    Killed,
    Frozen,
}

pub(super) fn killed(bench: &mut Bench) -> Outcome<()> {
    let rounds = bench.rounds.min(5);
    measure(bench, Failure::Killed, "connected server killed", rounds, Duration::from_millis(2500))
}

pub(super) fn frozen(bench: &mut Bench) -> Outcome<()> {
    let rounds = bench.rounds.min(3);
    measure(bench, Failure::Frozen, "connected server frozen", rounds, Duration::from_secs(14))
}

fn measure(
    bench: &mut Bench,
    failure: Failure,
    what: &str,
    rounds: usize,
    span: Duration,
) -> Outcome<()> {
    let install = bench.needs_apache()?;
    let mut ensemble = Ensemble::start(&install, &bench.folder, Duration::from_millis(500))?;
    let mut contenders = bench.contenders();
    // A socket does not connect again, and tokio-zookeeper knows one server.
    contenders.retain(|one| !matches!(one, Contender::Raw | Contender::TokioZookeeper));
    let mut gap = Row::new(format!("{what}: longest gap of a caller"), "ms").keeps_to(LONGEST_GAP);
    let mut errors = Row::new("– the same: its errors", "number");
    for _ in 0..rounds {
        contenders.rotate_left(1);
        for &contender in &contenders {
            let connect =
                format!("connect {} {}", ensemble.connect_string(), SESSION_TIMEOUT.as_millis());
            let mut entrant = bench.enter(&[contender], None, &[connect])?;
            bench.each(&mut entrant, what, |_, Entrant { worker, .. }| {
                let server = connected_follower(&mut ensemble, worker)?;
                worker.order(&format!("ask {}", (BEFORE + span).as_millis()))?;
                thread::sleep(BEFORE);
                match failure {
                    Failure::Killed => server.kill(),
                    Failure::Frozen => server.signal("STOP")?,
                }
                let answer = worker.answer();
                match failure {
                    Failure::Killed => server.start()?,
                    Failure::Frozen => server.signal("CONT")?,
                }
                let answer = answer?;
                gap.push(contender, number(&answer, 0)? / 1e6);
                errors.push(contender, number(&answer, 1)?);
                Ok(())
            });
            drop(entrant);
            // One that was frozen does not know yet that the others went on without it.
            thread::sleep(AFTER);
            ensemble.until_serving()?;
        }
    }
    bench.rows.extend([gap, errors]);
    Ok(())
}

/// Connects again until it is a follower that the client is connected to.
fn connected_follower<'a>(
    ensemble: &'a mut Ensemble,
    worker: &mut Worker,
) -> Outcome<&'a mut Server> {
    for _ in 0..CONNECTS {
        if !ensemble.most_connected().leads() {
            return Ok(ensemble.most_connected());
        }
        worker.ask("reconnect")?;
    }
    failed("it is the leader that the client comes to")
}

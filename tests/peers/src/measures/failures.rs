//! An ensemble of three loses the follower that the client is connected to: how long a caller that
//! asks every 5 ms is without an answer, and how many errors it sees.

use core::time::Duration;
use std::thread;

use super::{Bench, Entrant};
use crate::arguments::Extent;
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
/// The pauses of a collector of garbage, say, one after another.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(300), Duration::from_millis(400)];
const BETWEEN_PAUSES: Duration = Duration::from_millis(700);
/// A pause of 400 ms is as long as a client of ours waits at first for a server with something in flight. Each that
/// costs a connection doubles that.
const MOST_LOST: Bar = Bar::Value(2.0);

#[derive(Clone, Copy)]
enum Failure {
    Killed,
    Frozen,
    /// It stands still so often, for a while each time.
    Pauses(usize),
}

pub(super) fn killed(bench: &mut Bench) -> Outcome<()> {
    let rounds = bench.rounds.min(5);
    measure(bench, Failure::Killed, "connected server killed", rounds, Duration::from_millis(2500))
}

pub(super) fn frozen(bench: &mut Bench) -> Outcome<()> {
    let rounds = bench.rounds.min(3);
    measure(bench, Failure::Frozen, "connected server frozen", rounds, Duration::from_secs(14))
}

pub(super) fn pauses(bench: &mut Bench) -> Outcome<()> {
    let pauses = if bench.extent == Extent::Whole { 30 } else { 3 };
    let what = "connected server that pauses for 200 to 400 ms, thirty times";
    let span = (PAUSES[2] + BETWEEN_PAUSES) * u32::try_from(pauses)?;
    measure(bench, Failure::Pauses(pauses), what, bench.rounds.min(2), span)
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
    if let Failure::Pauses(_) = failure {
        errors = errors.keeps_to(MOST_LOST);
    }
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
                    Failure::Pauses(count) => {
                        for pause in PAUSES.into_iter().cycle().take(count) {
                            server.signal("STOP")?;
                            thread::sleep(pause);
                            server.signal("CONT")?;
                            thread::sleep(BETWEEN_PAUSES);
                        }
                    }
                }
                let answer = worker.answer();
                match failure {
                    Failure::Killed => server.start()?,
                    Failure::Frozen => server.signal("CONT")?,
                    Failure::Pauses(_) => {}
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

//! getData on a runtime with two threads, as `#[tokio::main]` has, beside the same on one thread. All may run on
//! each core.

use std::env;
use std::process::Command;

use super::Bench;
use super::get_data::respond;
use crate::arguments::Extent;
use crate::contender::Contender;
use crate::outcome::Outcome;
use crate::process::{Worker, ending_with_us, number};
use crate::table::{Bar, Row};

/// What two threads do of the requests that one does. Tokio wakes its second thread for each batch of answers, and the
/// requests go out over one connection.
const LEAST: f64 = 0.6;
/// How many times as long as the median 999 of 1,000 requests take at most.
const LONGEST: f64 = 5.0;

/// A client, once on a runtime with one thread and once with two.
struct Pair {
    contender: Contender,
    one: Worker,
    two: Worker,
}

struct Rows {
    rate: Row,
    gain: Row,
    probe: Row,
    tail: Row,
}

impl Rows {
    fn new() -> Self {
        let rate = Row::new("getData, 256 tasks on two threads: requests", "thousand/s");
        let gain = Row::new("– the same: requests of one thread", "times");
        let probe = Row::new("getData, beside 64 busy tasks on two threads: p50", "µs");
        let tail = Row::new("– the same: p99.9 of a p50", "times");
        Self {
            rate: rate.higher_is_better(),
            gain: gain.higher_is_better().keeps_to(Bar::AtLeast(LEAST)),
            probe,
            tail: tail.keeps_to(Bar::Value(LONGEST)),
        }
    }
}

pub(super) fn measure(bench: &mut Bench) -> Outcome<()> {
    let mut responder = ending_with_us(env::current_exe()?);
    responder.arg("serve");
    let (_responder, connect) = respond(responder)?;
    let mut pairs = Vec::new();
    for contender in bench.contenders().into_iter().filter(|one| one.is_on_tokio()) {
        match Pair::start(contender, &connect) {
            Ok(pair) => pairs.push(pair),
            Err(error) => bench.note(contender, "two threads", &*error),
        }
    }
    let mut rows = Rows::new();
    // The first round warms up.
    for round in 0..=bench.rounds {
        let first = usize::from(!pairs.is_empty());
        pairs.rotate_left(first);
        let extent = bench.extent;
        pairs.retain_mut(|pair| match pair.turn(extent, (round > 0).then_some(&mut rows)) {
            Ok(()) => true,
            Err(error) => {
                bench.note(pair.contender, "two threads", &*error);
                false
            }
        });
    }
    bench.rows.extend([rows.rate, rows.gain, rows.probe, rows.tail]);
    Ok(())
}

impl Pair {
    fn start(contender: Contender, connect: &str) -> Outcome<Self> {
        let start = |threads: &[&str]| {
            let mut command = Command::new(env::current_exe()?);
            command.args(["worker", contender.name()]).args(threads);
            let mut worker = Worker::start(&command, None)?;
            worker.ask(connect)?;
            Outcome::Ok(worker)
        };
        Ok(Self { contender, one: start(&[])?, two: start(&["two-threads"])? })
    }

    fn turn(&mut self, extent: Extent, rows: Option<&mut Rows>) -> Outcome<()> {
        let (requests, probes): (u32, u32) = match extent {
            Extent::Quick => (256 * 10, 100),
            Extent::Whole => (256 * 800, 5000),
        };
        let order = format!("tasks {requests}");
        let (one, two) = (self.one.ask_one(&order)?, self.two.ask_one(&order)?);
        let beside = self.two.ask(&format!("probe {probes}"))?;
        let (median, tail) = (number(&beside, 0)?, number(&beside, 1)?);
        if let Some(rows) = rows {
            rows.rate.push(self.contender, f64::from(requests) / (two / 1e9) / 1000.0);
            rows.gain.push(self.contender, one / two);
            rows.probe.push(self.contender, median / 1000.0);
            rows.tail.push(self.contender, tail / median);
        }
        Ok(())
    }
}

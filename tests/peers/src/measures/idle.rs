//! Sessions of which nothing is asked: the processor for each of their pings, and their memory.

use core::time::Duration;
use std::thread;

use super::{Bench, Entrant};
use crate::arguments::Extent;
use crate::contender::Contender;
use crate::outcome::{Outcome, failed};
use crate::process::Worker;
use crate::server::Server;
use crate::table::Row;

const SESSION_TIMEOUT: Duration = Duration::from_secs(6);
/// Longer than a client of ours stays ready for a nominee, by default.
const LONGER_THAN_READY: Duration = Duration::from_secs(75);

pub(super) fn measure(bench: &mut Bench) -> Outcome<()> {
    let server = bench.server()?;
    let (sessions, span) = match bench.extent {
        Extent::Whole => (1000_u32, Duration::from_secs(6)),
        Extent::Quick => (10, Duration::from_secs(3)),
    };
    let mut ping = Row::new(format!("{sessions} idle sessions: CPU of a ping"), "µs");
    let mut second = Row::new("– the same: CPU of a second", "ms");
    let mut later_ping = Row::new("– after their first minute: CPU of a ping", "µs");
    let mut later_second = Row::new("– after their first minute: CPU of a second", "ms");
    let mut memory = Row::new("– the same: memory of each", "KiB");
    let mut contenders = bench.contenders();
    for _ in 0..bench.rounds.min(3) {
        contenders.rotate_left(1);
        for &contender in &contenders {
            let connect = format!("connect {} {}", server.address(), SESSION_TIMEOUT.as_millis());
            let mut entrant = bench.enter(&[contender], None, &[connect])?;
            bench.each(&mut entrant, "idle sessions", |bench, Entrant { worker, .. }| {
                let before = worker.resident_kib()?;
                worker.ask(&format!("idle {sessions}"))?;
                let resident = worker.resident_kib()? - before;
                // By now, the requests after the connect are over.
                thread::sleep(SESSION_TIMEOUT / 3);
                let first = Cost::of(worker, &server, sessions, span)?;
                // The peers send the same at any time.
                let later = if contender == Contender::Ours && bench.extent == Extent::Whole {
                    thread::sleep(LONGER_THAN_READY);
                    Cost::of(worker, &server, sessions, span)?
                } else {
                    first
                };
                ping.push(contender, first.ping_micros);
                second.push(contender, first.second_millis);
                later_ping.push(contender, later.ping_micros);
                later_second.push(contender, later.second_millis);
                memory.push(contender, resident / f64::from(sessions));
                Ok(())
            });
        }
    }
    bench.rows.extend([ping, second, later_ping, later_second, memory]);
    Ok(())
}

/// The time on the processor.
#[derive(Clone, Copy)]
struct Cost {
    ping_micros: f64,
    second_millis: f64,
}

impl Cost {
    /// Measures for this long.
    fn of(worker: &Worker, server: &Server, sessions: u32, span: Duration) -> Outcome<Self> {
        let [received] = server.metrics(["zk_packets_received"])?;
        let used = worker.cpu()?;
        thread::sleep(span);
        let used = worker.cpu()?.saturating_sub(used).as_secs_f64();
        let [received_then] = server.metrics(["zk_packets_received"])?;
        let pings = u32::try_from(received_then.saturating_sub(received))?;
        if pings < sessions {
            return failed(format!("{pings} pings of {sessions} sessions in {span:?}"));
        }
        Ok(Self {
            ping_micros: used * 1e6 / f64::from(pings),
            second_millis: used * 1e3 / span.as_secs_f64(),
        })
    }
}

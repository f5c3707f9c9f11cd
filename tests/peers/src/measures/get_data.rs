//! getData against a responder that answers at next to no cost: what the client itself costs. Both
//! sides are on one core.

use core::time::Duration;
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::{Bench, Entrant};
use crate::arguments::Extent;
use crate::contender::Contender;
use crate::outcome::{Outcome, failed};
use crate::process::{Process, Worker, ending_with_us, last_core, number, pinned};
use crate::table::{Bar, Row};

/// The megabytes of an answer to a large request.
const LARGE: f64 = 65_536.0 / 1e6;

/// How many times what a socket takes that only reads a list of 100,000 names.
const LIST: f64 = 2.7;

/// Counted by strace, a request each.
const TRACED: u32 = 2000;

pub(super) fn measure(bench: &mut Bench) -> Outcome<()> {
    let core = last_core()?;
    let (_responder, connect) =
        respond(pinned(core, Command::new(env::current_exe()?).arg("serve")))?;
    let mut entrants = bench.enter(&bench.contenders(), Some(core), &[connect])?;
    let mut tasks_cpu = Row::new("getData, 256 in flight by tasks: CPU", "µs");
    let mut tasks_rate = Row::new("– the same: requests", "thousand/s").higher_is_better();
    let mut futures_cpu = Row::new("getData, 256 in flight by `FuturesUnordered`: CPU", "µs");
    let large = Row::new("getData of 64 KiB, 8 in flight: CPU of a MB", "µs");
    let mut large = large.keeps_to(Bar::TimesRaw(1.6));
    let mut one_wall = Row::new("getData, one at a time: p50", "µs");
    let mut one_cpu = Row::new("– the same: CPU", "µs");
    // The first round warms up.
    for round in 0..=bench.rounds {
        bench.each(&mut entrants, "getData", |bench, Entrant { contender, worker }| {
            let (contender, count) = (*contender, pipelined_count(bench, *contender));
            let (tasks, cpu) = costs(worker, &format!("tasks {count}"))?;
            let futures = match contender {
                Contender::Kazoo | Contender::Curator => None,
                _ => Some(costs(worker, &format!("futures {count}"))?),
            };
            let few = count / 64;
            let bulk = match contender {
                Contender::Kazoo | Contender::Curator => None,
                _ => Some(costs(worker, &format!("large {few}"))?.1),
            };
            let single = count.min(5000);
            let (one, single_cpu) = costs(worker, &format!("one {single}"))?;
            if round == 0 {
                return Ok(());
            }
            let (count, single) = (f64::from(count), f64::from(single));
            tasks_cpu.push(contender, micros(cpu) / count);
            tasks_rate.push(contender, count / (tasks / 1e9) / 1000.0);
            if let Some((_, cpu)) = futures {
                futures_cpu.push(contender, micros(cpu) / count);
            }
            if let Some(cpu) = bulk {
                large.push(contender, micros(cpu) / (f64::from(few) * LARGE));
            }
            one_wall.push(contender, one / 1000.0);
            one_cpu.push(contender, micros(single_cpu) / single);
            Ok(())
        });
    }
    bench.rows.extend([tasks_cpu, tasks_rate, futures_cpu, large, one_wall, one_cpu]);
    let mut calls = Row::new("– the same: system calls", "number");
    bench.each(&mut entrants, "system calls", |bench, Entrant { contender, worker }| {
        calls.push(*contender, system_calls(bench, worker)?);
        Ok(())
    });
    if !calls.cells.is_empty() {
        bench.rows.push(calls);
    }
    Ok(())
}

/// Lists of 100,000 names, one after another.
pub(super) fn of_lists(bench: &mut Bench) -> Outcome<()> {
    let core = last_core()?;
    let (_responder, connect) =
        respond(pinned(core, Command::new(env::current_exe()?).arg("serve")))?;
    let mut contenders = bench.contenders();
    contenders.retain(|one| *one == Contender::Raw || one.is_on_tokio());
    let mut entrants = bench.enter(&contenders, Some(core), &[connect])?;
    let count = match bench.extent {
        Extent::Quick => 2,
        Extent::Whole => 50,
    };
    let mut row = Row::new("getChildren of 100,000 names: CPU", "ms").keeps_to(Bar::TimesRaw(LIST));
    // The first round warms up.
    for round in 0..=bench.rounds {
        bench.each(&mut entrants, "getChildren", |_, Entrant { contender, worker }| {
            let (_, cpu) = costs(worker, &format!("list {count}"))?;
            if round > 0 {
                row.push(*contender, micros(cpu) / f64::from(count) / 1000.0);
            }
            Ok(())
        });
    }
    bench.rows.push(row);
    Ok(())
}

/// Starts the responder; gives the order to connect to it. It ends with its process here.
pub(super) fn respond(mut responder: Command) -> Outcome<(Process, String)> {
    // It ends once its standard input does.
    responder.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut responder = Process(responder.spawn()?);
    let output = responder.0.stdout.take().ok_or("no standard output")?;
    let mut port = String::new();
    BufReader::new(output).read_line(&mut port)?;
    Ok((responder, format!("connect 127.0.0.1:{} 30000", port.trim())))
}

/// Returns the number of requests: about half a second's worth, of the fast ones less.
const fn pipelined_count(bench: &Bench, contender: Contender) -> u32 {
    match (bench.extent, contender) {
        (Extent::Quick, _) => 256 * 10,
        (Extent::Whole, Contender::Kazoo) => 256 * 16,
        (Extent::Whole, Contender::Curator) => 256 * 128,
        (Extent::Whole, _) => 256 * 800,
    }
}

/// Returns the first number of the answer, and the time on the processor.
fn costs(worker: &mut Worker, order: &str) -> Outcome<(f64, Duration)> {
    let before = worker.cpu()?;
    let answer = worker.ask(order)?;
    Ok((number(&answer, 0)?, worker.cpu()?.saturating_sub(before)))
}

/// Counts system calls by strace, for one request after another.
fn system_calls(bench: &Bench, worker: &mut Worker) -> Outcome<f64> {
    let summary = bench.folder.join(format!("strace-{}", worker.id()));
    let mut strace = ending_with_us("strace");
    strace.args(["-f", "-c", "-p", &worker.id().to_string(), "-o"]).arg(&summary);
    let mut strace = Process(strace.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?);
    let errors = strace.0.stderr.take().ok_or("no standard error")?;
    let mut said = String::new();
    BufReader::new(errors).read_line(&mut said)?;
    if !said.contains("attached") {
        return failed(format!("is strace there, and may it attach? {}", said.trim()));
    }
    worker.ask(&format!("one {TRACED}"))?;
    strace.signal("INT")?;
    strace.0.wait()?;
    let text = fs::read_to_string(&summary)?;
    let total = text.lines().rev().find(|line| line.ends_with("total")).ok_or("no total")?;
    let count: f64 = total.split_whitespace().nth(3).ok_or("no number")?.parse()?;
    Ok(count / f64::from(TRACED))
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

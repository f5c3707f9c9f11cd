//! From a resignation until the next candidate knows that it leads. Each candidate has a session of
//! its own; the one that resigned stands again.

use core::time::Duration;
use std::thread;

use super::{Bench, Entrant, stand};
use crate::arguments::Extent;
use crate::contender::Contender;
use crate::outcome::Outcome;
use crate::table::{Bar, Row};

/// Longer than five quarters of the look interval of [`Contender::OursSettled`].
const LONGER_THAN_A_LOOK: Duration = Duration::from_millis(1500);
/// The age of an heir, from the promotion of its predecessor on.
const OLD: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_millis(30);

pub(super) fn measure(bench: &mut Bench) -> Outcome<()> {
    let server = bench.server()?;
    let sizes: &[u32] = match bench.extent {
        Extent::Whole => &[2, 100, 1000],
        Extent::Quick => &[2],
    };
    for &size in sizes {
        let rows = of_size(bench, &server, size)?;
        bench.rows.extend(rows);
    }
    Ok(())
}

/// Many candidates of ours on one session, by the defaults: the leader has woken the one behind it, which knows that it
/// is the next, so that it leads by the event alone.
pub(super) fn of_many(bench: &mut Bench) -> Outcome<()> {
    let server = bench.server()?;
    let size: u64 = match bench.extent {
        Extent::Whole => 10_000,
        Extent::Quick => 20,
    };
    let connect = format!("connect {} 60000", server.address());
    let mut entrants = bench.enter(&[Contender::Raw, Contender::Ours], None, &[connect])?;
    bench.each(&mut entrants, "many candidates", |_, Entrant { contender, worker }| {
        let node = format!("/take-over-many-{}", contender.name());
        // The socket watches on a session of its own.
        let sessions = if *contender == Contender::Raw { "own" } else { "one" };
        stand(&server, worker, &node, size, sessions).map(drop)
    });
    let what = format!("take-over, {size} candidates on one session, the heir a second old: p50");
    let mut row = Row::new(what.clone(), "ms").keeps_to(Bar::TimesRaw(1.5));
    for round in 0..=bench.rounds {
        entrants.rotate_left(1);
        bench.each(&mut entrants, &what, |_, Entrant { contender, worker }| {
            thread::sleep(OLD);
            let millis = worker.ask_one("turn")? / 1e6;
            if round > 0 {
                row.push(*contender, millis);
            }
            Ok(())
        });
    }
    bench.rows.push(row);
    Ok(())
}

fn of_size(bench: &mut Bench, server: &crate::server::Server, size: u32) -> Outcome<[Row; 2]> {
    let mut contenders = bench.contenders();
    contenders.retain(|one| *one != Contender::TokioZookeeper);
    contenders.insert(1, Contender::RawList);
    contenders.insert(3, Contender::OursSettled);
    // As long as the server grants.
    let connect = format!("connect {} 60000", server.address());
    let mut entrants = bench.enter(&contenders, None, &[connect])?;
    bench.each(&mut entrants, "candidates", |_, Entrant { contender, worker }| {
        let node = format!("/take-over-{size}-{}", contender.name().to_lowercase());
        stand(server, worker, &node, size.into(), "own").map(drop)
    });
    let what = format!("take-over, {size} candidates");
    let mut new = Row::new(format!("{what}, defaults: p50"), "ms");
    let mut settled =
        Row::new(format!("{what}, ours polls its predecessor each second: p50"), "ms");
    // The first round warms up.
    for round in 0..=bench.rounds {
        thread::sleep(LONGER_THAN_A_LOOK);
        bench.each(&mut entrants, &what, |_, Entrant { contender, worker }| {
            let millis = worker.ask_one("turn")? / 1e6;
            // The newcomer's last requests must not fall into the turn of another one.
            thread::sleep(BETWEEN);
            if round == 0 {
                return Ok(());
            }
            let (contender, column) = (*contender, contender.column());
            // The peers make no difference.
            if contender.is_peer() || matches!(contender, Contender::Raw | Contender::OursSettled) {
                settled.push(column, millis);
            }
            if contender.is_peer() || matches!(contender, Contender::RawList | Contender::Ours) {
                new.push(column, millis);
            }
            Ok(())
        });
    }
    Ok([new, settled])
}

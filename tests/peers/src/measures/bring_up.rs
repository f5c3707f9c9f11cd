//! Candidates that all stand at once on one session: the time until each has its place, and the
//! memory of the client.

use super::{Bench, Entrant, stand};
use crate::arguments::Extent;
use crate::contender::Contender;
use crate::outcome::Outcome;
use crate::table::Row;

pub(super) fn measure(bench: &mut Bench) -> Outcome<()> {
    let server = bench.server()?;
    let size: u32 = match bench.extent {
        Extent::Whole => 1000,
        Extent::Quick => 20,
    };
    let mut contenders = bench.contenders();
    contenders.retain(|one| *one != Contender::TokioZookeeper);
    let mut time = Row::new(format!("bring-up of {size} on one session"), "ms");
    let mut memory = Row::new("– the same: memory of each", "KiB");
    for round in 0..bench.rounds.min(5) {
        contenders.rotate_left(1);
        // New processes in each round: memory that was given back would be used again.
        for &contender in &contenders {
            let connect = format!("connect {} 60000", server.address());
            let mut entrant = bench.enter(&[contender], None, &[connect])?;
            bench.each(&mut entrant, "bring-up", |_, Entrant { contender, worker }| {
                let node = format!("/bring-up-{}-{round}", contender.name().to_lowercase());
                // Warms up, and is not counted.
                stand(&server, worker, &format!("{node}-warm"), 20, "one")?;
                let before = worker.resident_kib()?;
                let took = stand(&server, worker, &node, size.into(), "one")?;
                time.push(*contender, took.as_secs_f64() * 1000.0);
                memory.push(*contender, (worker.resident_kib()? - before) / f64::from(size));
                Ok(())
            });
        }
    }
    bench.rows.extend([time, memory]);
    Ok(())
}

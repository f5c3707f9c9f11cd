//! Processes with the real client, its driver, its elections, its locks and its permits, in virtual time, on an
//! ensemble or a server on its own. Its members, connections, sessions and clients come to harm;
//! everything comes from a seed.
//!
//! The simulation drives the machines below `election-tokio`. This runs the crate itself.
#![forbid(unsafe_code)]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod calm;
mod clerk;
mod laws;
mod life;
mod locks;
mod network;
mod operated;
mod permits;
mod plagues;
mod process;
mod queue;
mod recipes;
mod servers;
mod setting;
mod storm;
mod story;

use core::ops::Range;

use tokio::runtime::Builder;

use crate::laws::Tally;
use crate::storm::Storm;

/// Runs some seeds, or those of `STORM_SEEDS`, such as `1000..2000`. With `STORM_GOES_ON` set, the
/// seeds after one that breaks a law are played, too; with `STORM_STORY`, what happens is printed.
#[test]
fn no_law_is_broken() {
    let seeds = match std::env::var("STORM_SEEDS") {
        Ok(seeds) => parsed(&seeds).expect("STORM_SEEDS is a range, such as 1000..2000"),
        Err(_) => 0..30,
    };
    let goes_on = std::env::var_os("STORM_GOES_ON").is_some();
    let mut total = Tally::default();
    let mut broken = Vec::new();
    for seed in seeds.clone() {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        match runtime.block_on(Storm::pass(seed)) {
            Ok(tally) => total += tally,
            Err(law) => {
                let law = format!("seed {seed}: {law}; again: STORM_SEEDS={seed}..{}", seed + 1);
                println!("{law}");
                broken.push(law);
            }
        }
        if !goes_on && !broken.is_empty() {
            break;
        }
    }
    if let Some(first) = broken.first() {
        panic!("{first}; {} seeds broke a law", broken.len());
    }
    println!("{seeds:?}: {total:?}");
    let count = seeds.end - seeds.start;
    // A few seeds may happen to be mild.
    assert!(count < 10 || total.is_a_storm(count), "{total:?}");
}

fn parsed(range: &str) -> Option<Range<u64>> {
    let (begin, end) = range.split_once("..")?;
    Some(begin.parse().ok()?..end.parse().ok()?)
}

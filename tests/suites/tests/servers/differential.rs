//! The same requests to Apache ZooKeeper and to the embedded server, and the same answers.
//!
//! Four clients, each with a session of its own, ask, close their sessions, lose their connections
//! and come back, in one order for both servers. Compared are every reply, with its code,
//! transaction, `Stat` and position among the replies and watch events of its connection; every
//! watch event; whether the server closes the connection; and at the end of an episode every znode.
//!
//! The short form takes one seed. The long form:
//!
//! ```sh
//! DIFFERENTIAL_SEED=7 DIFFERENTIAL_REQUESTS=1000000 \
//!   cargo test --release -p zk-tests --test servers differential::
//! ```
//!
//! Not asked is what Apache's servers do not survive, or do not answer: `createTTL` with a mode
//! without a time to live, `deleteContainer`, `createSession`, and `check` outside of a multi; nor
//! what the README of the embedded server names as different.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod arguments;
mod duel;
mod fields;
mod generate;
mod keeper;
mod known;
mod link;
mod player;
mod request;
mod seen;
mod shrink;

use core::time::Duration;
use std::env;

use zk_embedded::ExtendedTypes;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::server::{ServerKind, Settings};

use crate::differential::duel::{Duel, Stop};

/// Requests of an episode; their effects do not reach beyond it.
const EPISODE: usize = 300;
const REQUESTS: usize = 20_000;
const SEED: u64 = 1;

fn settings() -> Settings {
    Settings {
        extended_types: ExtendedTypes::Enabled,
        super_digest: Some(player::SUPER.1.to_owned()),
        // When znodes are reaped depends on time.
        container_check_interval: Duration::from_secs(3600),
        ..Settings::default()
    }
}

/// Reads a number from the environment.
fn number(name: &str) -> Result<Option<u64>, TestFailure> {
    Ok(env::var(name).ok().map(|text| text.parse()).transpose()?)
}

#[test]
fn both_servers_answer_alike() -> TestResult {
    let seed = number("DIFFERENTIAL_SEED")?.unwrap_or(SEED);
    let requests = match number("DIFFERENTIAL_REQUESTS")? {
        Some(requests) => usize::try_from(requests)?,
        None => REQUESTS,
    };
    let apache = ServerKind::Apache.start_with(&settings())?;
    let embedded = ServerKind::Embedded.start_with(&settings())?;
    let mut duel = Duel::new(apache.addr(), embedded.addr())?;
    for seed in (seed..).take(requests.div_ceil(EPISODE)) {
        let steps = generate::episode(seed, duel.release, EPISODE);
        match duel.play(&steps) {
            Ok(()) => {}
            Err(Stop::Failed(error)) => return Err(error.into()),
            Err(Stop::Differed(_)) if duel.release < known::OLDEST => return Ok(()),
            Err(Stop::Differed(difference)) => {
                let shortest = shrink::shrink(&mut duel, &steps, difference);
                panic!("DIFFERENTIAL_SEED={seed} DIFFERENTIAL_REQUESTS=1\n{shortest}");
            }
        }
    }
    assert!(duel.release >= known::OLDEST, "{} is found out", duel.release);
    println!("{} answers of {} compared", duel.compared, duel.release);
    for (known, times) in &duel.excused {
        println!("{times} times: {known}");
    }
    Ok(())
}

/// The comparison itself: a server that is set up otherwise is found out, by few steps.
#[test]
fn a_server_that_differs_is_found_out() -> TestResult {
    let other = Settings { extended_types: ExtendedTypes::Disabled, ..settings() };
    let one = ServerKind::Embedded.start_with(&settings())?;
    let other = ServerKind::Embedded.start_with(&other)?;
    let mut duel = Duel::new(one.addr(), other.addr())?;
    let steps = generate::episode(SEED, duel.release, 10 * EPISODE);
    let Err(Stop::Differed(difference)) = duel.play(&steps) else {
        panic!("the other one has no times to live");
    };
    let shortest = shrink::shrink(&mut duel, &steps, difference);
    assert!(shortest.steps.len() <= 3, "{shortest}");
    assert!(shortest.to_string().contains("createTTL"), "{shortest}");
    Ok(())
}

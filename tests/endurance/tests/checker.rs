//! The checker for a short time: what is promised is kept, on a real ensemble under real faults.
#![forbid(unsafe_code)]

use core::time::Duration;

use zk_endurance::checker::{Guard, Settings, check};
use zk_test_kit::failure::TestResult;
use zk_verdict::Verdict::Linearizable;

/// The long form: `cargo run --release -p zk-endurance --bin checker -- --minutes 60`.
#[test]
fn no_write_is_lost_under_the_guards_that_hold_whatever_happens() -> TestResult {
    let verdict = check(&Settings {
        span: Duration::from_secs(30),
        writers: 3,
        timeout: Duration::from_secs(2),
        seed: fastrand::u64(..),
        program: env!("CARGO_BIN_EXE_checker").into(),
    })?;
    println!("{verdict}");
    assert!(verdict.is_kept(), "{verdict}");
    for guard in Guard::ALL {
        let is_lost = verdict.tally(guard).is_some_and(|tally| !tally.lost.is_empty());
        let second = verdict.second(guard);
        assert!(!is_lost || second != Some(&Linearizable), "{guard} loses writes: {verdict}");
        assert!(verdict.tally(guard).is_some_and(|tally| tally.written > 0), "{guard}: {verdict}");
    }
    Ok(())
}

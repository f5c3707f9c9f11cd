//! An ensemble of three under rolling restarts, with a frozen member, without its quorum and with
//! it again, while clients write, read, watch and stand for election on it. See
//! `zk_endurance` for what has to hold.
//!
//! A run can be inconclusive: the servers lost transactions by themselves, which their logs show. The
//! test runner of Rust knows two ends of a test only, so this file has a runner of its own, with the
//! words and the arguments of that one: an inconclusive test neither fails the run nor is it among
//! those that passed, and the last line says so.
#![forbid(unsafe_code)]

use core::ops::ControlFlow;
use core::pin::Pin;
use core::time::Duration;
use std::env;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::time::Instant;

use zk_endurance::faults::Fault;
use zk_endurance::workload::Patience;
use zk_endurance::{Inconclusive, Summary, Verdict, provoke_a_loss, run};
use zk_test_kit::failure::TestFailure;

/// How long the long form lasts, in seconds, unless `ENDURANCE_SECONDS` says so.
const LONG: u64 = 600;

/// Green, inconclusive, or red.
type Judged = Result<Option<Inconclusive>, TestFailure>;

/// A test, and what it is called.
struct Test {
    name: &'static str,
    /// Only on demand: `--ignored`.
    ignored: Option<&'static str>,
    begin: fn() -> Pin<Box<dyn Future<Output = Judged>>>,
}

const TESTS: [Test; 3] = [
    Test {
        name: "nothing_is_lost_and_nothing_comes_twice",
        ignored: None,
        begin: || Box::pin(nothing_is_lost_and_nothing_comes_twice()),
    },
    Test {
        name: "nothing_is_lost_for_minutes",
        ignored: Some("minutes: ENDURANCE_SECONDS, 600 by default"),
        begin: || Box::pin(nothing_is_lost_for_minutes()),
    },
    Test {
        name: "a_leader_that_dies_while_a_follower_catches_up_costs_nothing",
        ignored: Some("it does, before 3.9.3"),
        begin: || Box::pin(a_leader_that_dies_while_a_follower_catches_up_costs_nothing()),
    },
];

/// Each kind of fault once.
async fn nothing_is_lost_and_nothing_comes_twice() -> Judged {
    let seed = number("ENDURANCE_SEED")?.unwrap_or_else(|| fastrand::u64(..));
    println!("ENDURANCE_SEED={seed}");
    judged(seed, timed(|_, faults| faults == Fault::ALL.len())).await
}

/// One round after another, for some minutes.
async fn nothing_is_lost_for_minutes() -> Judged {
    let seed = number("ENDURANCE_SEED")?.unwrap_or_else(|| fastrand::u64(..));
    let seconds = number("ENDURANCE_SECONDS")?.unwrap_or(LONG);
    println!("ENDURANCE_SEED={seed} ENDURANCE_SECONDS={seconds}");
    let long_enough = move |elapsed: Duration, faults: usize| {
        faults.is_multiple_of(Fault::ALL.len()) && elapsed >= Duration::from_secs(seconds)
    };
    judged(seed, timed(long_enough)).await
}

/// Servers and a raw client, and nothing else of this workspace.
async fn a_leader_that_dies_while_a_follower_catches_up_costs_nothing() -> Judged {
    provoke_a_loss(&kept("provoked")).await
}

/// Returns the folder that keeps the members' logs, of a run that is not green.
fn kept(of: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("endurance-{of}-{}", process::id()))
}

async fn judged(
    seed: u64,
    after: impl FnMut(Fault, usize) -> ControlFlow<()> + Send + 'static,
) -> Judged {
    match run(seed, &kept(&seed.to_string()), after).await? {
        Verdict::Held(summary) => {
            println!("{summary}");
            if let Some(file) = env::var_os("ENDURANCE_HISTORY") {
                std::fs::write(file, summary.history.to_string())?;
            }
            assert_struck(&summary);
            Ok(None)
        }
        Verdict::Inconclusive(why) => Ok(Some(*why)),
    }
}

/// Tells of each fault that is over, and ends when it is enough.
fn timed(
    mut enough: impl FnMut(Duration, usize) -> bool,
) -> impl FnMut(Fault, usize) -> ControlFlow<()> {
    let begin = Instant::now();
    move |fault, faults| {
        println!("{:>6.1} s: {fault:?} is over", begin.elapsed().as_secs_f64());
        if enough(begin.elapsed(), faults) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Asserts that the faults were there: a run in which nothing happened proves nothing.
fn assert_struck(summary: &Summary) {
    // Each lock that was held is an acquisition and a release.
    assert!(summary.judged >= summary.acknowledged + 2 * (summary.held[0] + summary.held[1]));
    let rounds = u64::try_from(summary.faults / Fault::ALL.len()).expect("few");
    for client in &summary.connections {
        // A client has to move when its server is killed, and each of the three is killed in turn.
        assert!(client.reconnects >= rounds, "{client:?}");
        match client.patience {
            // The quorum was lost for longer than that.
            Patience::Brief => assert!(client.expiries >= rounds, "{client:?}"),
            // On a machine so slow that servers take that long to start, or to elect a leader, it
            // may be for longer.
            Patience::Lasting if summary.longest_outage < client.patience.session_timeout() => {
                assert_eq!(client.expiries, 0, "{client:?}; {summary}");
            }
            Patience::Lasting => {}
        }
    }
    assert!(summary.acknowledged >= 200 && summary.events >= 50, "{summary}");
    assert!(summary.unknown > 0 && summary.watches_lost > 0, "{summary}");
    assert!(summary.changes_told >= 50 && summary.gaps > 0 && summary.views_lost > 0, "{summary}");
    assert!(summary.leaders >= 2, "{summary}");
    assert!(summary.held.iter().all(|times| *times >= 20), "{summary}");
    // Each of three was held. Whether one changes hands is up to the faults.
    assert!(summary.slots >= 3, "{summary}");
}

fn number(variable: &str) -> Result<Option<u64>, core::num::ParseIntError> {
    env::var(variable).ok().map(|value| value.parse()).transpose()
}

/// The command line.
#[derive(Debug)]
struct Wanted {
    which: Which,
    list: bool,
    exact: bool,
    names: Vec<String>,
    skipped: Vec<String>,
}

/// Whether tests are asked for that run on demand only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Others,
    Ignored,
    All,
}

impl Wanted {
    /// Reads those arguments of Rust's test runner that select tests. The others are about its
    /// output, which has one form here.
    fn of(mut arguments: impl Iterator<Item = String>) -> Self {
        let (names, skipped) = (Vec::new(), Vec::new());
        let mut wanted = Self { which: Which::Others, list: false, exact: false, names, skipped };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--ignored" => wanted.which = Which::Ignored,
                "--include-ignored" => wanted.which = Which::All,
                "--list" => wanted.list = true,
                "--exact" => wanted.exact = true,
                "--skip" => wanted.skipped.extend(arguments.next()),
                "--test-threads" | "--color" | "--format" | "--logfile" | "-Z" => {
                    arguments.next();
                }
                _ if argument.starts_with('-') => {}
                _ => wanted.names.push(argument),
            }
        }
        wanted
    }

    /// Whether a test is asked for by its name.
    fn names(&self, test: &Test) -> bool {
        let fits =
            |pattern: &String| test.name == pattern || !self.exact && test.name.contains(pattern);
        (self.names.is_empty() || self.names.iter().any(fits)) && !self.skipped.iter().any(fits)
    }

    /// Whether it is asked for by its kind.
    fn takes(&self, test: &Test) -> bool {
        let wanted = if test.ignored.is_some() { Which::Ignored } else { Which::Others };
        self.which == Which::All || self.which == wanted
    }
}

/// How many tests ended how.
#[derive(Debug, Default)]
struct Ends {
    passed: usize,
    failed: usize,
    ignored: usize,
    inconclusive: usize,
}

impl Ends {
    /// Runs a test and prints how it ended.
    fn add(&mut self, test: &Test) {
        let judged = panic::catch_unwind(|| {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .map_err(TestFailure::from)?;
            runtime.block_on((test.begin)())
        });
        let name = test.name;
        match judged {
            Ok(Ok(None)) => {
                println!("test {name} ... ok");
                self.passed += 1;
            }
            Ok(Ok(Some(why))) => {
                println!("---- {name} stdout ----\n{why}\ntest {name} ... inconclusive");
                self.inconclusive += 1;
            }
            Ok(Err(failure)) => {
                println!("---- {name} stdout ----\nError: {failure:?}\ntest {name} ... FAILED");
                self.failed += 1;
            }
            Err(_panic) => {
                // The cause is printed already.
                println!("test {name} ... FAILED");
                self.failed += 1;
            }
        }
    }

    const fn result(&self) -> &'static str {
        match self {
            Self { failed: 1.., .. } => "FAILED",
            Self { inconclusive: 1.., .. } => "inconclusive",
            Self { .. } => "ok",
        }
    }
}

fn main() -> ExitCode {
    let wanted = Wanted::of(env::args().skip(1));
    let named: Vec<_> = TESTS.iter().filter(|test| wanted.names(test)).collect();
    if wanted.list {
        for test in &named {
            println!("{}: test", test.name);
        }
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", named.len());
    let mut ends = Ends::default();
    for test in &named {
        if wanted.takes(test) {
            ends.add(test);
        } else if wanted.which == Which::Others {
            println!("test {} ... ignored, {}", test.name, test.ignored.unwrap_or_default());
            ends.ignored += 1;
        }
    }
    let filtered = TESTS.len() - ends.passed - ends.failed - ends.ignored - ends.inconclusive;
    println!(
        "\ntest result: {}. {} passed; {} failed; {} ignored; 0 measured; {filtered} filtered out; \
         {} inconclusive",
        ends.result(),
        ends.passed,
        ends.failed,
        ends.ignored,
        ends.inconclusive,
    );
    if ends.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

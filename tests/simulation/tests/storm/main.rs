//! Processes with the real client, its driver, its elections, its locks and its permits, in virtual time, on an
//! ensemble or a server on its own. Its members, connections, sessions and clients come to harm;
//! everything comes from a seed.
//!
//! The simulation drives the machines below `election-tokio`. This runs the crate itself.
#![forbid(unsafe_code)]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod ailing;
mod cached;
mod caching;
mod calm;
mod clerk;
mod clocks;
mod epochs;
mod guarded;
mod keeper;
mod laws;
mod life;
mod locks;
mod network;
mod operated;
mod others;
mod permits;
mod plagues;
mod process;
mod queue;
mod recipes;
mod scene;
mod servers;
mod setting;
mod several;
mod sharing;
mod slots;
mod storm;
mod story;
mod well;

use core::num::NonZero;
use core::ops::Range;
use std::sync::Mutex;
use std::thread;

use tokio::runtime::Builder;
use zk_embedded::Profile;

use crate::ailing::Ailing;
use crate::caching::Caching;
use crate::laws::Tally;
use crate::sharing::Sharing;
use crate::storm::Storm;

/// What came of some seeds.
#[derive(Default)]
struct Passed {
    total: Tally,
    broken: Vec<String>,
}

impl Passed {
    fn add(&mut self, outcome: Result<Tally, String>) {
        match outcome {
            Ok(tally) => self.total += tally,
            Err(law) => {
                println!("{law}");
                self.broken.push(law);
            }
        }
    }
}

/// Runs some seeds on all cores, or those of `STORM_SEEDS`, such as `1000..2000`. With `STORM_GOES_ON` set, the
/// seeds after one that breaks a law are played, too; with `STORM_STORY`, what happens is printed, one seed after
/// another.
#[test]
fn no_law_is_broken() {
    no_seed_breaks_a_law(0..8, pass_one, Tally::is_a_storm);
}

/// The same where an operator deletes the operated election, and leaders write in their epoch.
#[test]
fn no_law_is_broken_where_an_election_is_deleted() {
    let Passed { total, broken } = pass(&(10_000..10_004), pass_one);
    assert!(broken.is_empty(), "{}; {} seeds broke a law", broken[0], broken.len());
    assert!(total.deletions > 2 && total.writes_in_epochs > 200, "{total:?}");
}

/// The same on servers that are not ZooKeeper's, of each kind some, with what is promised there. With `STORM_SEEDS`,
/// the seeds are those of each kind.
#[test]
fn no_law_is_broken_on_other_servers() {
    no_seed_breaks_a_law_on_others(OF_EACH, on_others, Tally::is_a_storm_of_others);
}

/// Few: a seed takes as long as any. In the second clients ask for a lease, and none leads.
const OF_EACH: Range<u64> = 1..3;

/// The servers that are not ZooKeeper's.
const OTHERS: [Profile; 3] = [Profile::Keeper, Profile::KeeperBefore2512, Profile::RaftKeeper];

/// The same there where all processes share slots, and do nothing else.
#[test]
fn slots_on_other_servers_break_no_law() {
    no_seed_breaks_a_law_on_others(0..6, share_one_on, Tally::slots_are_shared_on_others);
}

/// The same there where all processes lead while they are well, give way to better ones, and do nothing else.
#[test]
fn checked_leaders_on_other_servers_break_no_law() {
    no_seed_breaks_a_law_on_others(0..6, check_one_on, Tally::members_fall_ill_on_others);
}

/// The same there where all processes keep a cached tree, and write to it, and do nothing else.
#[test]
fn cached_trees_on_other_servers_break_no_law() {
    no_seed_breaks_a_law_on_others(0..6, cache_one_on, Tally::trees_are_kept_on_others);
}

/// The same where all processes keep a cached tree, too.
#[test]
fn no_law_is_broken_where_all_keep_a_tree() {
    let Passed { total, broken } = pass(&(20_000..20_002), pass_one);
    assert!(broken.is_empty(), "{}; {} seeds broke a law", broken[0], broken.len());
    assert!(total.trees_are_kept_in_a_storm(2), "{total:?}");
}

/// The same where clocks of the day are set on servers.
#[test]
fn no_law_is_broken_where_clocks_are_set() {
    let Passed { total, broken } = pass(&(40_000..40_002), pass_one);
    assert!(broken.is_empty(), "{}; {} seeds broke a law", broken[0], broken.len());
    assert!(total.clocks_set > 20 && total.runs > 6, "{total:?}");
}

/// The same where all processes share slots, and do nothing else.
#[test]
fn no_law_of_slots_is_broken() {
    no_seed_breaks_a_law(0..16, share_one, Tally::slots_are_shared_in_a_storm);
}

/// The same where all processes lead while they are well, give way to better ones, and do nothing else.
#[test]
fn no_law_of_checked_leaders_is_broken() {
    no_seed_breaks_a_law(0..8, check_one, Tally::members_fall_ill_in_a_storm);
}

/// The same where all processes keep a cached tree, and write to it, and do nothing else.
#[test]
fn no_law_of_cached_trees_is_broken() {
    no_seed_breaks_a_law(0..16, cache_one, Tally::trees_are_kept_in_a_storm);
}

/// The same on servers of before 3.6, where caches hear of changes by watches that fire once.
#[test]
fn no_law_of_cached_trees_is_broken_before_3_6() {
    let Passed { total, broken } = pass(&(30_000..30_008), cache_one);
    assert!(broken.is_empty(), "{}; {} seeds broke a law", broken[0], broken.len());
    assert!(total.trees_are_kept_in_a_storm(8), "{total:?}");
}

/// Also the ids of nominees come from the seed: names of znodes, and the order of lists by that.
#[test]
fn a_storm_is_the_same_each_time() {
    for (seed, play) in [
        (2, pass_one as Play),
        (3, share_one),
        (4, check_one),
        (5, cache_one),
        (1, |seed| on_others(Profile::RaftKeeper, seed)),
        (3, |seed| share_one_on(Profile::Keeper, seed)),
        (4, |seed| check_one_on(Profile::KeeperBefore2512, seed)),
        (5, |seed| cache_one_on(Profile::RaftKeeper, seed)),
    ] {
        let [first, second] = [play(seed), play(seed)].map(|run| format!("{run:?}"));
        assert_eq!(first, second, "seed {seed}");
    }
}

/// Plays these seeds, or those of `STORM_SEEDS`. Fails if one breaks a law, or if less happened than in a storm of so many.
fn no_seed_breaks_a_law(usual: Range<u64>, play: Play, is_enough: fn(Tally, u64) -> bool) {
    let seeds = seeds_or(usual);
    let Passed { total, broken } = pass(&seeds, play);
    assert!(broken.is_empty(), "{}; {} seeds broke a law", broken[0], broken.len());
    println!("{seeds:?}: {total:?}");
    let count = seeds.end - seeds.start;
    // A few seeds may happen to be mild.
    assert!(count < 8 || is_enough(total, count), "{total:?}");
}

/// Plays these seeds on each kind of servers that are not ZooKeeper's, or those of `STORM_SEEDS`.
fn no_seed_breaks_a_law_on_others(
    usual: Range<u64>,
    play: PlayOn,
    is_enough: fn(Tally, u64) -> bool,
) {
    let seeds = seeds_or(usual.clone());
    for servers in OTHERS {
        let Passed { total, broken } = pass(&seeds, |seed| play(servers, seed));
        println!("{servers:?}, {seeds:?}: {total:?}");
        assert!(broken.is_empty(), "{}; {} seeds broke a law", broken[0], broken.len());
        let count = seeds.end - seeds.start;
        assert!(seeds != usual || is_enough(total, count), "{servers:?}: {total:?}");
    }
}

/// Plays a seed.
type Play = fn(u64) -> Result<Tally, String>;

/// Plays a seed on any servers.
type PlayOn = fn(Profile, u64) -> Result<Tally, String>;

fn seeds_or(usual: Range<u64>) -> Range<u64> {
    match std::env::var("STORM_SEEDS") {
        Ok(seeds) => parsed(&seeds).expect("STORM_SEEDS is a range, such as 1000..2000"),
        Err(_) => usual,
    }
}

fn pass(seeds: &Range<u64>, play: impl Fn(u64) -> Result<Tally, String> + Sync) -> Passed {
    let goes_on = std::env::var_os("STORM_GOES_ON").is_some();
    let threads = match std::env::var_os("STORM_STORY") {
        Some(_) => 1,
        None => thread::available_parallelism().map_or(1, NonZero::get),
    };
    let left = Mutex::new(seeds.clone());
    let passed = Mutex::new(Passed::default());
    // Of the two locks, no thread holds one while it waits for the other, or plays a seed.
    let next = || left.lock().expect("no panic").next();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = next() {
                    let outcome = play(seed);
                    if outcome.is_err() && !goes_on {
                        left.lock().expect("no panic").start = seeds.end;
                    }
                    passed.lock().expect("no panic").add(outcome);
                }
            });
        }
    });
    passed.into_inner().expect("no panic")
}

fn pass_one(seed: u64) -> Result<Tally, String> {
    played(seed, "no_law_is_broken", Storm::pass(Profile::ZooKeeper, seed))
}

fn on_others(servers: Profile, seed: u64) -> Result<Tally, String> {
    let passed = played(seed, "no_law_is_broken_on_other", Storm::pass(servers, seed));
    passed.map_err(|law| format!("{servers:?}, {law}"))
}

fn share_one(seed: u64) -> Result<Tally, String> {
    played(seed, "no_law_of_slots", Sharing::pass(Profile::ZooKeeper, seed))
}

fn share_one_on(servers: Profile, seed: u64) -> Result<Tally, String> {
    let shared = played(seed, "slots_on_other", Sharing::pass(servers, seed));
    shared.map_err(|law| format!("{servers:?}, {law}"))
}

fn check_one(seed: u64) -> Result<Tally, String> {
    played(seed, "no_law_of_checked_leaders", Ailing::pass(Profile::ZooKeeper, seed))
}

fn check_one_on(servers: Profile, seed: u64) -> Result<Tally, String> {
    let checked = played(seed, "checked_leaders_on_other", Ailing::pass(servers, seed));
    checked.map_err(|law| format!("{servers:?}, {law}"))
}

fn cache_one(seed: u64) -> Result<Tally, String> {
    played(seed, "no_law_of_cached_trees", Caching::pass(Profile::ZooKeeper, seed))
}

fn cache_one_on(servers: Profile, seed: u64) -> Result<Tally, String> {
    let cached = played(seed, "cached_trees_on_other", Caching::pass(servers, seed));
    cached.map_err(|law| format!("{servers:?}, {law}"))
}

fn played(
    seed: u64,
    test: &str,
    run: impl Future<Output = Result<Tally, String>>,
) -> Result<Tally, String> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let passed = runtime.expect("a runtime").block_on(run);
    passed.map_err(|law| {
        format!("seed {seed}: {law}; again: STORM_SEEDS={seed}..{} {test}", seed + 1)
    })
}

fn parsed(range: &str) -> Option<Range<u64>> {
    let (begin, end) = range.split_once("..")?;
    Some(begin.parse().ok()?..end.parse().ok()?)
}

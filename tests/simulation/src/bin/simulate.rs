//! Runs the simulation over many seeds, on all cores.
//!
//! `simulate --seeds 10000 --from 0 [--profile P] [--grade G] [--story]` runs seeds 0 to 9999. A
//! profile says what fails: `clients`, `follower`, `quorum`; without one the seeds take turns. A grade
//! that does not hold under the profile is *expected* to break: `--grade contact --profile follower`.
//! `--with broken-answers`, `rounds`, `operating`, `deletions`, `held-machines`, `keeper`, `old-keeper`, `raft-keeper`,
//! `cuts`, `many`, `many-on-keeper`, `many-on-old-keeper` or `many-on-raft-keeper` adds what no seed draws. With
//! `--story`, each seed tells what happened in it. A seed that breaks a law is cut down to the needed incidents, and
//! told; the exit code is then 1. With `--until-broken` the first such seed is the last.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zk_session::lease::LeaseGrade;
use zk_simulation::{
    Addition, Law, OperatingStats, Outcome, Plan, Profile, Recording, SlotStats, Stats, TreeStats,
    UseStats, Violation, keep_panics_quiet, parse_grade, run, shrink,
};

/// Violations that are told in full.
const TOLD: usize = 3;

/// How much is told of a violation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Full,
    Line,
}

/// The condition to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    AllSeeds,
    OneBreaks,
}

struct Arguments {
    seeds: u64,
    from: u64,
    profile: Option<Profile>,
    grade: Option<LeaseGrade>,
    addition: Option<Addition>,
    recording: Recording,
    until: Until,
    threads: usize,
}

#[derive(Default)]
struct Tally {
    stats: Stats,
    /// The seeds that broke a law, by law.
    broken: BTreeMap<Law, Vec<u64>>,
    told: usize,
}

fn main() -> ExitCode {
    match arguments().map(|arguments| simulate(&arguments)) {
        Ok(tally) if tally.broken.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments {
        seeds: 1000,
        from: 0,
        profile: None,
        grade: None,
        addition: None,
        recording: Recording::Off,
        until: Until::AllSeeds,
        threads: std::thread::available_parallelism().map_or(1, core::num::NonZero::get),
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{name} needs a value"));
        match &*name {
            "--seeds" => arguments.seeds = value()?.parse()?,
            "--from" => arguments.from = value()?.parse()?,
            "--profile" => arguments.profile = Some(value()?.parse()?),
            "--grade" => arguments.grade = Some(parse_grade(&value()?)?),
            "--with" => arguments.addition = Some(value()?.parse()?),
            "--threads" => arguments.threads = value()?.parse()?,
            "--until-broken" => arguments.until = Until::OneBreaks,
            "--story" => arguments.recording = Recording::On,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(arguments)
}

fn simulate(arguments: &Arguments) -> Tally {
    let began = Instant::now();
    keep_panics_quiet();
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= arguments.seeds {
                        return;
                    }
                    let broken = one_seed(arguments, arguments.from.wrapping_add(number), &tally);
                    if broken.is_some() && arguments.until == Until::OneBreaks {
                        next.store(arguments.seeds, Ordering::Relaxed);
                    }
                }
            });
        }
        scope.spawn(|| show_progress(arguments, &next, began));
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    summarise(&tally, began.elapsed());
    tally
}

/// Returns the law that this seed breaks, if it breaks one.
fn one_seed(arguments: &Arguments, seed: u64, tally: &Mutex<Tally>) -> Option<Law> {
    let profile = arguments.profile.unwrap_or_else(|| Profile::in_turn(seed));
    let drawn = Plan::draw(seed, profile, arguments.grade);
    let plan = match arguments.addition {
        Some(addition) => drawn.with(addition),
        None => drawn,
    };
    let outcome = run(&plan, arguments.recording);
    let told = {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.stats += &outcome.stats;
        if let Some(violation) = &outcome.violation {
            tally.broken.entry(violation.law).or_default().push(seed);
            tally.told += 1;
        }
        tally.told
    };
    let detail = if told <= TOLD { Detail::Full } else { Detail::Line };
    if arguments.recording == Recording::On {
        println!("{plan}what happened:\n{}\n", outcome.story);
    }
    let violation = outcome.violation?;
    tell(&plan, &violation, detail);
    Some(violation.law)
}

/// Prints a violation in one piece, so that threads do not talk at once.
fn tell(plan: &Plan, violation: &Violation, detail: Detail) {
    let head = format!("\nseed {}: {violation}\n  {}", plan.seed, plan.command());
    if detail == Detail::Full {
        let smaller = shrink(plan, violation);
        let Outcome { story, violation, .. } = run(&smaller, Recording::On);
        let end = violation.map(|violation| violation.to_string()).unwrap_or_default();
        println!("{head}\ncut down to:\n{smaller}what happened:\n{story}  {end}\n");
    } else {
        println!("{head}");
    }
}

fn show_progress(arguments: &Arguments, next: &AtomicU64, began: Instant) {
    let mut shown = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let taken = next.load(Ordering::Relaxed);
        if taken >= arguments.seeds {
            return;
        }
        if shown.elapsed() > Duration::from_secs(5) {
            shown = Instant::now();
            let rate =
                taken * 1000 / u64::try_from(began.elapsed().as_millis()).unwrap_or(1).max(1);
            eprintln!("{taken} of {} seeds, {rate} a second", arguments.seeds);
        }
    }
}

fn tell_of_uses(uses: UseStats) {
    println!(
        "recipes: {} barriers waited for, {} inside a double barrier and {} left with the others, {} items \
         taken and {} done, {} unknown; {} counted, {} unknown; {} woken in the calm",
        uses.passed,
        uses.inside,
        uses.left,
        uses.taken,
        uses.done,
        uses.items_unknown,
        uses.counted,
        uses.counts_unknown,
        uses.woken,
    );
}

fn tell_of_trees(trees: TreeStats) {
    println!(
        "{} caches of a tree told of {} changes; {} moments were the servers', {} not seen there",
        trees.caches, trees.changes, trees.moments, trees.unseen
    );
}

fn tell_of_slots(slots: SlotStats) {
    println!(
        "slots: {} gained, {} lost, {} written to; {} plans, which moved {}, {} not held against another, \
         {} with slots to keep apart, {} with a member that was drained",
        slots.gained,
        slots.lost,
        slots.writes,
        slots.plans,
        slots.moved,
        slots.excused,
        slots.apart,
        slots.drained
    );
}

fn tell_of_stops(stats: &Stats) {
    println!(
        "{} leaderships announced; {} stale beside another one by a clock that stood still; {} confirmed",
        stats.announced, stats.stale, stats.confirmed
    );
}

fn tell_of_operating(operating: OperatingStats) {
    println!(
        "elections: {} ended, {} nominations told of it; {} handed over, {} made way; {} ended cleanly, \
         {} lock delays awaited, {} judged; {} elected by a hidden candidate that was gone, \
         {} marks deleted unseen at most; {} deleted, {} epochs, {} writes in them, {} in one of a deleted \
         election",
        operating.ended,
        operating.told_of_an_end,
        operating.handed_over,
        operating.made_way,
        operating.ended_cleanly,
        operating.delayed,
        operating.judged_delays,
        operating.elected_unheard,
        operating.erased_unseen,
        operating.deleted,
        operating.epochs,
        operating.writes_in_epochs,
        operating.writes_in_deleted,
    );
}

fn summarise(tally: &Tally, wall: Duration) {
    let Tally { stats, broken, .. } = tally;
    let rate = u128::from(stats.runs) * 1000 / wall.as_millis().max(1);
    println!(
        "{} seeds, {} steps, {} h of virtual time in {:.1} s ({rate} seeds a second)",
        stats.runs,
        stats.events,
        stats.virtual_time.as_secs() / 3600,
        wall.as_secs_f32(),
    );
    println!(
        "{} leaders, {} leaders of the ensemble, {} expired sessions, {} guarded writes, slowest \
         settling {} ms, at most {} dials of a client in 10 s",
        stats.elections,
        stats.epochs,
        stats.expiries,
        stats.guarded_writes,
        stats.slowest_settling.as_millis(),
        stats.most_dials,
    );
    println!(
        "{} calls, {} others refused for want of room, {} times told of a watch, {} connections to \
         read-only servers, {} cut at a request",
        stats.calls,
        stats.calls_refused,
        stats.watches_told,
        stats.read_only_connections,
        stats.cuts,
    );
    let locks = stats.locks;
    println!(
        "locks: {} held alone, {} by readers, {} of them beside another reader, {} permits; {} handed \
         over, {} lost, {} given up",
        locks.alone,
        locks.shared,
        locks.together,
        locks.permits,
        locks.handed_over,
        locks.lost,
        locks.gave_up,
    );
    tell_of_uses(stats.uses);
    tell_of_trees(stats.trees);
    tell_of_slots(stats.slots);
    println!(
        "histories of {} operations judged, {} of an unknown outcome",
        stats.histories.operations, stats.histories.unknown,
    );
    tell_of_operating(stats.operating);
    tell_of_stops(stats);
    for (kind, count) in &stats.incidents {
        println!("  {count:>8}  {kind}");
    }
    if broken.is_empty() {
        println!("no law was broken");
    }
    for (law, seeds) in broken {
        let some: Vec<_> = seeds.iter().take(10).map(u64::to_string).collect();
        println!("BROKEN {} times: {law}; seeds {}", seeds.len(), some.join(", "));
    }
    // A summary that cannot be shown is not worth a failure.
    let _ = std::io::stdout().flush();
}

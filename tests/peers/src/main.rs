//! Other ZooKeeper clients beside ours, in turns and in one run: `README.md` says what is measured.

mod arguments;
mod contender;
mod measures;
mod outcome;
mod picture;
mod process;
#[expect(dead_code, reason = "the benchmarks of election-tokio start it by themselves")]
#[path = "../../../election-tokio/benches/client/responder.rs"]
mod responder;
mod server;
mod table;
mod worker;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use std::thread;

use arguments::{Arguments, Extent, USAGE};
use contender::Programs;
use measures::Bench;
use outcome::{Outcome, failed};
use server::Install;
use worker::Threads;

fn main() -> Outcome<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => Ok(responder::run()?),
        ["embedded"] => server::run_embedded(),
        ["worker", name] => worker::run(name, Threads::One),
        ["worker", name, "two-threads"] => worker::run(name, Threads::Two),
        ["--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => run(&Arguments::parse(words.into_iter())?),
    }
}

fn run(arguments: &Arguments) -> Outcome<()> {
    let folder = env::temp_dir().join(format!("zk-peers-{}", std::process::id()));
    remove_left_behind();
    fs::create_dir_all(&folder)?;
    remove_when_interrupted(folder.clone());
    let outcome = measure(arguments, &folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn measure(arguments: &Arguments, folder: &Path) -> Outcome<()> {
    let mut notes = Vec::new();
    let (programs, install) = match arguments.extent {
        Extent::Quick => (Programs::RUST, None),
        Extent::Whole => {
            let install = Install::find();
            if let Err(error) = &install {
                notes.push(format!("elections and idle sessions on zk-embedded: {error}"));
            }
            (Programs::make(folder, &mut notes), install.ok())
        }
    };
    let mut bench = Bench {
        extent: arguments.extent,
        rounds: arguments.rounds,
        programs,
        install,
        folder: folder.to_owned(),
        rows: Vec::new(),
        notes,
        release: None,
    };
    bench.run(arguments);
    let place = place(bench.release.as_deref());
    println!("{place}\n\n{}\n{}", table::table(&bench.rows), table::spreads(&bench.rows));
    for note in &bench.notes {
        println!("- {note}");
    }
    if let Some(file) = &arguments.svg {
        fs::write(file, picture::picture(&bench.rows, &place))?;
    }
    let is_whole = bench.rows.iter().all(|row| row.median(contender::Contender::Ours).is_some());
    let missed: Vec<_> = bench.rows.iter().filter_map(|row| Some((row, row.missed()?))).collect();
    for (row, (figure, bound)) in &missed {
        let (figure, bound) = (table::figure(*figure), table::figure(*bound));
        println!("- ours has missed its bar: {}: {figure}, and its bound is {bound}", row.what);
    }
    // Where it only has to run, it need not be fast.
    if arguments.extent == Extent::Whole && !missed.is_empty() {
        return failed("of ours, a row has missed its bar");
    }
    if bench.rows.is_empty() || !is_whole {
        return failed("of ours, not every row could be measured");
    }
    Ok(())
}

/// Returns the date, and the machine.
fn place(release: Option<&str>) -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = cpus.lines().filter_map(|line| line.strip_prefix("model name\t: "));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let date = std::process::Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"]).output();
    let date = date.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    format!(
        "{}, {} cores, {}, load {}, {}",
        date.unwrap_or_default(),
        thread::available_parallelism().map_or(1, usize::from),
        models.clone().next().unwrap_or("some processor"),
        load.split(' ').next().unwrap_or_default(),
        release.unwrap_or("no server")
    )
}

/// Folders of runs that were killed.
fn remove_left_behind() {
    for entry in fs::read_dir(env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix("zk-peers-");
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Removes the folder on Ctrl-C: all processes end by themselves then, the folder does not.
fn remove_when_interrupted(folder: PathBuf) {
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            let _ = fs::remove_dir_all(&folder);
            std::process::exit(130);
        }
    });
}

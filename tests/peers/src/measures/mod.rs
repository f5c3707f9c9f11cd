//! The measures, a file for each.

mod bring_up;
mod failures;
mod get_data;
mod idle;
mod take_over;
mod threads;

use core::time::Duration;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use crate::arguments::{Arguments, Extent};
use crate::contender::{COLUMNS, Contender, Programs};
use crate::outcome::{Outcome, failed};
use crate::process::Worker;
use crate::server::{Install, Server};
use crate::table::Row;

/// The parts that all measures share.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) extent: Extent,
    pub(crate) rounds: usize,
    pub(crate) programs: Programs,
    /// None: the server is ours.
    pub(crate) install: Option<Install>,
    pub(crate) folder: PathBuf,
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
    /// The release that the server reports.
    pub(crate) release: Option<String>,
}

/// A worker that takes part in a measure.
#[derive(Debug)]
struct Entrant {
    contender: Contender,
    worker: Worker,
}

impl Bench {
    /// Goes through all that is wanted.
    pub(crate) fn run(&mut self, arguments: &Arguments) {
        type Measure = fn(&mut Bench) -> Outcome<()>;
        let measures: [(&str, Measure); 10] = [
            ("get-data", get_data::measure),
            ("lists", get_data::of_lists),
            ("threads", threads::measure),
            ("take-over", take_over::measure),
            ("many-take-over", take_over::of_many),
            ("bring-up", bring_up::measure),
            ("idle", idle::measure),
            ("killed", failures::killed),
            ("frozen", failures::frozen),
            ("pauses", failures::pauses),
        ];
        for (name, measure) in measures {
            if arguments.only.as_ref().is_none_or(|only| name.starts_with(only)) {
                eprintln!("{name} …");
                if let Err(error) = measure(self) {
                    self.notes.push(format!("{name} is left out: {error}"));
                }
            }
        }
    }

    /// Returns those of the columns that are to be had.
    fn contenders(&self) -> Vec<Contender> {
        let quick = [Contender::Raw, Contender::Ours];
        let all = COLUMNS.into_iter();
        all.filter(|one| self.extent == Extent::Whole || quick.contains(one)).collect()
    }

    /// Starts the workers of these, and lets each do the first orders.
    fn enter(
        &mut self,
        contenders: &[Contender],
        core: Option<usize>,
        orders: &[String],
    ) -> Outcome<Vec<Entrant>> {
        let mut entrants = Vec::new();
        for &contender in contenders {
            let Some(command) = self.programs.command(contender)? else { continue };
            let mut worker = Worker::start(&command, core)?;
            let obeyed = orders.iter().try_for_each(|order| worker.ask(order).map(drop));
            match obeyed {
                Ok(()) => entrants.push(Entrant { contender, worker }),
                Err(error) => self.note(contender, orders.join("; "), &*error),
            }
        }
        Ok(entrants)
    }

    /// Lets each entrant have its turn; one that fails is out, with a note below the table.
    fn each(
        &mut self,
        entrants: &mut Vec<Entrant>,
        what: &str,
        mut turn: impl FnMut(&mut Self, &mut Entrant) -> Outcome<()>,
    ) {
        entrants.retain_mut(|entrant| match turn(self, entrant) {
            Ok(()) => true,
            Err(error) => {
                self.note(entrant.contender, what, &*error);
                false
            }
        });
    }

    fn note(
        &mut self,
        contender: Contender,
        what: impl Into<String>,
        error: &(dyn core::error::Error + Send + Sync),
    ) {
        self.notes.push(format!("{}, {}: {error}", contender.name(), what.into()));
    }

    /// Starts Apache ZooKeeper where it is to be had, else ours.
    fn server(&mut self) -> Outcome<Server> {
        let server = match &self.install {
            Some(install) => Server::apache(install, &self.folder, Duration::from_secs(3))?,
            None => Server::embedded()?,
        };
        self.release = Some(match &self.install {
            Some(_) => format!("Apache ZooKeeper {}", server.version()?),
            None => "zk-embedded".to_owned(),
        });
        Ok(server)
    }

    fn needs_apache(&self) -> Outcome<Install> {
        match &self.install {
            Some(install) => Ok(install.clone()),
            None => failed("it needs Apache ZooKeeper"),
        }
    }
}

/// Returns the candidates and the watches of a server.
fn standing(server: &Server) -> Outcome<[u64; 2]> {
    server.metrics(["zk_ephemerals_count", "zk_watch_count"])
}

/// Lets a worker's candidates stand, until the server holds all of them and a watch of each but the
/// first: some libraries do not say when a candidate has its place. The time that took.
fn stand(
    server: &Server,
    worker: &mut Worker,
    node: &str,
    count: u64,
    sessions: &str,
) -> Outcome<Duration> {
    let [candidates, watches] = standing(server)?;
    let start = Instant::now();
    worker.ask(&format!("stand {node} {count} {sessions}"))?;
    loop {
        let [candidates_now, watches_now] = standing(server)?;
        if candidates_now >= candidates + count && watches_now + 1 >= watches + count {
            return Ok(start.elapsed());
        }
        if start.elapsed() > Duration::from_secs(120) {
            return failed(format!("{count} candidates do not stand within two minutes"));
        }
        thread::sleep(Duration::from_millis(3));
    }
}

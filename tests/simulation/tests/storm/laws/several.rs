//! The laws of several locks at once, and of a job that runs once in a period.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use election_core::once::{RunRecord, ServerTime};
use election_tokio::lock::LocksGuard;
use tokio::time::Instant;
use zk_embedded::Database;
use zk_jute::Zxid;

use super::Laws;
use crate::several::{PERIOD, job};

#[derive(Debug, Default)]
pub(super) struct SeveralBook {
    held: Vec<Held>,
    /// How often each process has held some.
    times: BTreeMap<usize, u64>,
    /// When the last run began, by the servers' clock, and the transaction that wrote its record last.
    began: Option<(Zxid, ServerTime)>,
    /// When that was committed. A future that is dropped may have begun a run that no process knows.
    committed: Option<Instant>,
}

#[derive(Debug)]
struct Held {
    process: usize,
    guard: Weak<LocksGuard>,
    /// The locks that it holds alone; the others it shares.
    alone: Vec<String>,
}

impl Laws {
    /// Notes that a process holds several locks, these alone.
    pub(crate) fn several_are_held(
        &self,
        process: usize,
        guard: &Arc<LocksGuard>,
        alone: Vec<String>,
    ) {
        let paths: Vec<&str> = guard.iter().map(|(path, _)| path).collect();
        guard.iter().for_each(|(_, lock)| self.is_given(process, lock.token()));
        self.tell(|| format!("process {process} holds {paths:?}, {alone:?} alone"));
        let mut book = self.book();
        *book.several.times.entry(process).or_default() += 1;
        book.tally.several += 1;
        book.several.held.push(Held { process, guard: Arc::downgrade(guard), alone });
        drop(book);
        self.several_exclude_each_other();
    }

    /// Checks, at any moment, that no two valid guards have a lock that one of them holds alone.
    pub(crate) fn several_exclude_each_other(&self) {
        let mut book = self.book();
        book.several.held.retain(|held| held.guard.strong_count() > 0);
        let valid = book.several.held.iter().filter_map(|held| {
            let guard = held.guard.upgrade().filter(|guard| guard.is_valid())?;
            Some((held.process, guard, &held.alone))
        });
        let valid: Vec<_> = valid.collect();
        let excluded = valid.iter().enumerate().find_map(|(at, (one, guard, alone))| {
            let mut others = valid.iter().skip(at + 1);
            let clash = others.find_map(|(other, others_guard, others_alone)| {
                let both = |path: &&str| others_guard.token(path).is_some();
                let is_alone = |path: &str| {
                    alone.iter().chain(others_alone.iter()).any(|alone| *alone == *path)
                };
                let mut paths = guard.iter().map(|(path, _)| path).filter(both);
                paths.find(|path| is_alone(path)).map(|path| (*other, path.to_owned()))
            });
            clash.map(|(other, path)| format!("{one} and {other} hold {path}, of several"))
        });
        drop(valid);
        if let Some(law) = excluded.filter(|_| self.exclude_each_other()) {
            book.broken(law);
        }
    }

    /// Returns how often each process has held several locks so far.
    pub(crate) fn times_several(&self) -> BTreeMap<usize, u64> {
        self.book().several.times.clone()
    }

    /// Notes that a process was admitted to run the job.
    pub(crate) fn job_begins(&self, process: usize) {
        self.tell(|| format!("process {process} runs the job"));
        let mut book = self.book();
        book.tally.runs += 1;
    }

    /// Checks, once nothing fails, that the job runs whenever it is due.
    pub(crate) fn the_job_has_run(&self) {
        let began = self.book().several.committed.map(|at| at.elapsed());
        if began.is_none_or(|ago| ago > PERIOD * 2) {
            self.broken(format!("in the calm the last run of a job began {began:?} ago"));
        }
    }

    /// Checks the record of the job after each step of a server: runs begin a period apart, by the servers' clock.
    pub(crate) fn job_shows(&self, database: &Database) {
        let path = job() + ".once";
        let Some(znode) = database.znode(&path) else { return };
        let data = znode.data().unwrap_or_default();
        let mut book = self.book();
        let Ok(Some(record)) = RunRecord::parse(data) else {
            if !data.is_empty() {
                book.broken(format!("{:?} is no record", String::from_utf8_lossy(data)));
            }
            return;
        };
        let written = znode.stat().mzxid;
        if book.several.began.is_some_and(|(seen, _)| written <= seen) {
            // A server lags.
            return;
        }
        let last = book.several.began.replace((written, record.began)).map(|(_, began)| began);
        if last != Some(record.began) {
            book.several.committed = Some(Instant::now());
        }
        let apart = last.map_or(0, |last| record.began.get().abs_diff(last.get()));
        // Behind a clock that was set back, too.
        if apart > 0 && u128::from(apart) < PERIOD.as_millis() {
            book.broken(format!(
                "a run begins {apart} ms after the last one, by the servers' clock"
            ));
        }
    }
}

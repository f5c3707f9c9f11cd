//! The clients, and their continuous work: one file for each kind. A further kind is one more file and
//! one more line in [`Crew::hire`].

mod flags;
mod holder;
mod items;
mod ledger;
mod nominee;
mod oneshot;
mod pairs;
mod persistent;
mod reader;
mod sharer;
mod tracker;
mod worker;

use alloc::sync::Arc;
use core::future::Future;
use core::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(super) use self::holder::seals;
pub(super) use self::ledger::page_path;
pub(super) use self::pairs::{left, marks, right};
pub(super) use self::sharer::SLOTS;
use self::tracker::Tracker;
pub use self::tracker::{Connections, Patience};
use zk_test_kit::election::soon;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::{History, Watchers};
use zk_test_kit::wait::{NotInTime, eventually};

use self::worker::{Phase, Pulse, Worker};
use super::Record;
use super::laws::holds::Want;
use super::laws::vigils::Watched;

/// The path of the ledger, page by page.
pub const LEDGER: &str = "/ledger";
/// The path below which items are created.
pub const ITEMS: &str = "/items";
/// The path below which ephemeral flags come and go.
pub const FLAGS: &str = "/flags";
/// The path to which leaders write.
pub const SEALS: &str = "/seals";
/// The election.
pub const ELECTION: &str = "/election";
/// Two znodes that are written together, and a mark for each time.
pub const PAIRS: [&str; 2] = ["/pair-lasting", "/pair-brief"];

/// The locks, those of slots included.
pub const LOCKS: [&str; 5] = {
    let [first, second, third] = sharer::LOCKS;
    [holder::LOCK, holder::SHARED_LOCK, first, second, third]
};

/// How long a crew may take to get on after a fault.
const PATIENCE: Duration = Duration::from_secs(90);

/// All workers.
#[derive(Debug)]
pub struct Crew {
    servers: String,
    phase: watch::Sender<Phase>,
    writers: Vec<JoinHandle<Record>>,
    observers: Vec<JoinHandle<Record>>,
    trackers: Vec<Arc<Tracker>>,
    pulses: Vec<Arc<Pulse>>,
    leaders: Arc<std::sync::Mutex<Watchers>>,
}

impl Crew {
    /// Lays out the znodes and sets all workers to work.
    pub async fn hire(servers: &str) -> Result<Self, TestFailure> {
        let mut crew = Self {
            servers: servers.to_owned(),
            phase: watch::Sender::new(Phase::Work),
            writers: Vec::new(),
            observers: Vec::new(),
            trackers: Vec::new(),
            pulses: Vec::new(),
            leaders: Arc::default(),
        };
        super::archive::lay_out(servers).await?;
        for (patience, pair) in Patience::ALL.into_iter().zip(PAIRS) {
            crew.write("ledger", patience, ledger::keep).await?;
            crew.write("items", patience, items::create).await?;
            crew.write("pairs", patience, move |worker| pairs::write(worker, pair)).await?;
            crew.write("flags", patience, flags::raise).await?;
            crew.observe("reader", patience, reader::read).await?;
            let left = left(pair);
            let watches = [
                (Watched::Data, left),
                (Watched::Existence, flags::path(patience)),
                (Watched::Children, FLAGS.to_owned()),
            ];
            for (watched, path) in watches {
                let name = format!("watcher of {path}");
                crew.observe(&name, patience, move |worker| oneshot::keep(worker, watched, path))
                    .await?;
            }
            for subject in persistent::subjects(patience, pair) {
                crew.observe_twice(patience, subject).await?;
            }
        }
        let election = crew.pulse("election", None);
        for patience in [Patience::Lasting, Patience::Brief, Patience::Brief] {
            let leaders = Arc::clone(&crew.leaders);
            let worker = crew.worker(patience, Arc::clone(&election)).await?;
            crew.writers.push(tokio::spawn(nominee::stand(worker, leaders)));
        }
        crew.hire_holders().await?;
        crew.hire_sharers().await?;
        Ok(crew)
    }

    /// Hires the workers that take locks.
    async fn hire_holders(&mut self) -> TestResult {
        let (lock, shared) = (holder::LOCK, holder::SHARED_LOCK);
        for (lock, wants) in [(lock, &[Want::Write][..]), (shared, &[Want::Write, Want::Read])] {
            let pulse = self.pulse(lock, None);
            for (patience, want) in
                Patience::ALL.into_iter().flat_map(|it| wants.iter().map(move |want| (it, *want)))
            {
                let worker = self.worker(patience, Arc::clone(&pulse)).await?;
                self.writers.push(tokio::spawn(holder::hold(worker, lock, want)));
            }
        }
        Ok(())
    }

    /// Hires the members that share slots.
    async fn hire_sharers(&mut self) -> TestResult {
        let pulse = self.pulse(SLOTS, None);
        for patience in [Patience::Lasting, Patience::Brief, Patience::Brief] {
            let worker = self.worker(patience, Arc::clone(&pulse)).await?;
            self.writers.push(tokio::spawn(sharer::share(worker)));
        }
        Ok(())
    }

    /// Waits until each worker, and some leader, has done something that it began after the call.
    ///
    /// # Errors
    ///
    /// [`NotInTime`] with the name of one that did not.
    pub fn wait_for_progress(&self, when: &str) -> Result<(), NotInTime> {
        self.wait_for(when, |_| true)
    }

    /// Waits for the same of the workers with brief sessions, which are the first to leave a member
    /// that is silent.
    pub fn wait_for_progress_of_the_brief(&self, when: &str) -> Result<(), NotInTime> {
        self.wait_for(when, |pulse| pulse.patience() == Some(Patience::Brief))
    }

    fn wait_for(&self, when: &str, of: impl Fn(&Pulse) -> bool) -> Result<(), NotInTime> {
        // A call that is under way may be done with already; the next one is not.
        const MORE: u64 = 2;
        let pulses = self.pulses.iter().filter(|pulse| of(pulse));
        let wanted: Vec<_> = pulses.map(|pulse| (pulse, pulse.count() + MORE)).collect();
        for (pulse, wanted) in wanted {
            let what = format!("{} gets on, {when}", pulse.name());
            eventually(PATIENCE, &what, || pulse.count() >= wanted)?;
        }
        Ok(())
    }

    /// Returns the fate of the clients' connections so far.
    pub fn connections(&self) -> Vec<Connections> {
        self.trackers.iter().map(|tracker| tracker.connections()).collect()
    }

    /// Waits until each session with this patience that there was at the call has expired.
    pub fn wait_for_expiry(&self, patience: Patience) -> Result<(), NotInTime> {
        let trackers: Vec<_> = self
            .trackers
            .iter()
            .map(|tracker| (tracker, tracker.connections()))
            .filter(|(_, before)| before.patience == patience)
            .collect();
        eventually(PATIENCE, "every brief session has expired", || {
            trackers
                .iter()
                .all(|(tracker, before)| tracker.connections().expiries > before.expiries)
        })
    }

    /// Lets the writers end and, once all is quiet, the watchers; returns their notes, and the
    /// times at which each nominee could see itself lead.
    pub async fn dismiss(self) -> Result<(Record, History, Vec<Connections>), TestFailure> {
        let mut record = Record::default();
        self.phase.send_replace(Phase::Quiet);
        join(self.writers, &mut record).await?;
        self.phase.send_replace(Phase::Over);
        join(self.observers, &mut record).await?;
        let connections = self.trackers.iter().map(|tracker| tracker.connections()).collect();
        let watchers = core::mem::take(&mut *worker::locked(&self.leaders));
        Ok((record, watchers.finish(), connections))
    }

    async fn write<F: Future<Output = Record> + Send + 'static>(
        &mut self,
        name: &str,
        patience: Patience,
        work: impl FnOnce(Worker) -> F,
    ) -> TestResult {
        let worker = self.worker_named(name, patience).await?;
        self.writers.push(tokio::spawn(work(worker)));
        Ok(())
    }

    async fn observe<F: Future<Output = Record> + Send + 'static>(
        &mut self,
        name: &str,
        patience: Patience,
        work: impl FnOnce(Worker) -> F,
    ) -> TestResult {
        let worker = self.worker_named(name, patience).await?;
        self.observers.push(tokio::spawn(work(worker)));
        Ok(())
    }

    /// A client with two watches on one path.
    async fn observe_twice(
        &mut self,
        patience: Patience,
        subject: persistent::Subject,
    ) -> TestResult {
        let name = format!("constant watcher of {}", subject.path());
        let worker = self.worker_named(&name, patience).await?;
        let name = format!("watcher beside the {name}, {patience:?}");
        let beside = worker.beside(self.pulse(&name, Some(patience)));
        self.observers.push(tokio::spawn(persistent::keep(worker, beside, subject)));
        Ok(())
    }

    async fn worker_named(
        &mut self,
        name: &str,
        patience: Patience,
    ) -> Result<Worker, TestFailure> {
        let pulse = self.pulse(&format!("{name}, {patience:?}"), Some(patience));
        self.worker(patience, pulse).await
    }

    async fn worker(
        &mut self,
        patience: Patience,
        pulse: Arc<Pulse>,
    ) -> Result<Worker, TestFailure> {
        let client =
            zk_test_kit::election::connect(&self.servers, patience.session_timeout()).await?;
        let tracker = Tracker::follow(&client, patience, pulse.name());
        self.trackers.push(tracker);
        let number = u32::try_from(self.trackers.len())?;
        Ok(Worker::new(client, patience, number, (pulse, self.phase.subscribe())))
    }

    fn pulse(&mut self, name: &str, patience: Option<Patience>) -> Arc<Pulse> {
        let pulse = Arc::new(Pulse::new(name, patience));
        self.pulses.push(Arc::clone(&pulse));
        pulse
    }
}

async fn join(workers: Vec<JoinHandle<Record>>, record: &mut Record) -> TestResult {
    for worker in workers {
        record.add(soon("a worker ends", worker).await??);
    }
    Ok(())
}

//! The operations that a client of Rust has to offer to be measured.

use core::future::pending;
use core::time::Duration;
use std::thread;
use std::time::Instant;

use tokio::sync::{mpsc, watch};

use crate::outcome::Outcome;

/// Between two questions of a library that does not tell its candidate that it leads.
const PAUSE: Duration = Duration::from_micros(50);

/// One client, that is, one session. Clones share it.
pub(crate) trait Contender: Clone + Send + Sync + Sized + 'static {
    async fn connect(servers: &str, session_timeout: Duration) -> Outcome<Self>;

    /// Reads a znode; gives the length of its data.
    fn get_data(&self, path: &'static str) -> impl Future<Output = Outcome<usize>> + Send;

    /// Lists the children of a znode, and looks at each name; gives their number.
    fn list(&self, path: &'static str) -> impl Future<Output = Outcome<usize>> + Send;

    /// Stands in the election of the seat, leads, resigns when it is told to, and stands again.
    fn candidate(self, seat: Seat) -> impl Future<Output = Outcome<()>> + Send;

    /// Ends the session.
    async fn close(self) -> Outcome<()>;
}

/// A report of a candidate.
#[derive(Debug)]
pub(crate) enum Report {
    /// It has its place in the queue, as far as its library tells.
    InPlace,
    /// It leads, since then.
    Leads(usize, Instant),
    /// It has failed.
    Failed(String),
}

/// The end of a candidate at which it reports and is told to resign.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) number: usize,
    pub(crate) node: String,
    pub(crate) reports: mpsc::UnboundedSender<Report>,
    pub(crate) resignations: mpsc::UnboundedReceiver<()>,
    /// The number of the next leader, which asks for it where its library does not tell.
    pub(crate) heir: watch::Receiver<Option<usize>>,
}

impl Seat {
    pub(crate) fn is_in_place(&self) {
        let _ = self.reports.send(Report::InPlace);
    }

    pub(crate) fn leads(&self) {
        let _ = self.reports.send(Report::Leads(self.number, Instant::now()));
    }

    /// Waits until it is told to resign. It stands on if its queue is gone, as that of a warm-up is:
    /// its turns would be counted as the work of the next one.
    pub(crate) async fn resigns(&mut self) {
        if self.resignations.recv().await.is_none() {
            pending().await
        }
    }

    /// Asks again and again while this candidate is the next one, with pauses in which the server has
    /// the processor. A timer of tokio would wait for a millisecond.
    pub(crate) async fn poll(&mut self, leads: impl Fn() -> bool) {
        while !leads() {
            let number = self.number;
            let _ = self.heir.wait_for(|heir| *heir == Some(number)).await;
            thread::sleep(PAUSE);
            tokio::task::yield_now().await;
        }
    }
}

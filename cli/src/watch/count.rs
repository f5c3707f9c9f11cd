//! Counts the candidates, now and then: only a list shows them all.

use core::time::Duration;
use std::sync::Arc;

use election_tokio::Error;
use election_tokio::election::Election;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::candidate::ShownCandidate;

/// The candidates at some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) number: usize,
    /// The first of them.
    pub(super) first: Vec<ShownCandidate>,
    /// Whether the election was ended, so that no candidate can come.
    pub(super) is_ended: bool,
}

/// Counts again and again. Dropping it stops it.
pub(super) struct Census {
    asked: Arc<Notify>,
    counted: watch::Receiver<Counted>,
    task: JoinHandle<()>,
}

impl Census {
    /// Counts on request, and once in each interval, unless that is zero.
    pub(super) fn begin(election: Election, interval: Duration, rows: usize) -> Self {
        let asked = Arc::new(Notify::new());
        let (sender, counted) = watch::channel(Counted::default());
        let heard = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            loop {
                heard.notified().await;
                loop {
                    // The connection or the observer reports errors.
                    if let Ok(counted) = count(&election, rows).await
                        && sender.send(counted).is_err()
                    {
                        return;
                    }
                    if interval.is_zero() {
                        break;
                    }
                    tokio::select! {
                        () = sleep(interval) => {}
                        () = heard.notified() => {}
                    }
                }
            }
        });
        Self { asked, counted, task }
    }

    pub(super) fn ask(&self) {
        self.asked.notify_one();
    }

    /// Waits for the next count.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Counted {
        match self.counted.changed().await {
            Ok(()) => self.counted.borrow_and_update().clone(),
            Err(_) => core::future::pending().await,
        }
    }
}

impl Drop for Census {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn count(election: &Election, rows: usize) -> Result<Counted, Error> {
    let mut candidates = election.read_candidates().await?;
    // A format without a sign of the end has none.
    let is_ended = candidates.remaining() == 0 && election.is_ended().await.unwrap_or(false);
    let mut counted = Counted { number: candidates.remaining(), first: Vec::new(), is_ended };
    while counted.first.len() < rows
        && let Some(candidate) = candidates.next().await?
    {
        counted.first.push(ShownCandidate::from(&candidate));
    }
    Ok(counted)
}

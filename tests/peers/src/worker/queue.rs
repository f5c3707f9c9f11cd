//! Candidates that lead in turn.

use core::time::Duration;
use std::time::Instant;

use tokio::sync::{mpsc, watch};

use super::contender::{Contender, Report, Seat};
use crate::outcome::{Outcome, failed};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sessions {
    /// All candidates stand at once.
    One,
    /// One after another, as processes that start in turn.
    Own,
}

/// Candidates of one election.
pub(super) struct Queue {
    reports: mpsc::UnboundedReceiver<Report>,
    resignations: Vec<mpsc::UnboundedSender<()>>,
    heir: watch::Sender<Option<usize>>,
    leader: Option<usize>,
}

impl Queue {
    /// Makes each client a candidate; returns once all have their places and one leads.
    pub(super) async fn stand<C: Contender>(
        node: &str,
        sessions: Sessions,
        clients: Vec<C>,
    ) -> Outcome<Self> {
        let (sender, reports) = mpsc::unbounded_channel();
        // The first of all is the first to lead.
        let (heir, _) = watch::channel(Some(0));
        let mut queue = Self { reports, resignations: Vec::new(), heir, leader: None };
        let count = clients.len();
        for (number, client) in clients.into_iter().enumerate() {
            let (resign, resignations) = mpsc::unbounded_channel();
            queue.resignations.push(resign);
            let seat = Seat {
                number,
                node: node.to_owned(),
                reports: sender.clone(),
                resignations,
                heir: queue.heir.subscribe(),
            };
            let failures = sender.clone();
            tokio::spawn(async move {
                if let Err(error) = client.candidate(seat).await {
                    let _ = failures.send(Report::Failed(error.to_string()));
                }
            });
            if sessions == Sessions::Own {
                queue.until_in_place(1).await?;
            }
        }
        if sessions == Sessions::One {
            queue.until_in_place(count).await?;
        }
        // On one session, the first of all may be any.
        if sessions == Sessions::Own && queue.leader.is_none() {
            queue.until_led().await?;
        }
        queue.heir.send_replace(None);
        Ok(queue)
    }

    /// Lets the leader resign, and stand again once the next one leads; returns the time in
    /// between.
    pub(super) async fn turn(&mut self) -> Outcome<Duration> {
        self.until_led().await?;
        let Some(leader) = self.leader.take() else {
            return failed("no leader");
        };
        self.heir.send_replace(Some((leader + 1) % self.resignations.len()));
        let start = Instant::now();
        if let Some(resign) = self.resignations.get(leader) {
            let _ = resign.send(());
        }
        let mut is_in_place = false;
        let mut since = None;
        while !is_in_place || since.is_none() {
            match self.reports.recv().await {
                Some(Report::Leads(number, at)) => {
                    self.leader = Some(number);
                    since = Some(at);
                }
                Some(Report::InPlace) => is_in_place = true,
                Some(Report::Failed(reason)) => return failed(reason),
                None => return failed("no candidates"),
            }
        }
        self.heir.send_replace(None);
        Ok(since.map_or(Duration::ZERO, |at| at.duration_since(start)))
    }

    async fn until_in_place(&mut self, mut count: usize) -> Outcome<()> {
        while count > 0 {
            match self.reports.recv().await {
                Some(Report::Leads(number, _)) => self.leader = Some(number),
                Some(Report::InPlace) => count -= 1,
                Some(Report::Failed(reason)) => return failed(reason),
                None => return failed("no candidates"),
            }
        }
        Ok(())
    }

    async fn until_led(&mut self) -> Outcome<()> {
        while self.leader.is_none() {
            match self.reports.recv().await {
                Some(Report::Leads(number, _)) => self.leader = Some(number),
                Some(Report::InPlace) => {}
                Some(Report::Failed(reason)) => return failed(reason),
                None => return failed("no candidates"),
            }
        }
        Ok(())
    }
}

//! Showing others how the nominee is: over HTTP, and to the service manager.

use std::sync::Arc;

use election_tokio::{Client, Follow};
use tokio::time::{Instant, interval};

use super::board::{BEAT, Board};
use super::http::Bound;
use super::notifier::{Notifier, Watchdog};
use super::part::Part;
use crate::args::RunArgs;
use crate::failure::Failure;

/// Shows what has changed.
pub(super) struct Announcer {
    board: Arc<Board>,
    notifier: Notifier,
    part: Part,
}

impl Announcer {
    /// Shows how a nominee is that does not stand yet.
    pub(super) fn start(
        args: &RunArgs,
        client: &Client,
        http: Option<Bound>,
    ) -> Result<Self, Failure> {
        let board = Arc::new(Board::new(args.election.clone(), client.clone()));
        let notifier = Notifier::from_env();
        tokio::spawn(beat(Arc::clone(&board), notifier.watchdog()));
        if let Some(http) = http {
            let mut observer =
                args.in_election(client).observe(Follow::LeaderAndAcknowledgement)?;
            http.serve(Arc::clone(&board))?;
            let board = Arc::clone(&board);
            tokio::spawn(async move {
                while let Some(seen) = observer.next().await {
                    board.show_leader(seen);
                }
            });
        }
        let mut announcer = Self { board, notifier, part: Part::Outside };
        announcer.notifier.tell(&Part::Outside);
        Ok(announcer)
    }

    /// Shows it if it is new.
    pub(super) fn show(&mut self, part: Part) {
        if part != self.part {
            self.board.show_part(part.clone());
            self.notifier.tell(&part);
            self.part = part;
        }
    }
}

/// Shows that the runtime turns, on which the nominee and its client are.
async fn beat(board: Arc<Board>, watchdog: Option<Watchdog>) {
    let pace = watchdog.as_ref().map_or(BEAT, |watchdog| BEAT.min(watchdog.pace()));
    let mut beats = interval(pace.max(core::time::Duration::from_millis(1)));
    let mut fed: Option<Instant> = None;
    loop {
        let now = beats.tick().await;
        board.beat();
        if let Some(watchdog) = &watchdog
            && fed.is_none_or(|fed| now + pace >= fed + watchdog.pace())
        {
            watchdog.feed();
            fed = Some(now);
        }
    }
}

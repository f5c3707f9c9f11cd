//! Publishes the nominee's state: over HTTP, and to the service manager.

use std::sync::Arc;

use election_tokio::Client;
use election_tokio::election::Follow;
use tokio::time::interval;

use super::board::Board;
use super::http::Bound;
use super::notifier::{Notifier, Watchdog};
use super::part::Part;
use crate::args::RunArgs;
use crate::failure::Failure;

/// Publishes changes.
pub(super) struct Announcer {
    board: Arc<Board>,
    notifier: Notifier,
    part: Part,
}

impl Announcer {
    /// Starts to publish the state of a nominee that does not stand yet.
    pub(super) fn start(
        args: &RunArgs,
        client: &Client,
        http: Option<Bound>,
    ) -> Result<Self, Failure> {
        let board = Arc::new(Board::new(args.election.clone(), client.clone()));
        let notifier = Notifier::from_env();
        if let Some(watchdog) = notifier.watchdog() {
            tokio::spawn(feed(watchdog, client.clone()));
        }
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

    /// Publishes the part if it is new.
    pub(super) fn show(&mut self, part: Part) {
        if part != self.part {
            self.board.show_part(part.clone());
            self.notifier.tell(&part);
            self.part = part;
        }
    }
}

/// Feeds the watchdog, from the runtime of nominee and client: if that hangs, it is not fed.
async fn feed(watchdog: Watchdog, client: Client) {
    let mut feedings = interval(watchdog.pace());
    loop {
        feedings.tick().await;
        if client.health().is_live() {
            watchdog.feed();
        }
    }
}

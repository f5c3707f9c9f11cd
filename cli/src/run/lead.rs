//! A leadership, with its requests and acknowledgements while COMMAND runs.

use core::future::pending;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use election_tokio::TransactionError;
use election_tokio::election::{
    BetterCandidate, GaveWay, Leadership, NominationEnded, PreferBetter, StepDownRequested,
};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::part::Term;

/// How long to wait after a publication that failed temporarily.
const PAUSE: Duration = Duration::from_secs(1);

/// The reaction when a client asks the leader to step down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnStepDownRequest {
    /// COMMAND is stopped, and the nominee stands again behind the others.
    Consent,
    /// Requests are not observed.
    Ignore,
}

/// A leadership and its tasks. Dropping it ends the tasks; the nominee leads on.
pub(super) struct Lead {
    leadership: Arc<Leadership>,
    since: SystemTime,
    tasks: JoinSet<Option<LeadNews>>,
    /// The latest line, while an earlier one is being published.
    next_line: Option<String>,
    publishing: Publishing,
    /// News that were not returned yet.
    come: VecDeque<LeadNews>,
    request: Request,
}

enum Request {
    None,
    Made,
    /// A better candidate is the next.
    For(BetterCandidate),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Publishing {
    No,
    UnderWay,
}

/// News of a leadership's tasks.
pub(super) enum LeadNews {
    StepDownRequested(StepDownRequested),
    /// It is to lead in place of this leader.
    Better(BetterCandidate),
    /// Others can now see that COMMAND has taken over, and this line with it.
    Acknowledged(String),
    NotAcknowledged(TransactionError),
}

impl Lead {
    pub(super) fn new(
        leadership: Leadership,
        on_request: OnStepDownRequest,
        prefer: PreferBetter,
    ) -> Self {
        let leadership = Arc::new(leadership);
        let mut tasks = JoinSet::new();
        if on_request == OnStepDownRequest::Consent {
            let leadership = Arc::clone(&leadership);
            tasks.spawn(async move {
                let request = leadership.step_down_requests().next_ready().await.ok()?;
                Some(LeadNews::StepDownRequested(request))
            });
        }
        if !matches!(prefer, PreferBetter::Never) {
            let leadership = Arc::clone(&leadership);
            tasks.spawn(async move {
                Some(LeadNews::Better(leadership.better_candidate(&prefer).await.ok()?))
            });
        }
        Self {
            leadership,
            since: SystemTime::now(),
            tasks,
            next_line: None,
            publishing: Publishing::No,
            come: VecDeque::new(),
            request: Request::None,
        }
    }

    pub(super) fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    pub(super) fn term(&self) -> Term {
        Term { token: self.leadership.token().get(), since: self.since }
    }

    pub(super) fn is_asked_to_step_down(&self) -> bool {
        !matches!(self.request, Request::None)
    }

    /// Publishes that COMMAND has taken over, with this line, which replaces an earlier one.
    pub(super) fn acknowledge(&mut self, line: String) {
        if self.publishing == Publishing::UnderWay {
            self.next_line = Some(line);
            return;
        }
        self.publishing = Publishing::UnderWay;
        let leadership = Arc::clone(&self.leadership);
        self.tasks.spawn(async move { published(&leadership, line).await });
    }

    /// Returns news since the last look.
    pub(super) fn news(&mut self) -> Option<LeadNews> {
        while let Some(ended) = self.tasks.try_join_next() {
            self.come.extend(ended.ok().flatten());
        }
        let news = self.come.pop_front()?;
        match &news {
            LeadNews::StepDownRequested(_) => self.request = Request::Made,
            LeadNews::Better(better) => self.request = Request::For(better.clone()),
            LeadNews::Acknowledged(_) | LeadNews::NotAcknowledged(_) => {
                self.publishing = Publishing::No;
                if let Some(line) = self.next_line.take() {
                    self.acknowledge(line);
                }
            }
        }
        Some(news)
    }

    /// Waits for news.
    ///
    /// Cancel safe: news are kept.
    pub(super) async fn changed(&mut self) {
        match self.tasks.join_next().await {
            Some(ended) => self.come.extend(ended.ok().flatten()),
            None => pending().await,
        }
    }

    /// Steps down for a better candidate, if it is asked for one. That may have gone.
    pub(super) async fn give_way(&self) -> GaveWay {
        match &self.request {
            Request::For(better) => match self.leadership.step_down_for(better).await {
                Ok(gave_way) => gave_way,
                // A leadership that is lost is stepped down from, too.
                Err(_) => GaveWay::SteppedDown,
            },
            Request::None | Request::Made => GaveWay::SteppedDown,
        }
    }

    /// Ends the leadership, and waits until the nominee stands again.
    ///
    /// Cancel safe: once polled, the leadership is over.
    pub(super) async fn step_down(self) -> Result<(), NominationEnded> {
        let Self { leadership, mut tasks, .. } = self;
        tasks.shutdown().await;
        match Arc::into_inner(leadership) {
            Some(leadership) => leadership.step_down().await,
            // Only the tasks had other handles.
            None => Ok(()),
        }
    }
}

/// Publishes a line, unless the leadership ends or the server refuses.
async fn published(leadership: &Leadership, line: String) -> Option<LeadNews> {
    loop {
        match leadership.acknowledge(line.as_bytes()).await {
            Ok(()) => return Some(LeadNews::Acknowledged(line)),
            Err(TransactionError::NotHeld) => return None,
            Err(error) if error.code().is_some() => return Some(LeadNews::NotAcknowledged(error)),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

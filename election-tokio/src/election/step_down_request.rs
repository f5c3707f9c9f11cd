//! Requests to a leader to step down.

use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use election_core::Token;
use election_core::election::{Observed, Subject};
use tokio::time::Instant;
use zk_jute::{OpCode, Version};

use super::Election;
use super::inner::LeadershipLost;
use super::leadership::Leadership;
use super::observation::Data;
use super::verdict::VerifyError;
use crate::Error;
use crate::client::CreateMode;
use crate::error::Place;
use crate::recipe::{RecipeUpdate, Standing};

/// The suffix that makes the path of the request from that of the election.
pub(super) const SUFFIX: &str = ".step-down";

/// The step that errors name.
const ASK: &str = "ask the leader to step down";

/// A request of a client that this leader steps down.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepDownRequested {
    /// The name that the client gives itself.
    pub by: String,
    /// The reason.
    pub reason: String,
    /// When the leader should have stepped down: the client's time after this leader heard of the
    /// request.
    pub deadline: Instant,
    /// The candidate that the leadership should be [handed over](Leadership::hand_over) to; `None`:
    /// the next one.
    pub to: Option<Token>,
}

/// The outcome of a request to step down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepDownRequest {
    /// The leader with this token is asked. It decides by itself.
    Made(Token),
    /// No candidate stands, so none is asked.
    NoLeader,
}

/// Why a leader was not asked to step down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepDownRequestError {
    /// It is not known which candidate leads.
    #[error(transparent)]
    Leader(#[from] VerifyError),
    /// The request could not be written.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: Error,
    },
}

impl Election {
    /// Asks the present leader to step down within a time. The leader hears of it by
    /// [`Leadership::step_down_requested`]. Nothing forces it to step down; see
    /// [`Election::evict`].
    ///
    /// The request is in the persistent znode `ELECTION.step-down`, and replaces an earlier one. It
    /// has the leader's token, so a later leader ignores it. Only the first line of `by` counts.
    ///
    /// Cancel safe: the leader may still be asked.
    ///
    /// # Errors
    ///
    /// [`StepDownRequestError`]. It may be called again.
    pub async fn request_step_down(
        &self,
        by: &str,
        reason: &str,
        within: Duration,
    ) -> Result<StepDownRequest, StepDownRequestError> {
        self.request((by, reason), None, within).await
    }

    pub(super) async fn request(
        &self,
        (by, reason): (&str, &str),
        to: Option<Token>,
        within: Duration,
    ) -> Result<StepDownRequest, StepDownRequestError> {
        let Some(token) = self.first_token().await? else {
            return Ok(StepDownRequest::NoLeader);
        };
        let to = to.map(|to| format!("to: {to}\n")).unwrap_or_default();
        let (by, millis) = (by.lines().next().unwrap_or_default(), within.as_millis());
        let text = format!("token: {token}\nwithin: {millis}\nby: {by}\n{to}\n{reason}");
        let failed = |error| StepDownRequestError::Request { at: self.place(ASK), error };
        let path = self.mark(OpCode::SET_DATA, SUFFIX).map_err(failed)?;
        let content = Bytes::from(text);
        loop {
            match self.spot.client.set_data(&path, content.clone(), Version::ANY).await {
                Ok(_) => return Ok(StepDownRequest::Made(token)),
                Err(error) if error.is_no_node() => {}
                Err(error) => return Err(failed(error)),
            }
            let mode = CreateMode::Persistent;
            match self
                .spot
                .client
                .create_with_acl(&path, content.clone(), mode, self.spot.acls())
                .await
            {
                Ok(_) => return Ok(StepDownRequest::Made(token)),
                Err(error) if error.is_node_exists() => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

/// The requests to a leader to step down, one after another: the last one that was made, and each
/// later one. Of several that come before the leader asks for the next, it gets the last.
///
/// It has one more watch on the server until it is dropped.
#[derive(Debug)]
pub struct StepDownRequests {
    pub(super) leadership: Leadership,
    standing: Standing<Observed<Data>>,
}

impl StepDownRequests {
    /// Waits for the next request.
    ///
    /// Cancel safe: nothing is lost.
    ///
    /// # Errors
    ///
    /// [`LeadershipLost`], if the leadership was lost before a client asked.
    pub async fn next(&mut self) -> Result<StepDownRequested, LeadershipLost> {
        let Self { leadership, standing } = self;
        let requested = async {
            loop {
                match standing.next().await {
                    Some(RecipeUpdate::Notice(Observed::Present(mark))) => {
                        if let Some(request) = read(leadership.token(), mark.data.bytes()) {
                            return Ok(request);
                        }
                    }
                    Some(RecipeUpdate::Notice(Observed::Ended(_)) | RecipeUpdate::Over(_))
                    | None => {
                        // The request may not be read, so none is heard of; or the client has
                        // ended.
                        return Err(leadership.loss().await);
                    }
                    Some(_) => {}
                }
            }
        };
        match leadership.guard(requested).await {
            Ok(outcome) => outcome,
            Err(lost) => Err(lost),
        }
    }
}

impl Leadership {
    /// Waits until a client asks this leader to [step down](Leadership::step_down); at once if one
    /// has. To consent, step down; otherwise do nothing. Called again, it returns the last request
    /// once more: see [`Leadership::step_down_requests`].
    ///
    /// Cancel safe: nothing is lost.
    ///
    /// # Errors
    ///
    /// Those of [`StepDownRequests::next`].
    pub async fn step_down_requested(&self) -> Result<StepDownRequested, LeadershipLost> {
        self.step_down_requests().next().await
    }

    /// Observes requests to [step down](Leadership::step_down).
    pub fn step_down_requests(&self) -> StepDownRequests {
        let observer = election_core::election::Observer::<Data>::new(Subject::Mark(SUFFIX));
        let standing =
            self.client().stand_at(Arc::clone(&self.nomination().facts.settings.site), observer);
        StepDownRequests { leadership: self.clone(), standing }
    }
}

fn read(token: Token, mark: &[u8]) -> Option<StepDownRequested> {
    let (head, reason) = core::str::from_utf8(mark).ok()?.split_once("\n\n")?;
    let mut lines = head.lines();
    let for_token = lines.next()?.strip_prefix("token: ")?;
    let within: u64 = lines.next()?.strip_prefix("within: ")?.parse().ok()?;
    let by = lines.next()?.strip_prefix("by: ")?;
    let to = match lines.next() {
        Some(line) => Some(Token::new(line.strip_prefix("to: ")?.parse().ok()?)),
        None => None,
    };
    let now = Instant::now();
    let deadline = now.checked_add(Duration::from_millis(within)).unwrap_or(now);
    (for_token == token.to_string()).then(|| StepDownRequested {
        by: by.to_owned(),
        reason: reason.to_owned(),
        deadline,
        to,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_for_the_leader_whose_token_it_has() {
        let token = Token::new(42);
        let text = "token: 42\nwithin: 1500\nby: ops\n\nnew disks\n\nsoon";
        let request = read(token, text.as_bytes()).expect("a request");
        assert_eq!((request.by.as_str(), request.reason.as_str()), ("ops", "new disks\n\nsoon"));
        assert_eq!(read(Token::new(4), text.as_bytes()), None);
        for cut in 0..32 {
            assert_eq!(read(token, &text.as_bytes()[..cut]), None, "{cut}");
        }
        assert_eq!(request.to, None);
        assert_eq!(read(token, b"\xff\n\n"), None);
        let text = "token: 42\nwithin: 1500\nby: ops\nto: 57\n\nnew disks";
        assert_eq!(read(token, text.as_bytes()).and_then(|it| it.to), Some(Token::new(57)));
    }
}

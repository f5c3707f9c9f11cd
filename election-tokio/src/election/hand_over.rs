//! Handing the leadership over to a candidate.

use core::future::pending;
use core::pin::pin;
use core::time::Duration;

use election_core::Token;
use election_core::election::WhenPromoted;
use election_core::format::Access;
use election_core::name::Sequence;
use futures_util::future::{Either, select};
use tokio::time::{Instant, timeout, timeout_at};
use zk_jute::Version;

use super::candidates::Candidate;
use super::inner::LeadershipLost;
use super::leadership::Leadership;
use super::observation::{Follow, Observation};
use super::status::LostReason;
use super::step_down_request::{StepDownRequestError, StepDownRequested, StepDownRequests};
use super::verdict::VerifyError;
use super::{Election, ElectionError};
use crate::Error;
use crate::client::{CreateMode, Obstacle, TransactionError};
use crate::error::Place;
use crate::path::child_path;

/// The outcome of a hand-over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// The leadership goes to the candidate with this token. For the leader that hands it over: it
    /// has stepped down, and no candidate stood between the two.
    To(Token),
    /// The time has passed, and the leader leads on. Lists the candidates that were still ahead,
    /// the leader first if it did not consent. Some nominees may stand behind the candidate by now.
    Refused {
        /// Their tokens, in order.
        by: Vec<Token>,
    },
}

/// Why a leadership was not handed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandOverError {
    /// In this format participants would not stand behind another one.
    #[error(
        "{at}: in this format no leadership is handed over: its participants would not give way"
    )]
    ForeignFormat {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// The candidate is the leader's own.
    #[error("{at}: the candidate leads already")]
    LeadsAlready {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// No candidate with this token stood when the hand-over began: it had gone, or never was. The
    /// leader leads on. Take another one of [`Election::candidates`].
    #[error("{at}: no candidate with the token {token} stands")]
    NoCandidate {
        /// The recipe, its path and the step.
        at: Place,
        /// The token that was asked for.
        token: Token,
    },
    /// The candidate stood when the hand-over began, and has gone since: its nominee withdrew, its
    /// session ended, or it was evicted. The leader leads on, unless it was about to step down. Take
    /// another one of [`Election::candidates`].
    #[error("{at}: the candidate {name}, with the token {token}, has gone")]
    CandidateGone {
        /// The recipe, its path and the step.
        at: Place,
        /// Its token.
        token: Token,
        /// The name of its znode.
        name: String,
    },
    /// The leadership was lost before it was handed over.
    #[error("{at}: the leadership was lost: {lost}")]
    Lost {
        /// The recipe, its path and the step.
        at: Place,
        /// The reason.
        lost: LostReason,
    },
    /// It is not known which candidate leads.
    #[error(transparent)]
    Leader(#[from] VerifyError),
    /// A request failed. The call may be repeated.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: Error,
    },
    /// The mark that asks the nominees between was refused.
    #[error("{at}: {error}")]
    Transaction {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: TransactionError,
    },
}

impl From<StepDownRequestError> for HandOverError {
    fn from(error: StepDownRequestError) -> Self {
        match error {
            StepDownRequestError::Leader(error) => Self::Leader(error),
            StepDownRequestError::Request { at, error } => Self::Request { at, error },
        }
    }
}

impl From<ElectionError> for HandOverError {
    fn from(error: ElectionError) -> Self {
        Self::Leader(error.into())
    }
}

/// The step that errors name.
const HAND_OVER: &str = "hand over";

/// The time after which a leader wakes the candidate behind it once more, twice as long each time.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);

impl Election {
    /// Asks the leader to hand the leadership over to the candidate with this token, within a time,
    /// and waits for the outcome. The leader hears of it by [`Leadership::step_down_requested`],
    /// and consents by [`Leadership::hand_over`]. The nominees between consent by
    /// [`Election::when_asked`]. Nothing forces any of them.
    ///
    /// It observes the leader, and watches the candidate: two watches of this client, and none of
    /// any nominee. So it returns as soon as the candidate leads, or has gone.
    ///
    /// Cancel safe: the leadership may still be handed over.
    ///
    /// # Errors
    ///
    /// [`HandOverError`], which is [`CandidateGone`](HandOverError::CandidateGone) once the
    /// candidate has gone. It may be called again.
    pub async fn hand_over(
        &self,
        to: Token,
        by: &str,
        reason: &str,
        within: Duration,
    ) -> Result<HandOver, HandOverError> {
        let at = self.place(HAND_OVER);
        if self.format.end_mark().is_none() {
            return Err(HandOverError::ForeignFormat { at });
        }
        let deadline = deadline(within);
        let failed = |error| HandOverError::Request { at: self.place(HAND_OVER), error };
        let Some((target, ahead)) = self.ahead_of(to).await.map_err(failed)? else {
            return Err(HandOverError::NoCandidate { at, token: to });
        };
        if ahead.is_empty() {
            return Err(HandOverError::LeadsAlready { at });
        }
        self.request((by, reason), Some(to), within).await?;
        // Tokens grow along the queue, so a leader with a later token leads only once this one has
        // gone.
        let mut observer = self.observe(Follow::Leader)?;
        let is_over = |seen: &Observation| seen.leader().is_some_and(|leader| leader.token >= to);
        let led = pin!(observer.wait_for(is_over));
        let gone = pin!(self.is_gone(&target));
        // The first one counts if both are so.
        match timeout_at(deadline, select(led, gone)).await {
            Ok(Either::Left((Ok(seen), _))) => match seen.leader() {
                Some(leader) if leader.token == to => Ok(HandOver::To(to)),
                _ => Err(target.gone(at)),
            },
            Ok(Either::Left((Err(_), _))) => Err(VerifyError::ClientClosed { at }.into()),
            Ok(Either::Right(_)) => Err(target.gone(at)),
            Err(_) => match self.ahead_of(to).await.map_err(failed)? {
                None => Err(target.gone(at)),
                Some((_, ahead)) if ahead.is_empty() => Ok(HandOver::To(to)),
                Some((_, ahead)) => Ok(HandOver::Refused { by: tokens(&ahead) }),
            },
        }
    }

    /// Waits until a candidate has gone. Goes on for ever if that cannot be found out.
    async fn is_gone(&self, candidate: &Candidate) {
        let path = child_path(&self.spot.path, &candidate.name);
        loop {
            match self.spot.client.exists_and_watch(&path).await {
                Ok((Some(stat), changed)) if stat.czxid.get() == candidate.token.get() => {
                    // Whatever it returns, the next look shows it.
                    let _changed = changed.await;
                }
                Ok(_) => return,
                Err(error) => match Obstacle::of(&error) {
                    Some(obstacle) => self.spot.client.pass(obstacle).await,
                    None => return pending().await,
                },
            }
        }
    }

    /// Deletes marks of hand-overs that were given up.
    async fn delete_other_marks(&self, mark: &str) -> Result<(), Error> {
        for name in self.spot.client.get_children(&self.spot.path).await?.iter() {
            let path = child_path(&self.spot.path, name);
            if self.format.parse_hand_over_mark(name).is_some() && path != mark {
                match self.spot.client.delete(&path, Version::ANY).await {
                    Err(error) if !error.is_no_node() => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the candidate with this token, and the candidates ahead of it, in their order.
    async fn ahead_of(&self, token: Token) -> Result<Option<(Candidate, Vec<Candidate>)>, Error> {
        let mut ahead = Vec::new();
        let mut candidates = self.read_candidates().await?;
        while let Some(candidate) = candidates.next().await? {
            if candidate.token == token {
                return Ok(Some((candidate, ahead)));
            }
            ahead.push(candidate);
        }
        Ok(None)
    }
}

impl StepDownRequests {
    /// Waits for the next request that the leader can satisfy by stepping down at once. A request
    /// that names a candidate waits until that candidate is next behind the leader
    /// ([`Leadership::make_way`]), and is passed over if that does not happen.
    ///
    /// Cancel safe: nominees ahead of the candidate may still stand behind it.
    ///
    /// # Errors
    ///
    /// Those of [`StepDownRequests::next`].
    pub async fn next_ready(&mut self) -> Result<StepDownRequested, LeadershipLost> {
        loop {
            let request = self.next().await?;
            let Some(to) = request.to else {
                return Ok(request);
            };
            let within = request.deadline.saturating_duration_since(Instant::now());
            // Boxed, since it is large, and rare.
            let way = Box::pin(self.leadership.make_way(to, within));
            if let Ok(HandOver::To(_)) = way.await {
                return Ok(request);
            }
        }
    }
}

impl Leadership {
    /// Hands the leadership over to the candidate with this token. It asks the nominees between to
    /// stand behind the candidate, waits until none is between, and then [steps
    /// down](Leadership::step_down), so that the candidate leads next, with a greater token. Until
    /// then this leader leads, and works. End the work when this returns [`HandOver::To`], as after
    /// [`LostReason::SteppedDown`], which [`Leadership::lost`] returns at that moment.
    ///
    /// It asks the nominees by an ephemeral child of the election node that names the candidate
    /// (`hand-over-to-0000000017-`), and wakes the nominee of the candidate behind it, which sees the child in
    /// a list. Each that makes way wakes the next one by that. This costs no nominee a watch or, while nothing is
    /// handed over, a request. Nominees of earlier releases, of other libraries, and those behind a leader with
    /// [`WhenPromoted::Rests`] see the child at their next look: then `within` should be longer than the [look
    /// interval](crate::ClientBuilder::look_interval).
    ///
    /// If a nominee between dies meanwhile, the order of the others is kept. Of two hand-overs at
    /// one time, all nominees follow the one to the later candidate.
    ///
    /// Cancel safe: the leader leads on. The mark stays until the next hand-over or the end of the
    /// session, and nominees ahead of the candidate may still stand behind it.
    ///
    /// # Errors
    ///
    /// [`HandOverError`]; the leader leads on, unless it has lost the leadership. It is
    /// [`CandidateGone`](HandOverError::CandidateGone) as soon as the candidate has gone.
    pub async fn hand_over(&self, to: Token, within: Duration) -> Result<HandOver, HandOverError> {
        let outcome = self.make_way(to, within).await?;
        if let HandOver::To(_) = outcome {
            self.end_term();
        }
        Ok(outcome)
    }

    /// Does the first part of [`Leadership::hand_over`], for a leader with work to end. Once this
    /// returns [`HandOver::To`], the candidate is the next behind this leader, which leads on. When
    /// the work is over, [step down](Leadership::step_down).
    ///
    /// Cancel safe, as [`Leadership::hand_over`].
    ///
    /// # Errors
    ///
    /// Those of [`Leadership::hand_over`].
    pub async fn make_way(&self, to: Token, within: Duration) -> Result<HandOver, HandOverError> {
        let election = self.election();
        let at = election.place(HAND_OVER);
        if to == self.token() {
            return Err(HandOverError::LeadsAlready { at });
        }
        let failed = |error| HandOverError::Request { at: election.place(HAND_OVER), error };
        let Some((target, _)) = election.ahead_of(to).await.map_err(failed)? else {
            return Err(HandOverError::NoCandidate { at, token: to });
        };
        let mark = election.format.hand_over_mark(target.sequence);
        let Some(mark) = mark else {
            return Err(HandOverError::ForeignFormat { at });
        };
        let mark = child_path(&election.spot.path, mark.to_string());
        election.delete_other_marks(&mark).await.map_err(failed)?;
        let asking = self.transaction().create_with_acl(
            &mark,
            "",
            CreateMode::Ephemeral,
            election.spot.acls(),
        );
        match asking.commit().await {
            // The mark is one of a hand-over that was given up.
            Err(error) if error.is_node_exists() => {}
            Err(TransactionError::NotHeld) => {
                return Err(HandOverError::Lost { at, lost: self.lost().await });
            }
            Err(error) => return Err(HandOverError::Transaction { at, error }),
            Ok(_) => {}
        }
        let waiting = self.until_next(&election, &target);
        let outcome = match self.guard(timeout_at(deadline(within), waiting)).await {
            Err(loss) => Err(HandOverError::Lost { at, lost: loss.lost }),
            Ok(Ok(Ok(Wait::IsNext))) => Ok(HandOver::To(to)),
            Ok(Ok(Ok(Wait::IsGone))) => Err(target.gone(at)),
            Ok(Ok(Err(error))) => Err(failed(error)),
            Ok(Err(_)) => self.refused(&election, &target).await,
        };
        // If this fails, the end of the session deletes it.
        drop(election.spot.client.delete(&mark, Version::ANY).await);
        outcome
    }

    pub(super) fn election(&self) -> Election {
        let facts = &self.nomination().facts;
        let (site, format) = (&facts.settings.site, facts.settings.format);
        let when_promoted = facts.settings.when_promoted;
        let acls = site.acl_list().entries().into_iter().collect();
        let election = Election::new(self.client().clone(), site.path()).acls(acls);
        election.when_promoted(when_promoted).format(format)
    }

    /// Waits until no candidate is between. No new one comes there: each that joins has a greater
    /// number.
    async fn until_next(&self, election: &Election, target: &Candidate) -> Result<Wait, Error> {
        let (own, to) = (self.candidate().sequence(), target.sequence);
        let mut patience = FIRST_PATIENCE;
        loop {
            let children = match election.spot.client.get_children(&election.spot.path).await {
                Ok(children) => children,
                Err(error) if error.is_no_node() => return Ok(Wait::IsGone),
                Err(error) => return Err(error),
            };
            let numbered = |name| Some((election.format.rival(Access::Exclusive, name)?, name));
            let between = |(number, _): &(Sequence, &str)| own < *number && *number < to;
            let between = || children.iter().filter_map(numbered).filter(between);
            if !children.iter().any(|name| name == target.name) {
                return Ok(Wait::IsGone);
            }
            let (Some((_, first)), Some((_, last))) = (between().min(), between().max()) else {
                return Ok(Wait::IsNext);
            };
            self.wake(election, first).await;
            let paths = [last, &target.name].map(|name| child_path(&election.spot.path, name));
            let (exists, last) = election.spot.client.exists_and_watch(&paths[0]).await?;
            let (target_exists, target) = election.spot.client.exists_and_watch(&paths[1]).await?;
            if exists.is_some() && target_exists.is_some() {
                // Whatever it returns, the next list shows it. The one behind may have been about to set the
                // watch by which it is woken.
                drop(timeout(patience, select(last, target)).await);
                patience = patience.saturating_mul(2);
            }
        }
    }

    /// Wakes the nominee of the candidate behind this leader's, so that it looks, and finds the mark. A failure
    /// is none of the hand-over: at its next look that nominee finds the mark, too.
    async fn wake(&self, election: &Election, next: &str) {
        let rests = election.when_promoted == WhenPromoted::Rests;
        if rests || !election.format.is_wakeable(next) {
            return;
        }
        let own = child_path(&election.spot.path, self.candidate().to_string());
        let Ok((data, stat)) = election.spot.client.get_data(&own).await else {
            return;
        };
        // Another participant than the one behind would lose the watch that it has.
        let waking = self.transaction().check(&child_path(&election.spot.path, next), Version::ANY);
        drop(waking.set_data(&own, data, stat.version).commit().await);
    }

    async fn refused(
        &self,
        election: &Election,
        target: &Candidate,
    ) -> Result<HandOver, HandOverError> {
        let (own, at) = (self.token(), election.place(HAND_OVER));
        match election.ahead_of(target.token).await {
            Err(error) => Err(HandOverError::Request { at, error }),
            Ok(None) => Err(target.gone(at)),
            Ok(Some((_, mut ahead))) => {
                ahead.retain(|candidate| own < candidate.token);
                Ok(HandOver::Refused { by: tokens(&ahead) })
            }
        }
    }
}

impl Candidate {
    fn gone(&self, at: Place) -> HandOverError {
        HandOverError::CandidateGone { at, token: self.token, name: self.name.clone() }
    }
}

enum Wait {
    IsNext,
    IsGone,
}

fn tokens(candidates: &[Candidate]) -> Vec<Token> {
    candidates.iter().map(|candidate| candidate.token).collect()
}

fn deadline(within: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(within).unwrap_or_else(|| now + FAR)
}

/// A time that every clock can reach.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

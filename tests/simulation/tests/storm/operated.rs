//! An election that is ended and reopened, handed over, given up in all ways there are, and led with a lock delay.

use core::time::Duration;
use std::sync::Arc;

use election_tokio::election::{
    Election, EndReason, HandOver, HandOverError, Leadership, LostReason, Nomination,
    NominationError,
};
use election_tokio::{Client, ErrorCode, Token};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::epochs::{EndsBy, QUIET};
use crate::laws::Laws;
use crate::life::{LONG, Life};
use crate::network::Way;
use crate::servers::TICK;

/// Where it is held.
pub(crate) const OPERATED: &str = "/operated";
pub(crate) const LOCK_DELAY: Duration = Duration::from_millis(1500);

/// The time within which a leader wants to hand over: a look of each nominee, and what a request takes.
const WITHIN: Duration = LONG;

/// The error code of a server that has too much to do. A service stands again.
const THROTTLED: i32 = ErrorCode::THROTTLED_OP.get();

/// How a leader ends its term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Resign,
    StepDown,
    /// It drops its nomination, and all that follows from it.
    Drop,
    /// It steps down although its work may go on.
    StepDownUncleanly,
    HandOver,
}

/// Whether the nomination goes on behind a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    StandsOn,
    StandsAnew,
}

/// A term of office, of which the laws are told how it ended.
struct Term {
    laws: Laws,
    process: usize,
    token: Token,
}

impl Term {
    /// The leadership was lost for a reason that is no word of its leader.
    fn lost(self) {
        self.laws.term_is_lost(self.token);
    }
}

impl Drop for Term {
    /// A nomination that is dropped with its task says that the work has ended, unless the process was
    /// killed first.
    fn drop(&mut self) {
        self.laws.term_is_over(self.process, self.token);
    }
}

fn operated(client: &Client) -> Election {
    client.election(OPERATED).lock_delay(LOCK_DELAY)
}

impl Life {
    /// Stands in it again and again.
    pub(crate) async fn stand_in_the_operated(self, mut rng: fastrand::Rng) {
        while let Ok(nomination) = operated(&self.client).nominate() {
            let Some(()) = self.serve(nomination, &mut rng).await else {
                return;
            };
            sleep(Duration::from_millis(rng.u64(0..1_000))).await;
        }
    }

    /// Serves until the nomination is over; `None` once the client is closed.
    async fn serve(&self, mut nomination: Nomination, rng: &mut fastrand::Rng) -> Option<()> {
        loop {
            match nomination.elected().await.map_err(|ended| ended.reason) {
                Ok(leadership) => {
                    let leadership = Arc::new(leadership);
                    self.laws.operated_by(self.number, &leadership);
                    match self.lead(leadership, rng).await {
                        Then::StandsOn => {}
                        Then::StandsAnew => return Some(()),
                    }
                }
                Err(EndReason::ClientClosed(_)) => return None,
                Err(EndReason::ElectionEnded) => {
                    self.laws.told_of_an_end(self.number);
                    return Some(());
                }
                Err(
                    EndReason::Resigned(_)
                    | EndReason::Failed(NominationError::Rejected(THROTTLED)),
                ) => return Some(()),
                Err(reason) => {
                    self.laws.broken(format!("{}: {reason}", self.number));
                    return None;
                }
            }
        }
    }

    async fn lead(&self, leadership: Arc<Leadership>, rng: &mut fastrand::Rng) -> Then {
        let (laws, process, token) = (self.laws.clone(), self.number, leadership.token());
        let term = Term { laws, process, token };
        loop {
            let finish = tokio::select! {
                biased;
                lost = leadership.lost() => {
                    self.is_lost(&leadership, lost, term);
                    return Then::StandsOn;
                }
                finish = self.laws.next_finish(rng) => finish,
                never = self.write_in_epoch(&leadership) => never,
            };
            self.laws.tell(|| format!("{process} is to {finish:?} of {token}"));
            match finish {
                Finish::HandOver => match self.hand_over(&leadership, rng).await {
                    Some(HandOver::To(_)) => return Then::StandsOn,
                    Some(HandOver::Refused { .. }) | None => {}
                },
                Finish::Drop => return Then::StandsAnew,
                Finish::Resign => {
                    // The next one may be told before this one is.
                    drop(term);
                    if let Some(leadership) = Arc::into_inner(leadership) {
                        // Whatever it tells: it may be over by another cause.
                        let _ = leadership.resign().await;
                    }
                    return Then::StandsOn;
                }
                Finish::StepDown => {
                    drop(term);
                    if let Some(leadership) = Arc::into_inner(leadership) {
                        let _ = leadership.step_down().await;
                    }
                    return Then::StandsOn;
                }
                Finish::StepDownUncleanly => {
                    leadership.keep_lock_delay();
                    term.lost();
                    if let Some(leadership) = Arc::into_inner(leadership) {
                        let _ = leadership.step_down().await;
                    }
                    return Then::StandsOn;
                }
            }
        }
    }

    fn is_lost(&self, leadership: &Leadership, lost: LostReason, term: Term) {
        self.laws.tell(|| format!("{} has lost {}: {lost}", self.number, leadership.token()));
        if leadership.is_valid() {
            self.laws.broken(format!("{} leads after its leadership was lost", self.number));
        }
        if let LostReason::SessionExpired | LostReason::LeaseLapsed | LostReason::Evicted = lost {
            term.lost();
        }
    }

    /// Hands the leadership over to one of the others; returns the outcome, if there was one.
    async fn hand_over(
        &self,
        leadership: &Leadership,
        rng: &mut fastrand::Rng,
    ) -> Option<HandOver> {
        let candidates = operated(&self.client).candidates().await.ok()?;
        let others = candidates.iter().map(|candidate| candidate.token);
        let others: Vec<Token> = others.filter(|to| *to != leadership.token()).collect();
        let to = rng.choice(&others).copied()?;
        let outcome = leadership.hand_over(to, WITHIN).await;
        let (process, token) = (self.number, leadership.token());
        self.laws.tell(|| format!("{process} hands {token} over to {to}: {outcome:?}"));
        match outcome {
            Ok(HandOver::To(heir)) => {
                self.laws.handed_over(token, heir);
                if heir != to {
                    self.laws.broken(format!("{process} hands over to {heir} instead of {to}"));
                }
                Some(HandOver::To(heir))
            }
            Ok(refused @ HandOver::Refused { .. }) => {
                self.laws.not_handed_over(token, "it was refused");
                Some(refused)
            }
            Err(error) => {
                self.laws.not_handed_over(token, &error.to_string());
                if let HandOverError::LeadsAlready { .. } | HandOverError::ForeignFormat { .. } =
                    error
                {
                    self.laws.broken(format!("{process}: {error}"));
                }
                None
            }
        }
    }
}

/// A client that is spared what befalls the others, but for what befalls the servers: it ends the election, and
/// reopens it.
pub(crate) struct Operator {
    election: Election,
    laws: Laws,
    rng: fastrand::Rng,
}

impl Operator {
    pub(crate) fn begin(way: &Way, laws: &Laws, mut rng: fastrand::Rng) -> Self {
        let builder = Client::builder(&way.addresses()).connector(way.connector());
        let client = builder.seed(rng.u64(..)).start().expect("the options are good");
        Self { election: operated(&client), laws: laws.clone(), rng }
    }

    /// Ends it and reopens it now and then, until that is to end. Returns itself, with the election open.
    pub(crate) async fn operate(mut self, end: Arc<Notify>) -> Self {
        loop {
            let pause = Duration::from_millis(self.rng.u64(3_000..20_000));
            tokio::select! {
                biased;
                () = end.notified() => return self,
                () = sleep(pause) => {}
            }
            if self.laws.operated_ends_by() == EndsBy::Deletion && self.rng.u8(0..3) > 0 {
                self.delete().await;
                continue;
            }
            self.end().await;
            sleep(Duration::from_millis(self.rng.u64(0..5_000))).await;
            self.reopen().await;
        }
    }

    async fn delete(&self) {
        while let Err(error) = self.election.delete(QUIET).await {
            self.laws.tell(|| format!("the operator, to delete the election: {error}"));
            sleep(TICK).await;
        }
        self.laws.tell(|| "the operated election is deleted".to_owned());
        self.laws.count(|tally| tally.deletions += 1);
    }

    pub(crate) async fn end(&self) {
        while let Err(error) = self.election.end().await {
            self.laws.tell(|| format!("the operator: {error}"));
            sleep(TICK).await;
        }
        self.laws.end_is_acknowledged();
    }

    pub(crate) async fn reopen(&self) {
        self.laws.reopens();
        while let Err(error) = self.election.reopen().await {
            self.laws.tell(|| format!("the operator: {error}"));
            sleep(TICK).await;
        }
    }
}

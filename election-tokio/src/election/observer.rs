//! Observing an election without standing in it.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_core::election::{Observed, Present, Subject};
use election_core::{Phase, Recipe as _};
use election_session::{RecipeEnd, Step, View};
use futures_core::Stream;
use zk_jute::records::EventType;
use zk_session::SessionEnd;

use super::acknowledgement::SUFFIX;
use super::leaderless::{Leader, LeaderSight, LeaderlessSince};
use super::observation::{Data, Follow, Observation, Sight};
use super::{Election, ElectionError};
use crate::broadcast::Sender;
use crate::clock::Clock;
use crate::hub::{Face, Unlocked};
use crate::standing::{RecipeHandle, StandingRecipe};
use crate::telemetry::{Journal, SeenBy};
use crate::updates::{NoMoreUpdates, Updates};

/// Shows which candidate leads an election, without taking part in it; made by
/// [`Election::observe`]. Dropping it removes its watches.
///
/// It has the latest observation and not all of them: it may pass over a leader that led only for a
/// moment. Each observation was true at one moment, and observations never go back, whatever
/// happens to servers and sessions: the tokens of the leaders grow. Without a connection the last
/// observation stays; [`Client::connection_state`](crate::Client::connection_state) shows the connection.
///
/// It is also a [`Stream`] of the changes from now on.
#[must_use = "an observer that is dropped observes nothing"]
pub struct Observer {
    _halves: Vec<StandingRecipe>,
    updates: Updates<Observation>,
}

impl Election {
    /// Observes which candidate leads, without standing: for clients that have to find the leader.
    ///
    /// It watches only the znode of the leader, so nominees that join or withdraw wake no observer.
    /// The end of a leader wakes each observer once, and each lists the candidates once and reads
    /// one. Without candidates, it watches the election node for the first one.
    /// [`Follow::LeaderAndAcknowledgement`] costs a second watch, and so does a znode of another
    /// format that [blocks](Observation::Blocked) the first candidate, for as long as it stands.
    ///
    /// # Errors
    ///
    /// [`ElectionError::InvalidPath`]. The observer reports later errors.
    pub fn observe(&self, follow: Follow) -> Result<Observer, ElectionError> {
        let site = self.site()?;
        let clock = self.spot.client.shared().clock.clone();
        let state = State {
            sight: Mutex::new(Sight::new(follow)),
            leader: Mutex::new(LeaderSight::new(self.label, SeenBy::Observer)),
            leaderless: LeaderlessSince::new(clock.now()),
            clock,
            sender: Sender::new(Observation::Unknown),
        };
        let state = Arc::new(state);
        let updates = Updates::new(state.sender.subscribe());
        let mut subjects = vec![Subject::Leader(self.format)];
        if follow == Follow::LeaderAndAcknowledgement {
            subjects.push(Subject::Mark(SUFFIX));
        }
        let stand = |subject| {
            let machine = election_core::election::Observer::new(subject);
            let face = ObserverFace { state: Arc::clone(&state) };
            RecipeHandle::stand(&self.spot.client, Arc::clone(&site), machine, face).into()
        };
        Ok(Observer { _halves: subjects.into_iter().map(stand).collect(), updates })
    }
}

impl Observer {
    /// Returns the last observation.
    pub fn latest(&self) -> Observation {
        self.updates.latest()
    }

    /// Waits for a new observation. Returns `None` after the end of the client, or after
    /// [`Observation::Failed`].
    ///
    /// Cancel safe: it loses only observations that a later one has replaced.
    pub async fn next(&mut self) -> Option<Observation> {
        self.updates.next().await
    }

    /// Waits for an observation that is as `wanted`, beginning with the latest one.
    ///
    /// Cancel safe: called again, it begins with the latest one.
    ///
    /// # Errors
    ///
    /// [`NoMoreUpdates`] if not even the last one was as `wanted`.
    pub async fn wait_for(
        &mut self,
        wanted: impl FnMut(&Observation) -> bool,
    ) -> Result<Observation, NoMoreUpdates> {
        self.updates.wait_for(wanted).await
    }
}

impl Stream for Observer {
    type Item = Observation;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Observation>> {
        Pin::new(&mut self.updates).poll_next(cx)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("latest", &self.latest()).finish_non_exhaustive()
    }
}

/// The state that the halves of an observer share.
#[derive(Debug)]
struct State {
    sight: Mutex<Sight>,
    leader: Mutex<LeaderSight>,
    leaderless: LeaderlessSince,
    clock: Clock,
    sender: Sender<Observation>,
}

impl State {
    fn leader(&self) -> MutexGuard<'_, LeaderSight> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in whether there is a leader. From its end on there is none until the next one is
    /// seen.
    fn measure(&self, step: &Step<Observed<Data>>, journal: &mut Journal) {
        let (mut leader, now) = (self.leader(), (&self.leaderless, self.clock.now()));
        match &step.notice {
            // A candidate that goes with no session leads nothing.
            Some(Observed::Present(Present { owner: Some(_), .. }) | Observed::Hidden) => {
                leader.see(Leader::Known, now, journal);
            }
            Some(
                Observed::Present(Present { owner: None, .. })
                | Observed::Blocked { .. }
                | Observed::Absent,
            ) => {
                leader.see(Leader::Unknown, now, journal);
            }
            Some(Observed::Ended(_)) => leader.end(journal),
            None if step.woken_by.is_some_and(|wake| wake.kind == EventType::NODE_DELETED) => {
                leader.see(Leader::Unknown, now, journal);
            }
            None => {}
        }
    }
}

/// Shows one half to the holder of the observer.
#[derive(Debug)]
struct ObserverFace {
    state: Arc<State>,
}

impl Face for ObserverFace {
    type Recipe = election_core::election::Observer<Data>;

    fn stepped(
        &mut self,
        observer: &Self::Recipe,
        step: Step<Observed<Data>>,
        _: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        if let Subject::Leader(_) = observer.subject() {
            self.state.measure(&step, &mut unlocked.journal);
        }
        let Some(seen) = step.notice else {
            return;
        };
        let State { sight, sender, .. } = &*self.state;
        let mut sight = sight.lock().unwrap_or_else(PoisonError::into_inner);
        match observer.subject() {
            Subject::Leader(_) => sight.see_leader(seen),
            Subject::Mark(_) => sight.see_mark(seen),
        }
        sender.show(sight.observation(), &mut unlocked.wakers);
        if observer.phase() == Phase::Over {
            sender.end(&mut unlocked.wakers);
        }
    }

    fn over(&mut self, observer: &Self::Recipe, _: RecipeEnd, unlocked: &mut Unlocked) {
        if let Subject::Leader(_) = observer.subject() {
            self.state.leader().end(&mut unlocked.journal);
        }
    }

    fn client_ended(&mut self, _: &Self::Recipe, _: SessionEnd, unlocked: &mut Unlocked) {
        self.state.sender.end(&mut unlocked.wakers);
    }
}

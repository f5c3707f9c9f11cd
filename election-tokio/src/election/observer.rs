//! Looking at an election without standing in it.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_core::{Observed, Phase, Present, Recipe as _, Subject};
use election_session::{RecipeEnd, RecipeKey, Site, Step, View};
use futures_core::Stream;
use zk_jute::records::EventType;

use super::acknowledgement::SUFFIX;
use super::leaderless::{Leader, LeaderSight, LeaderlessSince};
use super::observation::{Data, Follow, Observation, Sight};
use super::{Election, ElectionError};
use crate::broadcast::Sender;
use crate::client::Client;
use crate::clock::Clock;
use crate::hub::{Face, Seat, Unlocked};
use crate::telemetry::{Journal, SeenBy};
use crate::updates::{NoMoreUpdates, Updates};

/// Sees which candidate leads an election, and takes no part in it; made by [`Election::observe`]. Dropping it takes
/// its watches down.
///
/// It has the latest observation, not each: a leader that led for a moment only may be passed over. What
/// it has seen was so at one moment, and never goes back, whatever servers and sessions come and go: the
/// tokens of the leaders that it sees grow. Without a connection the last observation stays; how the
/// connection is, [`Client::connection_state`] says.
///
/// A [`Stream`] of the changes from now on.
#[must_use = "an observer that is dropped observes nothing"]
pub struct Observer {
    client: Client,
    keys: Vec<RecipeKey>,
    updates: Updates<Observation>,
}

impl Election {
    /// Observes which candidate leads, without standing: for clients that are to find the leader.
    ///
    /// It watches the znode of the leader, which changes with the leader alone. A nominee that joins or
    /// withdraws wakes no observer; the end of a leader wakes each once, and each lists the candidates
    /// once, and reads one. Where no candidate stands, the election node is watched for the first one.
    /// What [`Follow::LeaderAndAcknowledgement`] sees besides, costs a second watch.
    ///
    /// # Errors
    ///
    /// [`ElectionError::InvalidPath`]. What goes wrong later, the observer tells.
    pub fn observe(&self, follow: Follow) -> Result<Observer, ElectionError> {
        let site = self.site()?;
        let clock = self.client.shared().clock.clone();
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
        let stand = |subject| stand(&self.client, &site, subject, Arc::clone(&state));
        let keys = subjects.into_iter().map(stand).collect();
        Ok(Observer { client: self.client.clone(), keys, updates })
    }
}

fn stand(client: &Client, site: &Arc<Site>, subject: Subject, state: Arc<State>) -> RecipeKey {
    let seat = <dyn Seat>::new(election_core::Observer::new(subject), ObserverFace { state });
    client.shared().with(|hub, now| hub.stand(now, seat, Arc::clone(site)))
}

impl Observer {
    /// What was seen last.
    pub fn latest(&self) -> Observation {
        self.updates.latest()
    }

    /// Waits for what was not seen yet. `None` after the end of the client, or after
    /// [`Observation::Failed`].
    ///
    /// Cancel safe: nothing is lost but what a later observation has replaced.
    pub async fn next(&mut self) -> Option<Observation> {
        self.updates.next().await
    }

    /// Waits for an observation that is as `wanted`, beginning with the latest one.
    ///
    /// Cancel safe: asked again, it begins with the latest one.
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

impl Drop for Observer {
    fn drop(&mut self) {
        let Self { client, keys, .. } = self;
        client.shared().with(|hub, now| keys.iter().for_each(|key| hub.host.withdraw(now, *key)));
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("latest", &self.latest()).finish_non_exhaustive()
    }
}

/// What the halves of an observer share.
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

    /// Takes in whether there is a leader. From its end on there is none until one is seen again.
    fn measure(&self, step: &Step<Observed<Data>>, journal: &mut Journal) {
        let (mut leader, now) = (self.leader(), (&self.leaderless, self.clock.now()));
        match &step.notice {
            // What goes with no session leads nothing.
            Some(Observed::Present(Present { owner: Some(_), .. }) | Observed::Hidden) => {
                leader.see(Leader::Known, now, journal);
            }
            Some(Observed::Present(Present { owner: None, .. }) | Observed::Absent) => {
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
    type Recipe = election_core::Observer<Data>;

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

    fn over(&mut self, observer: &Self::Recipe, end: RecipeEnd, unlocked: &mut Unlocked) {
        if let Subject::Leader(_) = observer.subject() {
            self.state.leader().end(&mut unlocked.journal);
        }
        if let RecipeEnd::HostEnded(_) = end {
            self.state.sender.end(&mut unlocked.wakers);
        }
    }
}

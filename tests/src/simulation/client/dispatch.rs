//! Handing out what comes out of the session.

use core::ops::Bound::{Excluded, Unbounded};
use core::time::Duration;

use zk_session::{Event, Instant, SessionEnd};

use super::nomination::{Happening, NominationKey, Stimulus, Surroundings};
use super::{Client, Observed, OnExpiry, Tag, Watcher, new_session};

impl Client {
    /// Hands out all events that the session has.
    pub(in crate::simulation) fn dispatch(&mut self, now: Instant, observed: &mut Vec<Observed>) {
        self.look_if_due(now, observed);
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Completed { tag, outcome } => {
                    observed.push(Observed::Completed);
                    match tag {
                        Tag::Nomination { key, ticket, step } => {
                            let stimulus = Stimulus::Completed { ticket, step, outcome };
                            self.stimulate(now, key, stimulus, observed);
                        }
                        Tag::Nobody => {}
                    }
                }
                Event::Fired { watcher: Watcher { key, ticket }, kind, zxid } => {
                    observed.push(Observed::Fired);
                    let happening = Happening::Fired { ticket, kind, zxid };
                    self.stimulate(now, key, Stimulus::Happened(happening), observed);
                }
                // No nominee keeps persistent watches.
                Event::Changed { .. } | Event::ChangesMissed { .. } => {}
                Event::WatchLost { .. } => observed.push(Observed::WatchLost),
                Event::HeartbeatRefused { .. } => {
                    observed.push(Observed::HeartbeatRefused);
                    self.heartbeat_refused(now, observed);
                }
                Event::Connected { session, timeout, read_only } => {
                    observed.push(Observed::Connected { session, timeout });
                    if !read_only {
                        self.stimulate_all(now, Happening::Connected(session), observed);
                    }
                }
                Event::ConnectFailed { .. } => observed.push(Observed::ConnectFailed),
                Event::Disconnected { end, .. } => {
                    observed.push(Observed::Disconnected(end));
                    self.stimulate_all(now, Happening::Disconnected, observed);
                }
                Event::LeaseLapsed => {
                    observed.push(Observed::LeaseLapsed(self.announced().collect()));
                    self.stimulate_all(now, Happening::LeaseLapsed, observed);
                }
                Event::Ended(end) => {
                    observed.push(Observed::Ended(end));
                    self.session_ended(now, end, observed);
                }
            }
        }
        self.announce_leaders(now, observed);
    }

    fn session_ended(&mut self, now: Instant, end: SessionEnd, observed: &mut Vec<Observed>) {
        if let (SessionEnd::Expired(_), OnExpiry::Renew) = (end, self.on_expiry) {
            self.stimulate_all(now, Happening::SessionExpired, observed);
            self.sessions += 1;
            self.session = new_session(&self.settings, self.sessions, now);
            self.stale_transport = Some(zk_session::TransportCommand::Disconnect);
            observed.push(Observed::Renewed);
        } else {
            let nominations = core::mem::take(&mut self.nominations).into_values();
            let ending = core::mem::take(&mut self.ending);
            let nominations = nominations.filter(|nomination| !nomination.is_over());
            let nominees = nominations.chain(ending).map(|nomination| nomination.nominee.id());
            observed.extend(nominees.map(|nominee| Observed::EndedWithClient { nominee }));
        }
    }

    pub(super) fn stimulate(
        &mut self,
        now: Instant,
        key: NominationKey,
        stimulus: Stimulus,
        observed: &mut Vec<Observed>,
    ) {
        let Some(nomination) = self.nominations.get_mut(&key) else {
            return;
        };
        nomination
            .handle(&mut Surroundings { session: &mut self.session, now, observed }, stimulus);
        if nomination.nominee.waits_for_look() {
            self.look_at = self.look_at.min(now + Duration::from_secs(1));
        }
        if nomination.is_done() {
            self.nominations.remove(&key);
        }
        self.tend_heartbeats(now, key);
    }

    /// The candidate that heartbeats check may be gone: its nominee looks, and another one's is
    /// checked in its place, if there is another.
    fn heartbeat_refused(&mut self, now: Instant, observed: &mut Vec<Observed>) {
        let Some((holder, _)) = self.heartbeats else {
            return;
        };
        let others = self.nominations.range((Excluded(holder), Unbounded));
        let others = others.chain(self.nominations.range(..holder));
        let mut wanted = others.filter_map(|(key, other)| Some((*key, other.nominee.heartbeat()?)));
        if let Some((key, candidate)) = wanted.next() {
            self.heartbeats = Some((key, candidate.clone()));
            self.name_heartbeats(now);
        }
        self.stimulate(now, holder, Stimulus::Happened(Happening::Look), observed);
    }

    /// Lets all nominees look whether they have missed anything, if it is time to.
    pub(super) fn look_if_due(&mut self, now: Instant, observed: &mut Vec<Observed>) {
        if self.look_at <= now {
            self.look_at = now + self.next_look();
            self.stimulate_all(now, Happening::Look, observed);
        }
    }

    pub(super) fn next_look(&mut self) -> Duration {
        self.settings.look_every * self.random.u32(750..1_250) / 1_000
    }

    fn stimulate_all(&mut self, now: Instant, happening: Happening, observed: &mut Vec<Observed>) {
        let keys: Vec<_> = self.nominations.keys().copied().collect();
        for key in keys {
            self.stimulate(now, key, Stimulus::Happened(happening), observed);
        }
    }

    /// After a step of the nomination `key`: heartbeats name a candidate that leads or is about to,
    /// if there is one.
    fn tend_heartbeats(&mut self, now: Instant, key: NominationKey) {
        let wanted = self.nominations.get(&key).and_then(|it| it.nominee.heartbeat());
        let next = match (&self.heartbeats, wanted) {
            (Some((holder, _)), _) if *holder != key => return,
            (Some((_, checked)), Some(candidate)) if checked == candidate => return,
            (None, None) => return,
            (_, Some(candidate)) => Some((key, candidate.clone())),
            (Some(_), None) => self.nominations.iter().find_map(|(&other, nomination)| {
                nomination.nominee.heartbeat().map(|candidate| (other, candidate.clone()))
            }),
        };
        self.heartbeats = next;
        self.name_heartbeats(now);
    }

    fn name_heartbeats(&mut self, now: Instant) {
        let znode = self.heartbeats.as_ref().and_then(|(holder, candidate)| {
            Some(self.nominations.get(holder)?.election.child(candidate))
        });
        let started = znode.and_then(|znode| self.session.start_heartbeats(now, &znode).ok());
        if started.is_none() {
            self.session.stop_heartbeats();
        }
    }

    /// An answer may have proved the lease that a leadership waits for.
    fn announce_leaders(&mut self, now: Instant, observed: &mut Vec<Observed>) {
        let Self { nominations, session, .. } = self;
        let mut around = Surroundings { session, now, observed };
        for nomination in nominations.values_mut().filter(|other| other.awaits_lease()) {
            nomination.lease_proved(&mut around);
        }
    }
}

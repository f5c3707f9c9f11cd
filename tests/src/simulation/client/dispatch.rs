//! Handing out what comes out of the session.

use zk_session::{End, Event, Instant};

use super::nomination::{Happening, NominationKey, Stimulus, Surroundings};
use super::{Client, Observed, OnExpiry, Tag, Watcher, new_session};

impl Client {
    /// Hands out all events that the session has.
    pub(in crate::simulation) fn dispatch(&mut self, now: Instant, observed: &mut Vec<Observed>) {
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Completed { tag, outcome } => {
                    observed.push(Observed::Completed);
                    match tag {
                        Tag::Nomination { key, ticket, step } => {
                            let stimulus = Stimulus::Completed { ticket, step, outcome };
                            self.stimulate(now, key, stimulus, observed);
                        }
                        Tag::Cleanup(path) => self.cleanups.answered(&path, &outcome),
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
                Event::HeartbeatRefused { .. } => observed.push(Observed::HeartbeatRefused),
                Event::Connected { session, timeout, read_only } => {
                    observed.push(Observed::Connected { session, timeout });
                    if !read_only {
                        self.cleanups.resume(&mut self.session, now);
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

    fn session_ended(&mut self, now: Instant, end: End, observed: &mut Vec<Observed>) {
        if let (End::Expired(_), OnExpiry::Renew) = (end, self.on_expiry) {
            self.stimulate_all(now, Happening::SessionExpired, observed);
            self.sessions += 1;
            self.cleanups.forget();
            self.session = new_session(&self.settings, self.sessions, now);
            self.stale_transport = Some(zk_session::Transport::Disconnect);
            observed.push(Observed::Renewed);
        } else {
            let nominations = core::mem::take(&mut self.nominations).into_values();
            let ending = core::mem::take(&mut self.ending);
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
        let (session, cleanups) = (&mut self.session, &mut self.cleanups);
        nomination.handle(&mut Surroundings { session, cleanups, now, observed }, stimulus);
        if nomination.is_over() {
            self.nominations.remove(&key);
        }
        self.tend_heartbeats(now, key);
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
        let Self { nominations, session, cleanups, .. } = self;
        let mut around = Surroundings { session, cleanups, now, observed };
        for nomination in nominations.values_mut().filter(|other| other.awaits_lease()) {
            nomination.lease_proved(&mut around);
        }
    }
}

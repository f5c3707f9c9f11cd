//! Whose candidate the session's heartbeats check. One serves all elections of a client: the lease is
//! the session's.

use election_core::CandidateName;
use tracing::warn;
use zk_jute::ErrorCode;
use zk_session::Instant;

use super::nomination::{Happening, Stimulus};
use super::{Hub, NominationKey};
use crate::telemetry::CONNECTION;

#[derive(Debug, Default)]
pub(super) struct Heartbeats {
    checked: Option<Checked>,
    /// Those that were refused since the lease was prolonged last: each is tried once before any is
    /// tried again, or two that are refused would take turns without end.
    refused: Vec<Checked>,
    /// The lease deadline at the last refusal.
    lease: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Checked {
    key: NominationKey,
    candidate: CandidateName,
}

impl Heartbeats {
    /// Nobody needs the lease any more.
    pub(super) fn stop(&mut self) {
        self.checked = None;
    }

    /// Another server may see things otherwise.
    pub(super) fn connected(&mut self) {
        self.refused.clear();
    }

    /// Takes in that the heartbeat was refused which checks this one.
    fn refuse(&mut self, checked: Checked, lease: Option<Instant>) {
        if lease > self.lease {
            self.refused.clear();
        }
        self.lease = lease;
        if !self.refused.contains(&checked) {
            self.refused.push(checked);
        }
    }
}

impl Hub {
    /// After a step of the nomination `key`: heartbeats name a candidate that leads or is about to,
    /// if there is one.
    pub(super) fn tend_heartbeats(&mut self, now: Instant, key: NominationKey) {
        let wanted = self.nominations.get(&key).and_then(super::Nomination::heartbeat);
        let next = match (&self.heartbeats.checked, wanted) {
            (Some(checked), _) if checked.key != key => return,
            (Some(checked), Some(candidate)) if checked.candidate == *candidate => return,
            (None, None) => return,
            (_, Some(candidate)) => Some(Checked { key, candidate: candidate.clone() }),
            (Some(_), None) => self.not_refused().or_else(|| self.those_that_need_it().next()),
        };
        self.check(now, next);
    }

    /// The lease goes on for all elections, or for none: at once another candidate is checked, if one
    /// stands. That of the refused one may be gone without its nominee having been told: it looks.
    pub(super) fn heartbeat_refused(&mut self, now: Instant, error: ErrorCode) {
        let Some(refused) = self.heartbeats.checked.clone() else {
            return;
        };
        warn!(
            target: CONNECTION, candidate = refused.candidate.as_str(), %error,
            "heartbeat refused: the lease is not renewed by it"
        );
        let key = refused.key;
        self.heartbeats.refuse(refused, self.session.lease_deadline());
        if let Some(another) = self.not_refused() {
            self.check(now, Some(another));
        }
        self.stimulate(now, key, Stimulus::Happened(Happening::Look));
    }

    fn those_that_need_it(&self) -> impl Iterator<Item = Checked> {
        self.nominations.iter().filter_map(|(&key, nomination)| {
            Some(Checked { key, candidate: nomination.heartbeat()?.clone() })
        })
    }

    fn not_refused(&self) -> Option<Checked> {
        self.those_that_need_it().find(|checked| !self.heartbeats.refused.contains(checked))
    }

    fn check(&mut self, now: Instant, next: Option<Checked>) {
        self.heartbeats.checked = next;
        let started = self.heartbeats.checked.as_ref().and_then(|Checked { key, candidate }| {
            let znode = self.nominations.get(key)?.target.child(candidate.as_str());
            self.session.start_heartbeats(now, &znode).ok()
        });
        if started.is_none() {
            self.session.stop_heartbeats();
        }
    }
}

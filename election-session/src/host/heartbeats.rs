//! Chooses the znode that the session's heartbeats check. One serves all recipes of a host, because
//! the lease is the session's.

use zk_jute::ErrorCode;
use zk_session::Instant;
use zk_session::lease::LeaseUpkeep;

use super::{HostLink, Recipe, RecipeHost};
use crate::event::Event;
use crate::heartbeats::{Checked, Heartbeats};
use crate::key::RecipeKey;
use crate::replies::{Happening, Stimulus};
use crate::seat::SeatStage;

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// Makes heartbeats check a znode of a recipe that needs the lease, if there is one. Called
    /// after each step of the recipe `key`.
    pub(super) fn tend_heartbeats(&mut self, now: Instant, key: RecipeKey) {
        let Self { seats, heartbeats, readiness, .. } = self;
        let seat = seats.get(&key).filter(|seat| seat.stage == SeatStage::Standing);
        let wanted = seat.and_then(|seat| Some((&seat.site, seat.recipe.heartbeat()?)));
        match wanted {
            Some((site, znode)) => {
                readiness.needed();
                heartbeats.needed_by(key, |path| site.is_path_of(znode, path));
            }
            None => heartbeats.not_needed_by(key),
        }
        let next = match (&heartbeats.checked, wanted) {
            (Some(checked), _) if checked.key != key => return,
            (Some(checked), Some((site, znode))) if site.is_path_of(znode, &checked.path) => return,
            (None, None) => return,
            (_, Some((site, znode))) => Some(Checked { key, path: site.path_of(znode) }),
            (Some(_), None) => {
                self.first(Heartbeats::untried).or_else(|| self.first(Heartbeats::refused))
            }
        };
        self.check(now, next);
    }

    /// Checks another standing znode at once, because the lease goes on for all recipes or for
    /// none. The recipe with the refused znode looks: the znode may be gone without an event.
    ///
    /// A server that has too much to do has checked no znode, and would refuse the next one too:
    /// each refusal delays the heartbeat that counts.
    pub(super) fn heartbeat_refused(&mut self, now: Instant, error: ErrorCode) {
        let Some(refused) = self.heartbeats.checked.clone() else {
            return;
        };
        let key = refused.key;
        self.tell(Event::HeartbeatRefused { key, path: refused.path.clone(), error });
        if error == ErrorCode::THROTTLED_OP {
            return;
        }
        self.heartbeats.refuse(refused, self.session.lease_deadline());
        if let Some(another) = self.first(Heartbeats::untried) {
            self.check(now, Some(another));
        }
        self.stimulate(now, key, Stimulus::Happened(Happening::Look));
    }

    /// Returns the first of these recipes that stands, and still needs the lease.
    fn first(&mut self, of: impl Fn(&Heartbeats) -> Option<RecipeKey>) -> Option<Checked> {
        loop {
            let key = of(&self.heartbeats)?;
            let seat = self.seats.get(&key).filter(|seat| seat.stage == SeatStage::Standing);
            let path = seat.and_then(|seat| Some(seat.site.path_of(seat.recipe.heartbeat()?)));
            if let Some(path) = path {
                return Some(Checked { key, path });
            }
            self.heartbeats.not_needed_by(key);
        }
    }

    fn check(&mut self, now: Instant, next: Option<Checked>) {
        let checked = next.as_ref().is_some_and(|Checked { path, .. }| {
            self.session.keep_lease(now, LeaseUpkeep::InForce { znode: path }).is_ok()
        });
        if !checked {
            self.keep_ready(now);
        }
        self.heartbeats.checked = next;
    }

    /// Keeps the lease ready, so that one check proves it once a recipe needs it.
    pub(super) fn keep_ready(&mut self, now: Instant) {
        let kept = self.session.keep_lease(now, LeaseUpkeep::Ready);
        debug_assert!(kept.is_ok(), "no znode is named");
    }

    /// Notes that no recipe stands, so the lease need not be kept ready after a while.
    pub(super) fn lease_not_needed(&mut self, now: Instant) {
        if let (true, HostLink::Up { timeout }) = (self.seats.is_empty(), self.link) {
            self.readiness.not_needed(now, timeout);
        }
    }

    /// Lets the lease lapse if no recipe has stood for a while.
    pub(super) fn rest_if_due(&mut self, now: Instant) {
        if self.readiness.ends(now) && self.seats.is_empty() {
            let kept = self.session.keep_lease(now, LeaseUpkeep::Idle);
            debug_assert!(kept.is_ok(), "no znode is named");
        }
    }
}

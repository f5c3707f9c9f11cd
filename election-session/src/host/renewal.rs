//! The succession of sessions, and the end of the host.

use alloc::vec::Vec;

use election_core::Phase;
use zk_session::{Expiry, Instant, SessionEnd, SessionTicket, TransportCommand};

use super::{HostLink, Recipe, RecipeHost};
use crate::event::{Event, RecipeEnd};
use crate::replies::Happening;
use crate::seat::SeatStage;
use crate::sessions::{HostSession, next_session};
use crate::settings::{IfGone, OnExpiry, Resumption};

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// Closes the session, after the requests submitted before. Nothing is held from here on: the
    /// server deletes the ephemeral znodes, so others go ahead, before it confirms.
    pub fn close(&mut self, now: Instant) {
        self.renew_no_more();
        self.session.close(now);
        self.heartbeats.stop();
        let keys: Vec<_> = self.seats.keys().copied().collect();
        for key in keys {
            let Some(seat) = self.seats.get_mut(&key) else {
                continue;
            };
            match (seat.stage, seat.recipe.phase()) {
                // Events of its znode from now on mean its end by the close.
                (SeatStage::Standing, Phase::Standing) => {
                    seat.stage = SeatStage::Closing;
                    let grant = seat.grant.end(SessionEnd::Closed);
                    self.tell_step(key, grant);
                }
                // Its end is still to be reported, or its cleanup to be done.
                (SeatStage::Standing, Phase::Leaving | Phase::CleaningUp | Phase::Over)
                | (SeatStage::Closing | SeatStage::Over(_), _) => {}
            }
        }
    }

    /// Gives the session up without closing it: see
    /// [`Session::detach`](zk_session::Session::detach). Nothing is held from here on, but the
    /// znodes stay; the host that continues with the ticket may hold it.
    pub fn detach(&mut self, now: Instant) -> Option<SessionTicket> {
        let ticket = self.session.detach(now)?;
        self.renew_no_more();
        Some(ticket)
    }

    /// Returns a ticket of the session, which goes on here: see
    /// [`Session::ticket`](zk_session::Session::ticket).
    pub fn ticket(&self) -> Option<SessionTicket> {
        self.session.ticket()
    }

    /// Ends everything at once, without a message to a server, because the driver is gone.
    pub fn abandon(&mut self, now: Instant) {
        self.renew_no_more();
        if self.session.ended().is_none() {
            self.session.close(now);
            self.session.handle_closed(now);
        }
    }

    pub(super) fn session_ended(&mut self, now: Instant, end: SessionEnd) {
        let ended = self.session.id();
        self.link = HostLink::Down;
        self.void_requests();
        if let Some((expiry, session)) = self.renewed_session(now, end) {
            self.stimulate_all(now, Happening::SessionExpired);
            self.session = session;
            self.first_transport = Some(TransportCommand::Disconnect);
            self.tell(Event::Renewed { session: ended, expiry });
        } else {
            let keys: Vec<_> = self.seats.keys().copied().collect();
            for key in keys {
                self.recipe_is_over(key, RecipeEnd::HostEnded(end));
            }
            self.readiness.clear();
            self.tell(Event::Ended { session: ended, end });
        }
    }

    /// Voids the recipes' requests and looks: without a connection there is no answer to them.
    pub(super) fn void_requests(&mut self) {
        self.lists.clear();
        self.looks.stop();
    }

    /// Returns whether another session follows this end.
    pub(super) fn renews_after(&self, end: SessionEnd) -> bool {
        let renews = match self.settings.resumption.as_deref() {
            Some(Resumption { if_gone, .. }) => *if_gone == IfGone::StartAnew,
            None => self.settings.on_expiry == OnExpiry::Renew,
        };
        renews && matches!(end, SessionEnd::Expired(_))
    }

    /// Makes this session the last one, even if it has expired without the caller knowing yet.
    fn renew_no_more(&mut self) {
        self.settings.on_expiry = OnExpiry::Close;
        self.settings.resumption = None;
    }

    /// Returns the session that follows an expired one, if there is to be one.
    fn renewed_session(
        &mut self,
        now: Instant,
        end: SessionEnd,
    ) -> Option<(Expiry, HostSession<T, W>)> {
        let SessionEnd::Expired(expiry) = end else {
            return None;
        };
        if !self.renews_after(end) {
            return None;
        }
        self.settings.resumption = None;
        self.sessions += 1;
        let next = next_session(&self.session, &self.settings, self.sessions, now);
        Some((expiry, next.ok()?))
    }
}

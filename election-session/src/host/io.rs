//! The driver's interface: reports of its transport and clock, and commands for them.

use core::num::NonZeroUsize;
use core::time::Duration;

use bytes::BytesMut;
use zk_jute::Frame;
use zk_session::sasl::{SaslAnswer, SaslChallenge};
use zk_session::{Completion, Instant, ProbeAnswer, ServerIndex, TransportCommand};

use super::{Clock, Recipe, RecipeHost};
use crate::key::Tag;

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// Frees unused memory, as after a burst of requests.
    pub fn shrink_to_fit(&mut self) {
        self.session.shrink_to_fit();
        self.events.shrink_to_fit();
    }

    /// Reports that the transport of [`TransportCommand::Connect`] is open.
    pub fn handle_opened(&mut self, now: Instant) {
        if !self.is_transport_outdated() {
            self.session.handle_opened(now);
        }
    }

    /// Reports a frame, or its payload; or the head of a frame that is longer than the driver
    /// keeps.
    #[inline]
    pub fn handle_frame(&mut self, now: Instant, frame: impl Into<Frame>) {
        self.session.handle_frame(now, frame);
    }

    /// Takes in a frame as [`handle_frame`](Self::handle_frame) does. The answer to a request of the caller's is
    /// handed out at once, if the request succeeded and nothing is to be handed out or done before it; anything
    /// else is left to [`poll_event`](Self::poll_event).
    #[inline]
    pub fn handle_frame_picking(
        &mut self,
        now: Instant,
        frame: impl Into<Frame>,
    ) -> Option<(T, Completion)> {
        let is_next = !self.has_events();
        let picked = self.session.handle_frame_picking(now, frame, |tag| match tag {
            Tag::Caller(tag) if is_next => Ok(tag),
            tag => Err(tag),
        });
        if picked.is_some() {
            self.callers.completed();
        }
        picked
    }

    /// Handles bytes that the transport delivered: takes every whole frame from the front of
    /// `input`, and leaves the rest for the next call. For drivers that do not split frames
    /// themselves.
    pub fn handle_bytes(&mut self, now: Instant, input: &mut BytesMut, max_frame: usize) {
        self.session.handle_bytes(now, input, max_frame);
    }

    /// Reports that a part of a frame has arrived: the server is slow, and not silent. For drivers that split frames
    /// themselves.
    pub fn handle_progress(&mut self, now: Instant) {
        self.session.handle_progress(now);
    }

    /// Returns the longest time after the submission of a request for which [`poll_timeout`](Self::poll_timeout) may be
    /// left as it was before; `None` if no request brings it forward.
    pub fn bound_on_silence(&self) -> Option<Duration> {
        self.session.bound_on_silence()
    }

    /// Reports that the transport could not be opened, failed, or was closed by the other side.
    pub fn handle_closed(&mut self, now: Instant) {
        if !self.is_transport_outdated() {
            self.session.handle_closed(now);
        }
    }

    /// Does what is due at `now`. Call it at [`RecipeHost::poll_timeout`]; calling it earlier does
    /// no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
        // Recipes hear of the time after the events of the session.
        self.clock = Clock::Read;
    }

    /// Returns when to call [`RecipeHost::handle_timeout`] next, and then
    /// [`RecipeHost::poll_event`]; a moment in the past if more work is left than was done at once.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.lists.has_undelivered() {
            return Some(Instant::ORIGIN);
        }
        let mut next = self.session.poll_timeout();
        for other in [self.looks.next(), self.deadlines.next(), self.readiness.next()] {
            if other.is_some_and(|other| next.is_none_or(|next| other < next)) {
                next = other;
            }
        }
        next
    }

    /// Returns a command for the transport, if there is one.
    pub fn poll_transport(&mut self) -> Option<TransportCommand> {
        self.first_transport.take().or_else(|| self.session.poll_transport())
    }

    /// Appends the bytes to send to `output`. Both may be empty.
    pub fn poll_transmit(&mut self, output: &mut BytesMut) {
        self.session.poll_transmit(output);
    }

    /// Replaces the list of servers: see
    /// [`Session::handle_servers`](zk_session::Session::handle_servers).
    pub fn handle_servers(&mut self, now: Instant, count: NonZeroUsize) {
        self.settings.session.servers = count;
        self.session.handle_servers(now, count);
        // A command with a place in the former list is void, since the attempt begins anew.
        self.first_transport.take_if(|first| matches!(first, TransportCommand::Connect(_)));
    }

    /// Returns a challenge for the SASL mechanism, if there is one.
    pub fn poll_sasl(&mut self) -> Option<SaslChallenge> {
        self.session.poll_sasl()
    }

    /// Reports the SASL mechanism's answer.
    pub fn handle_sasl(&mut self, now: Instant, answer: SaslAnswer<'_>) {
        self.session.handle_sasl(now, answer);
    }

    /// Returns a server to ask by `isro` whether it takes writes.
    pub fn poll_probe(&mut self) -> Option<ServerIndex> {
        self.session.poll_probe()
    }

    /// Reports the server's answer.
    pub fn handle_probed(&mut self, now: Instant, server: ServerIndex, answer: ProbeAnswer) {
        self.session.handle_probed(now, server, answer);
    }

    /// Returns whether the driver has still to drop a transport that the session has given up.
    /// Reports on that one must not pass for reports on the next one.
    fn is_transport_outdated(&mut self) -> bool {
        self.first_transport = self.poll_transport();
        self.first_transport.is_some()
    }
}

//! Where the driver brings in what its transport and its clock say, and asks what to do.

use core::num::NonZeroUsize;

use bytes::BytesMut;
use zk_jute::Frame;
use zk_session::{
    Completion, Instant, ProbeAnswer, SaslAnswer, SaslChallenge, ServerIndex, TransportCommand,
};

use super::{Clock, Recipe, RecipeHost};
use crate::key::Tag;

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// Gives back memory that is not in use, as after a burst of requests.
    pub fn shrink_to_fit(&mut self) {
        self.session.shrink_to_fit();
        self.events.shrink_to_fit();
    }

    /// The transport that [`TransportCommand::Connect`] asked for is open.
    pub fn handle_opened(&mut self, now: Instant) {
        if !self.is_transport_outdated() {
            self.session.handle_opened(now);
        }
    }

    /// The transport delivered a frame, or its payload; of one that is longer than the driver keeps,
    /// the head.
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

    /// The transport delivered bytes: takes every whole frame from the front of `input`, and leaves
    /// the rest for the next call. For drivers that do not split frames themselves.
    pub fn handle_bytes(&mut self, now: Instant, input: &mut BytesMut, max_frame: usize) {
        self.session.handle_bytes(now, input, max_frame);
    }

    /// The transport could not be opened, failed, or was closed by the other side.
    pub fn handle_closed(&mut self, now: Instant) {
        if !self.is_transport_outdated() {
            self.session.handle_closed(now);
        }
    }

    /// Does what is due at `now`. Call it at [`RecipeHost::poll_timeout`], and whenever: what is not
    /// due is not done.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
        // Recipes are told of the time after what the session has to tell.
        self.clock = Clock::Read;
    }

    /// When [`RecipeHost::handle_timeout`] wants to be called next, to be followed by
    /// [`RecipeHost::poll_event`]; the past, if there is more to do than was done at once.
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

    /// What to do with the transport now, if anything.
    pub fn poll_transport(&mut self) -> Option<TransportCommand> {
        self.first_transport.take().or_else(|| self.session.poll_transport())
    }

    /// Appends the bytes to send to `output`. Both may be empty.
    pub fn poll_transmit(&mut self, output: &mut BytesMut) {
        self.session.poll_transmit(output);
    }

    /// The driver has another list of servers: see
    /// [`Session::handle_servers`](zk_session::Session::handle_servers).
    pub fn handle_servers(&mut self, now: Instant, count: NonZeroUsize) {
        self.settings.session.servers = count;
        self.session.handle_servers(now, count);
        // The place of a server in the former list; the attempt begins anew.
        self.first_transport.take_if(|first| matches!(first, TransportCommand::Connect(_)));
    }

    /// What the SASL mechanism is to be asked, if anything.
    pub fn poll_sasl(&mut self) -> Option<SaslChallenge> {
        self.session.poll_sasl()
    }

    /// The SASL mechanism has answered.
    pub fn handle_sasl(&mut self, now: Instant, answer: SaslAnswer<'_>) {
        self.session.handle_sasl(now, answer);
    }

    /// A server that is to be asked by `isro` whether it takes writes.
    pub fn poll_probe(&mut self) -> Option<ServerIndex> {
        self.session.poll_probe()
    }

    /// The server has answered.
    pub fn handle_probed(&mut self, now: Instant, server: ServerIndex, answer: ProbeAnswer) {
        self.session.handle_probed(now, server, answer);
    }

    /// Whether the session wants to be rid of the driver's transport, and the driver was not told
    /// yet: what becomes of that one must not pass for what becomes of the next one.
    fn is_transport_outdated(&mut self) -> bool {
        self.first_transport = self.poll_transport();
        self.first_transport.is_some()
    }
}

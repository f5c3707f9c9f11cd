//! Leaving a read-only server for one that takes writes (docs/protocol.md#read-only-servers).

use super::Session;
use super::state::{Closing, Live, Server, State};
use crate::event::ConnectionEnd;
use crate::search::{ProbeAnswer, Search};
use crate::servers::ServerIndex;
use crate::time::Instant;

impl<R, W: Clone> Session<R, W> {
    /// Returns a server to ask whether it takes writes, while the session is connected to one that
    /// does not. The driver opens another transport to it, sends the four bytes `isro` without a
    /// length before them, reads until the server ends the transport, and reports
    /// [`handle_probed`](Self::handle_probed). Each question replaces the one before; all are void
    /// once the connection ends.
    ///
    /// The first comes 100 ms after the connection, and further ones after twice as long each time,
    /// up to a minute.
    pub fn poll_probe(&mut self) -> Option<ServerIndex> {
        self.probe.take()
    }

    /// Reports the answer of a server, or that it could not be asked. If the server takes writes,
    /// the session goes there: the connection ends with [`ConnectionEnd::LeftReadOnly`], and the
    /// next one is to that server.
    pub fn handle_probed(&mut self, now: Instant, server: ServerIndex, answer: ProbeAnswer) {
        self.check_lease(now);
        if let State::Live(Live {
            server: Server::ReadOnly(search),
            closing: Closing::NotAsked,
            ..
        }) = &mut self.state
            && search.answered(now, server, answer)
        {
            self.connection_ended(now, ConnectionEnd::LeftReadOnly);
            self.open_to(now, server);
        }
    }

    /// Returns whether the session is connected to a server that answers only reads.
    pub fn is_read_only(&self) -> bool {
        matches!(self.state, State::Live(live) if live.is_read_only())
    }

    /// Begins the search anew with other servers. A pending question is void.
    pub(super) fn search_anew(&mut self, now: Instant) {
        self.probe = None;
        if let State::Live(Live { server: Server::ReadOnly(search), .. }) = &mut self.state {
            *search = Search::new(now);
        }
    }

    pub(super) fn search(&mut self, now: Instant) {
        if let State::Live(Live { server: Server::ReadOnly(search), .. }) = &mut self.state
            && search.asks_next(now)
        {
            let server = self.servers.next();
            search.asked(now, server);
            self.probe = Some(server);
        }
    }
}

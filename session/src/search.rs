//! The search for a server that takes writes, while connected to one that does not.

use core::time::Duration;

use crate::servers::ServerIndex;
use crate::time::Instant;

/// A server's answer to the four-letter word `isro`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeAnswer {
    /// `rw`: the server takes writes.
    ReadWrite,
    /// Anything else, or nothing.
    Other,
}

impl ProbeAnswer {
    /// Reads the answer, at the end of which the server closes the transport.
    pub fn from_bytes(answer: &[u8]) -> Self {
        if answer == b"rw" { Self::ReadWrite } else { Self::Other }
    }
}

/// The search, which asks one server at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    state: SearchState,
    /// The last pause. The next is twice as long, up to [`Search::LONGEST_PAUSE`].
    pause: Duration,
}

#[derive(Clone, Copy, Debug)]
enum SearchState {
    DueAt(Instant),
    Asked { server: ServerIndex, give_up_at: Instant },
}

impl Search {
    const FIRST_PAUSE: Duration = Duration::from_millis(100);
    const LONGEST_PAUSE: Duration = Duration::from_secs(60);
    /// How long a server may take to open a transport and to answer before the search goes on.
    const PATIENCE: Duration = Duration::from_secs(1);

    pub(crate) fn new(now: Instant) -> Self {
        let pause = Self::FIRST_PAUSE;
        Self { state: SearchState::DueAt(now + pause), pause }
    }

    /// Returns when to act next.
    pub(crate) const fn due_at(&self) -> Instant {
        match self.state {
            SearchState::DueAt(at) | SearchState::Asked { give_up_at: at, .. } => at,
        }
    }

    /// Returns whether to ask the next server now. A server that has not answered is passed over.
    pub(crate) fn asks_next(&mut self, now: Instant) -> bool {
        match self.state {
            SearchState::DueAt(at) => at <= now,
            SearchState::Asked { give_up_at, .. } => {
                if give_up_at <= now {
                    self.pause(now);
                }
                false
            }
        }
    }

    pub(crate) fn asked(&mut self, now: Instant, server: ServerIndex) {
        self.state = SearchState::Asked { server, give_up_at: now + Self::PATIENCE };
    }

    /// Records the answer of the server that was asked, and returns whether to go to it.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        from: ServerIndex,
        answer: ProbeAnswer,
    ) -> bool {
        match (self.state, answer) {
            (SearchState::Asked { server, .. }, _) if server != from => false,
            (SearchState::Asked { .. }, ProbeAnswer::ReadWrite) => true,
            (SearchState::Asked { .. }, ProbeAnswer::Other) => {
                self.pause(now);
                false
            }
            (SearchState::DueAt(_), _) => false,
        }
    }

    fn pause(&mut self, now: Instant) {
        self.pause = (self.pause * 2).min(Self::LONGEST_PAUSE);
        self.state = SearchState::DueAt(now + self.pause);
    }
}

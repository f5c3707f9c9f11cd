//! A participant of this library beside one of another, and what is done with both.

use core::time::Duration;

use zk_tests::failure::{TestFailure, TestResult};
use zk_tests::server::{ServerKind, TestServer};

use super::participant::Participant;
use crate::programs::Library;
use crate::relay::SESSION_TIMEOUT;

/// How long none must go on that is to wait.
pub(super) const QUIET: Duration = Duration::from_millis(60);

/// Both, below a chroot of their own.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) ours: Participant,
    pub(super) peer: Participant,
    pub(super) server: &'static TestServer,
    pub(super) chroot: String,
    servers: String,
    pub(super) killed: usize,
}

/// One of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Peer,
}

/// What befalls a participant in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Spared,
    Killed(Side),
}

impl Side {
    /// Both take either role in turn.
    pub(super) const fn of_turn(turn: usize) -> Self {
        if turn.is_multiple_of(2) { Self::Ours } else { Self::Peer }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Ours => Self::Peer,
            Self::Peer => Self::Ours,
        }
    }
}

impl Fate {
    /// Of five turns, one kills either.
    pub(super) const fn of_turn(turn: usize) -> Self {
        match turn % 5 {
            1 => Self::Killed(Side::Peer),
            3 => Self::Killed(Side::Ours),
            _ => Self::Spared,
        }
    }
}

impl Pair {
    pub(super) fn start(server: ServerKind, library: Library) -> Result<Self, TestFailure> {
        let server = server.shared()?;
        let chroot = server.fresh_chroot("recipes")?;
        let servers = format!("{}{chroot}", server.connect_string());
        let ours = Participant::start(Library::Ours, &servers, SESSION_TIMEOUT)?;
        let peer = Participant::start(library, &servers, SESSION_TIMEOUT)?;
        Ok(Self { ours, peer, server, chroot, servers, killed: 0 })
    }

    pub(super) const fn side(&mut self, side: Side) -> &mut Participant {
        match side {
            Side::Ours => &mut self.ours,
            Side::Peer => &mut self.peer,
        }
    }

    /// Kills one; another one of its kind follows with [`Pair::replace`].
    pub(super) fn kill(&mut self, side: Side) -> TestResult {
        self.killed += 1;
        Ok(self.side(side).kill()?)
    }

    pub(super) fn replace(&mut self, side: Side) -> TestResult {
        let library = self.side(side).library;
        *self.side(side) = Participant::start(library, &self.servers, SESSION_TIMEOUT)?;
        Ok(())
    }
}

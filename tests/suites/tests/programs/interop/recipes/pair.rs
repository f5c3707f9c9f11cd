//! A participant of this library beside one of another, and what is done with both.

use core::ops::Range;
use core::time::Duration;

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::proxy::{FrameKind, Proxy};
use zk_test_kit::server::{ServerKind, TestServer};
use zk_test_kit::wait::SOON;

use super::participant::{Order, Participant};
use crate::interop::programs::Library;
use crate::interop::relay::SESSION_TIMEOUT;
use crate::interop::turns_asked_for;

/// How long none must go on that is to wait.
pub(super) const QUIET: Duration = Duration::from_millis(60);

/// How long a peer has after it was cut off: more than it takes to come back.
const PATIENCE: Duration = Duration::from_secs(10);

/// Both, below a chroot of their own.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) ours: Participant,
    pub(super) peer: Participant,
    pub(super) server: &'static TestServer,
    pub(super) chroot: String,
    proxy: Proxy,
    pub(super) killed: usize,
    /// Peers that did not survive the loss of a connection.
    pub(super) stuck: usize,
    /// The participants that went on too early, by that or by a spurious wake.
    pub(super) early: usize,
}

/// One of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Peer,
}

/// The fate of a participant in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Spared,
    Killed(Side),
    /// The connections of both are lost.
    CutOff,
}

/// Returns the turns that a recipe goes on for. Ten are all; in CI's form each server has half.
pub(super) fn wanted_turns(server: ServerKind) -> Result<Range<usize>, TestFailure> {
    Ok(match (turns_asked_for()?, server) {
        (Some(turns), _) => 0..turns,
        (None, ServerKind::Apache) => 0..5,
        (None, ServerKind::Embedded) => 5..10,
    })
}

impl Side {
    /// Returns the roles of a turn: both take either role in turn.
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
    /// Returns the fate in a turn: of five turns, one kills either, and one costs both their
    /// connection.
    pub(super) const fn of_turn(turn: usize) -> Self {
        match turn % 5 {
            1 => Self::Killed(Side::Peer),
            3 => Self::Killed(Side::Ours),
            4 => Self::CutOff,
            _ => Self::Spared,
        }
    }
}

impl Pair {
    pub(super) fn start(server: ServerKind, library: Library) -> Result<Self, TestFailure> {
        let server = server.shared()?;
        let chroot = server.fresh_chroot("recipes")?;
        let proxy = Proxy::to(server.addr())?;
        let servers = format!("{}{chroot}", proxy.connect_string());
        let ours = Participant::start(Library::Ours, &servers, SESSION_TIMEOUT)?;
        let peer = Participant::start(library, &servers, SESSION_TIMEOUT)?;
        Ok(Self { ours, peer, server, chroot, proxy, killed: 0, stuck: 0, early: 0 })
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
        let servers = format!("{}{}", self.proxy.connect_string(), self.chroot);
        *self.side(side) = Participant::start(library, &servers, SESSION_TIMEOUT)?;
        Ok(())
    }

    /// Cuts both off from the server, acts, and waits until both are back.
    pub(super) fn while_cut_off(&self, act: impl FnOnce() -> TestResult) -> TestResult {
        let before = self.proxy.counters().passed(FrameKind::ConnectResponse);
        self.proxy.refuse();
        self.proxy.cut();
        act()?;
        self.proxy.accept()?;
        self.are_back(before)
    }

    /// Cuts both off from the server, and waits until both are back: what an order meets before that
    /// is the peer's to decide, and most fail.
    pub(super) fn cut_off(&self) -> TestResult {
        let before = self.proxy.counters().passed(FrameKind::ConnectResponse);
        self.proxy.cut();
        self.are_back(before)
    }

    fn are_back(&self, before: u64) -> TestResult {
        self.proxy.wait_for(SOON, "both are back", |now| {
            now.passed(FrameKind::ConnectResponse) >= before + 2
        })?;
        Ok(())
    }

    /// Waits until the peer, which was cut off, has carried out an order, or has failed to.
    pub(super) fn peer_ends_or_fails(&mut self, order: Order) {
        self.stuck += usize::from(!self.peer.ends_within(order, PATIENCE));
    }

    /// Waits until the peer, which was cut off, has carried out an order. If it has not, another one follows.
    pub(super) fn peer_ends_or_is_stuck(&mut self, order: Order) -> TestResult {
        if self.peer.ends_within(order, PATIENCE) {
            return Ok(());
        }
        self.stuck += 1;
        self.peer.kill()?;
        self.replace(Side::Peer)
    }

    pub(super) fn tell(&self, what: &str, turns: usize) {
        let Self { killed, stuck, early, peer: Participant { library, .. }, .. } = self;
        println!(
            "{what} beside {library:?}: {turns} turns, {killed} killed so far; by the loss of a \
             connection, {stuck} of theirs did not go on, {early} went on too early"
        );
    }
}

//! The messages between the members of an ensemble, on their way: in order, or lost with the
//! connection that they were sent on. Each two members have one connection, made anew whenever it
//! ends.

use core::ops::Range;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use tokio::time::Instant;
use zk_simulation::ensemble::{MemberId, PeerMessage};

/// The time that most messages take, in microseconds.
const USUAL: Range<u64> = 100..2_000;
/// The time that one message in a hundred takes.
const BELATED: Range<u64> = 2_000..60_000;
/// The time that messages take on a slow way.
const SLOW: Range<u64> = 50_000..300_000;

/// From one member to another, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The effect of a fault on a line for as long as it lasts. Several may last at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Impairment {
    /// Nothing arrives. Held messages arrive afterwards, if the connection still stands.
    Held,
    Slow,
}

#[derive(Debug)]
pub(super) enum Peer {
    Message(PeerMessage),
    Reset,
}

#[derive(Debug)]
pub(super) struct Lines {
    rng: fastrand::Rng,
    lines: BTreeMap<Line, State>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Sent>,
    /// The connection that the sender writes to. Each end counts those that it knows of; a message
    /// that was sent on an earlier one is lost.
    generation: u64,
    held: u32,
    slow: u32,
}

#[derive(Debug)]
struct Sent {
    arrives: Instant,
    generation: u64,
    what: Peer,
}

impl Line {
    pub(crate) const fn back(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// Returns the number of a member: they are numbered from 1.
pub(super) fn member_id(place: usize) -> MemberId {
    MemberId(u8::try_from(place + 1).unwrap_or(u8::MAX))
}

pub(super) fn place_of(member: MemberId) -> usize {
    usize::from(member.0).saturating_sub(1)
}

impl State {
    fn due(&self) -> Option<Instant> {
        self.queue.front().map(|sent| sent.arrives).filter(|_| self.held == 0)
    }
}

impl Lines {
    pub(super) fn new(members: usize, rng: fastrand::Rng) -> Self {
        let pairs = (0..members).flat_map(|from| (0..members).map(move |to| Line { from, to }));
        let lines = pairs.filter(|line| line.from != line.to);
        Self { rng, lines: lines.map(|line| (line, State::default())).collect() }
    }

    pub(super) fn send(&mut self, line: Line, message: PeerMessage) {
        let generation = self.generation(line);
        self.push(line, generation, Peer::Message(message));
    }

    /// Ends the sender's connection with the receiver.
    pub(super) fn reset(&mut self, line: Line) {
        let next = self.next_generation(line);
        self.change(line, |state| {
            state.generation = next;
            state.queue.clear();
        });
        self.change(line.back(), |state| state.queue.clear());
        self.push(line, next, Peer::Reset);
    }

    /// Breaks the connection between two members: each hears of it, as soon as its line lets it.
    pub(super) fn lose(&mut self, line: Line) {
        let next = self.next_generation(line);
        for line in [line, line.back()] {
            self.change(line, |state| state.queue.clear());
            self.push(line, next, Peer::Reset);
        }
    }

    pub(super) fn impair(&mut self, line: Line, impairment: Impairment) {
        self.change(line, |state| match impairment {
            Impairment::Held => state.held += 1,
            Impairment::Slow => state.slow += 1,
        });
    }

    pub(super) fn repair(&mut self, line: Line, impairment: Impairment) {
        self.change(line, |state| match impairment {
            Impairment::Held => state.held = state.held.saturating_sub(1),
            Impairment::Slow => state.slow = state.slow.saturating_sub(1),
        });
    }

    pub(super) fn repair_all(&mut self) {
        for state in self.lines.values_mut() {
            (state.held, state.slow) = (0, 0);
        }
    }

    /// Takes the next message that has arrived at one of the members that take it.
    pub(super) fn arrived(&mut self, takes: impl Fn(usize) -> bool) -> Option<(Line, Peer)> {
        let now = Instant::now();
        loop {
            let is_due = |state: &State| state.due().is_some_and(|due| due <= now);
            let mut lines = self.lines.iter();
            let (line, _) = lines.find(|(line, state)| takes(line.to) && is_due(state))?;
            let line = *line;
            let sent = self.lines.get_mut(&line)?.queue.pop_front()?;
            let known = self.generation(line.back());
            match sent.what {
                // On a connection that the receiver knows.
                Peer::Message(_) if sent.generation == known => return Some((line, sent.what)),
                // A new one, which it hears of just now.
                Peer::Reset if sent.generation > known => {
                    self.change(line.back(), |state| state.generation = sent.generation);
                    return Some((line, sent.what));
                }
                Peer::Message(_) | Peer::Reset => {}
            }
        }
    }

    /// Returns the time at which the next message arrives.
    pub(super) fn next_at(&self, takes: impl Fn(usize) -> bool) -> Option<Instant> {
        let lines = self.lines.iter().filter(|(line, _)| takes(line.to));
        lines.filter_map(|(_, state)| state.due()).min()
    }

    fn generation(&self, line: Line) -> u64 {
        self.lines.get(&line).map_or(0, |state| state.generation)
    }

    fn next_generation(&self, line: Line) -> u64 {
        self.generation(line).max(self.generation(line.back())) + 1
    }

    fn push(&mut self, line: Line, generation: u64, what: Peer) {
        let is_slow = self.lines.get(&line).is_some_and(|state| state.slow > 0);
        let micros = match (is_slow, self.rng.u8(..100)) {
            (true, _) => self.rng.u64(SLOW),
            (false, 0) => self.rng.u64(BELATED),
            (false, _) => self.rng.u64(USUAL),
        };
        let arrives = Instant::now() + Duration::from_micros(micros);
        self.change(line, |state| {
            // Nothing overtakes what was sent before.
            let arrives = state.queue.back().map_or(arrives, |last| arrives.max(last.arrives));
            state.queue.push_back(Sent { arrives, generation, what });
        });
    }

    fn change(&mut self, line: Line, change: impl FnOnce(&mut State)) {
        if let Some(state) = self.lines.get_mut(&line) {
            change(state);
        }
    }
}

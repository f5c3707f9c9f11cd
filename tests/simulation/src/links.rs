//! The wires between the processes, one for each direction, with their delays, and the times at which
//! they hold everything back.

use core::time::Duration;

use super::clock::Time;

/// A process of the world: members of the ensemble first, clients behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(pub(super) usize);

impl NodeId {
    /// An address at which no process listens.
    pub(super) const NOWHERE: Self = Self(usize::MAX);
}

/// From one process to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Way {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
}

impl Way {
    pub(super) const fn back(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// The effect of a fault on a way for as long as it lasts. Several may last at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Impairment {
    /// Nothing arrives. Held messages arrive afterwards, if the connection still stands.
    Held,
    /// Everything takes hundreds of milliseconds.
    Slow,
}

#[derive(Debug)]
pub(super) struct Links {
    nodes: usize,
    /// Members have the lower numbers.
    members: usize,
    /// The least time that each way between a client and a member takes.
    latency: Duration,
    ways: Vec<Link>,
}

#[derive(Debug)]
struct Link {
    rng: fastrand::Rng,
    held: u32,
    slow: u32,
}

/// The time that most messages take, in microseconds.
const USUAL: core::ops::Range<u64> = 100..2_000;
/// The time that one message in a hundred takes.
const BELATED: core::ops::Range<u64> = 2_000..60_000;
/// The time that messages take on a slow way.
const SLOW: core::ops::Range<u64> = 50_000..500_000;

impl Links {
    /// Makes the links. Each way draws from a sequence of its own, so that the events on one leave
    /// the others as they were.
    pub(super) fn new(members: usize, clients: usize, latency: Duration, seed: u64) -> Self {
        let nodes = members + clients;
        let mut seeds = fastrand::Rng::with_seed(seed);
        let link = |_| Link { rng: fastrand::Rng::with_seed(seeds.u64(..)), held: 0, slow: 0 };
        Self { nodes, members, latency, ways: (0..nodes * nodes).map(link).collect() }
    }

    pub(super) fn impair(&mut self, way: Way, impairment: Impairment) {
        if let Some(count) = self.count(way, impairment) {
            *count += 1;
        }
    }

    pub(super) fn repair(&mut self, way: Way, impairment: Impairment) {
        if let Some(count) = self.count(way, impairment) {
            *count = count.saturating_sub(1);
        }
    }

    pub(super) fn is_held(&self, way: Way) -> bool {
        self.index(way).and_then(|index| self.ways.get(index)).is_some_and(|link| link.held > 0)
    }

    /// Returns the time at which a message sent now arrives, if it is not held back nor behind
    /// another one.
    pub(super) fn arrival(&mut self, now: Time, way: Way) -> Time {
        let is_among_members = way.from.0 < self.members && way.to.0 < self.members;
        let least = if is_among_members { Duration::ZERO } else { self.latency };
        let index = self.index(way);
        let Some(Link { rng, slow, .. }) = index.and_then(|index| self.ways.get_mut(index)) else {
            return now + least;
        };
        let micros = match (*slow > 0, rng.u8(..100)) {
            (true, _) => rng.u64(SLOW),
            (false, 0) => rng.u64(BELATED),
            (false, _) => rng.u64(USUAL),
        };
        now + least + Duration::from_micros(micros)
    }

    /// Returns a random number for what happens on this way.
    pub(super) fn draw(&mut self, way: Way, below: usize) -> usize {
        let index = self.index(way);
        match index.and_then(|index| self.ways.get_mut(index)) {
            Some(link) if below > 0 => link.rng.usize(..below),
            _ => 0,
        }
    }

    fn count(&mut self, way: Way, impairment: Impairment) -> Option<&mut u32> {
        let index = self.index(way)?;
        let link = self.ways.get_mut(index)?;
        Some(match impairment {
            Impairment::Held => &mut link.held,
            Impairment::Slow => &mut link.slow,
        })
    }

    /// Returns the place of a way; none where no process is at one of the ends.
    fn index(&self, Way { from, to }: Way) -> Option<usize> {
        (from.0 < self.nodes && to.0 < self.nodes).then(|| from.0 * self.nodes + to.0)
    }
}

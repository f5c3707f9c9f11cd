//! Connections between members: in order, late, cut, broken.

use core::ops::RangeInclusive;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use zk_simulation::ensemble::{MemberId, PeerMessage};

/// True time, in microseconds.
pub(crate) type Micros = u64;

/// An ordered pair: from, to.
pub(crate) type Link = (MemberId, MemberId);

/// One connection for each pair of members, at a time.
pub(crate) struct Wires {
    stragglers: Stragglers,
    links: BTreeMap<Link, VecDeque<Packet>>,
    delays: BTreeMap<Link, RangeInclusive<Micros>>,
    /// Nothing passes, and nothing is lost.
    cut: BTreeSet<Link>,
    /// Which connection with the second each first uses: what was sent on another is lost.
    connections: BTreeMap<Link, u64>,
}

/// The fate of messages that were sent to an end which had closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stragglers {
    /// They are lost, as with TCP.
    Lost,
    /// They arrive, as if a predecessor's messages were still being worked on.
    Arrive,
}

struct Packet {
    arrives_at: Micros,
    connection: u64,
    content: Content,
}

pub(crate) enum Content {
    /// With the time at which it was sent.
    Message(Micros, PeerMessage),
    Reset,
}

impl Wires {
    pub(crate) fn new() -> Self {
        Self {
            stragglers: Stragglers::Lost,
            links: BTreeMap::new(),
            delays: BTreeMap::new(),
            cut: BTreeSet::new(),
            connections: BTreeMap::new(),
        }
    }

    pub(crate) fn set_stragglers(&mut self, stragglers: Stragglers) {
        self.stragglers = stragglers;
    }

    pub(crate) fn delay(&mut self, link: Link, delay: RangeInclusive<Micros>) {
        self.delays.insert(link, delay);
    }

    pub(crate) fn cut(&mut self, link: Link) {
        self.cut.insert(link);
    }

    /// Lets messages through again; those that were held back arrive, late.
    pub(crate) fn heal(&mut self) {
        self.cut.clear();
    }

    pub(crate) fn send(
        &mut self,
        now: Micros,
        link: Link,
        message: PeerMessage,
        random: &mut fastrand::Rng,
    ) {
        let connection = self.connections.get(&link).copied().unwrap_or(0);
        self.put(now, link, (connection, Content::Message(now, message)), random);
    }

    /// Ends the connection at the first of the link, which knows it; the second is told.
    pub(crate) fn end(&mut self, now: Micros, link: Link, random: &mut fastrand::Rng) {
        let next = self.next_connection(link);
        self.connections.insert(link, next);
        self.links.remove(&link);
        self.put(now, link, (next, Content::Reset), random);
    }

    /// Breaks the connection in the middle, and tells both ends.
    pub(crate) fn snap(&mut self, now: Micros, (one, other): Link, random: &mut fastrand::Rng) {
        let next = self.next_connection((one, other));
        for link in [(one, other), (other, one)] {
            self.links.remove(&link);
            self.put(now, link, (next, Content::Reset), random);
        }
    }

    /// Loses the messages on their way, and tells no member.
    pub(crate) fn lose(&mut self, link: Link) {
        self.links.remove(&link);
    }

    /// Returns the next arrival, among the members that are awake.
    pub(crate) fn next_arrival(
        &self,
        is_awake: impl Fn(MemberId) -> bool,
    ) -> Option<(Micros, Link)> {
        let passing = self.links.iter().filter(|(link, _)| !self.cut.contains(link));
        let awaited = passing.filter(|(link, _)| is_awake(link.1));
        awaited.filter_map(|(link, packets)| Some((packets.front()?.arrives_at, *link))).min()
    }

    /// Takes what arrives on a link, if it is not of a connection that has ended.
    pub(crate) fn arrive(&mut self, link: Link) -> Option<Content> {
        let packet = self.links.get_mut(&link).and_then(VecDeque::pop_front)?;
        let (from, to) = link;
        let known = self.connections.entry((to, from)).or_default();
        match packet.content {
            Content::Message(..) => {
                let arrives = packet.connection == *known || self.stragglers == Stragglers::Arrive;
                arrives.then_some(packet.content)
            }
            Content::Reset if packet.connection <= *known => None,
            Content::Reset => {
                *known = packet.connection;
                Some(Content::Reset)
            }
        }
    }

    fn next_connection(&self, (one, other): Link) -> u64 {
        let known = [(one, other), (other, one)].map(|end| self.connections.get(&end).copied());
        known.into_iter().flatten().max().unwrap_or(0) + 1
    }

    fn put(&mut self, now: Micros, link: Link, packet: (u64, Content), random: &mut fastrand::Rng) {
        let delay = self.delays.get(&link).cloned().unwrap_or(500..=1500);
        let (connection, content) = packet;
        let arrives_at = now + random.u64(delay);
        let packets = self.links.entry(link).or_default();
        let arrives_at = packets.back().map_or(arrives_at, |last| last.arrives_at.max(arrives_at));
        packets.push_back(Packet { arrives_at, connection, content });
    }
}

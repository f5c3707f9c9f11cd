//! The connections between members: one between each two, made anew whenever it ends.

use super::{Network, Peer, PipeId, arm};
use crate::clock::Time;
use crate::ensemble::PeerMessage;
use crate::links::Way;
use crate::pipe::Pipe;

/// One direction between two members. Each end counts the connections that it knows of; a message
/// that was sent on an earlier one is lost.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) pipe: Pipe<(u64, Peer)>,
    /// The connection that the sender writes to.
    generation: u64,
}

impl Line {
    const fn new() -> Self {
        Self { pipe: Pipe::new(), generation: 0 }
    }
}

impl Network {
    pub(crate) fn send_peer(&mut self, now: Time, way: Way, message: PeerMessage) {
        let generation = self.line(way).generation;
        self.push_peer(now, way, (generation, Peer::Message(message)));
    }

    /// Ends a member's connection with another.
    pub(crate) fn reset_peer(&mut self, now: Time, way: Way) {
        let next = self.line(way).generation.max(self.line(way.back()).generation) + 1;
        self.line(way).generation = next;
        self.line(way).pipe.clear();
        self.line(way.back()).pipe.clear();
        self.push_peer(now, way, (next, Peer::Reset));
    }

    /// Breaks the connection between two members.
    pub(crate) fn lose_peer(&mut self, now: Time, way: Way) {
        let next = self.line(way).generation.max(self.line(way.back()).generation) + 1;
        for way in [way, way.back()] {
            self.line(way).pipe.clear();
            self.push_peer(now, way, (next, Peer::Reset));
        }
    }

    pub(crate) fn next_peer(&mut self, now: Time, way: Way) -> Option<Peer> {
        loop {
            let (generation, peer) = self.line(way).pipe.pop_due(now)?;
            let known = self.line(way.back()).generation;
            match peer {
                // A connection that the receiver knows, or a new one that it hears of just now.
                Peer::Message(message) if generation == known => {
                    return Some(Peer::Message(message));
                }
                Peer::Reset if generation > known => {
                    self.line(way.back()).generation = generation;
                    return Some(Peer::Reset);
                }
                Peer::Message(_) | Peer::Reset => {}
            }
        }
    }

    fn line(&mut self, way: Way) -> &mut Line {
        self.lines.entry(way).or_insert_with(Line::new)
    }

    fn push_peer(&mut self, now: Time, way: Way, item: (u64, Peer)) {
        let arrival = self.links.arrival(now, way);
        let line = self.lines.entry(way).or_insert_with(Line::new);
        line.pipe.push(arrival, item);
        arm(&mut line.pipe, now, PipeId::Peer(way), &mut self.due);
    }
}

//! The network between the members of an ensemble, which tests can break.

use alloc::collections::BTreeMap;
use core::net::SocketAddr;
use std::io;

use super::ensemble::{Ensemble, Member, PeerAddress};
use super::error::StartError;
use super::options::Options;
use crate::proxy::{Directions, Proxy};

/// An ensemble with members that find each other by way of proxies, and the proxies. Clients reach
/// every member, in any state of the links.
#[derive(Debug)]
pub struct LinkedEnsemble {
    ensemble: Ensemble,
    links: Links,
}

/// The messages that a cut-off member loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Its own messages.
    Sent,
    /// The messages to it.
    Received,
    /// All.
    Both,
}

/// For each ordered pair of members, the ways on which the first connects to the second. Bytes
/// travel both ways on each.
#[derive(Debug, Default)]
struct Links(BTreeMap<(Member, Member), Link>);

#[derive(Debug)]
struct Link {
    quorum: Proxy,
    election: Proxy,
}

impl LinkedEnsemble {
    pub(super) fn start(options: &Options) -> Result<Self, StartError> {
        let mut links = Links::default();
        let ensemble = options.start_ensemble_routed(|member, peer, address| {
            let link = Link::to(address)?;
            let way = link.address();
            // A member that is called by one with a smaller number hangs up and calls back, where
            // that says that it is.
            if let Some(back) = links.0.get(&(peer, member)) {
                back.election.alias(address.election, way.election)?;
            }
            links.0.insert((member, peer), link);
            Ok(way)
        })?;
        Ok(Self { ensemble, links })
    }

    /// Returns the ensemble.
    pub const fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    /// Cuts a member off from the other two: connections stay open, and what is lost is lost
    /// without a word.
    pub fn cut_off(&self, member: Member, lost: Lost) {
        for (&(from, to), link) in &self.links.0 {
            if let Some(directions) = lost.directions(from == member, to == member) {
                link.each(|proxy| proxy.black_hole(directions));
            }
        }
    }

    /// Cuts a member off from the other two, which learn of it at once, as from a firewall that
    /// resets their connections, while to the member itself they only fall silent.
    pub fn desert(&self, member: Member) {
        for (&(from, to), link) in &self.links.0 {
            if to == member {
                link.each(Proxy::abandon_server);
            }
            if from == member || to == member {
                link.each(|proxy| proxy.black_hole(Directions::Both));
            }
        }
    }

    /// Lets a member that was cut off or deserted find the others again. Messages that were held
    /// back are lost.
    pub fn reunite(&self, member: Member) {
        for (&(from, to), link) in &self.links.0 {
            if from == member || to == member {
                link.each(Proxy::heal_by_cutting);
            }
        }
    }
}

impl Lost {
    /// Returns the directions to cut on a link by which the member connects to another one, or
    /// another one to it.
    const fn directions(self, by_member: bool, to_member: bool) -> Option<Directions> {
        match (self, by_member, to_member) {
            (Self::Both, true, _) | (Self::Both, _, true) => Some(Directions::Both),
            (Self::Sent, true, _) | (Self::Received, _, true) => Some(Directions::ToServer),
            (Self::Received, true, _) | (Self::Sent, _, true) => Some(Directions::ToClient),
            (_, false, false) => None,
        }
    }
}

impl Link {
    fn to(address: PeerAddress) -> io::Result<Self> {
        let proxy = |target: SocketAddr| Proxy::opaque_to(target);
        Ok(Self { quorum: proxy(address.quorum)?, election: proxy(address.election)? })
    }

    const fn address(&self) -> PeerAddress {
        PeerAddress { quorum: self.quorum.addr(), election: self.election.addr() }
    }

    fn each(&self, treat: impl Fn(&Proxy)) {
        treat(&self.quorum);
        treat(&self.election);
    }
}

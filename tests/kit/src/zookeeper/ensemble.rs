//! Three servers that elect a leader among themselves.

use core::fmt::Write as _;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use super::error::StartError;
use super::four_letter::Mode;
use super::options::Options;
use super::server::{PORT_ATTEMPTS, Server};
use crate::ports::ReservedPort;
use crate::wait::{self, NotInTime};

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// `myid` 1.
    First,
    /// `myid` 2.
    Second,
    /// `myid` 3.
    Third,
}

impl Member {
    /// Each member, in order.
    pub const ALL: [Self; 3] = [Self::First, Self::Second, Self::Third];

    const fn id(self) -> u8 {
        match self {
            Self::First => 1,
            Self::Second => 2,
            Self::Third => 3,
        }
    }
}

/// The addresses at which a member's peers find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// The address at which followers connect to their leader.
    pub quorum: SocketAddr,
    /// The address for votes.
    pub election: SocketAddr,
}

/// A running ensemble of three. Dropped: its processes and folders are gone.
#[derive(Debug)]
pub struct Ensemble {
    members: [Server; 3],
    _peer_ports: [PeerPorts; 3],
}

impl Ensemble {
    pub(super) fn start(
        options: &Options,
        mut route: impl FnMut(Member, Member, PeerAddress) -> io::Result<PeerAddress>,
    ) -> Result<Self, StartError> {
        let mut attempt = 1;
        loop {
            let ensemble = Self::prepare(options, &mut route)?;
            match ensemble.start_all() {
                Err(StartError::PortTaken { .. }) if attempt < PORT_ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
                Ok(()) => return Ok(ensemble),
            }
        }
    }

    /// Returns one of the servers, to ask, kill, pause, resume or restart it.
    pub const fn member(&self, member: Member) -> &Server {
        let [first, second, third] = &self.members;
        match member {
            Member::First => first,
            Member::Second => second,
            Member::Third => third,
        }
    }

    /// Returns the connect string that names every member.
    pub fn connect_string(&self) -> String {
        self.members.each_ref().map(Server::connect_string).join(",")
    }

    /// Returns the member that leads, by its own word; `None` while there is none. Members that
    /// were killed or paused are not asked.
    pub fn leader(&self) -> Option<Member> {
        self.in_mode(Mode::Leader).next()
    }

    /// Returns the members that follow, by their own word.
    pub fn followers(&self) -> Vec<Member> {
        self.in_mode(Mode::Follower).collect()
    }

    /// Waits until a member leads and another one follows it, so that writes are served.
    pub fn wait_for_leader(&self, bound: Duration) -> Result<Member, NotInTime> {
        let mut leader = None;
        wait::eventually(bound, "the ensemble has a leader and a follower", || {
            leader = self.leader();
            leader.is_some() && !self.followers().is_empty()
        })?;
        leader.ok_or_else(|| NotInTime::new("the ensemble has a leader", bound))
    }

    /// Starts every member that is down and waits until all serve: the end of a full outage.
    pub fn start_all(&self) -> Result<(), StartError> {
        self.members.iter().try_for_each(Server::launch)?;
        self.members.iter().try_for_each(Server::wait_until_serving)
    }

    fn in_mode(&self, mode: Mode) -> impl Iterator<Item = Member> {
        Member::ALL.into_iter().filter(move |member| {
            let server = self.member(*member);
            server.is_told_to_run() && server.mode().is_ok_and(|found| found == mode)
        })
    }

    fn prepare(
        options: &Options,
        route: &mut impl FnMut(Member, Member, PeerAddress) -> io::Result<PeerAddress>,
    ) -> Result<Self, StartError> {
        let peer_ports = [PeerPorts::reserve()?, PeerPorts::reserve()?, PeerPorts::reserve()?];
        let addresses = peer_ports.each_ref().map(PeerPorts::address);
        let mut server = |member: Member| {
            let mut peers = String::new();
            for (peer, address) in Member::ALL.into_iter().zip(addresses) {
                // A member listens where its own line says, so that one is never routed.
                let PeerAddress { quorum, election } =
                    if peer == member { address } else { route(member, peer, address)? };
                let (id, host) = (peer.id(), quorum.ip());
                // Writing to a `String` cannot fail.
                let _ = writeln!(peers, "server.{id}={host}:{}:{}", quorum.port(), election.port());
            }
            Server::prepare(options, ReservedPort::reserve()?, member.id(), &peers)
        };
        let members = [server(Member::First)?, server(Member::Second)?, server(Member::Third)?];
        Ok(Self { members, _peer_ports: peer_ports })
    }
}

#[derive(Debug)]
struct PeerPorts {
    quorum: ReservedPort,
    election: ReservedPort,
}

impl PeerPorts {
    fn reserve() -> io::Result<Self> {
        Ok(Self { quorum: ReservedPort::reserve()?, election: ReservedPort::reserve()? })
    }

    const fn address(&self) -> PeerAddress {
        PeerAddress { quorum: self.quorum.address(), election: self.election.address() }
    }
}

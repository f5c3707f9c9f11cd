//! The incidents of the world, each with its time and duration.

use core::fmt;
use core::time::Duration;

use super::clock::Time;
use super::cuts::Cuts;
use super::ending::{Ending, Moment};
use super::links::Impairment;
use super::operating::GivingUp;
use super::queue::Queue;
use super::server_list::ServerList;

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    /// The moment at which it begins.
    pub at: Time,
    /// How long it lasts, if it is something that lasts.
    pub lasts: Duration,
    /// The incident's kind.
    pub what: What,
}

/// The kind of an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A client's connection is lost.
    LoseClient(Who),
    /// The ways between a client and the servers are impaired.
    ImpairClient(Who, Heading, Impairment),
    /// Each connection of a client on which it creates or deletes ends where the reply would come.
    LoseReplies(Who),
    /// So many connections of a client, one after the other, are cut at a request.
    CutRequests(Who, Cuts),
    /// Each connection of a client breaks at the first answer that it gets in its session.
    BreakOff(Who),
    /// A client's process is gone, to be started again.
    CrashClient(Who),
    /// A client's process stands still.
    PauseClient(Who),
    /// A hypervisor holds a client's machine: the process stands still, and its clock does.
    HoldMachine(Who),
    /// All nominations of a client are withdrawn, those that lead resign.
    Withdraw(Who),
    /// A client closes its session, and is started again.
    CloseClient(Who),
    /// A client ends at an awkward moment, and is started again.
    EndClient(Who, Ending, Moment),
    /// A client is given another list of servers, and all of them again in the end.
    ListServers(Who, ServerList),
    /// A client nominates once more, in an election by its number.
    Nominate(Who, u8),
    /// A client gives its session up, and another process goes on with it, and asks for this
    /// timeout.
    HandOver(Who, Duration),
    /// A server has too much to do, and refuses all requests unread but pings.
    Throttle(Whom),
    /// The operator stops all servers, lets them grant longer session timeouts, and starts them one by
    /// one, within this time.
    RaiseBounds(Duration),
    /// A server takes no new connections.
    Refuse(Whom),
    /// No server takes new connections but those that have been deposed and do not know it yet; if
    /// there are any.
    RefuseButDeposed,
    /// An operator deletes the candidate at this place.
    Evict(Place),
    /// An operator writes to the candidate at this place.
    WriteCandidate(Place),
    /// An operator lets no client read the candidate at this place any more.
    Hide(Place),
    /// An operator lets no client do this with an election node, by its number.
    Forbid(u8, Ban),
    /// An operator removes an election node, by its number, with everything in it.
    RemoveElectionNode(u8),
    /// An operator creates a child of the election node that is no candidate.
    CreateStranger(u8),
    /// An operator breaks a lock: the znode of this contender is deleted, by the number of the lock and
    /// how many contenders are before it.
    BreakLock(u8, u8),
    /// An operator writes to the znode of this contender.
    WriteContender(u8, u8),
    /// An operator removes a lock's node, by its number, with everything in it.
    RemoveLock(u8),
    /// An operator deletes the entry of a participant in the double barrier, by how many are before it.
    DeleteEntry(u8),
    /// An operator ends an election, by its number, and reopens it later.
    EndElection(u8),
    /// An operator ends an election, by its number, and deletes it, with what stands beside its node.
    DeleteElection(u8),
    /// The client that leads hands the leadership over to a candidate, counted from the one behind it.
    HandLeadOver(Place),
    /// The client that leads an election, by its number, gives the leadership up.
    GiveUpLead(u8, GivingUp),
    /// An operator deletes the mark of an election's leader, by the number of the election.
    EraseMark(u8),
    /// The ways between a member and others are impaired.
    ImpairMember(Whom, Others, Heading, Impairment),
    /// A member's connections with others are lost.
    LosePeers(Whom, Others),
    /// The ensemble's leader hears nothing any more of the others, which know at once that they
    /// have lost it.
    Depose,
    /// A member's process is gone, to be started again.
    CrashMember(Whom),
    /// A member is shut down in order, which ends the sessions of its clients before it closes their
    /// connections (`Shutdown::SessionsEnd`), and is started again.
    ShutDown(Whom),
    /// The wall clock of ZooKeeper's leader goes forward, by which a server that is not ZooKeeper ends
    /// sessions. Keeper: `getNowMilliseconds`, SessionExpiryQueue.h@c5f18bd; `RaftKeeper`:
    /// SessionExpiryQueue.h:31-35.
    StepWallClock(Duration),
    /// A client's session ends although it was just heard of: the leader had not applied that yet. Keeper:
    /// `sessionCleanerTask`, KeeperDispatcher.cpp@fcfb299.
    EndSession(Who),
    /// All members are gone, to be started again.
    CrashAll,
    /// A member's process stands still.
    PauseMember(Whom),
}

/// An operation that an operator forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ban {
    /// To list the candidates.
    List,
    /// To create a candidate.
    Create,
}

/// A candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of its election.
    pub election: u8,
    /// How many candidates are before it.
    pub number: u8,
}

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By its number, from 0.
    Number(u8),
    /// The client that leads then, if one does.
    Leader,
    /// The first that follows then, if one does.
    Follower,
}

/// A member of the ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// By its number, from 0.
    Number(u8),
    /// The member that leads the ensemble then, if one does.
    Chief,
    /// The member that serves the elected leader then, if one does.
    Serving,
    /// A follower: the one that serves the elected leader then, or else this one of them.
    Follower(u8),
}

/// Other members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// All.
    All,
    /// The member that leads the ensemble then.
    Chief,
    /// By its number, from 0.
    Number(u8),
}

/// Which direction, as seen from the process that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// To it.
    In,
    /// From it.
    Out,
    /// To it and from it.
    Both,
}

impl What {
    /// Whether it goes on for a while.
    pub const fn lasts(self) -> bool {
        match self {
            Self::ImpairClient(..)
            | Self::LoseReplies(_)
            | Self::CutRequests(..)
            | Self::BreakOff(_)
            | Self::CrashClient(_)
            | Self::PauseClient(_)
            | Self::HoldMachine(_)
            | Self::CloseClient(_)
            | Self::EndClient(..)
            | Self::ListServers(..)
            | Self::HandOver(..)
            | Self::Refuse(_)
            | Self::RefuseButDeposed
            | Self::Throttle(_)
            | Self::Forbid(..)
            | Self::EndElection(_)
            | Self::DeleteElection(_)
            | Self::ImpairMember(..)
            | Self::Depose
            | Self::CrashMember(_)
            | Self::ShutDown(_)
            | Self::CrashAll
            | Self::PauseMember(_) => true,
            Self::LoseClient(_)
            | Self::Withdraw(_)
            | Self::Nominate(..)
            | Self::Evict(_)
            | Self::WriteCandidate(_)
            | Self::Hide(_)
            | Self::RemoveElectionNode(_)
            | Self::CreateStranger(_)
            | Self::BreakLock(..)
            | Self::WriteContender(..)
            | Self::RemoveLock(_)
            | Self::DeleteEntry(_)
            | Self::HandLeadOver(_)
            | Self::GiveUpLead(..)
            | Self::EraseMark(_)
            | Self::RaiseBounds(_)
            | Self::StepWallClock(_)
            | Self::EndSession(_)
            | Self::LosePeers(..) => false,
        }
    }

    /// Returns the name of the kind, for counting.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::LoseClient(_) => "client connection lost",
            Self::ImpairClient(_, Heading::Both, Impairment::Held) => "client black hole",
            Self::ImpairClient(_, _, Impairment::Held) => "client one-way black hole",
            Self::ImpairClient(_, _, Impairment::Slow) => "client slow",
            Self::LoseReplies(_) => "replies lost",
            Self::CutRequests(..) => "connections cut at requests",
            Self::BreakOff(_) => "answers broken off",
            Self::CrashClient(_) => "client crash",
            Self::PauseClient(_) => "client pause",
            Self::HoldMachine(_) => "machine held",
            Self::Withdraw(_) => "withdrawal",
            Self::CloseClient(_) => "client close",
            Self::EndClient(_, Ending::Close, _) => "client close, awkward",
            Self::EndClient(_, Ending::CloseAndStand, _) => "client close before a nomination",
            Self::EndClient(_, Ending::CloseAndAbandon, _) => "client close, abandoned",
            Self::EndClient(_, Ending::Abandon, _) => "client abandoned",
            Self::EndClient(_, Ending::CallAndAbandon, _) => "client abandoned behind calls",
            Self::ListServers(..) => "servers listed",
            Self::Nominate(..) => "further nomination",
            Self::HandOver(..) => "session handed over",
            Self::Refuse(_) => "connections refused",
            Self::Throttle(_) => "server throttles",
            Self::RaiseBounds(_) => "bounds raised",
            Self::RefuseButDeposed => "connections refused but by a deposed leader",
            Self::Evict(_) => "eviction",
            Self::WriteCandidate(_) => "candidate written",
            Self::Hide(_) => "candidate hidden",
            Self::Forbid(..) => "election node forbidden",
            Self::RemoveElectionNode(_) => "election node removed",
            Self::CreateStranger(_) => "strange child",
            Self::BreakLock(..) => "lock broken",
            Self::WriteContender(..) => "contender written",
            Self::RemoveLock(_) => "lock's node removed",
            Self::DeleteEntry(_) => "entry deleted",
            Self::ShutDown(_) => "member shut down, and sessions ended",
            Self::StepWallClock(_) => "wall clock stepped",
            Self::EndSession(_) => "session ended by the servers",
            Self::EndElection(_) => "election ended",
            Self::DeleteElection(_) => "election deleted",
            Self::HandLeadOver(_) => "leadership handed over",
            Self::GiveUpLead(_, GivingUp::Resign) => "leader resigns",
            Self::GiveUpLead(_, GivingUp::ResignUncleanly) => "leader resigns uncleanly",
            Self::GiveUpLead(_, GivingUp::StepDown) => "leader steps down",
            Self::EraseMark(_) => "mark deleted",
            Self::ImpairMember(_, _, Heading::Both, Impairment::Held) => "member cut off",
            Self::ImpairMember(_, _, _, Impairment::Held) => "member cut off one way",
            Self::ImpairMember(_, _, _, Impairment::Slow) => "member slow",
            Self::LosePeers(..) => "member connection lost",
            Self::Depose => "leader deposed",
            Self::CrashMember(_) => "member crash",
            Self::CrashAll => "ensemble crash",
            Self::PauseMember(_) => "member pause",
        }
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if self.what.lasts() {
            write!(f, ", for {} ms", self.lasts.as_millis())?;
        }
        Ok(())
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoseClient(who) => write!(f, "{who} loses its connection"),
            Self::ImpairClient(who, heading, Impairment::Held) => {
                write!(f, "nothing passes {heading} {who}")
            }
            Self::ImpairClient(who, heading, Impairment::Slow) => {
                write!(f, "slow ways {heading} {who}")
            }
            Self::LoseReplies(who) => {
                write!(f, "{who} gets no reply to what it creates or deletes")
            }
            Self::CutRequests(who, cuts) => write!(f, "{who} has {cuts}"),
            Self::BreakOff(who) => write!(f, "{who} gets a handshake and no other answer"),
            Self::CrashClient(who) => write!(f, "{who} crashes"),
            Self::PauseClient(who) => write!(f, "{who} is paused"),
            Self::HoldMachine(who) => write!(f, "the machine of {who} is held, with its clock"),
            Self::Withdraw(who) => write!(f, "{who} withdraws or resigns"),
            Self::CloseClient(who) => write!(f, "{who} closes its session"),
            Self::EndClient(who, ending, moment) => write!(f, "{who} {ending}{moment}"),
            Self::ListServers(who, list) => write!(f, "{who} is given {list}"),
            Self::Nominate(who, election) => {
                write!(f, "{who} nominates once more, in election {}", election + 1)
            }
            Self::HandOver(who, timeout) => {
                write!(f, "{who} hands its session over, to be one of {} ms", timeout.as_millis())
            }
            Self::Throttle(whom) => write!(f, "{whom} refuses requests unread"),
            Self::Refuse(whom) => write!(f, "{whom} refuses connections"),
            Self::RefuseButDeposed => {
                f.write_str("all but a deposed leader of the ensemble refuse connections")
            }
            Self::RaiseBounds(within) => {
                write!(f, "the operator raises maxSessionTimeout within {} ms", within.as_millis())
            }
            _ => self.tell_of_others(f),
        }
    }
}

impl What {
    /// Writes the acts of the operator.
    fn tell_of_others(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evict(place) => write!(f, "the operator deletes candidate {place}"),
            Self::WriteCandidate(place) => write!(f, "the operator writes to candidate {place}"),
            Self::Hide(place) => {
                write!(f, "the operator lets nobody read candidate {place}")
            }
            Self::Forbid(election, ban) => {
                write!(f, "the operator lets nobody {ban} in election node {}", election + 1)
            }
            Self::RemoveElectionNode(election) => {
                write!(f, "the operator removes election node {}", election + 1)
            }
            Self::CreateStranger(number) => {
                write!(f, "the operator creates a strange child, {number}")
            }
            Self::BreakLock(lock, number) => {
                write!(f, "the operator deletes contender {} of {}", number + 1, Queue::lock(*lock))
            }
            Self::WriteContender(lock, number) => {
                let (number, lock) = (number + 1, Queue::lock(*lock));
                write!(f, "the operator writes to contender {number} of {lock}")
            }
            Self::RemoveLock(lock) => write!(f, "the operator removes {}", Queue::lock(*lock)),
            Self::DeleteEntry(number) => {
                write!(f, "the operator deletes entry {} of the double barrier", number + 1)
            }
            Self::EndElection(election) => {
                write!(f, "the operator ends election {}", election + 1)
            }
            Self::DeleteElection(election) => {
                write!(f, "the operator ends and deletes election {}", election + 1)
            }
            Self::HandLeadOver(place) => write!(
                f,
                "the leader of election {} hands over to candidate {} behind it",
                place.election + 1,
                place.number + 1
            ),
            Self::GiveUpLead(election, _) => {
                write!(f, "{}, of election {}", self.kind(), election + 1)
            }
            Self::EraseMark(election) => {
                write!(f, "the operator deletes the mark of election {}", election + 1)
            }
            _ => self.tell_of_members(f),
        }
    }

    /// Writes the incidents of members of the ensemble.
    fn tell_of_members(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ImpairMember(whom, others, heading, Impairment::Held) => {
                write!(f, "nothing passes {heading} {whom}, as to {others}")
            }
            Self::ImpairMember(whom, others, heading, Impairment::Slow) => {
                write!(f, "slow ways {heading} {whom}, as to {others}")
            }
            Self::LosePeers(whom, others) => write!(f, "{whom} loses its connection with {others}"),
            Self::Depose => f.write_str(
                "ZooKeeper's leader is cut off unawares, and the others lose their connections to it",
            ),
            Self::CrashMember(whom) => write!(f, "{whom} crashes"),
            Self::CrashAll => f.write_str("all servers crash"),
            Self::ShutDown(whom) => write!(f, "{whom} ends its clients' sessions and shuts down"),
            Self::StepWallClock(step) => {
                write!(f, "the wall clock of the leader goes forward by {} ms", step.as_millis())
            }
            Self::EndSession(who) => write!(f, "the servers end the session of {who}"),
            Self::PauseMember(whom) => write!(f, "{whom} is paused"),
            _ => f.write_str(self.kind()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of election {}", self.number + 1, self.election + 1)
    }
}

impl fmt::Display for Ban {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list candidates",
            Self::Create => "create",
        })
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "client {}", number + 1),
            Self::Leader => f.write_str("the client that leads"),
            Self::Follower => f.write_str("a client that follows"),
        }
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "server {}", number + 1),
            Self::Chief => f.write_str("ZooKeeper's leader"),
            Self::Serving => f.write_str("the server of the client that leads"),
            Self::Follower(number) => {
                write!(f, "the server of the client that leads, or follower {}", number + 1)
            }
        }
    }
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all servers"),
            Self::Chief => f.write_str("ZooKeeper's leader"),
            Self::Number(number) => write!(f, "server {}", number + 1),
        }
    }
}

impl fmt::Display for Heading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::In => "to",
            Self::Out => "from",
            Self::Both => "to and from",
        })
    }
}

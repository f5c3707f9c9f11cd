//! The messages between members.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeSet;

use zk_embedded::replication::{Answer, Forward, Ticket, Txn, Write};
use zk_jute::{SessionId, Zxid};

use super::MemberId;
use super::log::{Credentials, Epoch, Promise};

/// A member's order for the connections to the others. The messages of an ordered pair arrive in
/// the order in which they were sent, or are lost with the connection.
#[derive(Clone, Debug)]
pub enum PeerOutput {
    /// Deliver a message, by [`Member::handle_peer`](super::Member::handle_peer).
    Send {
        /// The member that it is for.
        to: MemberId,
        /// The message.
        message: PeerMessage,
    },
    /// End the connection: what is under way in both directions is lost, and the other side gets
    /// [`Member::handle_peer_reset`](super::Member::handle_peer_reset). Messages sent after this
    /// travel on a new connection.
    Reset {
        /// The member at the other end.
        peer: MemberId,
    },
}

/// A message from one member to another.
#[derive(Clone)]
pub struct PeerMessage(pub(super) Message);

#[derive(Clone)]
pub(super) enum Message {
    /// From a member without a leader, to all others, until it has one.
    Looking(Announcement),
    /// From a member that was elected, to all others, and again to each that looks for a leader.
    Leading(Claim),
    ToLeader(Link, ToLeader),
    ToFollower(Link, ToFollower),
}

#[derive(Clone, Debug)]
pub(super) struct Announcement {
    pub(super) promise: Promise,
    pub(super) credentials: Credentials,
    /// The members that were heard of late to look for a leader, too.
    pub(super) hears: BTreeSet<MemberId>,
    /// How many of those, with the sender, are known to hear the sender.
    pub(super) reach: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) epoch: Epoch,
    pub(super) standing: Standing,
}

/// How far an elected member has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It needs the promises of a quorum, of members with no better log than its own.
    Candidate(Credentials),
    /// A quorum has promised; any member may join.
    Elected,
}

/// One attempt of a follower to follow; numbered by the follower, and never used again. Its number
/// tells messages of an earlier attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(pub(super) u64);

#[derive(Clone, Debug)]
pub(super) enum ToLeader {
    /// The sender has promised the epoch, and knows the log to be committed up to this.
    Join {
        epoch: Epoch,
        committed: Zxid,
    },
    /// The leader's log is logged, up to this transaction.
    Acknowledge(Zxid),
    Forward(Ticket, Forward),
    /// The answer to a heartbeat: the sessions heard of since the one before, with the timeouts that
    /// they have at the sender.
    Alive(Vec<(SessionId, Duration)>),
}

#[derive(Clone, Debug)]
pub(super) enum ToFollower {
    /// All that the leader logged after what the follower knew to be committed when it joined.
    Synchronize(Vec<Txn>),
    /// A transaction that was committed before this may be shown to clients.
    UpToDate,
    /// The next transaction to be logged.
    Propose(Proposal),
    /// Everything up to this is committed.
    Commit(Zxid),
    Answer(Ticket, Answer),
    Heartbeat,
}

#[derive(Clone, Debug)]
pub(super) struct Proposal {
    /// The transaction before.
    pub(super) after: Zxid,
    pub(super) txn: Txn,
    /// If it comes from the receiver's request.
    pub(super) ticket: Option<Ticket>,
}

/// In a few words, for stories.
impl fmt::Debug for PeerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Message::Looking(Announcement { promise, credentials, hears, .. }) => {
                let heard: Vec<u8> = hears.iter().map(|member| member.0).collect();
                write!(f, "looking ({credentials:?}; promised {:?}; ", promise.epoch)?;
                write!(f, "hears {heard:?})")
            }
            Message::Leading(Claim { epoch, standing: Standing::Candidate(credentials) }) => {
                write!(f, "standing for {epoch:?} ({credentials:?})")
            }
            Message::Leading(Claim { epoch, standing: Standing::Elected }) => {
                write!(f, "leading {epoch:?}")
            }
            Message::ToLeader(_, message) => message.tell(f),
            Message::ToFollower(_, message) => message.tell(f),
        }
    }
}

impl ToLeader {
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join { epoch, committed } => write!(f, "join {epoch:?} (knows {committed})"),
            Self::Acknowledge(zxid) => write!(f, "acknowledge {zxid}"),
            Self::Forward(_, Forward::CreateSession { session, .. }) => {
                write!(f, "create session {session}")
            }
            Self::Forward(_, Forward::ResumeSession { session, .. }) => {
                write!(f, "resume session {session}")
            }
            Self::Forward(_, Forward::Sync { session }) => write!(f, "sync for {session}"),
            Self::Forward(_, Forward::Write(request)) => {
                write!(f, "write for {}", request.session)?;
                // What keeps leases in force are checks; the others are the caller's.
                match &request.write {
                    Write::Single(_) => write!(f, ", of its caller's"),
                    _ => Ok(()),
                }
            }
            Self::Alive(touched) => {
                write!(f, "alive, heard of")?;
                touched.iter().try_for_each(|(session, timeout)| {
                    write!(f, " {session} ({} ms)", timeout.as_millis())
                })
            }
        }
    }
}

impl ToFollower {
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Synchronize(txns) => write!(f, "synchronize {} transactions", txns.len()),
            Self::UpToDate => write!(f, "up to date"),
            Self::Propose(proposal) => write!(f, "propose {}", proposal.txn.at.zxid),
            Self::Commit(zxid) => write!(f, "commit {zxid}"),
            Self::Answer(_, answer) => write!(f, "answer {answer:?}"),
            Self::Heartbeat => write!(f, "heartbeat"),
        }
    }
}

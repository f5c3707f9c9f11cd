//! The ensemble: replicas of the embedded server that elect a leader and replicate its log, as Zab
//! does as far as a client can tell.
//!
//! A [`Member`] is one server, without IO. It takes in the bytes of clients and the messages of the
//! other members, with the time of its own clock; its answers are polled. An ensemble has as many
//! members as [`EnsembleConfig::size`] says, numbered from 1; its owner carries their messages. The
//! same calls give the same answers.
//!
//! - **Election.** A member without a leader announces itself, with its log. The member with the best
//!   log among a quorum that hear each other stands for a new *epoch*; a member that promises it an
//!   epoch never acknowledges anything of an older one.
//! - **Synchronisation.** Once a quorum has promised, the new leader replaces the others' logs by
//!   its own, beyond the transactions that they know to be committed. Once a quorum has
//!   acknowledged that, all of it is committed and the members serve.
//! - **Broadcast.** The leader decides and proposes, a follower logs and acknowledges, a quorum
//!   commits. A member applies what is committed, so it shows the past, in order.
//! - **Heartbeat.** The leader pings each half tick; only the answers carry the sessions that
//!   a follower heard of, each with the timeout that it has there. A leader that has not heard a
//!   quorum for [`EnsembleConfig::sync_limit`] ticks steps down, a follower that has not heard its
//!   leader for as long leaves it; either drops its clients. Until then both go on answering the
//!   requests that they can answer alone: a follower answers pings and reads, a leader also `sync`, its
//!   learners' too if it has proposed nothing that is not committed. A leader that is cut off also
//!   goes on ending sessions, though they may live on elsewhere. It then refuses their requests, or
//!   leaves them unanswered.
//!
//! Further behaviour that a test can cause: [`Member::set_expiry_pace`], [`Member::set_throttling`],
//! [`Member::set_touch_loss`], [`Member::lose_next_touch`], [`Member::set_session_timeouts`], [`Member::set_read_only_mode`].

mod election;
mod following;
mod leading;
mod local;
mod log;
mod member;
mod message;
mod role;
mod server;

pub use self::member::{Member, MemberRole};
pub use self::message::{PeerMessage, PeerOutput};
pub use self::server::Server;

use core::time::Duration;

/// The number of a member in its ensemble, from 1 (`myid`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u8);

/// How often a member that follows loses a touch: by default never.
///
/// ZooKeeper's learner enters a touch into a table that the thread which answers the leader's ping
/// swaps for an empty one. A touch that was about to be entered when the table is swapped is lost,
/// unless an earlier one of the same session is in the table. The model takes the last entry made no
/// longer than `within` before the swap, and answers the request that it came from at once, so it
/// stretches the race by `within`: on a real server the answer is sent after the swap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TouchLoss {
    /// How many swaps of a thousand lose the last entry, if that is recent enough.
    pub per_mille: u16,
    /// How recent is recent enough.
    pub within: Duration,
    /// The time after a loss in which no other is. The race is so short that no two come together,
    /// and a lease withstands the loss of one touch of two.
    pub apart: Duration,
}

/// Whether members that have no leader serve reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadOnlyMode {
    /// They close each connection.
    #[default]
    Off,
    /// They do, to clients that will do with it.
    On,
}

/// The settings of an ensemble's members. All of them are the same for each member, but for the
/// bounds of session timeouts.
#[derive(Clone, Debug)]
pub struct EnsembleConfig {
    /// How many members there are; their numbers are 1 to this.
    pub size: u8,
    /// How each serves its clients. Its seed and server number are replaced by the member's own.
    pub server: zk_embedded::Config,
    /// Ticks that an elected member has to become the leader of a quorum, and that a follower has
    /// to be brought to its leader's log (`initLimit`).
    pub init_limit: u32,
    /// Ticks without a word from the other side after which a leader gives up a follower, and a
    /// follower its leader (`syncLimit`).
    pub sync_limit: u32,
}

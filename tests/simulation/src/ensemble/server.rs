//! A server of a run, of either kind.

use core::time::Duration;

use zk_embedded::{Instant, Standalone, Timestamp};
use zk_jute::SessionId;

use super::Member;

/// A server on its own, or a member of an ensemble.
#[derive(Debug)]
pub enum Server {
    /// On its own.
    Alone(Box<Standalone>),
    /// One of several.
    Member(Box<Member>),
}

impl Server {
    /// Ends these sessions at once, if it decides about them.
    pub fn end_sessions(&mut self, now: Instant, sessions: &[SessionId]) {
        match self {
            Self::Alone(server) => {
                for session in sessions {
                    // One that has ended by itself needs no end.
                    let _ = server.expire_connected(now, *session);
                }
            }
            Self::Member(member) => member.end_sessions(now, sessions),
        }
    }

    /// Sets the clock of the day, by what it would have shown at [`Instant::ORIGIN`].
    pub fn set_wall_clock_at_origin(&mut self, time: Timestamp) {
        match self {
            Self::Alone(server) => server.set_wall_clock_at_origin(time),
            Self::Member(member) => member.set_wall_clock_at_origin(time),
        }
    }

    /// Lets the clock by which sessions end go forward, if it leads others.
    pub fn step_wall_clock(&mut self, step: Duration) {
        if let Self::Member(member) = self {
            member.step_wall_clock(step);
        }
    }
}

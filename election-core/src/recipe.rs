//! What every recipe is to the driver that runs it.

use core::time::Duration;

use crate::command::{Output, Znode};
use crate::event::Event;
use crate::id::Token;
use crate::ticket::Ticket;

/// A recipe: a state machine that stands on a ZooKeeper session.
///
/// A driver feeds it events and carries out its commands; `election-session` does so for any type
/// that implements this trait. [`Nominee`](crate::Nominee) is one. No event may make a recipe panic,
/// in whatever order events come.
///
/// At most one command of a recipe awaits its reply. The next one is commanded by what answers it,
/// or by another event.
pub trait Recipe {
    /// What changed for the user of this recipe.
    type Notice;

    /// Takes in what happened and says what to do about it. A reply or change with a ticket that is
    /// no longer awaited changes nothing.
    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Self::Notice>;

    /// Gives up whatever the recipe is doing: it removes what it has left on the server, then it is
    /// over. Asking again changes nothing.
    fn withdraw(&mut self) -> Output<'_, Self::Notice>;

    /// How far the recipe has come.
    fn phase(&self) -> Phase;

    /// Says whether the recipe holds what it stands for: the leadership, the lock. A recipe that is
    /// about no such thing holds nothing.
    ///
    /// The driver tells its user of it only once the lease of the session is proved, and feeds
    /// [`Event::LeaseLapsed`] only to a recipe whose user was told.
    fn hold(&self) -> Hold {
        Hold::None
    }

    /// The znode that heartbeats are to check, while the recipe needs the session's lease. It is one
    /// that the recipe has created, and stands. `None`: nothing rests on the lease.
    fn heartbeat(&self) -> Option<Znode<'_>> {
        None
    }

    /// Says whether a watch is wanted: that of the read with this ticket, which is in flight or was
    /// answered. A driver takes down the watches that are not.
    fn awaits_change(&self, ticket: Ticket) -> bool;

    /// How long the recipe waits before it goes on by itself: from the moment at which this is `Some` for
    /// the first time, until it is `None` again, or that time has passed, of which the driver tells by
    /// [`Event::Deadline`]. For recipes whose user sets no deadline meanwhile.
    fn awaits_delay(&self) -> Option<Duration> {
        None
    }

    /// Says whether the server had too much to do to look at the last request
    /// ([`Failure::Throttled`](crate::Failure::Throttled)): the next [`Event::Look`] has it sent
    /// again, so a driver feeds one soon.
    fn waits_for_look(&self) -> bool {
        false
    }
}

/// How far a recipe has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It takes part, or is about to.
    Standing,
    /// It was withdrawn, or has given up, and removes its znode; it will tell its end.
    Leaving,
    /// It has told its end, and goes on removing what it left. The driver goes on feeding it.
    CleaningUp,
    /// Nothing is left to be done.
    Over,
}

/// What a recipe holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// Nothing.
    None,
    /// What it stands for, by an own znode that was verified on this connection.
    Active(Token),
    /// The same, but the connection was lost since, or its znode is not verified yet on this one.
    Suspended(Token),
}

impl Hold {
    /// The token of what is held; a verified znode and one in doubt have the same.
    pub const fn token(self) -> Option<Token> {
        match self {
            Self::None => None,
            Self::Active(token) | Self::Suspended(token) => Some(token),
        }
    }
}

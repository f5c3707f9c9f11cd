//! The interface between a recipe and its driver.

use core::time::Duration;

use crate::command::{Output, Znode};
use crate::event::Event;
use crate::id::Token;
use crate::ticket::Ticket;

/// A recipe: a state machine that stands on a ZooKeeper session.
///
/// A driver feeds it events and executes its commands; `election-session` does so for any type that
/// implements this trait. [`Nominee`](crate::election::Nominee) is one. No event may make a recipe panic, in
/// any order of events.
///
/// At most one command of a recipe waits for its reply. The reply, or another event, leads to the
/// next one.
pub trait Recipe {
    /// A change for the user of this recipe.
    type Notice;

    /// Takes in an event, and returns what to do about it. A reply or change with a ticket that is
    /// no longer awaited changes nothing.
    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Self::Notice>;

    /// Gives up whatever the recipe is doing: it removes what it has left on the server, and ends.
    /// Calling it again changes nothing.
    fn withdraw(&mut self) -> Output<'_, Self::Notice>;

    /// Returns the progress of the recipe.
    fn phase(&self) -> Phase;

    /// Returns whether the recipe holds what it stands for: the leadership, or the lock. A recipe
    /// without such a thing holds nothing.
    ///
    /// The driver reports it to its user only once the lease of the session is proved, and feeds
    /// [`Event::LeaseLapsed`] only to a recipe whose hold it has reported to its user.
    fn hold(&self) -> Hold {
        Hold::None
    }

    /// Returns the znode that heartbeats should check, while the recipe needs the session's lease.
    /// The recipe has created this znode, and it exists. `None`: the recipe does not need the
    /// lease.
    fn heartbeat(&self) -> Option<Znode<'_>> {
        None
    }

    /// Returns whether the recipe wants the watch of the read with this ticket, which is in flight
    /// or was answered. A driver removes the watches that are not wanted.
    fn awaits_change(&self, ticket: Ticket) -> bool;

    /// Returns how long the recipe waits before it goes on by itself. The time counts from the
    /// moment at which this is `Some` for the first time, until it is `None` again, or the time has
    /// passed, which the driver reports by [`Event::Deadline`]. It is for recipes without a
    /// deadline of the user meanwhile.
    fn awaits_delay(&self) -> Option<Duration> {
        None
    }

    /// Returns whether the server had too much to do to handle the last request
    /// ([`Failure::Throttled`](crate::Failure::Throttled)). The next [`Event::Look`] sends it
    /// again, so a driver feeds one soon.
    fn waits_for_look(&self) -> bool {
        false
    }
}

/// The progress of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It takes part, or is about to.
    Standing,
    /// It was withdrawn, or has given up, and removes its znode; it has not reported its end yet.
    Leaving,
    /// It has reported its end, and goes on removing what it left. The driver goes on feeding it.
    CleaningUp,
    /// Nothing is left to do.
    Over,
}

/// A recipe's claim to what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// Nothing.
    None,
    /// The recipe holds what it stands for, by its own znode that was verified on this connection.
    Active(Token),
    /// The same, but the connection was lost since, or the znode is not verified yet on this one.
    Suspended(Token),
}

impl Hold {
    /// Returns the token of the holding; it is the same for a verified znode and one in doubt.
    pub const fn token(self) -> Option<Token> {
        match self {
            Self::None => None,
            Self::Active(token) | Self::Suspended(token) => Some(token),
        }
    }
}

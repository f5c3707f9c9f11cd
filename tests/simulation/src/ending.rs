//! The ends of clients: their kind and time.

use core::fmt;

/// How a client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It closes its session.
    Close,
    /// It closes its session, and nominates once more before that is confirmed.
    CloseAndStand,
    /// It closes its session, and does not wait for that to be confirmed.
    CloseAndAbandon,
    /// It abandons its session without a word.
    Abandon,
    /// It submits calls, as many as there is room for, and abandons its session.
    CallAndAbandon,
}

impl Ending {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [
        Self::Close,
        Self::CloseAndStand,
        Self::CloseAndAbandon,
        Self::Abandon,
        Self::CallAndAbandon,
    ];
}

/// The moment at which a client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At once.
    Now,
    /// With the next thing that the network brings, and before any event of that is taken out.
    OnArrival,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Close => "closes its session",
            Self::CloseAndStand => "closes its session and nominates once more",
            Self::CloseAndAbandon => "closes its session and abandons it",
            Self::Abandon => "abandons its session",
            Self::CallAndAbandon => "submits calls and abandons its session",
        })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Now => "",
            Self::OnArrival => ", as soon as it hears anything",
        })
    }
}

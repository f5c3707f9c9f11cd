//! Giving a claim back, request by request.
//!
//! The claim's name is the same for every taker. After an operator has deleted it, another taker may
//! have claimed the item: so the taker deletes the claim only if one transaction has created it and
//! the taker's own child of the item, as their tokens show.

use crate::code::NO_NODE;
use crate::event::{Failure, Reply};
use crate::id::Token;
use crate::owed::{Removal, Rest};

/// The next request of a taker that gives its claim back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum GiveBack {
    /// Its server may be behind the one that has executed what was sent before.
    Barrier,
    LookAtPin,
    /// The own child of the item has this token.
    LookAtClaim(Token),
    DeleteBoth,
    /// The claim is gone, or another taker's.
    DeletePin,
}

impl Removal for GiveBack {
    fn anew(&self) -> Self {
        match self {
            Self::Barrier => Self::Barrier,
            _ => Self::LookAtPin,
        }
    }
}

impl GiveBack {
    /// Returns the first step behind a claim that is in doubt, and was refused when it was sent again. The server that
    /// refuses it has applied the first; where no server has looked at it, this one may not have.
    pub(super) const fn after(refusal: &Result<Reply<'_>, Failure>) -> Self {
        match refusal {
            Err(Failure::HeldBack | Failure::TooLarge) => Self::Barrier,
            _ => Self::LookAtPin,
        }
    }

    pub(super) fn answered(self, result: &Result<Reply<'_>, Failure>) -> Rest<Self> {
        match (self, result) {
            (Self::Barrier, Ok(Reply::BarrierPassed)) => Rest::GoesOn(Self::LookAtPin),
            (Self::LookAtPin, Ok(Reply::Exists(pin))) => Rest::GoesOn(Self::LookAtClaim(pin.token)),
            (Self::LookAtClaim(token), Ok(Reply::Exists(claim))) if claim.token == token => {
                Rest::GoesOn(Self::DeleteBoth)
            }
            (Self::LookAtClaim(_), Ok(Reply::Exists(_)) | Err(Failure::NoNode))
            | (Self::DeleteBoth, Err(Failure::Aborted { part: 1, code: NO_NODE })) => {
                Rest::GoesOn(Self::DeletePin)
            }
            (Self::LookAtPin | Self::DeletePin, Err(Failure::NoNode))
            | (
                Self::DeleteBoth,
                Err(Failure::Aborted { part: 0, code: NO_NODE }) | Ok(Reply::Committed(_)),
            )
            | (Self::DeletePin, Ok(Reply::Deleted)) => Rest::Gone,
            _ => Rest::Refused(self),
        }
    }
}

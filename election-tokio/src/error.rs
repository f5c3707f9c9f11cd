//! What other errors hold. A failed operation is an [`Error`](crate::Error), at the root; the error of
//! a recipe is in the recipe's module.
//!
//! Kinds, causes and advice:
//! [errors](https://github.com/zk-election/zk-election/blob/main/docs/guide/src/errors.md).

pub(crate) mod lost;
pub(crate) mod operation;
mod place;
mod shared;
pub(crate) mod version;

pub use election_core::name::NameError;
pub use election_core::{ParseNomineeIdError, ParseTokenError};
pub(crate) use operation::advice;
pub use place::Place;
pub(crate) use place::Refusable;
pub use shared::SharedError;
pub use zk_jute::{DecodeError, DecodeErrorKind, Escaped, FrameError, OpCode, Xid};
pub use zk_session::{ConnectionEnd, ParseTicketError, PathError, ProtocolError};

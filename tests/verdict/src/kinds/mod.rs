//! What is specified of each kind of object.
//!
//! | kind | operations | specification |
//! |---|---|---|
//! | `register/` | read, write | an operation's token is no smaller than any before it; a write that was made of a version overwrites that version; versions count |
//! | `lock/` | acquire, release | one holder, or several that share; tokens grow from holder to holder that exclude each other |
//! | `log/` | append, log | in the end all entries stand in an order in which they may have been written, and their tokens never fall |
//! | `queue/` | put, take, left | an item is taken once, after it was put; what is neither taken nor left was taken by an operation with an unknown outcome |
//! | `counter/` | add, compare-and-set | each change is made once, to the value that it names |

mod counter;
mod lock;
mod log;
mod queue;
mod register;

pub(crate) use self::counter::Counter;
pub(crate) use self::lock::Lock;
pub(crate) use self::log::Log;
pub(crate) use self::queue::{Queue, by_item};
pub(crate) use self::register::Register;

use super::history::{Call, End};
use super::operation::Op;

/// Returns the operations that took effect, with their results.
fn done(calls: &[Call]) -> impl Iterator<Item = &Op> {
    calls.iter().filter_map(|call| match &call.end {
        End::Ok(_, op) => Some(op),
        End::Failed(_) | End::Unknown => None,
    })
}

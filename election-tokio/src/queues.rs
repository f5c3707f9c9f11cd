//! Queues: many clients put items, and each item is taken by one.

mod claimed;
mod error;
mod face;
mod item;
mod kept;
mod priority;
mod put;
mod queue;
mod slot;
mod taking;

pub use claimed::Claimed;
pub use error::{ClaimError, ClaimLost, PutError, TakeError};
pub use item::QueueItem;
pub use priority::PriorityQueue;
pub use queue::Queue;

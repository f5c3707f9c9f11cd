//! Items of queues, and their data.

use core::fmt;

use bytes::Bytes;
use election_core::queue::{Item, ItemName};

/// An item of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct QueueItem {
    /// The name of its znode. No other item of the queue has it.
    pub name: ItemName,
    /// Its data.
    pub data: Bytes,
}

/// The data of an item. `Debug` does not show the bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Data(pub(super) Bytes);

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(bytes))
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.0.len())
    }
}

impl QueueItem {
    pub(super) fn of(item: Item<Data>) -> Self {
        let Item { name, data: Data(data) } = item;
        Self { name, data }
    }
}

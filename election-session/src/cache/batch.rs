//! How many znodes are read in one request.

/// The bytes that the requests and replies of one batch may have.
const LARGEST: usize = 128 * 1024;
/// The most data of a znode that is read together with others.
const SMALL: usize = 1024;
/// The bytes of a request and its reply beside the path and the data.
const OVERHEAD: usize = 128;

/// The room in one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    znodes: usize,
    bytes: usize,
}

impl Batch {
    pub(super) const fn of(znodes: usize) -> Self {
        Self { znodes, bytes: LARGEST }
    }

    pub(super) const fn is_of_many(self) -> bool {
        self.znodes > 1
    }

    /// Takes up the room for a znode with so much data, if there is as much.
    pub(super) fn takes(&mut self, path: &str, data: i32) -> bool {
        let data = usize::try_from(data).unwrap_or_default();
        let bytes = path.len() + data + OVERHEAD;
        let has_room = self.znodes > 0 && bytes <= self.bytes && data <= SMALL;
        if has_room {
            self.znodes -= 1;
            self.bytes -= bytes;
        }
        has_room
    }
}

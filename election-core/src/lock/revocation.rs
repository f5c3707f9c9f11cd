//! Requests to release, which replace the data of a contender's znode.

use crate::event::{Event, Reply};
use crate::id::Version;
use crate::ticket::Ticket;

/// The data that asks a contender to release: that of Curator's `Revoker`.
pub const REVOKE_REQUEST: &[u8] = b"__REVOKE__";

/// The same request, as on ZooKeeper's page on recipes.
const UNLOCK: &[u8] = b"unlock";

/// Returns whether a znode with this data and version asks its contender to release. The data of
/// its creation are no request, whatever they are.
pub fn is_revoke_request(data: &[u8], version: Version) -> bool {
    version != Version::new(0) && (data == REVOKE_REQUEST || data == UNLOCK)
}

/// The last report of a request at the contender's znode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Heard {
    #[default]
    Nothing,
    /// The request that was written with this version.
    Request(Version),
}

/// A read that may be of the contender's znode.
#[derive(Clone, Copy)]
pub(super) struct OwnRead {
    pub(super) ticket: Ticket,
    pub(super) data: Heard,
}

impl OwnRead {
    pub(super) fn by(event: &Event<'_>) -> Option<Self> {
        let Event::Reply { ticket, result: Ok(Reply::Read { stat, data }) } = event else {
            return None;
        };
        let is_request = is_revoke_request(data, stat.version);
        let data = if is_request { Heard::Request(stat.version) } else { Heard::Nothing };
        Some(Self { ticket: *ticket, data })
    }
}

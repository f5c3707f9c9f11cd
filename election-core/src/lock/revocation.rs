//! Requests to let go, which are written in place of the data of a contender's znode.

use crate::event::{Event, Reply};
use crate::id::Version;
use crate::ticket::Ticket;

/// The data that asks a contender to let go: that of Curator's `Revoker`.
pub const REVOKE_REQUEST: &[u8] = b"__REVOKE__";

/// The same, as ZooKeeper's page on recipes has it.
const UNLOCK: &[u8] = b"unlock";

/// Whether a znode with this data and version asks its contender to let go. What the znode was created
/// with is no request, whatever it says.
pub fn is_revoke_request(data: &[u8], version: Version) -> bool {
    version != Version::new(0) && (data == REVOKE_REQUEST || data == UNLOCK)
}

/// What was told of requests at the own znode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Heard {
    #[default]
    Nothing,
    /// That written with this version.
    Request(Version),
}

/// What a read shows that may be one of the own znode.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) ticket: Ticket,
    pub(super) data: Heard,
}

impl Shown {
    pub(super) fn by(event: &Event<'_>) -> Option<Self> {
        let Event::Reply { ticket, result: Ok(Reply::Read { stat, data }) } = event else {
            return None;
        };
        let is_request = is_revoke_request(data, stat.version);
        let data = if is_request { Heard::Request(stat.version) } else { Heard::Nothing };
        Some(Self { ticket: *ticket, data })
    }
}

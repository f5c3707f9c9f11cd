//! Which children of a group's node are its members, and how a member's znode is called.

use alloc::format;
use alloc::string::{String, ToString as _};

use election_core::NomineeId;

/// The format of a group. Members of two formats on one path do not see each other as they should: a
/// [`Plain`](Self::Plain) group counts all children, a party only its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupFormat {
    /// Each child is a member, and has its name: Curator's `GroupMember`.
    #[default]
    Plain,
    /// kazoo's `Party`: `<32 digits>__party__`. What the member is called is its data.
    Party,
    /// kazoo's `ShallowParty`: `<32 digits>-<name>`.
    ShallowParty,
}

const PARTY: &str = "__party__";

impl GroupFormat {
    /// The name of the znode of a member that is called so, or by its id alone.
    pub fn znode(self, id: NomineeId, name: Option<&str>) -> String {
        let digits = || id.to_string().replace('-', "");
        match self {
            Self::Plain => name.map_or_else(|| id.to_string(), String::from),
            Self::Party => format!("{}{PARTY}", digits()),
            Self::ShallowParty => format!("{}-{}", digits(), name.unwrap_or_default()),
        }
    }

    /// Whether a child is a member.
    pub fn is_member(self, child: &str) -> bool {
        match self {
            Self::Plain => true,
            Self::Party => child.contains(PARTY),
            Self::ShallowParty => child.contains('-'),
        }
    }

    /// What the member is called whose znode this is. That of a party is called by its data.
    pub fn name_of(self, znode: &str) -> &str {
        match self {
            Self::Plain | Self::Party => znode,
            Self::ShallowParty => znode.split_once('-').map_or(znode, |(_, name)| name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_named_as_elsewhere() {
        let id = NomineeId::from_bytes([0xab; 16]);
        let (plain, party, shallow) =
            (GroupFormat::Plain, GroupFormat::Party, GroupFormat::ShallowParty);
        assert_eq!(plain.znode(id, None), "abababab-abab-abab-abab-abababababab");
        assert_eq!(plain.znode(id, Some("one")), "one");
        assert_eq!(party.znode(id, Some("one")), "abababababababababababababababab__party__");
        let znode = shallow.znode(id, Some("one-two"));
        assert_eq!(znode, "abababababababababababababababab-one-two");
        assert_eq!(shallow.name_of(&znode), "one-two");
        assert!(shallow.is_member(&znode) && plain.is_member(&znode) && !party.is_member(&znode));
        assert_eq!((plain.name_of("one"), shallow.name_of("one")), ("one", "one"));
    }
}

//! Formats of groups: which children are members, and the names of their znodes.

use alloc::format;
use alloc::string::{String, ToString as _};

use election_core::NomineeId;

/// The format of a group. Members of two formats on one path do not see each other properly: a
/// [`Plain`](Self::Plain) group counts all children, a party only its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupFormat {
    /// Each child is a member, and has its name: Curator's `GroupMember`.
    #[default]
    Plain,
    /// kazoo's `Party`: `<32 digits>__party__`. The data of the member's znode is the member's
    /// name.
    Party,
    /// kazoo's `ShallowParty`: `<32 digits>-<name>`.
    ShallowParty,
}

const PARTY: &str = "__party__";

impl GroupFormat {
    /// Returns the name of the znode of a member with this name, or only with this id.
    pub fn znode(self, id: NomineeId, name: Option<&str>) -> String {
        let digits = || id.to_string().replace('-', "");
        match self {
            Self::Plain => name.map_or_else(|| id.to_string(), String::from),
            Self::Party => format!("{}{PARTY}", digits()),
            Self::ShallowParty => format!("{}-{}", digits(), name.unwrap_or_default()),
        }
    }

    /// Returns whether a child is a member.
    pub fn is_member(self, child: &str) -> bool {
        match self {
            Self::Plain => true,
            Self::Party => child.contains(PARTY),
            Self::ShallowParty => child.contains('-'),
        }
    }

    /// Returns the member's name, from the name of its znode. A member of a party has its name in
    /// its data.
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

//! Names for the formats of a group's members.

use core::fmt;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use election_tokio::group::GroupFormat;

/// Which children are members, and how they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupFormatName {
    /// All children, by their names, as in Curator's `GroupMember`.
    Plain,
    /// `<32 digits>__party__`, as in kazoo's `Party`: a member is named by its data.
    Party,
    /// `<32 digits>-<name>`, as in kazoo's `ShallowParty`.
    ShallowParty,
}

impl GroupFormatName {
    pub(crate) const fn format(self) -> GroupFormat {
        match self {
            Self::Plain => GroupFormat::Plain,
            Self::Party => GroupFormat::Party,
            Self::ShallowParty => GroupFormat::ShallowParty,
        }
    }
}

impl fmt::Display for GroupFormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

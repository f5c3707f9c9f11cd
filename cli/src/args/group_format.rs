//! The formats of members' names, by names of their own.

use core::fmt;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use election_tokio::GroupFormat;

/// Which children are members, and how they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupFormatName {
    /// All of them, by their names, as Curator's `GroupMember` has it.
    Plain,
    /// `<32 digits>__party__`, as kazoo's `Party` has it: a member is called by its data.
    Party,
    /// `<32 digits>-<name>`, as kazoo's `ShallowParty` has it.
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

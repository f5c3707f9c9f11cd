//! Recognises the participants among the children of a double barrier, and the first and the last
//! of them.

use core::fmt::Write as _;

use heapless::String;

use crate::event::{Failure, Reply};
use crate::id::NomineeId;

/// The name of an entry: a uuid of 36 characters, as in Curator, or of 32 digits, as in kazoo. No
/// other child counts, so a stray znode neither counts nor delays anything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct MemberName(String<36>);

impl MemberName {
    pub(super) fn of(id: NomineeId) -> Self {
        let mut name = String::new();
        // The name has room for a uuid.
        let _ = write!(name, "{id}");
        Self(name)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(name: &str) -> Option<Self> {
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_member = match name.len() {
            36 => name.parse::<NomineeId>().is_ok(),
            32 => is_hex(name),
            _ => false,
        };
        if !is_member {
            return None;
        }
        let mut own = String::new();
        own.push_str(name).ok()?;
        Some(Self(own))
    }
}

/// The participants that a list shows.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) count: u32,
    /// The range of the others.
    pub(super) others: Option<Range>,
}

/// A range by names, as text.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) lowest: MemberName,
    pub(super) highest: MemberName,
}

impl Members {
    const NONE: Self = Self { count: 0, others: None };

    /// Reads the answer to a list. A node that is gone has no children.
    pub(super) fn listed(
        result: &mut Result<Reply<'_>, Failure>,
        own: &MemberName,
    ) -> Option<Self> {
        let names = match result {
            Ok(Reply::Children(names)) => names,
            Err(Failure::NoNode) => return Some(Self::NONE),
            _ => return None,
        };
        let mut members = Self::NONE;
        for name in names.filter_map(MemberName::parse) {
            members.count = members.count.saturating_add(1);
            if name == *own {
                continue;
            }
            match &mut members.others {
                None => members.others = Some(Range { lowest: name.clone(), highest: name }),
                Some(range) if name < range.lowest => range.lowest = name,
                Some(range) if name > range.highest => range.highest = name,
                Some(_) => {}
            }
        }
        Some(members)
    }
}

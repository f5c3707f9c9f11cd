//! Lists of slots.

use std::collections::BTreeSet;
use std::sync::Arc;

use election_session::slots::SlotName;

use super::SlotsError;

/// The names of all slots. The list of the member that plans counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotList(Arc<[SlotName]>);

impl SlotList {
    /// Makes a list of these names.
    ///
    /// # Errors
    ///
    /// A text is no name, or is there twice.
    pub fn of<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Self, SlotsError> {
        let (mut seen, mut list) = (BTreeSet::new(), Vec::new());
        for name in names {
            let name: SlotName = name.as_ref().parse()?;
            if !seen.insert(name.clone()) {
                return Err(SlotsError::Repeated(name));
            }
            list.push(name);
        }
        Ok(Self(list.into()))
    }

    pub(super) fn names(&self) -> &[SlotName] {
        &self.0
    }
}

/// So many slots, named `0`, `1` and so on.
impl From<u32> for SlotList {
    fn from(count: u32) -> Self {
        let name = |at: u32| at.to_string().parse().expect("digits are a name");
        Self((0..count).map(name).collect())
    }
}

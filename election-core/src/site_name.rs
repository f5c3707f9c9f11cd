//! The name of a site that takes part in a two-phase commit.

use core::fmt;
use core::str::FromStr;

use heapless::String;
use thiserror::Error;

/// The beginning of a child's name while its site was asked, and has not come.
const INVITED: &str = "invited-";

const MAX_LEN: usize = 64;

/// The name of a site: printable ASCII without spaces and slashes, from 1 to 64 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteName(String<{ INVITED.len() + MAX_LEN }>);

/// A text is no name of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error(
    "the name of a site is from 1 to 64 printable ASCII characters, without spaces and slashes"
)]
pub struct SiteNameError;

impl SiteName {
    /// The greatest number of characters.
    pub const MAX_LEN: usize = MAX_LEN;

    /// Makes the name of a site.
    ///
    /// # Errors
    ///
    /// The text is none.
    pub fn new(name: &str) -> Result<Self, SiteNameError> {
        let is_name = (1..=Self::MAX_LEN).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
        if !is_name {
            return Err(SiteNameError);
        }
        let mut own = String::new();
        own.push_str(INVITED).map_err(|_| SiteNameError)?;
        own.push_str(name).map_err(|_| SiteNameError)?;
        Ok(Self(own))
    }

    /// Returns the name alone.
    pub fn as_str(&self) -> &str {
        self.0.strip_prefix(INVITED).unwrap_or_default()
    }

    /// Returns the name of the child that stands for it at first.
    pub(crate) fn invitation(&self) -> &str {
        &self.0
    }
}

impl FromStr for SiteName {
    type Err = SiteNameError;

    fn from_str(name: &str) -> Result<Self, SiteNameError> {
        Self::new(name)
    }
}

impl fmt::Display for SiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_make_a_path() {
        for name in ["a", "db-1.eu:5432", "x-y", &"s".repeat(64)] {
            let site = SiteName::new(name).unwrap();
            assert_eq!(site.as_str(), name);
            assert_eq!(site.invitation().strip_prefix("invited-"), Some(name));
        }
        for name in ["", "a/b", "a b", "\u{7f}", "é", &"s".repeat(65)] {
            assert_eq!(SiteName::new(name), Err(SiteNameError), "{name:?}");
        }
    }
}

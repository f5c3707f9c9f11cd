//! Paths of znodes, with and without the chroot.

use alloc::borrow::{Cow, ToOwned as _};
use alloc::format;
use alloc::string::String;
use core::fmt;

use zk_session::{PathError, check_path};

/// Returns the path of a child.
pub fn child_path(parent: &str, name: impl fmt::Display) -> String {
    if parent == "/" { format!("/{name}") } else { format!("{parent}/{name}") }
}

/// A chroot: empty, or an absolute path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chroot(String);

impl Chroot {
    /// Reads a chroot. `/` and the empty text mean the whole tree.
    ///
    /// # Errors
    ///
    /// [`PathError`] if a server would refuse the path.
    pub fn new(path: &str) -> Result<Self, PathError> {
        match path {
            "" | "/" => Ok(Self(String::new())),
            _ => check_path(path).map(|()| Self(path.to_owned())),
        }
    }

    /// Returns the chroot: empty, or an absolute path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path on the server of a znode that the client calls `path`.
    #[inline]
    pub fn enter<'a>(&'a self, path: &'a str) -> Cow<'a, str> {
        match (self.0.as_str(), path) {
            ("", path) => Cow::Borrowed(path),
            (chroot, "/") => Cow::Borrowed(chroot),
            (chroot, path) => Cow::Owned([chroot, path].concat()),
        }
    }

    /// Returns the path as the client calls it. The path of a znode outside of the chroot stays as
    /// it is.
    pub fn leave<'a>(&self, path: &'a str) -> &'a str {
        self.strip(path).unwrap_or(path)
    }

    /// Returns the path as the client calls it, for a znode within the chroot.
    pub fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        match path.strip_prefix(self.0.as_str()) {
            Some("") => Some("/"),
            Some(inner) if inner.starts_with('/') => Some(inner),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chroot_maps_paths_in_and_out() {
        let none = Chroot::new("").unwrap();
        let app = Chroot::new("/app").unwrap();
        assert_eq!(none.enter("/x"), "/x");
        assert_eq!(none.leave("/x"), "/x");
        assert_eq!(app.enter("/"), "/app");
        assert_eq!(app.enter("/x"), "/app/x");
        assert_eq!(app.leave("/app"), "/");
        assert_eq!(app.leave("/app/x"), "/x");
        assert_eq!(app.leave("/zookeeper/config"), "/zookeeper/config");
        assert_eq!(app.leave("/apple"), "/apple");
        assert_eq!(app.strip("/apple"), None);
        assert_eq!(app.strip("/app"), Some("/"));
        assert_eq!(app.strip("/app/x"), Some("/x"));
        assert_eq!(none.strip("/x"), Some("/x"));
    }
}

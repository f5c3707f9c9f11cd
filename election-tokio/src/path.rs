//! Paths of znodes, and the chroot in front of them.

use std::borrow::Cow;

pub(crate) use zk_session::{PathError, check_path};

/// Whether a path on the server is that of a znode that no client can delete.
pub(crate) fn is_permanent(server_path: &str) -> bool {
    matches!(server_path, "/" | "/zookeeper" | "/zookeeper/config" | "/zookeeper/quota")
}

/// The path of a child.
pub(crate) fn join(parent: &str, name: impl core::fmt::Display) -> String {
    if parent == "/" { format!("/{name}") } else { format!("{parent}/{name}") }
}

/// The prefix below which a client lives: empty, or an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chroot(String);

impl Chroot {
    pub(crate) fn new(path: &str) -> Result<Self, PathError> {
        match path {
            "" | "/" => Ok(Self(String::new())),
            _ => check_path(path).map(|()| Self(path.to_owned())),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The path on the server.
    pub(crate) fn enter<'a>(&'a self, path: &'a str) -> Cow<'a, str> {
        match (self.0.as_str(), path) {
            ("", path) => Cow::Borrowed(path),
            (chroot, "/") => Cow::Borrowed(chroot),
            (chroot, path) => Cow::Owned([chroot, path].concat()),
        }
    }

    /// The path as this client says it; that of a znode outside of the chroot as it is.
    pub(crate) fn leave<'a>(&self, path: &'a str) -> &'a str {
        self.strip(path).unwrap_or(path)
    }

    /// The path as this client says it, of a znode within the chroot.
    pub(crate) fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
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

//! Paths of znodes, and the chroot in front of them.

use std::borrow::Cow;

/// Why a path is invalid (protocol section 11.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// It does not begin with a slash.
    #[error("a path has to begin with a slash")]
    NotAbsolute,
    /// It ends with a slash and is not the root.
    #[error("a path must not end with a slash")]
    TrailingSlash,
    /// Two slashes follow each other.
    #[error("a path must not have an empty part")]
    EmptyPart,
    /// A part is `.` or `..`.
    #[error("a path must not have a part that is '.' or '..'")]
    RelativePart,
    /// A character that servers refuse.
    #[error("a path must not have the character {0:?}")]
    Character(char),
    /// It is that of a znode that a server always has, where it is to be deleted.
    #[error("a server always has this znode")]
    Permanent,
}

/// Checks a path by the rules of the servers, so that nothing invalid is sent.
pub(crate) fn validate(path: &str) -> Result<(), PathError> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err(PathError::NotAbsolute);
    };
    if rest.is_empty() {
        return Ok(());
    }
    if rest.ends_with('/') {
        return Err(PathError::TrailingSlash);
    }
    // Almost every path is printable ASCII, and every operation comes through here.
    if !rest.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && let Some(character) = rest.chars().find(|&c| is_forbidden(c))
    {
        return Err(PathError::Character(character));
    }
    if !has_empty_or_dotted_part(rest) {
        return Ok(());
    }
    rest.split('/').try_for_each(|part| match part {
        "" => Err(PathError::EmptyPart),
        "." | ".." => Err(PathError::RelativePart),
        _ => Ok(()),
    })
}

/// Whether one of the parts is empty or begins with a dot: only then may one be wrong.
fn has_empty_or_dotted_part(parts: &str) -> bool {
    let mut before = b'/';
    parts.bytes().any(|byte| {
        let begins_part = core::mem::replace(&mut before, byte) == b'/';
        begins_part && matches!(byte, b'/' | b'.')
    })
}

fn is_forbidden(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..
    )
}

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
            _ => validate(path).map(|()| Self(path.to_owned())),
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
    fn paths_are_checked_by_the_rules_of_the_servers() {
        let cases = [
            ("/", Ok(())),
            ("/a", Ok(())),
            ("/a/...b/.c", Ok(())),
            ("/größe/名前", Ok(())),
            ("", Err(PathError::NotAbsolute)),
            ("a", Err(PathError::NotAbsolute)),
            ("/a/", Err(PathError::TrailingSlash)),
            ("/a//b", Err(PathError::EmptyPart)),
            ("//a", Err(PathError::EmptyPart)),
            ("/a/./b", Err(PathError::RelativePart)),
            ("/..", Err(PathError::RelativePart)),
            ("/a\0", Err(PathError::Character('\0'))),
            ("/a\u{1f}", Err(PathError::Character('\u{1f}'))),
            ("/\u{85}", Err(PathError::Character('\u{85}'))),
            ("/\u{e000}", Err(PathError::Character('\u{e000}'))),
            ("/\u{fff0}", Err(PathError::Character('\u{fff0}'))),
            ("/🦀", Err(PathError::Character('🦀'))),
        ];
        for (path, expected) in cases {
            assert_eq!(validate(path), expected, "{path:?}");
        }
    }

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

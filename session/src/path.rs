//! Paths of znodes, by the rules of the servers.

use alloc::boxed::Box;
use alloc::string::String;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

/// The path of a znode, which is known to be valid. It goes wherever a `&str` is asked for.
///
/// ```
/// use zk_session::{PathError, ZnodePath};
///
/// let app: ZnodePath = "/app".parse()?;
/// let leader = app.join("jobs/leader")?;
/// assert_eq!(leader.as_str(), "/app/jobs/leader");
/// assert_eq!((leader.name(), leader.parent()), (Some("leader"), app.join("jobs").ok()));
/// assert!(leader.is_within(&app) && !leader.is_within(&"/ap".parse()?));
/// assert_eq!("app/".parse::<ZnodePath>(), Err(PathError::NotAbsolute));
/// # Ok::<(), PathError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZnodePath(Box<str>);

impl ZnodePath {
    /// The root.
    pub fn root() -> Self {
        Self("/".into())
    }

    /// Checks a path.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn new(path: impl Into<Box<str>>) -> Result<Self, PathError> {
        let path = path.into();
        check_path(&path).map(|()| Self(path))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of a znode below: a name, or several with slashes between them.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn join(&self, below: &str) -> Result<Self, PathError> {
        let parent = self.0.trim_end_matches('/');
        Self::new([parent, "/", below].concat())
    }

    /// The path of the znode above; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        match self.0.rsplit_once('/')? {
            (_, "") => None,
            ("", _) => Some(Self::root()),
            (parent, _) => Some(Self(parent.into())),
        }
    }

    /// The znode's name; `None` for the root.
    pub fn name(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
    }

    /// Whether this is `other` or a znode below it.
    pub fn is_within(&self, other: &Self) -> bool {
        let rest = self.0.strip_prefix(other.0.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for ZnodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ZnodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Deref for ZnodePath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ZnodePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Text and path compare and hash alike.
impl Borrow<str> for ZnodePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for ZnodePath {
    type Err = PathError;

    fn from_str(path: &str) -> Result<Self, PathError> {
        Self::new(path)
    }
}

impl TryFrom<&str> for ZnodePath {
    type Error = PathError;

    fn try_from(path: &str) -> Result<Self, PathError> {
        Self::new(path)
    }
}

impl TryFrom<String> for ZnodePath {
    type Error = PathError;

    fn try_from(path: String) -> Result<Self, PathError> {
        Self::new(path)
    }
}

impl From<ZnodePath> for String {
    fn from(path: ZnodePath) -> Self {
        path.0.into_string()
    }
}

/// Why a path is invalid.
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
///
/// # Errors
///
/// What is wrong with it.
pub fn check_path(path: &str) -> Result<(), PathError> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err(PathError::NotAbsolute);
    };
    // Every operation comes through here.
    if is_plain(rest) {
        return Ok(());
    }
    if rest.ends_with('/') {
        return Err(PathError::TrailingSlash);
    }
    if let Some(character) = rest.chars().find(|&c| is_forbidden(c)) {
        return Err(PathError::Character(character));
    }
    rest.split('/').try_for_each(|part| match part {
        "" => Err(PathError::EmptyPart),
        "." | ".." => Err(PathError::RelativePart),
        _ => Ok(()),
    })
}

/// Whether these parts, as almost all do, consist of printable ASCII, and none begins with a dot or
/// is empty.
fn is_plain(parts: &str) -> bool {
    let mut before = b'/';
    let plain = parts.bytes().all(|byte| {
        let begins_part = core::mem::replace(&mut before, byte) == b'/';
        matches!(byte, b' '..=b'~') && !(begins_part && matches!(byte, b'/' | b'.'))
    });
    plain && (before != b'/' || parts.is_empty())
}

fn is_forbidden(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..
    )
}

#[cfg(test)]
mod tests {
    use alloc::format;

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
            assert_eq!(check_path(path), expected, "{path:?}");
        }
    }

    #[test]
    fn a_path_knows_what_is_above_and_below() {
        let path = |path: &str| ZnodePath::new(path).unwrap();
        assert_eq!(path("/a/b").parent(), Some(path("/a")));
        assert_eq!(path("/a").parent(), Some(ZnodePath::root()));
        assert_eq!((ZnodePath::root().parent(), ZnodePath::root().name()), (None, None));
        assert_eq!(ZnodePath::root().join("a"), Ok(path("/a")));
        assert_eq!(path("/a").join("b/c"), Ok(path("/a/b/c")));
        assert_eq!(path("/a").join(""), Err(PathError::TrailingSlash));
        assert_eq!(path("/a").join("/b"), Err(PathError::EmptyPart));
        assert_eq!(path("/a").join(".."), Err(PathError::RelativePart));
        assert!(path("/a/b").is_within(&ZnodePath::root()) && path("/a").is_within(&path("/a")));
        assert!(!path("/ab").is_within(&path("/a")) && !path("/a").is_within(&path("/a/b")));
        assert_eq!(format!("{} {:?}", path("/a"), path("/a")), "/a \"/a\"");
    }
}

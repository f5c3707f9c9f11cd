//! Paths of znodes, by the servers' rules (docs/protocol.md#paths-and-connect-strings).

use alloc::boxed::Box;
use alloc::string::String;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

/// A valid path of a znode. It works wherever a `&str` does.
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
    /// Returns the root.
    pub fn root() -> Self {
        Self("/".into())
    }

    /// Checks a path.
    ///
    /// # Errors
    ///
    /// The fault of the path.
    pub fn new(path: impl Into<Box<str>>) -> Result<Self, PathError> {
        let path = path.into();
        check_path(&path).map(|()| Self(path))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path of a descendant: `below` is a name, or several with slashes between them.
    ///
    /// # Errors
    ///
    /// The fault of the path.
    pub fn join(&self, below: &str) -> Result<Self, PathError> {
        let parent = self.0.trim_end_matches('/');
        Self::new([parent, "/", below].concat())
    }

    /// Returns the parent's path; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        match self.0.rsplit_once('/')? {
            (_, "") => None,
            ("", _) => Some(Self::root()),
            (parent, _) => Some(Self(parent.into())),
        }
    }

    /// Returns the znode's name; `None` for the root.
    pub fn name(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
    }

    /// Returns whether this is `other` or one of its descendants.
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
    /// A server always has this znode, and it was to be deleted.
    #[error("a server always has this znode")]
    Permanent,
    /// It is the root of a client with a chroot, and something has to be kept beside it: that would
    /// be outside of the chroot. Take a path below it, or move the last part of the chroot to the
    /// path: `/b` of a client with the chroot `/a` is `/` of one with the chroot `/a/b`.
    #[error(
        "it is the chroot of the client, beside which the client can keep nothing: take a path below it, or \
         move the last part of the chroot to the path, which is the same znode"
    )]
    Chroot,
}

/// Checks a path by the servers' rules, so that nothing invalid is sent.
///
/// # Errors
///
/// What is wrong with it.
#[inline]
pub fn check_path(path: &str) -> Result<(), PathError> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err(PathError::NotAbsolute);
    };
    // Every operation comes through here.
    if is_plain(rest) { Ok(()) } else { check_parts(rest) }
}

#[cold]
fn check_parts(rest: &str) -> Result<(), PathError> {
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

/// Returns whether these parts consist of printable ASCII, and none begins with a dot or is empty,
/// as is true of almost all. It looks at eight bytes at a time.
fn is_plain(parts: &str) -> bool {
    let bytes = parts.as_bytes();
    let (words, rest) = bytes.as_chunks();
    // The slash that the path begins with.
    let mut before = SIGN;
    let mut faults = 0;
    for word in words {
        faults |= faults_of_word(u64::from_le_bytes(*word), &mut before);
    }
    if !rest.is_empty() {
        let last = rest.iter().rev().fold(PADDING, |word, byte| word << 8 | u64::from(*byte));
        faults |= faults_of_word(last, &mut before);
    }
    faults == 0 && bytes.last() != Some(&b'/')
}

/// The highest bit of a byte.
const SIGN: u64 = 0x80;
/// Padding behind the last byte; it is never a fault.
const PADDING: u64 = every(b'a');

/// Returns this byte in each byte of a word.
const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Finds faults in eight bytes, the first one lowest; zero if there is none. `before` says whether
/// the byte before them is a slash, and returns whether the last of them is.
///
/// It looks at each byte's highest bit, after an addition that carries into that bit and, as long
/// as all bytes are ASCII, no further. A byte that is not ASCII is a fault by itself.
#[inline]
fn faults_of_word(word: u64, before: &mut u64) -> u64 {
    let is_control = !word.wrapping_add(every(0x80 - b' '));
    let is_delete = word.wrapping_add(every(1));
    let is_slash = !(word ^ every(b'/')).wrapping_add(every(0x7f)) & every(0x80);
    // The two differ in their lowest bit only.
    let is_slash_or_dot = !(word & every(!1) ^ every(b'.')).wrapping_add(every(0x7f));
    let begins_part = is_slash << 8 | *before;
    *before = is_slash >> 56;
    (word | is_control | is_delete | begins_part & is_slash_or_dot) & every(0x80)
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

    /// Does the same, a byte at a time.
    fn is_plain_by_bytes(parts: &str) -> bool {
        let printable = parts.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let begins_well = |part: &str| !part.is_empty() && !part.starts_with('.');
        printable && (parts.is_empty() || parts.split('/').all(begins_well))
    }

    #[test]
    fn what_is_plain_is_so_wherever_it_stands_in_a_word() {
        // Each byte at each place, alone and behind a slash.
        for length in 1..=17 {
            for (place, byte) in (0..length).flat_map(|place| (0..=0x7f).map(move |b| (place, b))) {
                for before in [b'x', b'/'] {
                    let mut parts = alloc::vec![b'x'; length];
                    parts[place.max(1) - 1] = before;
                    parts[place] = byte;
                    let parts = core::str::from_utf8(&parts).unwrap();
                    assert_eq!(is_plain(parts), is_plain_by_bytes(parts), "{parts:?}");
                }
            }
        }
        assert!(is_plain("") && !is_plain("größe") && !is_plain("1234567/"));
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

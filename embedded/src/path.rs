//! Paths of znodes.

use alloc::format;
use alloc::string::String;

/// The root.
pub(crate) const ROOT: &str = "/";

/// The znodes that every server has. No client can delete them.
pub(crate) const SYSTEM: [&str; 4] = [ROOT, ZOOKEEPER, QUOTA, CONFIG];
pub(crate) const ZOOKEEPER: &str = "/zookeeper";
pub(crate) const QUOTA: &str = "/zookeeper/quota";
pub(crate) const CONFIG: &str = "/zookeeper/config";

/// Returns the name under which a znode is stored: servers take the empty path for the root.
pub(crate) fn stored(path: &str) -> &str {
    if path.is_empty() { ROOT } else { path }
}

/// Returns the parent's path and the name below it; `None` without a slash. The root counts as its
/// own parent, with an empty name.
pub(crate) fn split(path: &str) -> Option<(&str, &str)> {
    let (parent, name) = path.rsplit_once('/')?;
    Some((stored(parent), name))
}

/// Returns the path of the znode with this name below `parent`.
pub(crate) fn join(parent: &str, name: &str) -> String {
    let parent = parent.strip_suffix('/').unwrap_or(parent);
    format!("{parent}/{name}")
}

/// Returns whether a znode may have this path.
pub(crate) fn is_valid(path: &str) -> bool {
    if path == ROOT {
        return true;
    }
    let Some(below_root) = path.strip_prefix('/') else {
        return false;
    };
    below_root.split('/').all(is_valid_name)
}

/// Whether the path passes the check that every write makes before any look-up.
pub(crate) fn is_plausible(path: &str) -> bool {
    path.contains('/') && !path.contains('\0')
}

fn is_valid_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.chars().all(is_allowed)
}

/// Characters beyond U+FFFF are surrogates in Java's strings, and Java's servers refuse surrogates.
fn is_allowed(character: char) -> bool {
    !matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_paths_are_those_of_the_protocol() {
        for path in ["/", "/a", "/a/b", "/...", "/.a", "/a b", "/é", "/\u{ffef}"] {
            assert!(is_valid(path), "{path:?}");
        }
        let invalid = [
            "",
            "a",
            "a/b",
            "/a/",
            "//",
            "//a",
            "/a//b",
            "/.",
            "/..",
            "/a/./b",
            "/a/..",
            "/a\0",
            "/\u{1}",
            "/\u{1f}",
            "/\u{7f}",
            "/\u{9f}",
            "/\u{e000}",
            "/\u{f8ff}",
            "/\u{fff0}",
            "/\u{ffff}",
            "/\u{1f600}",
        ];
        for path in invalid {
            assert!(!is_valid(path), "{path:?}");
        }
    }

    #[test]
    fn the_parent_is_everything_before_the_last_slash() {
        let cases = [
            ("/", Some(("/", ""))),
            ("/a", Some(("/", "a"))),
            ("/a/b", Some(("/a", "b"))),
            ("/a//b", Some(("/a/", "b"))),
            ("/a/", Some(("/a", ""))),
            ("a", None),
            ("", None),
        ];
        for (path, expected) in cases {
            assert_eq!(split(path), expected, "{path:?}");
        }
        assert_eq!(join("/", "a"), "/a");
        assert_eq!(join("/a", "b"), "/a/b");
    }
}

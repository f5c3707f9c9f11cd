//! Random arguments: mostly sensible, some at a limit, some malformed.

use bytes::Bytes;
use fastrand::Rng;

use crate::differential::keeper::OPEN;
use crate::differential::known::ServerVersion;
use crate::differential::player::SUPER;
use crate::differential::request::{AclEntry, Field};

pub(crate) struct Arguments {
    random: Rng,
    release: ServerVersion,
}

/// Below some of these there is an episode's znode, spelled `~`.
const MALFORMED: [&str; 18] = [
    "",
    "a",
    "~/a/",
    "~//a",
    "//a",
    "~/./a",
    "~/../a",
    "~/.",
    "~/..",
    "~/a\0b",
    "~/a\u{1}",
    "~/a\u{1f}",
    "~/\u{7f}",
    "~/\u{9f}",
    "~/\u{e000}",
    "~/\u{f8ff}",
    "~/\u{fff0}",
    "~/\u{ffff}",
];
/// Well formed, in spite of their looks.
const ODD: [&str; 6] = ["~/...", "~/.a", "~/é", "~/\u{ffef}", "~/a b", "~/\u{d7ff}"];
const SYSTEM: [&str; 4] = ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"];

const ANN: &str = "ann:grDcJ7OS1jCu/cG2TyJHw/I9L8o=";
const BOB: &str = "bob:yqVrLFrvoaI9z9fohteaNPJvRu8=";

/// The last parts of paths on which there are only persistent, and only recursive, watches while
/// these must not be mixed with others.
const LASTING: [&str; 2] = ["p", "r"];

impl Arguments {
    pub(crate) fn new(seed: u64, release: ServerVersion) -> Self {
        Self { random: Rng::with_seed(seed), release }
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.random.usize(..end)
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.usize(..from.len())]
    }

    pub(crate) fn path(&mut self) -> Field {
        Field::Path(Some(match self.below(100) {
            0..2 => return Field::Path(None),
            2..8 => self.choose(&MALFORMED).to_owned(),
            8..10 => self.choose(&ODD).to_owned(),
            10..13 => self.choose(&SYSTEM).to_owned(),
            13..15 => "~".to_owned(),
            _ => self.usual_path(),
        }))
    }

    /// Draws a path in a small tree, so that the same znodes are met again and again.
    fn usual_path(&mut self) -> String {
        let mut path = "~".to_owned();
        for _ in 0..self.choose(&[1, 1, 1, 1, 2, 2, 2, 3]) {
            path.push('/');
            let name = self.choose(&["a", "a", "a", "b", "b", "p", "r", "s-"]);
            path.push_str(name);
            // The names that sequential znodes get, too.
            if name == "s-" && self.below(2) == 0 {
                path.push_str("000000000");
                path.push(char::from(b'0' + u8::try_from(self.below(8)).unwrap_or_default()));
            }
        }
        path
    }

    /// Draws the path of an access list. Those of the root and of what is there from the start stay
    /// as they are: each episode needs them.
    pub(crate) fn unless_root(&mut self, path: Field) -> Field {
        match path {
            Field::Path(Some(path)) if !path.starts_with("~/") => {
                Field::Path(Some(self.usual_path()))
            }
            path => path,
        }
    }

    /// Draws a path that is not null: the embedded server refuses that at once, and Apache's by
    /// each operation's own order. Instead it may be one that Apache's would not spell as it was
    /// sent.
    pub(crate) fn path_not_null(&mut self) -> Field {
        match self.path() {
            Field::Path(None) => Field::Path(Some("~/\u{1f600}".to_owned())),
            path => path,
        }
    }

    pub(crate) fn version(&mut self) -> Field {
        Field::Int(self.choose(&[-1, -1, -1, -1, -1, -1, 0, 0, 0, 1, 1, 2, -2, i32::MIN, i32::MAX]))
    }

    pub(crate) fn data(&mut self) -> Field {
        Field::Bytes(match self.below(20) {
            0..3 => None,
            3..7 => Some(Bytes::new()),
            7 => Some(vec![b'x'; 300].into()),
            _ => Some(vec![b'd'; self.below(12)].into()),
        })
    }

    /// Draws the flags of `create` and `create2`.
    pub(crate) fn flags(&mut self) -> i32 {
        match self.below(30) {
            0..12 => 0,
            12..18 => 1,
            18..24 => 2,
            24..28 => 3,
            28 => 4,
            _ => self.choose(&[5, 6, 7, 8, -1, i32::MAX]),
        }
    }

    pub(crate) fn acl(&mut self) -> Field {
        Field::Acl(match self.below(40) {
            0..28 => Some(vec![OPEN]),
            28 => None,
            29 => Some(Vec::new()),
            31..34 => Some(vec![
                AclEntry { permissions: 31, scheme: Some("digest"), id: Some(ANN) },
                AclEntry { permissions: self.choose(&[1, 3, 16]), ..OPEN },
            ]),
            30 => Some(vec![OPEN, OPEN, AclEntry { permissions: 1, ..OPEN }]),
            _ => Some((0..=self.below(2)).map(|_| self.acl_entry()).collect()),
        })
    }

    fn acl_entry(&mut self) -> AclEntry {
        let (scheme, id) = self.choose(&[
            (Some("world"), Some("anyone")),
            (Some("world"), Some("anyone")),
            (Some("digest"), Some(ANN)),
            (Some("digest"), Some(ANN)),
            (Some("digest"), Some(ANN)),
            (Some("digest"), Some(BOB)),
            (Some("digest"), Some(BOB)),
            (Some("ip"), Some("10.0.0.0/8")),
            (Some("auth"), Some("")),
            (Some("auth"), Some("")),
            (Some("auth"), Some("whoever")),
            (Some("ip"), Some("127.0.0.1")),
            (Some("ip"), Some("127.0.0.0/8")),
            (Some("ip"), Some("10.0.0.1")),
            (Some("ip"), Some("127.0.0.1/32")),
            (Some("ip"), Some("127.0.0.1/33")),
            (Some("ip"), Some("127.0.0.1/-1")),
            (Some("ip"), Some("127.0.0")),
            (Some("ip"), Some("1270.0.0.1")),
            (Some("ip"), Some("")),
            (Some("digest"), Some("nobody")),
            (Some("digest"), Some("a:b:c")),
            (Some("digest"), Some(":")),
            (Some("digest"), Some("ann:")),
            (Some("digest"), Some(":x")),
            (Some("digest"), Some("a:b::")),
            (Some("world"), Some("else")),
            (Some("super"), Some("")),
            (Some("sasl"), Some("someone")),
            (Some("x509"), Some("CN=someone")),
            (Some(""), Some("")),
            (Some("unheard-of"), Some("x")),
            (Some("auth"), None),
            (Some("auth"), None),
            (Some("auth"), None),
            (Some("world"), None),
            (Some("digest"), None),
            (Some("ip"), None),
            (Some("unheard-of"), None),
            (None, Some("anyone")),
            (None, None),
        ]);
        let permissions = self.choose(&[31, 31, 31, 1, 2, 3, 4, 8, 12, 15, 16, 17, 0, 255, -1]);
        AclEntry { permissions, scheme, id }
    }

    pub(crate) fn credential(&mut self) -> (&'static str, Option<Bytes>) {
        let (scheme, credential): (_, &'static [u8]) = self.choose(&[
            ("digest", b"ann:one".as_slice()),
            ("digest", b"ann:one"),
            ("digest", b"bob:two"),
            ("digest", b"bob:two"),
            ("digest", b"bob:wrong"),
            ("digest", SUPER.0),
            ("digest", b"nobody"),
            ("digest", b""),
            ("digest", b"a:b:c"),
            ("ip", b"10.0.0.1"),
            ("world", b"anyone"),
            ("super", b""),
            ("auth", b""),
            ("sasl", b"x"),
            ("x509", b"x"),
            ("unheard-of", b"x"),
            ("", b""),
        ]);
        (scheme, (self.below(20) > 0).then(|| Bytes::from_static(credential)))
    }

    /// Whether a read leaves a watch.
    pub(crate) fn watch(&mut self, path: &Field) -> Field {
        let mixes = self.release.mixes_watches() || !is_lasting(path);
        Field::Flag(mixes && self.below(5) < 2)
    }

    /// Draws the path of a lasting watch, and its kind.
    pub(crate) fn lasting_watch(&mut self) -> (Field, i32) {
        let kind = self.below(2);
        let mode = i32::try_from(kind).unwrap_or_default();
        if self.release.mixes_watches() && self.below(2) == 0 {
            return (self.path_not_null(), mode);
        }
        (Field::Path(Some(self.lasting_path(kind))), mode)
    }

    fn lasting_path(&mut self, kind: usize) -> String {
        match self.below(3) {
            0 => format!("~/{}", LASTING[kind]),
            _ => format!("{}/{}", self.usual_path(), LASTING[kind]),
        }
    }

    pub(crate) fn watcher_type(&mut self) -> (Field, i32) {
        let path = match self.below(3) {
            0 => Field::Path(Some(self.lasting_path(0))),
            1 => Field::Path(Some(self.lasting_path(1))),
            _ => match self.path_not_null() {
                Field::Path(Some(path)) if !self.release.mixes_watches() && !path.contains('/') => {
                    Field::Path(Some(self.usual_path()))
                }
                path => path,
            },
        };
        let kinds: &[i32] = match (self.release.mixes_watches(), is_lasting(&path)) {
            (true, _) => &[1, 2, 3, 4, 5, 0, 6, -1],
            (false, true) => &[3, 3, 3, 0, 6],
            (false, false) => &[1, 2, 3, 3, 0, 6, -1],
        };
        (path, self.choose(kinds))
    }

    /// Draws the paths for the one-shot watches of `setWatches`.
    pub(crate) fn paths(&mut self) -> Field {
        if self.below(60) == 0 {
            return Field::Paths(None);
        }
        let mut paths = Vec::new();
        for _ in 0..self.choose(&[0, 0, 1, 1, 2, 4]) {
            let path = self.path();
            match path {
                _ if !self.release.mixes_watches() && is_lasting(&path) => {}
                Field::Path(Some(path)) => paths.push(path),
                _ => {}
            }
        }
        Field::Paths(Some(paths))
    }

    /// Draws the paths for the lasting watches of `setWatches2`.
    pub(crate) fn lasting_paths(&mut self, kind: usize) -> Field {
        let count = self.choose(&[0, 1, 2]);
        Field::Paths(Some((0..count).map(|_| self.lasting_path(kind)).collect()))
    }
}

fn is_lasting(path: &Field) -> bool {
    match path {
        Field::Path(Some(path)) => {
            let name = path.rsplit('/').next().unwrap_or_default();
            LASTING.contains(&name)
        }
        _ => false,
    }
}

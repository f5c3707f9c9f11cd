//! The paths of one request that sets watches again (docs/protocol.md#setting-watches-again).

use alloc::sync::Arc;
use alloc::vec::Vec;

use zk_jute::records::{SetWatches, SetWatches2};
use zk_jute::{Vector, Zxid};

use super::kind::Kind;

/// Paths for one `setWatches` or `setWatches2`.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    data: Vec<Arc<str>>,
    exist: Vec<Arc<str>>,
    child: Vec<Arc<str>>,
    persistent: Vec<Arc<str>>,
    recursive: Vec<Arc<str>>,
    paths_len: usize,
}

/// The paths of a [`Batch`], in the form of the records.
pub(crate) struct Lists<'a> {
    data: Vec<&'a str>,
    exist: Vec<&'a str>,
    child: Vec<&'a str>,
    persistent: Vec<&'a str>,
    recursive: Vec<&'a str>,
}

impl Batch {
    /// The length of a request header, a zxid, and five counts.
    const EMPTY_FRAME_LEN: usize = 8 + 8 + 5 * 4;

    /// Returns the payload of a frame that sets a watch on this path alone.
    pub(crate) const fn least_frame_len(path: &str) -> usize {
        Self::EMPTY_FRAME_LEN + path_len(path)
    }

    pub(super) fn of(kind: Kind, path: &Arc<str>) -> Self {
        let mut batch = Self::default();
        batch.push(kind, path);
        batch
    }

    pub(super) fn has_room_for(&self, path: &str, max_frame: usize) -> bool {
        Self::EMPTY_FRAME_LEN + self.paths_len + path_len(path) <= max_frame
    }

    pub(super) fn push(&mut self, kind: Kind, path: &Arc<str>) {
        self.paths_len += path_len(path);
        let list = match kind {
            Kind::Data => &mut self.data,
            Kind::Exist => &mut self.exist,
            Kind::Child => &mut self.child,
            Kind::Persistent => &mut self.persistent,
            Kind::Recursive => &mut self.recursive,
        };
        list.push(Arc::clone(path));
    }

    /// Returns whether only servers since 3.6 understand it.
    pub(crate) fn has_persistent(&self) -> bool {
        !(self.persistent.is_empty() && self.recursive.is_empty())
    }

    pub(crate) fn lists(&self) -> Lists<'_> {
        fn borrowed(list: &[Arc<str>]) -> Vec<&str> {
            list.iter().map(|path| &**path).collect()
        }
        Lists {
            data: borrowed(&self.data),
            exist: borrowed(&self.exist),
            child: borrowed(&self.child),
            persistent: borrowed(&self.persistent),
            recursive: borrowed(&self.recursive),
        }
    }
}

impl<'a> Lists<'a> {
    pub(crate) fn one_shot(&'a self, relative_zxid: Zxid) -> SetWatches<'a> {
        SetWatches {
            relative_zxid,
            data: Vector::new(&self.data),
            exist: Vector::new(&self.exist),
            child: Vector::new(&self.child),
        }
    }

    pub(crate) fn all(&'a self, relative_zxid: Zxid) -> SetWatches2<'a> {
        SetWatches2 {
            relative_zxid,
            data: Vector::new(&self.data),
            exist: Vector::new(&self.exist),
            child: Vector::new(&self.child),
            persistent: Vector::new(&self.persistent),
            persistent_recursive: Vector::new(&self.recursive),
        }
    }
}

/// Returns the length with its prefix.
const fn path_len(path: &str) -> usize {
    4 + path.len()
}

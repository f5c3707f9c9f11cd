//! How much a change adds to the subtrees that contain it.

use bytes::Bytes;

/// How much a change adds to a subtree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    pub(super) znodes: i64,
    pub(super) bytes: i64,
}

impl Growth {
    pub(super) fn created(data: Option<&Bytes>) -> Self {
        Self { znodes: 1, bytes: length(data) }
    }

    pub(super) fn deleted(data: Option<&Bytes>) -> Self {
        Self { znodes: -1, bytes: -length(data) }
    }

    pub(super) fn written(before: Option<&Bytes>, after: Option<&Bytes>) -> Self {
        Self { znodes: 0, bytes: length(after) - length(before) }
    }
}

/// Returns the length of the data, which that of a frame limits.
fn length(data: Option<&Bytes>) -> i64 {
    data.map_or(0, |data| i64::try_from(data.len()).unwrap_or(i64::MAX))
}

//! Writes the snapshot that a server reads at its first start: a tree as after years of use, such as
//! one with two thousand million creations behind it.
//!
//! The format is that of ZooKeeper's `FileSnap`, as all releases from 3.4 on read it: a header, the
//! sessions, the access lists, the znodes, a checksum. The parts that later releases append (a digest
//! of the tree, the last zxid) may be absent.

use std::fs;
use std::io;
use std::path::Path;

/// The zxid of the snapshot: the first transaction of the server comes after it.
const ZXID: i64 = 0x100;

/// The access list that needs no entry in the snapshot: every client may do everything.
const OPEN: i64 = -1;

/// A tree to start with: what a new server has, and the znodes that were added.
#[derive(Clone, Debug)]
pub struct Snapshot {
    znodes: Vec<Znode>,
}

#[derive(Clone, Debug)]
struct Znode {
    path: String,
    /// How many children were ever created, as the server counts: the next sequence number.
    creations: i32,
}

impl Snapshot {
    /// Returns the tree of a new server. The root comes first, by the name that servers write it
    /// with.
    pub fn new() -> Self {
        let names = ["", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"];
        let znodes = names.into_iter().map(|path| Znode { path: path.to_owned(), creations: 0 });
        Self { znodes: znodes.collect() }
    }

    /// Adds a persistent znode without children, below a parent that was added before: the next
    /// sequential child gets this number.
    #[must_use]
    pub fn with_next_number(mut self, path: &str, number: i32) -> Self {
        self.znodes.push(Znode { path: path.to_owned(), creations: number });
        self
    }

    /// Writes the snapshot where a server with this `dataDir` looks for it.
    pub(super) fn write(&self, data: &Path) -> io::Result<()> {
        let folder = data.join("version-2");
        fs::create_dir(&folder)?;
        fs::write(folder.join(format!("snapshot.{ZXID:x}")), self.bytes())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(b"ZKSN");
        bytes.extend(2_i32.to_be_bytes());
        let database: i64 = -1;
        bytes.extend(database.to_be_bytes());
        let (sessions, access_lists): (i32, i32) = (0, 0);
        bytes.extend(sessions.to_be_bytes());
        bytes.extend(access_lists.to_be_bytes());
        for znode in &self.znodes {
            znode.put(&mut bytes);
        }
        // The path after the last one; and once more after the checksum.
        put_buffer(&mut bytes, b"/");
        let checksum = i64::from(adler32(&bytes));
        bytes.extend(checksum.to_be_bytes());
        put_buffer(&mut bytes, b"/");
        bytes
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::new()
    }
}

impl Znode {
    /// Writes the path, and the record `DataNode` with its `StatPersisted`.
    fn put(&self, into: &mut Vec<u8>) {
        let (created, modified, creation_time, modification_time): (i64, i64, i64, i64) =
            (0, 0, 0, 0);
        let (version, acl_version): (i32, i32) = (0, 0);
        let (owner, last_child_change): (i64, i64) = (0, 0);
        put_buffer(into, self.path.as_bytes());
        put_buffer(into, b"");
        into.extend(OPEN.to_be_bytes());
        for long in [created, modified, creation_time, modification_time] {
            into.extend(long.to_be_bytes());
        }
        for int in [version, self.creations, acl_version] {
            into.extend(int.to_be_bytes());
        }
        for long in [owner, last_child_change] {
            into.extend(long.to_be_bytes());
        }
    }
}

fn put_buffer(into: &mut Vec<u8>, bytes: &[u8]) {
    into.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    into.extend(bytes);
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_adlers() {
        // The example of the algorithm in RFC 1950's companions.
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
        assert_eq!(adler32(b""), 1);
    }

    #[test]
    fn it_ends_as_servers_want_a_whole_snapshot_to_end() {
        assert!(Snapshot::new().bytes().ends_with(&[0, 0, 0, 1, b'/']));
    }
}

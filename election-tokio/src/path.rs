//! Paths of znodes.

pub(crate) use election_session::{Chroot, child_path};
pub(crate) use zk_session::{PathError, check_path};

/// Whether a path on the server is that of a znode that no client can delete.
pub(crate) fn is_permanent(server_path: &str) -> bool {
    matches!(server_path, "/" | "/zookeeper" | "/zookeeper/config" | "/zookeeper/quota")
}

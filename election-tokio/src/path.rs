//! Paths of znodes.

pub(crate) use election_session::{Chroot, child_path};
pub(crate) use zk_session::{PathError, check_path};

/// Returns whether no client can delete the znode with this path on the server.
pub(crate) fn is_permanent(server_path: &str) -> bool {
    matches!(server_path, "/" | "/zookeeper" | "/zookeeper/config" | "/zookeeper/quota")
}

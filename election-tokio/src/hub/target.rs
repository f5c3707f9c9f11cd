//! Where a nomination creates its candidate znode, and with what in it.

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;
use zk_jute::records::{Acl, CreateMode, Permissions};

use crate::path::{Chroot, join};

/// An election node, and what to create there.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The election node's path as the client says it.
    pub(crate) path: Box<str>,
    /// Its path on the server.
    pub(crate) server_path: Arc<str>,
    /// Bytes of the server path that are the chroot, whose znodes are not ours to create.
    chroot_len: usize,
    pub(crate) data: Bytes,
    pub(crate) acl: AclList,
    /// The kind of the election node itself, if it has to be created; its ancestors are
    /// persistent.
    pub(crate) election_node_mode: CreateMode,
}

/// An access list.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AclList(Box<[OwnedAcl]>);

#[derive(Clone, PartialEq, Eq)]
struct OwnedAcl {
    permissions: Permissions,
    scheme: Box<str>,
    id: Box<str>,
}

impl AclList {
    pub(crate) fn new(entries: &[Acl<'_>]) -> Self {
        let own = |acl: &Acl<'_>| OwnedAcl {
            permissions: acl.permissions,
            scheme: acl.scheme.into(),
            id: acl.id.into(),
        };
        Self(entries.iter().map(own).collect())
    }

    pub(crate) fn entries(&self) -> Vec<Acl<'_>> {
        self.0
            .iter()
            .map(|acl| Acl { permissions: acl.permissions, scheme: &acl.scheme, id: &acl.id })
            .collect()
    }
}

/// Without the identities, like [`Acls`](crate::acl::Acls).
impl fmt::Debug for AclList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|acl| (acl.permissions, &acl.scheme))).finish()
    }
}

impl Target {
    pub(crate) fn new(
        path: &str,
        chroot: &Chroot,
        data: Bytes,
        acl: AclList,
        election_node_mode: CreateMode,
    ) -> Self {
        Self {
            path: path.into(),
            server_path: Arc::from(&*chroot.enter(path)),
            chroot_len: chroot.as_str().len(),
            data,
            acl,
            election_node_mode,
        }
    }

    /// The path on the server of a child of the election node.
    pub(crate) fn child(&self, name: impl fmt::Display) -> String {
        join(&self.server_path, name)
    }

    /// The path of a child as the client says it.
    pub(crate) fn client_child(&self, name: impl fmt::Display) -> String {
        join(&self.path, name)
    }

    /// The name within the election node of a znode with this path on the server.
    pub(crate) fn name_of(server_path: &str) -> &str {
        server_path.rsplit_once('/').map_or(server_path, |(_, name)| name)
    }

    /// The election node's ancestors below the chroot and the election node itself, outermost
    /// first, as paths on the server.
    pub(crate) fn lineage(&self) -> impl Iterator<Item = &str> {
        let path = &*self.server_path;
        let inner_slashes = path
            .match_indices('/')
            .map(|(index, _)| index)
            .filter(|&index| index > self.chroot_len)
            .map(|index| path.get(..index).unwrap_or(path));
        inner_slashes.chain([path])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An identity may hold a digest of a password.
    #[test]
    fn the_debug_form_of_an_access_list_holds_no_identity() {
        let acl = Acl { permissions: Permissions::READ, scheme: "digest", id: "bob:hash=" };
        let list = AclList::new(&[acl]);
        assert_eq!(format!("{list:?}"), "[(Permissions(1: r), \"digest\")]");
    }

    #[test]
    fn the_lineage_begins_below_the_chroot() {
        let cases: [(&str, &str, &[&str]); 4] = [
            ("", "/a", &["/a"]),
            ("", "/a/b/c", &["/a", "/a/b", "/a/b/c"]),
            ("/app", "/a/b", &["/app/a", "/app/a/b"]),
            ("/x/app", "/a", &["/x/app/a"]),
        ];
        for (chroot, path, lineage) in cases {
            let chroot = Chroot::new(chroot).unwrap();
            let acl = AclList::new(&[Acl::OPEN]);
            let target = Target::new(path, &chroot, Bytes::new(), acl, CreateMode::PERSISTENT);
            assert_eq!(target.lineage().collect::<Vec<_>>(), lineage);
        }
    }
}

//! The site of a recipe: its node's path, and what the recipe creates there.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;
use election_core::election::NodeKind;
use election_core::{NewZnode, Payload, Znode};
use zk_jute::records::{Acl, CreateMode, Permissions};

use zk_session::ZnodePath;

use crate::path::{Chroot, child_path};

/// The path of a recipe's node, with the access list and the data for what the recipe creates.
#[derive(Clone, Debug)]
pub struct Site {
    server_path: Arc<str>,
    /// Bytes of the server path that are the chroot. The client does not create its znodes, and
    /// leaves it out of its own paths.
    chroot_len: usize,
    payloads: Vec<Bytes>,
    acl: AclList,
    node_kind: NodeKind,
}

/// Returns the mode in which a node of this kind is created.
pub(crate) const fn mode_of(kind: NodeKind) -> CreateMode {
    match kind {
        NodeKind::Persistent => CreateMode::PERSISTENT,
        NodeKind::Container => CreateMode::CONTAINER,
    }
}

/// An owned access list, for what a recipe creates.
#[derive(Clone, PartialEq, Eq)]
pub struct AclList(Entries);

#[derive(Clone, PartialEq, Eq)]
enum Entries {
    /// Every client may do everything. The most common list takes no memory.
    Open,
    Listed(Box<[OwnedAcl]>),
}

#[derive(Clone, PartialEq, Eq)]
struct OwnedAcl {
    permissions: Permissions,
    scheme: Box<str>,
    id: Box<str>,
}

impl OwnedAcl {
    fn as_acl(&self) -> Acl<'_> {
        Acl { permissions: self.permissions, scheme: &self.scheme, id: &self.id }
    }
}

impl AclList {
    /// Copies these entries.
    pub fn new(entries: &[Acl<'_>]) -> Self {
        let own = |acl: &Acl<'_>| OwnedAcl {
            permissions: acl.permissions,
            scheme: acl.scheme.into(),
            id: acl.id.into(),
        };
        Self(match entries {
            [acl] if *acl == Acl::OPEN => Entries::Open,
            entries => Entries::Listed(entries.iter().map(own).collect()),
        })
    }

    /// Returns the entries.
    pub fn entries(&self) -> Vec<Acl<'_>> {
        match &self.0 {
            Entries::Open => Vec::from([Acl::OPEN]),
            Entries::Listed(entries) => entries.iter().map(OwnedAcl::as_acl).collect(),
        }
    }
}

/// Leaves out the identities, which may hold digests of passwords.
impl fmt::Debug for AclList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries();
        f.debug_list().entries(entries.iter().map(|acl| (acl.permissions, acl.scheme))).finish()
    }
}

impl Site {
    /// Makes the site of the node that the client calls `path`. By default every client may do
    /// everything with the znodes created there, and a missing node is created as a persistent one.
    pub fn new(path: &ZnodePath, chroot: &Chroot) -> Self {
        Self {
            server_path: Arc::from(&*chroot.enter(path)),
            chroot_len: chroot.as_str().len(),
            payloads: Vec::new(),
            acl: AclList::new(&[Acl::OPEN]),
            node_kind: NodeKind::default(),
        }
    }

    /// Appends the data for the next [`Payload::Kept`]. The candidate's data comes first.
    #[must_use]
    pub fn payload(mut self, data: impl Into<Bytes>) -> Self {
        self.payloads.reserve_exact(1);
        self.payloads.push(data.into());
        self
    }

    /// Sets the access list of all znodes that the recipe creates, its node and the ancestors
    /// included.
    #[must_use]
    pub fn acl(mut self, acl: AclList) -> Self {
        self.acl = acl;
        self
    }

    /// Sets the kind of the node, in case it has to be created.
    #[must_use]
    pub fn node_kind(mut self, kind: NodeKind) -> Self {
        self.node_kind = kind;
        self
    }

    /// Returns the node's path as the client calls it.
    pub fn path(&self) -> &str {
        match self.server_path.get(self.chroot_len..) {
            None | Some("") => "/",
            Some(path) => path,
        }
    }

    /// Returns the node's path on the server.
    pub fn server_path(&self) -> &Arc<str> {
        &self.server_path
    }

    /// Returns whether a znode beside the node is within the chroot. None is if the node is the root
    /// of a client with a chroot; then the host carries out no command for a
    /// [`Znode::Sibling`].
    pub fn may_have_siblings(&self) -> bool {
        self.chroot_len == 0 || self.server_path.len() > self.chroot_len
    }

    /// Returns the access list of created znodes.
    pub fn acl_list(&self) -> &AclList {
        &self.acl
    }

    /// Returns the path on the server of a child of the node.
    pub fn child(&self, name: impl fmt::Display) -> String {
        child_path(&self.server_path, name)
    }

    /// Returns the path of a child of the node as the client calls it.
    pub fn client_child(&self, name: impl fmt::Display) -> String {
        child_path(self.path(), name)
    }

    pub(crate) const fn kind_of_node(&self) -> NodeKind {
        self.node_kind
    }

    /// Returns the path on the server.
    pub(crate) fn path_of(&self, znode: Znode<'_>) -> String {
        match znode {
            Znode::Node => String::from(&*self.server_path),
            Znode::Sibling(suffix) => format!("{}{suffix}", self.server_path),
            Znode::Child(name) => self.child(name),
            Znode::Grandchild { child, name } => child_path(&self.child(child), name),
        }
    }

    pub(crate) fn path_of_new(&self, znode: NewZnode<'_>) -> String {
        match znode {
            NewZnode::Named(znode) => self.path_of(znode),
            NewZnode::Child(prefix) => self.child(prefix),
            NewZnode::Grandchild { child, prefix } => child_path(&self.child(child), prefix),
        }
    }

    /// Returns whether this is the path on the server of that znode.
    pub(crate) fn is_path_of(&self, znode: Znode<'_>, path: &str) -> bool {
        let below = |parent: &str, name: &str| -> bool {
            path.strip_suffix(name)
                .and_then(|front| front.strip_suffix('/'))
                .is_some_and(|front| front == parent || front.is_empty() && parent == "/")
        };
        match znode {
            Znode::Child(name) => below(&self.server_path, &name.text()),
            other => *path == self.path_of(other),
        }
    }

    pub(crate) fn data<'a>(&'a self, payload: Payload<'a>) -> &'a [u8] {
        match payload {
            Payload::Empty => &[],
            Payload::Bytes(bytes) => bytes,
            Payload::Kept(index) => self.payloads.get(index).map_or(&[], |bytes| bytes),
        }
    }

    /// Returns whether the node has no ancestor below the chroot.
    pub(crate) fn is_outermost(&self) -> bool {
        self.lineage().nth(1).is_none()
    }

    /// Returns the node and its ancestors below the chroot, outermost first, as paths on the
    /// server.
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
            let site = Site::new(&path.parse().unwrap(), &chroot);
            assert_eq!(site.lineage().collect::<Vec<_>>(), lineage);
            assert_eq!(site.is_outermost(), lineage.len() == 1);
        }
    }

    #[test]
    fn znodes_are_named_from_the_node() {
        let chroot = Chroot::new("/app").unwrap();
        let site = Site::new(&"/e".parse().unwrap(), &chroot);
        let below = Znode::Grandchild { child: "locks", name: "a".into() };
        for (znode, path) in [
            (Znode::Node, "/app/e"),
            (Znode::Sibling(".acknowledged"), "/app/e.acknowledged"),
            (Znode::child("a"), "/app/e/a"),
            (below, "/app/e/locks/a"),
        ] {
            assert_eq!(site.path_of(znode), path);
            assert!(site.is_path_of(znode, path));
            assert!(!site.is_path_of(znode, "/app/e/b"));
        }
        assert!(site.may_have_siblings());
        assert!(!Site::new(&ZnodePath::root(), &chroot).may_have_siblings());
        let root = Site::new(&ZnodePath::root(), &Chroot::default());
        assert!(root.may_have_siblings());
        assert_eq!(root.path_of(Znode::Sibling(".acknowledged")), "/.acknowledged");
        assert_eq!(root.path_of(Znode::child("a")), "/a");
        assert!(root.is_path_of(Znode::child("a"), "/a"));
    }
}
